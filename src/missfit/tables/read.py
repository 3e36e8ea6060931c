"""Reading a table: its format by the end of its name, its columns, its rows."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.tables.arrow import (
    arrow_chunks,
    arrow_names,
    arrow_numbers,
    arrow_rows,
    refuse_other_than_numbers,
)
from missfit.tables.csv_rows import csv_chunks, csv_numbers
from missfit.tables.csv_text import PACKED, csv_dialect
from missfit.tables.options import ReadOptions
from missfit.tables.problems import (
    NoTableError,
    TableError,
    existing_place,
    refuse_absent,
)

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


class Stored(NamedTuple):
    """A table in a file, or in the Parquet files of a folder, one after another."""

    kind: str
    parts: list[Path]


def stored(path: str | Path) -> Stored:
    """Find a table: its format, and the files that hold it."""
    path = existing_place(path)
    if path.is_dir():
        parts = sorted(path.glob("*.parquet"))
        if not parts:
            raise NoTableError(f"there is no *.parquet file in the folder {path}.")
        return Stored("parquet", [existing_place(part) for part in parts])
    packed = path.suffix.lower() in PACKED
    kind = FORMATS.get((path.with_suffix("") if packed else path).suffix.lower())
    if kind is None or (packed and kind != "csv"):
        raise TableError(
            f"{path}: the end of the name says no known format; rename it to one of "
            f"{', '.join(FORMATS)}, or, for a packed text file, to .csv.gz."
        )
    return Stored(kind, [path])


def column_names(path: str | Path, options: ReadOptions | None = None) -> list[str]:
    """Return the names of a table's columns, without reading its rows."""
    kind, parts = stored(path)
    return csv_dialect(parts[0]).names if kind == "csv" else arrow_names(parts[0], kind)


def row_count(path: str | Path) -> int | None:
    """Return the number of rows where it is known before they are read."""
    kind, parts = stored(path)
    counts = [None if kind == "csv" else arrow_rows(part, kind) for part in parts]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(parts) else None


def read_table(
    path: str | Path, options: ReadOptions | None = None, *, text: Sequence[str] = ()
) -> Any:
    """Return a table as a pandas DataFrame.

    Parameters
    ----------
    path : str or Path
        CSV (any of , ; tab | between values, decimal point or comma, with or without
        a BOM, also packed as .gz, .bz2 or .xz), Parquet or Feather, by the end of its
        name, or a folder whose ``*.parquet`` files are read in the order of their
        names.
    options : ReadOptions, optional
        Encoding, sheet and marks of missing values, where they are known.
    text : sequence of str
        Columns of a CSV file to read as text, whatever they look like.
    """
    names = column_names(path, options)
    chunks = list(read_chunks(path, names, options, text=text, rows=None))
    if not chunks:
        raise TableError(f"{path} has a header and no rows; add rows.")
    if len(chunks) == 1:
        return chunks[0]
    import pandas as pd

    return pd.concat(chunks, ignore_index=True)


def read_chunks(
    path: str | Path,
    columns: Sequence[str],
    options: ReadOptions | None = None,
    *,
    text: Sequence[str] = (),
    rows: int | None = CHUNK,
) -> Generator[Any]:
    """Yield some columns of a table in DataFrames of at most so many rows, in order."""
    kind, parts = stored(path)
    for part in parts:
        if kind == "csv":
            yield from csv_chunks(part, list(columns), text, rows)
        else:
            yield from arrow_chunks(part, kind, list(columns), rows)


def check_numbers(path: str | Path, columns: Sequence[str]) -> None:
    """Raise where the table lacks a column, or its types say that it holds no numbers.

    The types of a CSV file are known only where its rows are read.
    """
    kind, parts = stored(path)
    for part in parts:
        if kind == "csv":
            refuse_absent(columns, csv_dialect(part).names, part)
        else:
            refuse_other_than_numbers(part, kind, list(columns))


def read_numbers(
    path: str | Path, columns: Sequence[str], doubles: int
) -> Iterator[NDArray[np.float64]]:
    """Yield some columns as arrays of about so many numbers each, NaN where missing."""
    kind, parts = stored(path)
    for part in parts:
        if kind == "csv":
            yield from csv_numbers(part, list(columns), doubles)
        else:
            rows = max(1, doubles // len(columns))
            yield from arrow_numbers(part, kind, list(columns), rows)
