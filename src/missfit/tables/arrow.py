"""Parquet and Feather files, which may be damaged: read by Arrow, checked, in batches.

Nothing is mapped into memory, where a file that is cut short kills the process, and
every batch is validated before a value of it is used: Arrow trusts the offsets that a
file holds otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.tables.columns import shown
from missfit.tables.problems import (
    TableError,
    as_line,
    needs,
    refuse_absent,
    refuse_duplicates,
)

BATCH = 2**17  # rows of a Parquet file that are read at once


def arrow_names(path: Path, kind: str) -> list[str]:
    """Return the names of the columns of a "parquet" or "feather" file."""
    with ExitStack() as stack:
        _, schema = _opened(path, kind, stack)
        names = list(schema.names)
    refuse_duplicates(names, path)
    return names


def arrow_rows(path: Path, kind: str) -> int | None:
    """Return the number of rows, which only Parquet files tell beforehand."""
    with ExitStack() as stack:
        file, _ = _opened(path, kind, stack)
        return file.metadata.num_rows if kind == "parquet" else None


def refuse_other_than_numbers(path: Path, kind: str, columns: list[str]) -> None:
    """Raise where a column is not there, or its type is not one of numbers."""
    from pyarrow import types

    refuse_absent(columns, arrow_names(path, kind), path)
    with ExitStack() as stack:
        _, schema = _opened(path, kind, stack)
    known = (types.is_floating, types.is_integer, types.is_boolean)
    known = (*known, types.is_decimal, types.is_null)
    for name in columns:
        found = schema.field(name).type
        if not any(is_kind(found) for is_kind in known):
            raise TableError(
                f"{path}: column {shown(name)} holds {found}, not numbers; encode the "
                "column as numbers, or leave it out.",
                column=name,
            )


def arrow_chunks(
    path: Path, kind: str, columns: list[str], rows: int | None
) -> Iterator[Any]:
    """Yield DataFrames of some columns, of at most so many rows (None: as stored)."""
    refuse_absent(columns, arrow_names(path, kind), path)
    for batch in _batches(path, kind, columns, rows):
        yield batch.to_pandas()


def arrow_numbers(
    path: Path, kind: str, columns: list[str], rows: int
) -> Iterator[NDArray[np.float64]]:
    """Yield some columns as arrays of at most so many rows, NaN for null."""
    for batch in _batches(path, kind, columns, rows):
        values = np.empty((len(batch), len(columns)))
        for j, column in enumerate(batch.columns):
            column = column.cast("float64")  # nothing to do where it is so
            values[:, j] = column.to_numpy(zero_copy_only=False)
        yield values


def _batches(path: Path, kind: str, columns: list[str], rows: int | None):
    """Yield record batches that are checked, of at most so many rows."""
    with ExitStack() as stack:
        file, _ = _opened(path, kind, stack)
        read = _parquet_batches if kind == "parquet" else _feather_batches
        try:
            for batch in read(file, columns, rows or BATCH):
                # the names and types of pandas, which the schema holds too, may be
                # damaged, and would make columns into an index
                batch = batch.select(columns).replace_schema_metadata()
                batch.validate(full=True)
                step = max(1, rows or len(batch))
                for start in range(0, len(batch), step):
                    yield batch.slice(start, step)
        except Exception as error:  # whatever a damaged file makes Arrow raise
            raise TableError(f"{path} cannot be read ({as_line(error)}).") from error


def _feather_batches(file: Any, columns: list[str], rows: int) -> Iterator[Any]:
    del columns, rows  # a batch is read as it is stored
    return (file.get_batch(i) for i in range(file.num_record_batches))


def _parquet_batches(file: Any, columns: list[str], rows: int) -> Iterator[Any]:
    """Yield batches of few row groups at once: Arrow keeps those that it reads from."""
    for groups in _row_groups(file.metadata, rows):
        yield from file.iter_batches(rows, groups, columns)


def _row_groups(metadata: Any, n_rows: int) -> Iterator[list[int]]:
    """Yield consecutive row groups that hold about ``n_rows`` rows together."""
    groups, held = [], 0
    for number in range(metadata.num_row_groups):
        groups.append(number)
        held += metadata.row_group(number).num_rows
        if held >= n_rows or number == metadata.num_row_groups - 1:
            yield groups
            groups, held = [], 0


def _opened(path: Path, kind: str, stack: ExitStack) -> tuple[Any, Any]:
    """Return the reader of a file, which the stack closes, and its schema."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise needs("pyarrow and pandas", error) from error
    try:
        file: Any = stack.enter_context(pa.OSFile(str(path)))
        if kind == "parquet":
            # pre_buffer would keep all that was read until the file is closed
            file = pyarrow.parquet.ParquetFile(file, pre_buffer=False)
            file = stack.enter_context(file)
            return file, file.schema_arrow
        file = stack.enter_context(pa.ipc.open_file(file))
        return file, file.schema
    except Exception as error:  # whatever a damaged file makes Arrow raise
        raise TableError(
            f"{path} is not a whole {kind.capitalize()} file ({as_line(error)})."
        ) from error
