"""Streams of chunks and Dask collections to PatternMoments; the only import of Dask.

Rows are read once, chunk by chunk, and only their moments are kept: one table for each
fold of the cross-validation, which add up to the table of all rows. On Dask every
partition becomes moments where it lies, and the moments add up in a tree.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.splits import Deal, Pieces, deal_chunks, deal_rows, n_folds_of
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.rows import Rows, check_weight
from missfit.tables.arrays import as_floats
from missfit.tables.chunks import (
    CHUNK_DOUBLES,
    Chunk,
    Source,
    feature_chunks,
    is_dask,
    named_columns,
    open_source,
)

FAN_IN = 8  # tables of moments added by one task of the tree
NEEDS_DASK = 'Dask collections take Dask: pip install "missfit[dask]".'

Check = Callable[[Any, Any], tuple[NDArray, NDArray]]  # X and y as float64, or an error


def fold_moments(source: Source, check: Check, cv: Any = 1) -> list[PatternMoments]:
    """Return the moments of each fold of the rows of a source, in one pass.

    Parameters
    ----------
    source : Source
        From `missfit.tables.chunks.open_source`.
    check : function
        Takes a chunk's X and y, returns them as float64 or raises.
    cv : scikit-learn cv argument
        1 for no folds. Where the number of rows is known the folds are those of the
        same cv on the table in memory; otherwise chunk i goes to fold i modulo the
        number of folds, and a warning says so. A stream that ends before there is a
        chunk for every fold is dealt as a table in memory.
    """
    deal = deal_chunks(1) if cv == 1 else None
    if deal is None and source.n_rows is not None:
        deal = deal_rows(source.n_rows, cv)
    chunks = full_chunks(source, check)
    if deal is None:
        deal, chunks = _deal_unknown(chunks, cv)
    folds: dict[int, PatternMoments] = {}
    start, shape = 0, (1, 1)
    for number, rows in enumerate(chunks):
        stop = start + len(rows.X)
        folds = _added([folds, _pieces(rows, deal.pieces(number, start, stop))])
        start, shape = stop, (rows.X.shape[1], rows.y.shape[1])
    return _as_list(folds, deal.n_folds, shape)


def _warn_of_chunks(n_folds: int, what: str, stacklevel: int) -> None:
    warnings.warn(
        f"the number of rows is not known beforehand: the {n_folds} folds of the "
        f"cross-validation were dealt by {what}, so that cv_scores_ and the chosen "
        "strength may differ a little from those of the table in memory.",
        UserWarning,
        stacklevel=stacklevel,
    )


def _deal_unknown(chunks: Iterator[Rows], cv: Any) -> tuple[Deal, Iterator[Rows]]:
    """Deal by chunk, or by row where the stream ends before every fold has one."""
    n_folds = n_folds_of(cv)
    first = []
    for rows in chunks:
        first.append(rows)
        if len(first) == n_folds:
            _warn_of_chunks(n_folds, "chunk", 6)
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
            rows = _checked(chunk, check)
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


def _checked(chunk: Chunk, check: Check) -> Rows:
    X, y = check(chunk.X, chunk.y)
    weight = np.ones(len(X))
    if chunk.weight is not None:
        weight = check_weight(chunk.weight, len(X), may_be_zero=True)
    return Rows(X, y.reshape(len(y), -1), weight)


def _pieces(rows: Rows, pieces: Pieces) -> dict[int, PatternMoments]:
    """Return the moments of the pieces of a chunk that weigh something, by fold."""
    moments = {}
    for fold, which in pieces:
        part = Rows(*(values[which] for values in rows))
        if part.weight.any():
            moments[fold] = PatternMoments.from_data(*part)
    return moments


def _added(tables: list[dict[int, PatternMoments]]) -> dict[int, PatternMoments]:
    """Add tables of moments, fold by fold."""
    total: dict[int, PatternMoments] = {}
    for table in tables:
        for fold, moments in table.items():
            total[fold] = total[fold] + moments if fold in total else moments
    return total


def _as_list(
    folds: dict[int, PatternMoments], n_folds: int, shape: tuple[int, int]
) -> list[PatternMoments]:
    return [folds.get(k, PatternMoments.empty(*shape)) for k in range(n_folds)]


# ── Dask ──────────────────────────────────────────────────────────────────────────────


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


def any_source(X: Any, y: Any = None, sample_weight: Any = None) -> Source:
    """Return the chunks of any source; of a Dask table one partition after another."""
    if not is_dask(X):
        return open_source(X, y, sample_weight)
    table = dask_table(X, y, sample_weight)

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


def dask_fold_moments(table: DaskTable, cv: Any = 1) -> list[PatternMoments]:
    """Return the moments of each fold of a Dask table; only moments travel.

    Folds as in `fold_moments`, where a partition is a chunk. The tree of additions is
    the same whatever the workers, so that one lost and computed again changes nothing.
    """
    dask = load_dask()
    n_parts, n_rows = table.X.npartitions, table.n_rows
    if cv == 1:
        deal = deal_chunks(1)
    elif n_rows is not None:
        deal = deal_rows(sum(n_rows), cv)
    elif n_parts >= n_folds_of(cv):
        _warn_of_chunks(n_folds_of(cv), "partition", 5)
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
    folds = dask.delayed(_added)(tables).compute()
    if not folds:
        raise ValueError("the Dask table holds no rows of weight > 0.")
    return _as_list(folds, deal.n_folds, (table.like.shape[1], table.n_targets))


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


def _block_moments(place: NDArray, X: Any, y: Any, weight: Any = None) -> dict:
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
) -> dict:
    number = (partition_info or {"number": 0})["number"]
    here = (0, 0) if starts is None else (starts[number], starts[number + 1])
    pieces = deal.pieces(number, *here)
    return _part_moments(Chunk(frame, y, weight), pieces, number, n_parts)


def _part_moments(
    part: Chunk, pieces: Pieces, number: int, n_parts: int
) -> dict[int, PatternMoments]:
    """Return the moments of one partition by fold, on the worker that holds it."""
    if len(part.X) == 0:
        return {}
    try:
        return _pieces(_checked(named_columns(*part), _as_rows), pieces)
    except (ValueError, TypeError) as error:
        text = f"partition {number} of {n_parts}: {error}"
        raise type(error)(text) from None  # one error, whose text travels


def _as_rows(X: Any, y: Any) -> tuple[NDArray, NDArray]:
    X, y = as_floats(X), as_floats(y, "y")
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows and y {len(y)}; they must be the same.")
    return X, y


# ── Predictions ───────────────────────────────────────────────────────────────────────


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
    if not is_dask(X):
        return map(predict, feature_chunks(X, names))
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
