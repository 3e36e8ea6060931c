"""The one reading of ``cv``: which rows train, and which are held out.

Rows in memory are split by `row_splits`, where the user said how, or `default_splits`.
Rows that come in chunks are dealt to folds by `deal_rows`, where their number is known,
and by `deal_chunks` otherwise; `partial_fit` deals them in turn.

The rules are the same for all. ``cv`` is a number of folds, from 2 to the number of
rows (or of groups, whose rows stay together), a splitter of scikit-learn, an iterable
of splits, or None. A split counts if both parts have rows of weight > 0, and one must.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)

N_FOLDS = 5  # where cv is None, as in scikit-learn
# From so many rows on `default_splits` takes three folds instead of five: the paired
# comparisons that they decide are then precise enough, and each fold costs a fit.
MANY_ROWS = 5_000
MANY_ROWS_FOLDS = 3
NO_FOLDS = object()  # in the place of a cv: all rows are one fold
ONE_STRENGTH = "one strength, such as alphas=(1.0,)"  # what needs no folds

RowSplit = tuple[NDArray[np.intp], NDArray[np.intp]]  # training rows, test rows
Pieces = list[tuple[int, Any]]  # (fold, which rows of the chunk)


def row_splits(
    cv: Any,
    X: Any,
    y: Any = None,
    *,
    weight: NDArray | None = None,
    groups: NDArray | None = None,
    seed: int | None = None,
    instead: str = ONE_STRENGTH,
) -> list[RowSplit]:
    """Return the splits of rows in memory that count.

    Parameters
    ----------
    cv : int, splitter, iterable of splits, or None for 5 folds
    X, y : array-like
        The rows; only splitters of the user's own read more than their number.
    weight, groups : ndarray of shape (n,), optional
    seed : int, optional
        A number of folds is then shuffled by this seed and keeps groups together.
        Without it folds are consecutive rows.
    instead : str
        What an error names as the way to do without folds.

    Raises
    ------
    ValueError
        If there are fewer rows or groups than folds, or no split counts.

    >>> [test.tolist() for _, test in row_splits(2, [[1.0], [2.0], [3.0]])]
    [[0, 1], [2]]
    """
    splitter = _splitter(cv, groups, seed)
    _refuse_few(splitter, cv, len(X), groups, instead)
    splits = _counted(splitter.split(X, y, groups), weight)
    if not splits:
        raise ValueError(no_split(cv, instead))
    return splits


def default_splits(
    X: Any,
    y: Any = None,
    *,
    weight: NDArray | None = None,
    groups: NDArray | None = None,
    seed: int | None = None,
    fewest: int = N_FOLDS,
) -> list[RowSplit]:
    """Return the splits where cv=None leaves their number to the estimator.

    They are 5 folds, 3 from 5,000 rows on, as in `row_splits`. There is no split, and
    so nothing is chosen, where rows (or groups) are fewer than ``fewest``.
    """
    if n_units(len(X), groups) < fewest:
        return []
    n_folds = default_folds(len(X))
    return _counted(_splitter(n_folds, groups, seed).split(X, y, groups), weight)


def default_folds(n_rows: int) -> int:
    """Return the number of folds where it is left to the estimator."""
    return N_FOLDS if n_rows < MANY_ROWS else MANY_ROWS_FOLDS


def class_splits(
    n_folds: int, code: NDArray[np.intp], groups: NDArray | None, seed: int
) -> list[RowSplit]:
    """Return the splits of `stratified_splits` whose training rows are of two classes.

    Nothing can be learned from the others.
    """
    return with_two_classes(stratified_splits(n_folds, code, groups, seed), code)


def stratified_splits(
    n_folds: int, code: NDArray[np.intp], groups: NDArray | None, seed: int
) -> list[RowSplit]:
    """Return shuffled folds in which every class has its share, as far as it can.

    Groups are kept together.
    """
    most = int(np.bincount(code).max())
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter: Any = _splitter(n_folds, groups, seed)
    if most >= n_folds:
        splitter = kind(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # a class of fewer rows than folds is missing in some of them
        warnings.filterwarnings("ignore", message=".*least populated class")
        return list(splitter.split(code, code, groups))


def with_two_classes(splits: list[RowSplit], code: NDArray[np.intp]) -> list[RowSplit]:
    """Return the splits whose training rows are of two classes or more."""
    return [(train, test) for train, test in splits if len(np.unique(code[train])) > 1]


def n_units(n_rows: int, groups: NDArray | None) -> int:
    """Return how many rows, or groups where there are any, go to folds."""
    return n_rows if groups is None else len(np.unique(groups))


def no_split(cv: Any, instead: str = ONE_STRENGTH) -> str:
    """Return what is said where no split has rows of weight > 0 in both parts."""
    return (
        f"cv={cv!r} leaves no split with rows (of weight > 0) in both parts. Give "
        f"another cv, or {instead}."
    )


def are_folds(splits: list[RowSplit], n: int) -> bool:
    """Whether the test rows are a partition and training takes all others."""
    if not splits:
        return False
    tests = np.concatenate([test for _, test in splits])
    return (
        len(tests) == n
        and len(np.unique(tests)) == n
        and all(
            len(train) + len(test) == n and len(np.union1d(train, test)) == n
            for train, test in splits
        )
    )


def _splitter(cv: Any, groups: Any = None, seed: int | None = None) -> Any:
    """Return the splitter of scikit-learn that a cv argument means."""
    if cv is not None and not isinstance(cv, Integral):
        return check_cv(cv)
    n_folds = N_FOLDS if cv is None else int(cv)
    if n_folds < 2:
        raise ValueError(f"cv={cv!r}; give a number of folds >= 2, or None.")
    if seed is None:
        return KFold(n_folds)
    kind = KFold if groups is None else GroupKFold
    return kind(n_folds, shuffle=True, random_state=seed)


def _refuse_few(
    splitter: Any, cv: Any, n_rows: int, groups: Any = None, instead: str = ONE_STRENGTH
) -> None:
    """Raise where there are fewer rows, or groups, than folds."""
    if not isinstance(splitter, (KFold, GroupKFold)):
        return
    is_grouped = isinstance(splitter, GroupKFold) and groups is not None
    n = n_units(n_rows, groups if is_grouped else None)
    if n < splitter.get_n_splits():
        found = f"groups has {n} groups" if is_grouped else f"X has n_samples={n}"
        raise ValueError(
            f"{found}, fewer than the {splitter.get_n_splits()} folds of cv={cv!r}. "
            f"Give fewer folds, or {instead}."
        )


def _counted(splits: Iterable, weight: NDArray | None) -> list[RowSplit]:
    """Return the splits with rows of weight > 0 in both parts."""
    parts = [(np.asarray(train), np.asarray(test)) for train, test in splits]
    return [
        split
        for split in parts
        if all(len(rows) and (weight is None or weight[rows].any()) for rows in split)
    ]


# ── Rows that come in chunks ──────────────────────────────────────────────────────────


class Deal(NamedTuple):
    """How rows are dealt to folds.

    ``pieces(chunk, start, stop)`` says which rows of a chunk, the rows from ``start``
    to ``stop`` of the table, go to which fold.
    """

    n_folds: int
    pieces: Callable[[int, int, int], Pieces]


def deal_rows(n_rows: int, cv: Any) -> Deal:
    """Deal a known number of rows to the folds that they have in memory.

    Contiguous folds, as those of a number, take no memory; others 8 bytes a row and
    more, for the splitter's own arrays.
    """
    if cv is NO_FOLDS:
        return deal_chunks(1)
    splitter = _splitter(cv)
    _refuse_few(splitter, cv, n_rows)
    if isinstance(splitter, KFold) and not splitter.shuffle:
        return _deal_contiguous(n_rows, splitter.get_n_splits())
    fold_of_row = _fold_of_row(splitter, n_rows, cv)

    def pieces(chunk: int, start: int, stop: int) -> Pieces:
        here = fold_of_row[start:stop]
        return [(int(k), np.flatnonzero(here == k)) for k in np.unique(here)]

    return Deal(int(fold_of_row.max()) + 1, pieces)


def deal_chunks(n_folds: int) -> Deal:
    """Deal chunk i to fold i modulo the number of folds."""
    return Deal(n_folds, lambda chunk, start, stop: [(chunk % n_folds, slice(None))])


def deal_in_turn(n_folds: int) -> Deal:
    """Deal row i of the table, or of a partition whose start is not known, in turn."""

    def pieces(chunk: int, start: int, stop: int) -> Pieces:
        return [
            (k, slice((k - start) % n_folds, None, n_folds)) for k in range(n_folds)
        ]

    return Deal(n_folds, pieces)


def n_folds_of(cv: Any) -> int:
    """Return the number of folds where the number of rows is not known."""
    splitter = _splitter(cv)
    if not isinstance(splitter, KFold) or splitter.shuffle:
        raise ValueError(
            f"cv={cv!r}, but the number of rows is not known before they are read: "
            "give a number of folds."
        )
    return splitter.get_n_splits()


def n_folds_in_turn(cv: Any) -> int:
    """Return the number of folds that rows are dealt to in turn: a number, or None."""
    if cv is None:
        return N_FOLDS
    if not isinstance(cv, Integral) or cv < 2:
        raise ValueError(
            f"cv={cv!r}; partial_fit deals rows to folds as they come, so that cv "
            "must be a number of folds >= 2."
        )
    return int(cv)


def warn_of_chunks(n_folds: int, what: str, stacklevel: int) -> None:
    """Warn that folds were dealt by chunk or partition, not as in memory."""
    warnings.warn(
        f"the number of rows is not known beforehand: the {n_folds} folds of the "
        f"cross-validation were dealt by {what}, so that cv_scores_ and the chosen "
        "strength may differ a little from those of the table in memory.",
        UserWarning,
        stacklevel=stacklevel,
    )


def _deal_contiguous(n_rows: int, n_folds: int) -> Deal:
    """Deal rows as KFold does: the first folds take one row of the remainder each."""
    sizes = np.full(n_folds, n_rows // n_folds)
    sizes[: n_rows % n_folds] += 1
    edges = np.append(0, np.cumsum(sizes))

    def pieces(chunk: int, start: int, stop: int) -> Pieces:
        here = (np.clip(edges, start, stop) - start).tolist()
        return [
            (k, slice(here[k], here[k + 1]))
            for k in range(n_folds)
            if here[k] < here[k + 1]
        ]

    return Deal(n_folds, pieces)


def _fold_of_row(splitter: Any, n_rows: int, cv: Any) -> NDArray[np.int32]:
    """Return the fold of each row, where the test rows are a partition."""
    rows = np.broadcast_to(0.0, (n_rows, 1))  # a splitter asks for the length alone
    fold_of_row = np.full(n_rows, -1, dtype=np.int32)
    n_tested = n_trained = n_splits = 0
    for k, (train, test) in enumerate(splitter.split(rows)):
        fold_of_row[test] = k
        n_tested += len(test)
        n_trained += len(train)
        n_splits = k + 1
    whole = n_tested == n_rows and n_trained == (n_splits - 1) * n_rows
    if n_splits < 2 or not whole or (fold_of_row < 0).any():
        raise ValueError(
            f"cv={cv!r} does not cut the rows into folds; rows that come in chunks are "
            "read once, so that each must be tested once and train all other folds. "
            "Give a number of folds, or fit in memory."
        )
    return fold_of_row
