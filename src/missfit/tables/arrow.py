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

from missfit.tables.problems import (
    TableError,
    as_line,
    refuse_absent,
    refuse_duplicates,
)

BATCH = 2**17  # rows of a Parquet file that are read at once


def arrow_names(path: Path, kind: str) -> list[str]:
    """Return the names of the columns of a "parquet" or "feather" file."""
    with ExitStack() as stack:
        _, names = _opened(path, kind, stack)
    refuse_duplicates(names, path)
    return names


def arrow_chunks(
    path: Path, kind: str, columns: list[str], rows: int | None
) -> Iterator[Any]:
    """Yield DataFrames of some columns, of at most so many rows (None: as stored)."""
    refuse_absent(columns, arrow_names(path, kind), path)
    with ExitStack() as stack:
        file, _ = _opened(path, kind, stack)
        try:
            for batch in _batches(file, columns, rows):
                # the names and types of pandas, which the schema holds too, may be
                # damaged, and would make columns into an index
                batch = batch.select(columns).replace_schema_metadata()
                batch.validate(full=True)
                step = max(1, rows or len(batch))
                for start in range(0, len(batch), step):
                    yield batch.slice(start, step).to_pandas()
        except Exception as error:  # whatever a damaged file makes Arrow raise
            raise TableError(f"{path} cannot be read ({as_line(error)}).") from error


def _batches(file: Any, columns: list[str], rows: int | None) -> Iterator[Any]:
    if hasattr(file, "iter_batches"):
        return file.iter_batches(batch_size=min(rows or BATCH, BATCH), columns=columns)
    return (file.get_batch(i) for i in range(file.num_record_batches))


def _opened(path: Path, kind: str, stack: ExitStack) -> tuple[Any, list[str]]:
    """Return the reader of a file, which the stack closes, and the names in it."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            'Parquet and Feather files need pyarrow: pip install "missfit[table]"'
        ) from error
    try:
        file: Any = stack.enter_context(pa.OSFile(str(path)))
        if kind == "parquet":
            file = stack.enter_context(pyarrow.parquet.ParquetFile(file))
            return file, list(file.schema_arrow.names)
        file = stack.enter_context(pa.ipc.open_file(file))
        return file, list(file.schema.names)
    except Exception as error:  # whatever a damaged file makes Arrow raise
        raise TableError(
            f"{path} is not a whole {kind.capitalize()} file ({as_line(error)})."
        ) from error
