"""The fold of each row: drawn at random, whole groups, or blocks in time."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from missfit.estimators.forward_split import ForwardSplit

NEVER = -1  # the fold of rows that are only trained on: the first ones in time


def folds_of(
    n: int,
    n_folds: int,
    seed: int,
    *,
    groups: NDArray | None = None,
    time: NDArray | None = None,
    classes: NDArray | None = None,
) -> NDArray[np.intp]:
    """Return the fold of each row, -1 for rows that are never predicted.

    Folds are drawn at random, or as whole groups. With ``time`` they are blocks of
    consecutive times, each to be predicted from the rows before it.

    Parameters
    ----------
    n, n_folds, seed : int
    groups : ndarray of shape (n,), optional
        The rows of one group are in one fold.
    time : ndarray of shape (n,), optional
        The rows of one time are in one fold.
    classes : ndarray of shape (n,), optional
        The class of each row. Where folds are drawn at random, each class has about
        the same share of every fold.

    >>> folds_of(6, 2, 0, time=np.arange(6)).tolist()
    [-1, -1, 0, 0, 1, 1]
    """
    if time is not None:
        splitter: Any = ForwardSplit(n_folds)
    elif groups is None:
        splitter = _shuffled(n_folds, seed, classes)
    else:
        n_folds = min(n_folds, len(np.unique(groups)))
        splitter = GroupKFold(n_folds, shuffle=True, random_state=seed)
    fold = np.full(n, NEVER, dtype=np.intp)
    units = groups if time is None else time
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer rows than folds
        splits = list(splitter.split(np.empty((n, 1)), classes, units))
    for k, (_, test) in enumerate(splits):
        fold[test] = k
    return fold


def _shuffled(n_folds: int, seed: int, classes: NDArray | None) -> Any:
    """Return shuffled folds, by class where a class has a row for each fold."""
    if classes is None or np.unique(classes, return_counts=True)[1].max() < n_folds:
        return KFold(n_folds, shuffle=True, random_state=seed)
    return StratifiedKFold(n_folds, shuffle=True, random_state=seed)
