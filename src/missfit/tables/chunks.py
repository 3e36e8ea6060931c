"""Tables that come in chunks: files, iterators, and columns asked for by name.

Nothing here holds more than a chunk. Dask collections are named here and read in
`missfit.estimators.streams`.
"""

from __future__ import annotations

import copy
import os
import reprlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from missfit.tables.arrays import refuse_same_names
from missfit.tables.problems import TableError, listed, refuse_absent
from missfit.tables.read import check_numbers, column_names, read_numbers, row_count

CHUNK_DOUBLES = 2**22  # 32 MB: rows read or worked on at once


class Chunk(NamedTuple):
    """Some consecutive rows, as they came."""

    X: Any
    y: Any
    weight: Any = None


@dataclass(frozen=True)
class TableFile:
    """Some columns of a file, or of a folder of Parquet files.

    Where a path stands for all columns of its file, this stands for a choice of them.

    Parameters
    ----------
    path : str or path
        A CSV, Parquet or Feather file as `missfit.tables.read.read_table` reads it, or
        a folder whose ``*.parquet`` files are read in the order of their names.
    columns : sequence of str, optional
        The columns to use as features; all but the target (and the weight) by default.
    """

    path: str | os.PathLike
    columns: Sequence[str] | None = None


@dataclass(frozen=True)
class Source:
    """Rows to be read chunk by chunk.

    Attributes
    ----------
    chunks : function without arguments
        Returns an iterator over the chunks, from the first row on.
    n_rows : int or None
        The number of rows, where it is known before they are read.
    again : bool
        Whether ``chunks`` may be called more than once.
    """

    chunks: Callable[[], Iterator[Chunk]]
    n_rows: int | None
    again: bool


def is_dask(table: Any) -> bool:
    """Whether a table is a Dask collection, without importing Dask."""
    return hasattr(table, "__dask_graph__")


def comes_in_chunks(table: Any) -> bool:
    """Whether a table is a source of chunks: a file, an iterator, Dask.

    >>> comes_in_chunks("rows.parquet"), comes_in_chunks(iter([])), comes_in_chunks([])
    (True, True, False)
    """
    if isinstance(table, (str, os.PathLike, TableFile)) or is_dask(table):
        return True
    if hasattr(table, "__array__") or hasattr(table, "shape"):
        return False
    return hasattr(table, "__next__") or callable(table)


def open_source(X: Any, y: Any = None, sample_weight: Any = None) -> Source:
    """Return the chunks of a file, of an iterator, or of a function that returns one.

    Parameters
    ----------
    X : path, TableFile, iterator or function
        Chunks of an iterator are tuples (X, y) or (X, y, sample_weight), or frames.
    y : str or list of str, optional
        The target's column, in files and frames; None for chunks that are tuples.
    sample_weight : str, optional
        The column of the weights, in files and frames.
    """
    if isinstance(X, (str, os.PathLike)):
        X = TableFile(X)
    if isinstance(X, TableFile):
        if y is None:
            raise ValueError(
                f"y is None; give the name of the target's column in {X.path}, as in "
                'fit(path, "y").'
            )
        return _file_source(X, _names(y, "y"), y, sample_weight)

    def chunks() -> Iterator[Chunk]:
        for table in _items(X):
            yield _as_chunk(table, y, sample_weight)

    return Source(chunks, None, callable(X))


def feature_chunks(X: Any, names: Sequence[str] | None) -> Iterator[Any]:
    """Yield the chunks of a table of features alone, to predict.

    Parameters
    ----------
    X : path, TableFile, iterator or function
    names : sequence of str, optional
        The features of the model, where they have names: the columns read from a file.
    """
    if isinstance(X, (str, os.PathLike)):
        X = TableFile(X)
    if isinstance(X, TableFile):
        X = TableFile(X.path, X.columns if names is None else list(names))
        source = _file_source(X, [], None, None)
        return (chunk.X for chunk in source.chunks())
    return _items(X)


def _items(X: Any) -> Iterator[Any]:
    """Return an iterator over what an iterator, or a function, has to give."""
    items: Any = X() if callable(X) else X
    return iter(items)


def named_columns(X: Any, y: Any, sample_weight: Any = None) -> Chunk:
    """Take target and weights out of a frame where they are given by name.

    >>> import pandas
    >>> frame = pandas.DataFrame({"a": [1.0], "y": [2.0]})
    >>> X, y, _ = named_columns(frame, "y")
    >>> list(X.columns), y.tolist()
    (['a'], [2.0])
    """
    is_name = _is_named(X, y)
    if not is_name and not isinstance(sample_weight, str):
        return Chunk(X, y, sample_weight)
    if not hasattr(X, "columns"):
        what = f"y={reprlib.repr(y)}" if is_name else f"{sample_weight=}"
        raise ValueError(
            f"{what} names a column, but X ({type(X).__name__}) has no named columns. "
            "Give the values, or X as a frame or the path of a file."
        )
    taken = _names(y, "y") if is_name else []
    if isinstance(sample_weight, str):
        taken = [*taken, sample_weight]
    refuse_same_names(X)
    refuse_absent(taken, list(X.columns), "the frame")
    if len(set(taken)) < len(taken):
        raise TableError(
            f"y and sample_weight name {listed(taken)}; a column can be named once."
        )
    if isinstance(sample_weight, str):
        sample_weight = X[sample_weight]
    y = X[y] if is_name else y
    kept = [name for name in X.columns if name not in taken]
    return Chunk(X[kept], y, sample_weight)


def _is_named(X: Any, y: Any) -> bool:
    """Whether y is the name of a column, or a list of such, and no label per row."""
    if not isinstance(y, list):
        return isinstance(y, str)
    if not y or not all(isinstance(name, str) for name in y):
        return False
    n_rows = (getattr(X, "shape", None) or (len(X),))[0]
    names = list(getattr(X, "columns", ()))
    return len(y) != n_rows or (len(set(y)) == len(y) and all(n in names for n in y))


def _names(y: Any, what: str) -> list[str]:
    names = [y] if isinstance(y, str) else y
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"{what} is {type(y).__name__}; for a file give the name of its column, or "
            "a list of names."
        )
    return names


def _refuse_two_roles(features: list, targets: list, sample_weight: Any) -> None:
    """Raise where one column is asked for twice."""
    roles = [*(("a feature", name) for name in features)]
    roles += [*(("the target", name) for name in targets)]
    roles += [("the weight", sample_weight)] if sample_weight else []
    seen: dict[str, str] = {}
    for role, name in roles:
        if name in seen:
            raise TableError(
                f"the column {name!r} is {seen[name]} and {role} at once; name it once."
            )
        seen[name] = role


def _as_chunk(table: Any, y: Any, sample_weight: Any) -> Chunk:
    """Read one item of an iterator."""
    if isinstance(table, tuple) and len(table) in (2, 3) and y is None:
        # copies: who makes the chunks may fill one buffer again and again
        return Chunk(*(copy.copy(part) for part in table))
    if y is None or isinstance(table, tuple):
        raise TypeError(
            f"a chunk is {type(table).__name__} and y={y!r}; give chunks as tuples "
            "(X, y) or (X, y, sample_weight), or as frames with y= the name of a "
            "column."
        )
    return named_columns(table, y, sample_weight)


def _file_source(file: TableFile, targets: list[str], y, sample_weight) -> Source:
    """Return the rows of a file, by the columns asked for."""
    if sample_weight is not None and not isinstance(sample_weight, str):
        raise TypeError(
            f"sample_weight is {type(sample_weight).__name__}; for a file give the "
            "name of its column."
        )
    beside = [*targets, *([sample_weight] if sample_weight else [])]
    features = _features(file, beside)
    _refuse_two_roles(features, targets, sample_weight)
    path, columns = Path(file.path), features + beside
    check_numbers(path, columns)

    def chunks() -> Iterator[Chunk]:
        import pandas

        for values in read_numbers(path, columns, CHUNK_DOUBLES):
            X, target, weight = np.split(
                values, [len(features), len(features) + len(targets)], axis=1
            )
            yield Chunk(
                pandas.DataFrame(X, columns=features, copy=False),
                (target[:, 0] if isinstance(y, str) else target) if targets else None,
                weight[:, 0] if sample_weight else None,
            )

    return Source(chunks, row_count(path), True)


def _features(file: TableFile, beside: list[str]) -> list[str]:
    """Return the columns to use as features: those asked for, or all others."""
    if file.columns is not None:
        return list(file.columns)
    names = column_names(Path(file.path))
    refuse_absent(beside, names, str(file.path))
    features = [name for name in names if name not in beside]
    if not features:
        raise TableError(
            f"{file.path} has no column left to be a feature; its columns are "
            f"{listed(names)}."
        )
    return features
