"""How well other variables predict a mask: a number that describes, not a test."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
)
from threadpoolctl import threadpool_limits

from missfit.evidence.mechanism import Rows, drawn

MOST_MASKS = 6  # the most masks that are predicted from other values
MOST_ROWS = 5_000  # the most rows that are used for this
LEAST_ROWS = 30  # the fewest rows that miss a variable, and that have it


def mask_aucs(rows: Rows, seed: int = 0) -> NDArray[np.float64]:
    """Return the area under the ROC curve of each mask, NaN where it was not tried.

    A mask is predicted by boosting from the values of the other variables (not from
    their masks), in three folds that keep groups together. This is done for the six
    masks whose share of missing values is nearest to one half.
    """
    rows = drawn(rows, MOST_ROWS, seed)
    mask = rows.mask
    filled = _filled(rows.X)
    found = np.full(mask.shape[1], np.nan)
    done: dict[bytes, float] = {}
    rate = mask.mean(axis=0)
    for j in np.argsort(-np.minimum(rate, 1 - rate), kind="stable"):
        others = filled[:, rows.variables != j]
        n_missing = mask[:, j].sum()
        if min(n_missing, len(mask) - n_missing) < LEAST_ROWS or not others.shape[1]:
            continue
        key = mask[:, j].tobytes()
        if key not in done and len(done) < MOST_MASKS:
            done[key] = _auc(others, mask[:, j], rows.groups, seed)
        found[j] = done.get(key, np.nan)
    return found


def _filled(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return X with means for missing values, so that no mask shows in the values."""
    hidden = np.isnan(X)
    mean = np.where(hidden, 0.0, X).sum(axis=0) / np.maximum(1, (~hidden).sum(axis=0))
    return np.where(hidden, mean, X)


def _auc(values: NDArray, hidden: NDArray, groups: NDArray | None, seed: int) -> float:
    model = HistGradientBoostingClassifier(max_iter=30, random_state=seed)
    folds: Any = StratifiedKFold(3, shuffle=True, random_state=seed)
    if groups is not None:
        here = len(np.unique(groups[hidden])), len(np.unique(groups[~hidden]))
        if min(here) < 3:  # some fold would learn from one side alone
            return np.nan
        folds = StratifiedGroupKFold(3, shuffle=True, random_state=seed)
    # on two threads trees of few rows took 2 to 7 times as long: each waits
    with threadpool_limits(1, user_api="openmp"):
        chance: Any = cross_val_predict(
            model, values, hidden, cv=folds, groups=groups, method="predict_proba"
        )
    return float(roc_auc_score(hidden, chance[:, 1]))
