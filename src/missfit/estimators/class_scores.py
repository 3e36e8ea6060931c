"""Logistic regression of the class, with a score for classes that have no rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from missfit.estimators.classes import LabelledRows

UNSEEN = np.log(1e-9)  # the log-odds of a class without rows against any other


def class_scores(
    features: NDArray[np.float64],
    rows: LabelledRows,
    n_classes: int,
    ridge: float,
    **options: Any,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the intercepts and coefficients of a ridge logistic regression.

    There is one of each, of the log-odds of the second class, where there are two
    classes, and one for each of several, whose softmax is meant. A class without rows
    is told by its intercept to be rarer than all others: the first rows of a stream may
    be of one class alone.
    """
    seen = np.unique(rows.code)
    if len(seen) == 1:
        intercept, coef = np.zeros(1), np.zeros((1, features.shape[1]))
        if n_classes == 2:
            return intercept + (UNSEEN if seen[0] == 0 else -UNSEEN), coef
    else:
        model: Any = LogisticRegression(C=1 / ridge, **options)
        model.fit(features, rows.code, rows.weight)
        intercept, coef = model.intercept_, model.coef_
    if len(seen) == n_classes:
        return intercept, coef
    if len(seen) == 2:
        intercept, coef = np.r_[-intercept, intercept] / 2, np.vstack([-coef, coef]) / 2
    every = (
        np.full(n_classes, intercept.min() + UNSEEN),
        np.zeros((n_classes, features.shape[1])),
    )
    every[0][seen], every[1][seen] = intercept, coef
    return every
