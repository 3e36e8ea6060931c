"""Tables that are written chunk by chunk, and appear whole or not at all."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from missfit.tables.problems import TableError
from missfit.writing import whole_file

PARQUET = (".parquet", ".pq")
OTHERS = (".feather", ".arrow", ".xlsx", ".xls")  # formats that are only read


def is_parquet(out: str | Path | None) -> bool:
    """Return whether a table is written as Parquet, by the end of its name."""
    return out is not None and Path(out).suffix.lower() in PARQUET


def check_format(out: str | Path | None) -> None:
    """Raise where a table cannot be written in the format that its name says."""
    if out is not None and Path(out).suffix.lower() in OTHERS:
        raise TableError(
            f"{out}: tables are written as CSV or Parquet; let the name end with .csv "
            "or .parquet."
        )


@contextlib.contextmanager
def table_sink(out: str | Path | None) -> Iterator[Callable[[Any], None]]:
    """Yield a function that writes a pandas frame; the first one says the columns.

    Parameters
    ----------
    out : str or Path, optional
        The file: Parquet where its name ends with .parquet, otherwise CSV. None is
        standard output.
    """
    if out is None:
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as spool:
            yield _csv_writer(spool)
            spool.seek(0)
            shutil.copyfileobj(spool, sys.stdout)
            sys.stdout.flush()
        return
    with whole_file(out) as part:
        if is_parquet(out):
            with contextlib.closing(_ParquetWriter(part)) as writer:
                yield writer.write
        else:
            with part.open("w", encoding="utf-8", newline="") as file:
                yield _csv_writer(file)


def _csv_writer(file: Any) -> Callable[[Any], None]:
    """Return a function that appends a frame to a text file, with a head at first."""

    def write(frame: Any) -> None:
        head = file.tell() == 0
        frame.to_csv(file, header=head, index=False, lineterminator="\n")

    return write


class _ParquetWriter:
    """Appends frames to a Parquet file, whose types are those of the first frame."""

    def __init__(self, path: Path):
        self.path = path
        self.writer: Any = None

    def write(self, frame: Any) -> None:
        """Append a frame as a row group."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = None if self.writer is None else self.writer.schema
        table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        if self.writer is None:
            self.writer = pq.ParquetWriter(self.path, table.schema)
        self.writer.write_table(table)

    def close(self) -> None:
        """Write the end of the file."""
        if self.writer is not None:
            self.writer.close()
