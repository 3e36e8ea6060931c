"""Tables that come in chunks: files, iterators, and columns asked for by name.

Nothing here holds more than a chunk. Dask collections are named here and read in
`missfit.estimators.streams`.
"""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from missfit.tables.arrays import refuse_same_names
from missfit.writing import kind_of_place

CHUNK_DOUBLES = 2**22  # 32 MB: rows read or worked on at once
MAX_NAMES = 10  # of columns in an error message
NEEDS_PYARROW = 'Reading files takes pyarrow and pandas: pip install "missfit[study]".'


class Chunk(NamedTuple):
    """Some consecutive rows, as they came."""

    X: Any
    y: Any
    weight: Any = None


@dataclass(frozen=True)
class TableFile:
    """Some columns of a Parquet or CSV file, or of a folder of Parquet files.

    Where a path stands for all columns of its file, this stands for a choice of them.

    Parameters
    ----------
    path : str or path
        A ``.parquet`` or ``.csv`` file (or ``.csv.gz``, ...), or a folder whose
        ``*.parquet`` files are read in the order of their names.
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
    is_name = isinstance(y, str) or (
        isinstance(y, list) and bool(y) and all(isinstance(name, str) for name in y)
    )
    if not is_name and not isinstance(sample_weight, str):
        return Chunk(X, y, sample_weight)
    if not hasattr(X, "columns"):
        what = f"y={y!r}" if is_name else f"sample_weight={sample_weight!r}"
        raise ValueError(
            f"{what} names a column, but X ({type(X).__name__}) has no named columns. "
            "Give the values, or X as a frame or the path of a file."
        )
    taken = _names(y, "y") if is_name else []
    if isinstance(sample_weight, str):
        taken = [*taken, sample_weight]
    refuse_same_names(X)
    _refuse_clash(taken, list(X.columns))
    if isinstance(sample_weight, str):
        sample_weight = X[sample_weight]
    y = X[y] if is_name else y
    kept = [name for name in X.columns if name not in taken]
    return Chunk(X[kept], y, sample_weight)


def _refuse_clash(taken: list[str], names: list) -> None:
    """Raise where a name is not that of a column, or is given twice."""
    _refuse_unknown(taken, names, "the frame")
    if len(set(taken)) < len(taken):
        raise ValueError(
            f"y and sample_weight name {_listed(taken)}; a column can be named once."
        )


def _names(y: Any, what: str) -> list[str]:
    names = [y] if isinstance(y, str) else y
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"{what} is {type(y).__name__}; for a file give the name of its column, or "
            "a list of names."
        )
    return names


def _refuse_unknown(names: list, known: list, where: str) -> None:
    """Raise where a name is no column, or that of two."""
    count = Counter(known)
    for name in names:
        if not count[name]:
            raise ValueError(
                f"no column {name!r} in {where}; its columns are {_listed(known)}."
            )
        if count[name] > 1:
            raise ValueError(
                f"{count[name]} columns of {where} are named {name!r}; give each a "
                "name of its own."
            )


def _refuse_two_roles(features: list, targets: list, sample_weight: Any) -> None:
    """Raise where one column is asked for twice."""
    roles = [*(("a feature", name) for name in features)]
    roles += [*(("the target", name) for name in targets)]
    roles += [("the weight", sample_weight)] if sample_weight else []
    seen: dict[str, str] = {}
    for role, name in roles:
        if name in seen:
            raise ValueError(
                f"the column {name!r} is {seen[name]} and {role} at once; name it once."
            )
        seen[name] = role


def _listed(names: list) -> str:
    shown = ", ".join(map(str, names[:MAX_NAMES]))
    more = len(names) - MAX_NAMES
    return shown + (f" and {more} more" if more > 0 else "")


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
    reader = _reader(Path(file.path))
    if file.columns is None:
        features = [name for name in reader.names if name not in beside]
    else:
        features = list(file.columns)
    _refuse_unknown([*beside, *features], reader.names, str(file.path))
    _refuse_two_roles(features, targets, sample_weight)
    if not features:
        raise ValueError(
            f"{file.path} has no column left to be a feature; its columns are "
            f"{_listed(reader.names)}."
        )
    reader.check(features + beside)
    pandas, _ = _load_arrow()

    def chunks() -> Iterator[Chunk]:
        for batch in reader.batches(features + beside):
            X = np.empty((batch.num_rows, len(features)))
            for j, name in enumerate(features):
                X[:, j] = _values(batch, name)
            target = None
            if targets:
                target = np.column_stack([_values(batch, name) for name in targets])
                target = target[:, 0] if isinstance(y, str) else target
            weight = _values(batch, sample_weight) if sample_weight else None
            yield Chunk(
                pandas.DataFrame(X, columns=features, copy=False), target, weight
            )

    return Source(chunks, reader.n_rows, True)


def _load_arrow() -> tuple[Any, Any]:
    try:
        import pandas
        import pyarrow
    except ImportError as error:
        raise ImportError(f"{NEEDS_PYARROW} ({error})") from error
    return pandas, pyarrow


def _values(batch: Any, name: str) -> Any:
    """Return a column as float64 with NaN for null."""
    column = batch.column(name)
    if not _load_arrow()[1].types.is_float64(column.type):
        column = column.cast("float64")
    return column.to_numpy(zero_copy_only=False)


class _Reader(NamedTuple):
    """How to read one kind of file: its columns, rows, a check, and its batches."""

    names: list[str]
    n_rows: int | None
    check: Callable[[list[str]], None]
    batches: Callable[[list[str]], Iterator[Any]]


def _reader(path: Path) -> _Reader:
    kind = kind_of_place(path)
    if not kind:
        raise FileNotFoundError(f"no file {path}.")
    if kind not in ("a file", "a folder"):
        raise ValueError(
            f"{path} is {kind}, which can be read only once. Save it in a file first, "
            "or give chunks: fit(iterator of (X, y))."
        )
    _load_arrow()
    if path.is_dir() or path.suffix.lower() in (".parquet", ".pq"):
        return _parquet_reader(path)
    if ".csv" in [suffix.lower() for suffix in path.suffixes]:
        return _csv_reader(path)
    raise ValueError(
        f"{path} is neither a .parquet nor a .csv file, nor a folder. Give chunks "
        "instead: fit(iterator of (X, y))."
    )


def _chunk_rows(n_columns: int) -> int:
    return max(1, CHUNK_DOUBLES // n_columns)


def _parquet_reader(path: Path) -> _Reader:
    """Read row group by row group, of the columns asked for alone."""
    from pyarrow import parquet

    parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not parts:
        raise FileNotFoundError(f"no *.parquet file in the folder {path}.")
    metadata = [_sound(parquet.read_metadata, part) for part in parts]
    schemas = [_sound(parquet.read_schema, part) for part in parts]

    def check(names: list[str]) -> None:
        for schema, part in zip(schemas, parts, strict=True):
            _refuse_unknown(names, schema.names, str(part))
            for name in names:
                _refuse_text(name, schema.field(name).type, path)

    def batches(names: list[str]) -> Iterator[Any]:
        size = _chunk_rows(len(names))
        for part in parts:
            # pre_buffer would keep all that was read until the file is closed
            with _sound(parquet.ParquetFile, part, pre_buffer=False) as file:
                for groups in _row_groups(file.metadata, size):
                    yield from _valid(file.iter_batches(size, groups, names), part)

    n_rows = sum(one.num_rows for one in metadata)
    return _Reader(schemas[0].names, n_rows, check, batches)


def _sound(read: Callable, path: Path, **options: Any) -> Any:
    """Read from a Parquet file that may be damaged."""
    try:
        return read(path, **options)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} is not a whole Parquet file ({error}).") from error


def _valid(batches: Iterator[Any], path: Path) -> Iterator[Any]:
    """Yield batches that are checked: Arrow trusts what a file says otherwise."""
    from pyarrow import ArrowException

    try:
        for batch in batches:
            batch.validate(full=True)
            yield batch
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} cannot be read ({error}).") from error


def _refuse_text(name: str, kind: Any, path: Path) -> None:
    """Raise where a column of Arrow's type does not hold numbers."""
    from pyarrow import types

    known = (types.is_floating, types.is_integer, types.is_boolean)
    known = (*known, types.is_decimal, types.is_null)
    if not any(is_kind(kind) for is_kind in known):
        raise TypeError(
            f"column {name!r} of {path} holds {kind}, not numbers. Encode it first, or "
            "leave it out: TableFile(path, columns=[...])."
        )


def _row_groups(metadata: Any, n_rows: int) -> Iterator[list[int]]:
    """Yield consecutive row groups that hold about ``n_rows`` rows together."""
    groups, held = [], 0
    for number in range(metadata.num_row_groups):
        groups.append(number)
        held += metadata.row_group(number).num_rows
        if held >= n_rows or number == metadata.num_row_groups - 1:
            yield groups
            groups, held = [], 0


def _csv_reader(path: Path) -> _Reader:
    """Read block by block; the number of rows is not known before the end."""
    from pyarrow import ArrowException, ArrowInvalid, csv

    try:
        with csv.open_csv(path) as file:
            names = file.schema.names
    except (ArrowException, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as CSV ({error}).") from error

    def batches(chosen: list[str]) -> Iterator[Any]:
        # a type given beforehand: the first block may hold nothing but gaps
        options = csv.ConvertOptions(
            include_columns=chosen, column_types=dict.fromkeys(chosen, "float64")
        )
        block = csv.ReadOptions(block_size=CHUNK_DOUBLES * 8)
        try:
            with csv.open_csv(
                path, read_options=block, convert_options=options
            ) as file:
                yield from file
        except ArrowInvalid as error:
            raise TypeError(
                f"{path} cannot be read as numbers ({error}). Encode the column first, "
                "or leave it out: TableFile(path, columns=[...])."
            ) from error

    return _Reader(names, None, lambda names: None, batches)
