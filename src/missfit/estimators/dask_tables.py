"""Dask tables: moments made where the rows lie, and predictions.

This file and `dask_columns` are the only ones that import Dask. Every partition
becomes moments where it lies, and the moments add up in a tree.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.moment_splits import (
    added_folds,
    checked_rows,
    listed_folds,
    moments_of_pieces,
)
from missfit.estimators.splits import (
    NO_FOLDS,
    Deal,
    Pieces,
    deal_chunks,
    deal_rows,
    n_folds_of,
    warn_of_chunks,
)
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.rows import WeightSums, refuse_relative
from missfit.tables.arrays import as_floats
from missfit.tables.chunks import Chunk, Source, is_dask, named_columns

FAN_IN = 8  # tables of moments added by one task of the tree
NEEDS_DASK = 'Dask collections take Dask: pip install "missfit[dask]".'


def load_dask() -> Any:
    """Import Dask, or say how to install it."""
    try:
        import dask
    except ImportError as error:
        raise ImportError(f"{NEEDS_DASK} ({error})") from error
    return dask


class DaskTable(NamedTuple):
    """Dask collections whose partitions match: features, target, weights.

    Attributes
    ----------
    X, y, weight : Dask collections; names of columns of X, or None
    n_rows : list of int, or None
        The rows of each partition, where Dask knows them.
    like : array or frame
        No rows, but the features of X.
    y_ndim, n_targets : int
    """

    X: Any
    y: Any
    weight: Any
    n_rows: list[int] | None
    like: Any
    y_ndim: int
    n_targets: int


def dask_table(X: Any, y: Any, sample_weight: Any = None) -> DaskTable:
    """Line up the partitions of X, y and the weights.

    Parameters
    ----------
    X : dask array or dataframe
    y : dask array or series with the partitions of X, array, or name(s) of columns
    sample_weight : as y, optional
    """
    load_dask()
    if y is None:
        raise ValueError(
            "y is None; give a Dask collection with the partitions of X, or the name "
            "of a column of a Dask dataframe."
        )
    if hasattr(X, "columns"):
        return _dataframe_table(X, y, sample_weight)
    return _array_table(X, y, sample_weight)


def _array_table(X: Any, y: Any, sample_weight: Any) -> DaskTable:
    if X.ndim != 2:
        raise ValueError(
            f"X has shape {X.shape}; it must be (rows, features). Reshape one column "
            "with X.reshape(-1, 1)."
        )
    X = X.rechunk({1: -1})
    known = not np.isnan(X.chunks[0]).any()
    y = _aligned_array(y, X, "y")
    if sample_weight is not None:
        sample_weight = _aligned_array(sample_weight, X, "sample_weight")
    n_rows = [int(n) for n in X.chunks[0]] if known else None
    n_targets = y.shape[1] if y.ndim == 2 else 1
    like = np.empty((0, X.shape[1]))
    return DaskTable(X, y, sample_weight, n_rows, like, y.ndim, n_targets)


def _aligned_array(values: Any, X: Any, name: str) -> Any:
    """Return a Dask array of the partitions of X."""
    import dask.array as da

    if isinstance(values, (str, list)):
        raise ValueError(
            f"{name}={values!r} names a column, but X is a Dask array. Give a Dask "
            "array, or X as a Dask dataframe."
        )
    values = values if is_dask(values) else da.from_array(np.asarray(values))
    values = values.values if hasattr(values, "divisions") else values
    unknown = np.isnan([*X.chunks[0], *values.chunks[0]]).any()
    if not unknown:
        if len(values) != len(X):
            raise ValueError(
                f"{name} has {len(values)} rows and X {len(X)}; they must be the same "
                "rows."
            )
        values = values.rechunk({0: X.chunks[0]})
    _refuse_unequal(X.numblocks[0], values.numblocks[0], name)
    return values.rechunk({1: -1}) if values.ndim == 2 else values


def _dataframe_table(X: Any, y: Any, sample_weight: Any) -> DaskTable:
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if is_dask(values):
            _refuse_unequal(X.npartitions, values.npartitions, name)
        elif values is not None and not isinstance(values, (str, list)):
            raise TypeError(
                f"{name} is {type(values).__name__}; beside a Dask dataframe give the "
                "name of a column, or a Dask series with the same partitions."
            )
    like, target, _ = named_columns(X._meta, y, sample_weight)
    n_targets = target.shape[1] if target.ndim == 2 else 1
    return DaskTable(X, y, sample_weight, None, like, target.ndim, n_targets)


def dask_source(table: DaskTable) -> Source:
    """Return the rows of a Dask table, one partition after another."""

    def chunks() -> Iterator[Chunk]:
        for i in range(table.X.npartitions):
            part = [
                values.partitions[i] if is_dask(values) else values
                for values in (table.X, table.y, table.weight)
            ]
            yield named_columns(*load_dask().compute(*part))

    n_rows = None if table.n_rows is None else sum(table.n_rows)
    return Source(chunks, n_rows, again=True)


def _refuse_unequal(n_ours: int, n_theirs: int, name: str) -> None:
    if n_ours != n_theirs:
        raise ValueError(
            f"X has {n_ours} partitions and {name} {n_theirs}; give both with the same "
            "partitions, or the name of a column."
        )


def dask_fold_moments(table: DaskTable, cv: Any = NO_FOLDS) -> list[PatternMoments]:
    """Return the moments of each fold of a Dask table; only moments travel.

    Folds as in `fold_moments`, where a partition is a chunk, or a `Deal`. The tree of
    additions is the same whatever the workers, so that one lost and computed again
    changes nothing.
    """
    dask = load_dask()
    n_parts, n_rows = table.X.npartitions, table.n_rows
    if isinstance(cv, Deal):
        deal = cv
    elif cv is NO_FOLDS or n_rows is not None:
        deal = deal_rows(sum(n_rows or []), cv)
    elif n_parts >= n_folds_of(cv):
        warn_of_chunks(n_folds_of(cv), "partition", 5)
        deal = deal_chunks(n_folds_of(cv))
    else:  # too few to deal: count the rows first
        length = dask.delayed(len)
        parts = np.ravel(np.asarray(table.X.to_delayed(), dtype=object))
        n_rows = list(dask.compute(*map(length, parts)))
        deal = deal_rows(sum(n_rows), cv)
    tables = _leaves(table, deal, n_rows)
    add = dask.delayed(_added)
    while len(tables) > 1:
        tables = [add(tables[i : i + FAN_IN]) for i in range(0, n_parts, FAN_IN)]
        n_parts = len(tables)
    whole = add(tables).compute()
    if not whole.folds:
        raise ValueError("the Dask table holds no rows of weight > 0.")
    refuse_relative(whole.weights)
    return listed_folds(
        whole.folds, deal.n_folds, (table.like.shape[1], table.n_targets)
    )


class _Part(NamedTuple):
    """What travels of some partitions: moments by fold, and sums of weights."""

    folds: dict[int, PatternMoments]
    weights: WeightSums


def _added(parts: list[_Part]) -> _Part:
    weights = reduce(WeightSums.plus, (part.weights for part in parts))
    return _Part(added_folds([part.folds for part in parts]), weights)


def _leaves(table: DaskTable, deal: Deal, n_rows: list[int] | None) -> list:
    """Return the delayed moments of each partition.

    Made by the collections themselves, in one graph, so that what X and y share is made
    once and moments are made where the rows are. (An idle worker may still take a
    partition over: that is Dask's work stealing.)
    """
    starts = None if n_rows is None else np.append(0, np.cumsum(n_rows)).tolist()
    make = _array_leaves if isinstance(table.like, np.ndarray) else _dataframe_leaves
    leaves = make(table, deal, starts).to_delayed()
    return np.ravel(np.asarray(leaves, dtype=object)).tolist()


def _array_leaves(table: DaskTable, deal: Deal, starts: list[int] | None) -> Any:
    import dask.array as da

    n_parts = table.X.npartitions
    places = np.empty(n_parts, dtype=object)
    for i in range(n_parts):
        here = (0, 0) if starts is None else (starts[i], starts[i + 1])
        places[i] = (i, n_parts, deal.pieces(i, *here))
    one_each: Any = 1
    columns = [da.from_array(places, chunks=one_each), "i", table.X, "ij"]
    columns += [table.y, "i" if table.y_ndim == 1 else "ik"]
    if table.weight is not None:
        columns += [table.weight, "i"]
    return da.blockwise(
        _block_moments,
        "i",
        *columns,
        concatenate=True,
        align_arrays=False,
        adjust_chunks={"i": 1},
        meta=places[:0],
    )


def _block_moments(place: NDArray, X: Any, y: Any, weight: Any = None) -> _Part:
    (number, n_parts, pieces) = place[0]
    return _part_moments(Chunk(X, y, weight), pieces, number, n_parts)


def _dataframe_leaves(table: DaskTable, deal: Deal, starts: list[int] | None) -> Any:
    import dask.dataframe as dd

    return dd.map_partitions(
        _frame_moments,
        table.X,
        table.y,
        table.weight,
        deal,
        starts,
        table.X.npartitions,
        meta=("moments", object),
        enforce_metadata=False,
        align_dataframes=False,
    )


def _frame_moments(
    frame, y, weight, deal: Deal, starts, n_parts: int, partition_info=None
) -> _Part:
    number = (partition_info or {"number": 0})["number"]
    here = (0, 0) if starts is None else (starts[number], starts[number + 1])
    pieces = deal.pieces(number, *here)
    return _part_moments(Chunk(frame, y, weight), pieces, number, n_parts)


def _part_moments(part: Chunk, pieces: Pieces, number: int, n_parts: int) -> _Part:
    """Return the moments of one partition by fold, on the worker that holds it."""
    if len(part.X) == 0:
        return _Part({}, WeightSums(0, 0.0, 0.0))
    try:
        rows = checked_rows(named_columns(*part), rows_as_floats)
        return _Part(moments_of_pieces(rows, pieces), WeightSums.of(rows.weight))
    except (ValueError, TypeError) as error:
        text = f"partition {number} of {n_parts}: {error}"
        raise type(error)(text) from None  # one error, whose text travels


def rows_as_floats(X: Any, y: Any) -> tuple[NDArray, NDArray]:
    """Return X and y as float64; they must have the same rows."""
    X, y = as_floats(X), as_floats(y, "y")
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows and y {len(y)}; they must be the same.")
    return X, y


def predict_dask(predict: Callable, X: Any, names: Any, n_features: int) -> Any:
    """Predict a Dask collection, as `missfit.estimators.streams.predict_chunks`."""
    with warnings.catch_warnings():  # of names that this row has not
        warnings.simplefilter("ignore")
        probe = predict(np.full((1, n_features), np.nan))
    load_dask()
    if isinstance(probe, tuple):
        return tuple(
            _predict_dask(_Item(predict, k), X, names, n_features, one)
            for k, one in enumerate(probe)
        )
    return _predict_dask(predict, X, names, n_features, probe)


class _Item(NamedTuple):
    """One of the arrays that a prediction returns."""

    predict: Callable
    k: int

    def __call__(self, X: Any) -> NDArray:
        return self.predict(X)[self.k]


def _predict_dask(predict: Callable, X: Any, names, n_features: int, probe) -> Any:
    if hasattr(X, "columns"):
        if names is not None:
            X = X[list(names)]
        meta = _framed_values(X._meta, probe[:0])
        return X.map_partitions(_framed, predict, probe[:0], meta=meta)
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    if X.shape[1] != n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but the model has {n_features}."
        )
    shape: dict[str, Any] = {"drop_axis": 1}
    if probe.ndim == 2:
        shape = {"chunks": (X.chunks[0], (probe.shape[1],))}
    return X.map_blocks(_predicted, predict, probe[:0], meta=probe[:0], **shape)


def _predicted(part: Any, predict: Callable, nothing: NDArray) -> NDArray:
    """Return the predictions of a partition, which may have no rows."""
    return predict(part) if len(part) else nothing


def _framed(frame: Any, predict: Callable, nothing: NDArray) -> Any:
    """Return the predictions of a partition with its index."""
    return _framed_values(frame, _predicted(frame, predict, nothing))


def _framed_values(frame: Any, values: NDArray) -> Any:
    import pandas

    if values.ndim == 1:
        return pandas.Series(values, index=frame.index, name="prediction")
    return pandas.DataFrame(values, index=frame.index)
