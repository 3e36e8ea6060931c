"""Streams of chunks to moments, to samples and to predictions.

Rows are read once, chunk by chunk, and only their moments are kept: one table for each
fold of the cross-validation, which add up to the table of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from missfit.estimators.dask_tables import (
    dask_fold_moments,
    dask_source,
    dask_table,
    predict_dask,
    rows_as_floats,
)
from missfit.estimators.moment_splits import (
    Check,
    added_folds,
    checked_rows,
    listed_folds,
    moments_of_pieces,
)
from missfit.estimators.splits import (
    NO_FOLDS,
    Deal,
    deal_chunks,
    deal_in_turn,
    deal_rows,
    n_folds_of,
    warn_of_chunks,
)
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.rows import Rows, WeightSums, refuse_relative
from missfit.tables.chunks import (
    CHUNK_DOUBLES,
    Source,
    feature_chunks,
    is_dask,
    open_source,
)


def fold_moments(
    source: Source, check: Check, cv: Any = NO_FOLDS
) -> list[PatternMoments]:
    """Return the moments of each fold of the rows of a source, in one pass.

    Parameters
    ----------
    source : Source
        From `missfit.tables.chunks.open_source`.
    check : function
        Takes a chunk's X and y, returns them as float64 or raises.
    cv : scikit-learn cv argument, or Deal
        `NO_FOLDS` for one table of all rows. Where the number of rows is known the
        folds are those of the same cv on the table in memory; otherwise chunk i goes to
        fold i modulo the number of folds, and a warning says so. A stream that ends
        before there is a chunk for every fold is dealt as a table in memory.
    """
    chunks = full_chunks(source, check)
    if isinstance(cv, Deal):
        deal = cv
    elif cv is NO_FOLDS or source.n_rows is not None:
        deal = deal_rows(source.n_rows or 0, cv)
    else:
        deal, chunks = _deal_unknown(chunks, cv)
    folds: dict[int, PatternMoments] = {}
    start, shape, weights = 0, (1, 1), WeightSums(0, 0.0, 0.0)
    for number, rows in enumerate(chunks):
        stop = start + len(rows.X)
        pieces = deal.pieces(number, start, stop)
        folds = added_folds([folds, moments_of_pieces(rows, pieces)])
        start, shape = stop, (rows.X.shape[1], rows.y.shape[1])
        weights = weights.plus(WeightSums.of(rows.weight))
    refuse_relative(weights)
    return listed_folds(folds, deal.n_folds, shape)


def _deal_unknown(chunks: Iterator[Rows], cv: Any) -> tuple[Deal, Iterator[Rows]]:
    """Deal by chunk, or by row where the stream ends before every fold has one."""
    n_folds = n_folds_of(cv)
    first = []
    for rows in chunks:
        first.append(rows)
        if len(first) == n_folds:
            warn_of_chunks(n_folds, "chunk", 6)
            return deal_chunks(n_folds), _both(first, chunks)
    return deal_rows(sum(len(rows.X) for rows in first), cv), iter(first)


def _both(first: list[Rows], rest: Iterator[Rows]) -> Iterator[Rows]:
    while first:
        yield first.pop(0)  # let go of it
    yield from rest


def full_chunks(source: Source, check: Check) -> Iterator[Rows]:
    """Yield checked chunks, small ones joined: every table of moments has a price."""
    waiting: list[Rows] = []
    n_waiting, n_seen, found = 0, 0, False
    for number, chunk in enumerate(source.chunks()):
        if np.shape(chunk.X)[:1] == (0,):
            continue
        try:
            rows = checked_rows(chunk, check)
        except (ValueError, TypeError) as error:
            raise type(error)(f"chunk {number}, from row {n_seen}: {error}") from error
        n_seen += len(rows.X)
        found = found or bool(rows.weight.any())
        waiting.append(rows)
        n_waiting += rows.X.size + rows.y.size
        if n_waiting >= CHUNK_DOUBLES:
            yield _joined(waiting)
            waiting, n_waiting = [], 0
    if waiting:
        yield _joined(waiting)
    if not found:
        raise ValueError(
            f"the source ended after {n_seen} rows, none of weight > 0; a fit needs "
            "at least one."
        )


class Sample(NamedTuple):
    """Rows drawn at random from all, and how many there were."""

    rows: Rows
    n_rows: int


def sampled(chunks: Iterator[Rows], n_held: int, rng: np.random.Generator) -> Sample:
    """Draw rows at random in one pass: those of the smallest random numbers."""
    kept, keys, n_rows = None, np.empty(0), 0
    for rows in chunks:
        parts = zip(kept or rows.take(np.arange(0)), rows, strict=True)
        kept = Rows(*map(np.concatenate, parts))
        keys = np.append(keys, rng.random(len(rows.X)))
        n_rows += len(rows.X)
        if len(keys) > n_held:
            chosen = np.sort(np.argpartition(keys, n_held)[:n_held])
            kept, keys = kept.take(chosen), keys[chosen]
    assert kept is not None  # a source without rows has raised
    return Sample(kept, n_rows)


def _joined(parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    return Rows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def any_source(X: Any, y: Any = None, sample_weight: Any = None) -> Source:
    """Return the chunks of any source; of a Dask table one partition after another."""
    if is_dask(X):
        return dask_source(dask_table(X, y, sample_weight))
    return open_source(X, y, sample_weight)


def predict_chunks(predict: Callable, X: Any, names: Any, n_features: int) -> Any:
    """Predict a table that comes in chunks: chunks out, in order; Dask in, Dask out.

    Parameters
    ----------
    predict : function
        From a chunk of features to an array, or a tuple of arrays.
    X : path, TableFile, iterator, function or Dask collection
    names : sequence of str, optional
        The features of the model, where they have names.
    n_features : int

    Returns
    -------
    iterator of arrays, or Dask array (for an array) or series (for a dataframe)
    """
    if is_dask(X):
        return predict_dask(predict, X, names, n_features)
    return map(predict, feature_chunks(X, names))


def moments_in_turn(
    X: Any, y: Any = None, sample_weight: Any = None, *, n_folds: int
) -> list[PatternMoments]:
    """Return the moments of the rows of any source, dealt to folds in turn."""
    deal = deal_in_turn(n_folds)
    if is_dask(X):
        return dask_fold_moments(dask_table(X, y, sample_weight), deal)
    return fold_moments(open_source(X, y, sample_weight), rows_as_floats, deal)
