"""Moments of folds: what is trained on and tested where only moments are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.splits import Pieces, are_folds, row_splits
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.rows import Rows, check_weight
from missfit.tables.chunks import Chunk

Check = Callable[[Any, Any], tuple[NDArray, NDArray]]  # X and y as float64, or an error


class Split(NamedTuple):
    """Moments of the training and of the test rows of one split."""

    train: PatternMoments
    test: PatternMoments


def moments_and_splits(
    X: NDArray, y: NDArray, sample_weight: Any, cv: Any
) -> tuple[PatternMoments, list[Split]]:
    """Moments of all rows, and of the training and test rows of each split.

    Where the test rows of the splits are a partition and training takes all others,
    every row is read once: a split's training moments are the sum of the other folds'.
    """
    weight = None if sample_weight is None else check_weight(sample_weight, len(X))
    splits = row_splits(cv, X, y, weight=weight)

    def part(rows: NDArray) -> PatternMoments:
        chosen = None if weight is None else weight[rows]
        return PatternMoments.from_data(X[rows], y[rows], chosen)

    if are_folds(splits, len(X)):
        folds = [part(test) for _, test in splits]
        return total_moments(folds), splits_of_folds(folds)
    moments = PatternMoments.from_data(X, y, weight)
    return moments, [Split(part(train), part(test)) for train, test in splits]


def splits_of_folds(folds: list[PatternMoments]) -> list[Split]:
    """One split per fold: test on it, train on the sum of the others."""
    if len(folds) < 2:
        return []
    others = [[f for j, f in enumerate(folds) if j != k] for k in range(len(folds))]
    return [
        Split(total_moments(rest), fold)
        for rest, fold in zip(others, folds, strict=True)
    ]


def usable_splits(splits: list[Split]) -> list[Split]:
    """Return the splits with rows in both parts."""
    return [split for split in splits if len(split.train) and len(split.test)]


def total_moments(parts: list[PatternMoments]) -> PatternMoments:
    """Return the sum of some tables."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def check_table(moments: Any, folds: list[PatternMoments] | None) -> None:
    """Raise unless these are moments of some rows, to which the folds add up."""
    if not isinstance(moments, PatternMoments):
        raise TypeError(
            f"fit_moments takes PatternMoments, not {type(moments).__name__}; build "
            "them with PatternMoments.from_data(X, y), or call fit(X, y)."
        )
    if not moments.count.sum() > 0:
        raise ValueError("the table of moments holds no rows; add some first.")
    n_dealt = sum(fold.count.sum() for fold in folds or [])
    if folds and not np.isclose(n_dealt, moments.count.sum()):
        raise ValueError(
            f"the folds hold {n_dealt:g} rows and the table {moments.count.sum():g}; "
            "the folds must add up to the table."
        )


def dealt_in_turn(
    folds: list[PatternMoments], n_before: int, rows: Rows
) -> list[PatternMoments]:
    """Return the folds with more rows: row i of the stream is in fold i modulo folds.

    Parameters
    ----------
    folds : list of PatternMoments
        The moments of the rows before.
    n_before : int
        The number of the rows before, those without weight among them.
    rows : Rows
    """
    fold_of_row = (n_before + np.arange(len(rows.X))) % len(folds)
    counts = rows.weight > 0
    pieces = [
        (k, np.flatnonzero((fold_of_row == k) & counts)) for k in range(len(folds))
    ]
    total = added_folds([dict(enumerate(folds)), moments_of_pieces(rows, pieces)])
    return [total[k] for k in range(len(folds))]


def checked_rows(chunk: Chunk, check: Check) -> Rows:
    """Return a chunk as rows of float64, of weight 1 where it has no weights."""
    X, y = check(chunk.X, chunk.y)
    weight = np.ones(len(X))
    if chunk.weight is not None:
        weight = check_weight(chunk.weight, len(X), may_be_zero=True)
    return Rows(X, y.reshape(len(y), -1), weight)


def moments_of_pieces(rows: Rows, pieces: Pieces) -> dict[int, PatternMoments]:
    """Return the moments of the pieces of a chunk that weigh something, by fold."""
    moments = {}
    for fold, which in pieces:
        part = Rows(*(values[which] for values in rows))
        if part.weight.any():
            moments[fold] = PatternMoments.from_data(*part)
    return moments


def added_folds(
    tables: Iterable[dict[int, PatternMoments]],
) -> dict[int, PatternMoments]:
    """Add tables of moments, fold by fold."""
    total: dict[int, PatternMoments] = {}
    for table in tables:
        for fold, moments in table.items():
            total[fold] = total[fold] + moments if fold in total else moments
    return total


def listed_folds(
    folds: dict[int, PatternMoments], n_folds: int, shape: tuple[int, int]
) -> list[PatternMoments]:
    """Return all folds in order, empty ones of (features, targets) where none came."""
    return [folds.get(k, PatternMoments.empty(*shape)) for k in range(n_folds)]
