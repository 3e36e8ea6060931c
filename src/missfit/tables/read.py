"""Reading a table: its format by the end of its name, its columns, its rows."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from missfit.tables.arrow import arrow_chunks, arrow_names
from missfit.tables.csv_text import csv_chunks, csv_dialect
from missfit.tables.problems import TableError, existing_file

CHUNK = 50_000  # rows
FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
}


def column_names(path: str | Path) -> list[str]:
    """Return the names of a table's columns, without reading its rows."""
    path = existing_file(path)
    kind = _format(path)
    return csv_dialect(path).names if kind == "csv" else arrow_names(path, kind)


def read_table(path: str | Path, *, text: Sequence[str] = ()) -> Any:
    """Return a table as a pandas DataFrame.

    Parameters
    ----------
    path : str or Path
        CSV (any of , ; tab | between values, with or without a BOM), Parquet or
        Feather, by the end of its name.
    text : sequence of str
        Columns of a CSV file to read as text, whatever they look like.
    """
    import pandas as pd

    names = column_names(path)
    chunks = list(read_chunks(path, names, text=text, rows=None))
    if not chunks:
        raise TableError(f"{path} has a header and no rows; add rows.")
    return chunks[0] if len(chunks) == 1 else pd.concat(chunks, ignore_index=True)


def read_chunks(
    path: str | Path,
    columns: Sequence[str],
    *,
    text: Sequence[str] = (),
    rows: int | None = CHUNK,
) -> Generator[Any]:
    """Yield some columns of a table in DataFrames of at most so many rows, in order."""
    path = existing_file(path)
    kind = _format(path)
    if kind == "csv":
        yield from csv_chunks(path, list(columns), text, rows)
    else:
        yield from arrow_chunks(path, kind, list(columns), rows)


def _format(path: Path) -> str:
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise TableError(
            f"{path}: the end of the name says no known format; rename it to one of "
            f"{', '.join(FORMATS)}."
        )
    return kind
