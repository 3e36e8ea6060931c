"""How rows that come in chunks are dealt to the folds of a cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, check_cv

Pieces = list[tuple[int, Any]]  # (fold, which rows of the chunk)


class Deal(NamedTuple):
    """How rows are dealt to folds.

    ``pieces(chunk, start, stop)`` says which rows of a chunk, the rows from ``start``
    to ``stop`` of the table, go to which fold.
    """

    n_folds: int
    pieces: Callable[[int, int, int], Pieces]


def deal_rows(n_rows: int, cv: Any) -> Deal:
    """Deal a known number of rows to the folds of a scikit-learn cv argument.

    Contiguous folds, as those of a number, take no memory; others 8 bytes a row and
    more, for the splitter's own arrays.
    """
    splitter: Any = check_cv(cv)
    if isinstance(splitter, KFold) and not splitter.shuffle:
        return _deal_contiguous(n_rows, splitter.get_n_splits(), cv)
    fold_of_row = _fold_of_row(splitter, n_rows, cv)

    def pieces(chunk: int, start: int, stop: int) -> Pieces:
        here = fold_of_row[start:stop]
        return [(int(k), np.flatnonzero(here == k)) for k in np.unique(here)]

    return Deal(int(fold_of_row.max()) + 1, pieces)


def deal_chunks(n_folds: int) -> Deal:
    """Deal chunk i to fold i modulo the number of folds."""
    return Deal(n_folds, lambda chunk, start, stop: [(chunk % n_folds, slice(None))])


def n_folds_of(cv: Any) -> int:
    """Return the number of folds of a cv argument that fits rows unknown."""
    splitter: Any = check_cv(cv)
    if not isinstance(splitter, KFold) or splitter.shuffle:
        raise ValueError(
            f"cv={cv!r}, but the number of rows is not known before they are read: "
            "give a number of folds."
        )
    return splitter.get_n_splits()


def _deal_contiguous(n_rows: int, n_folds: int, cv: Any) -> Deal:
    """Deal rows as KFold does: the first folds take one row of the remainder each."""
    if n_rows < n_folds:
        raise ValueError(
            f"X has n_samples={n_rows}, fewer than the {n_folds} folds of cv={cv!r}. "
            "Give fewer folds, or one strength, such as alphas=(1.0,)."
        )
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
