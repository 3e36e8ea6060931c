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
from missfit.tables.options import ReadOptions
from missfit.tables.packed import PACKED, TEXT, text_suffix
from missfit.tables.problems import (
    NoTableError,
    Problems,
    TableError,
    existing_place,
    refuse_absent,
)
from missfit.tables.text_table import TextTable, csv_table, text_chunks, text_numbers
from missfit.tables.workbooks import WORKBOOKS, workbook_table

CHUNK = 50_000  # rows
ARROW = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
}
FORMATS = (*TEXT, *WORKBOOKS, *ARROW)
SPREADSHEETS = {".xls": "an old Excel", ".xlsb": "a binary Excel"}
SPREADSHEETS |= {".ods": "an OpenDocument", ".numbers": "a Numbers"}
PANDAS = {".json": "json", ".dta": "stata", ".sav": "spss", ".sas7bdat": "sas"}
PANDAS |= {".xpt": "sas", ".orc": "orc", ".h5": "hdf", ".pkl": "pickle"}


class Stored(NamedTuple):
    """A table in a file, or in the Parquet files of a folder, one after another."""

    kind: str  # "csv", "workbook", "parquet" or "feather"
    parts: list[Path]


def stored(path: str | Path) -> Stored:
    """Find a table: its format, and the files that hold it."""
    path = existing_place(path)
    if path.is_dir():
        parts = sorted(path.glob("*.parquet"))
        if not parts:
            raise NoTableError(
                f"there is no *.parquet file in the folder {path}; give a folder of "
                "Parquet files, or one file."
            )
        return Stored("parquet", [existing_place(part) for part in parts])
    suffix = path.suffix.lower()
    kind = "csv" if text_suffix(path) else ARROW.get(suffix)
    kind = "workbook" if suffix in WORKBOOKS else kind
    if kind is None:
        raise TableError(f"{path}: {_way_to_read(suffix)}")
    return Stored(kind, [path])


def _way_to_read(suffix: str) -> str:
    """Say how a file can be read whose name ends with none of the known formats."""
    if suffix in SPREADSHEETS:
        return (
            f"{SPREADSHEETS[suffix]} workbook is not read; open it in a spreadsheet "
            "program and save it as .xlsx, or as CSV."
        )
    if suffix in PANDAS:
        return (
            f"a {suffix} file is not read; save the table as CSV or Parquet. In "
            f"Python, pandas.read_{PANDAS[suffix]} makes a frame of it, which "
            "missfit.compare and missfit.fit_table take."
        )
    return (
        f"the end of the name says no known format; rename it to one of "
        f"{', '.join(FORMATS)}, or, for a packed text file, to one such as .csv.gz "
        f"({', '.join(PACKED)})."
    )


class OpenTable(NamedTuple):
    """A table of which the names are known and the rows not yet read."""

    kind: str
    parts: list[Path]
    text: TextTable | None  # of a text file or a workbook
    names: list[str]


def open_table(path: str | Path, options: ReadOptions | None = None) -> OpenTable:
    """Find a table and the names of its columns, without reading its rows."""
    kind, parts = stored(path)
    options = options or ReadOptions()
    if kind in ("csv", "workbook"):
        make = csv_table if kind == "csv" else workbook_table
        text = make(parts[0], options)
        return OpenTable(kind, parts, text, text.names)
    return OpenTable(kind, parts, None, arrow_names(parts[0], kind))


def column_names(path: str | Path, options: ReadOptions | None = None) -> list[str]:
    """Return the names of a table's columns, without reading its rows."""
    return open_table(path, options).names


def row_count(path: str | Path) -> int | None:
    """Return the number of rows where it is known before they are read."""
    kind, parts = stored(path)
    if kind in ("csv", "workbook"):
        return None
    counts = [arrow_rows(part, kind) for part in parts]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(parts) else None


def read_table(
    path: str | Path | OpenTable,
    options: ReadOptions | None = None,
    *,
    columns: Sequence[str] | None = None,
    text: Sequence[str] = (),
    problems: Problems | None = None,
) -> Any:
    """Return a table as a pandas DataFrame.

    Columns of a text file or a workbook that hold plain numbers, or True and False,
    are read as such; all others are text. Numbers that begin with 0, as 00501, stay
    text, since they are codes.

    Parameters
    ----------
    path : str, Path or OpenTable
        By the end of its name: a text file (any of , ; tab | between values, decimal
        point or comma, in UTF-8, UTF-16 or cp1252, also packed as .gz, .bz2, .xz or
        .zip), an Excel workbook, Parquet or Feather; or a folder whose
        ``*.parquet`` files are read in the order of their names.
    options : ReadOptions, optional
        Encoding, sheet and marks of missing values, where they are known.
    columns : sequence of str, optional
        The columns to read; all if None.
    text : sequence of str
        Columns of a text file or a workbook to read as text, whatever they look like.
    problems : Problems, optional
        Takes notes on what was decided.
    """
    table = path if isinstance(path, OpenTable) else open_table(path, options)
    asked = {"text": text, "rows": None, "problems": problems}
    columns = table.names if columns is None else columns
    chunks = list(read_chunks(table, columns, options, **asked))
    if not chunks:
        raise TableError(f"{table.parts[0]} has a header and no rows; add rows.")
    if len(chunks) == 1:
        return chunks[0]
    import pandas as pd

    return pd.concat(chunks, ignore_index=True)


def read_chunks(
    path: str | Path | OpenTable,
    columns: Sequence[str],
    options: ReadOptions | None = None,
    *,
    text: Sequence[str] = (),
    rows: int | None = CHUNK,
    problems: Problems | None = None,
) -> Generator[Any]:
    """Yield some columns of a table in DataFrames of at most so many rows, in order."""
    options, problems = options or ReadOptions(), problems or Problems()
    table = path if isinstance(path, OpenTable) else open_table(path, options)
    if table.text is not None:
        refuse_absent(columns, table.names, table.parts[0])
        asked = (table.text, list(columns), options, problems)
        yield from text_chunks(*asked, text=text, rows=rows)
        return
    for part in table.parts:
        for frame in arrow_chunks(part, table.kind, list(columns), rows):
            yield without_marks(frame, options.na)


def without_marks(frame: Any, na: Sequence[str]) -> Any:
    """Return a DataFrame with nothing where a mark of a missing value stands."""
    if not na:
        return frame
    from missfit.tables.text_columns import is_number

    numbers = [float(mark) for mark in na if is_number(mark)]
    for name in frame.columns:
        kind = getattr(frame[name].dtype, "kind", "O")
        marks = numbers if kind in "iuf" else list(na)
        marked = frame[name].isin(marks)
        if marked.any():
            frame = frame.assign(**{name: frame[name].mask(marked)})
    return frame


def check_numbers(path: str | Path, columns: Sequence[str]) -> None:
    """Raise where the table lacks a column, or its types say that it holds no numbers.

    The types of a text file are known only where its rows are read.
    """
    table = open_table(path)
    for part in table.parts:
        if table.text is not None:
            refuse_absent(columns, table.names, part)
        else:
            refuse_other_than_numbers(part, table.kind, list(columns))


def read_numbers(
    path: str | Path, columns: Sequence[str], doubles: int
) -> Iterator[NDArray[np.float64]]:
    """Yield some columns as arrays of about so many numbers each, NaN where missing."""
    table = open_table(path)
    if table.text is not None:
        refuse_absent(columns, table.names, table.parts[0])
        yield from text_numbers(table.text, list(columns), doubles)
        return
    for part in table.parts:
        rows = max(1, doubles // len(columns))
        yield from arrow_numbers(part, table.kind, list(columns), rows)
