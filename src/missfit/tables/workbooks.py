"""Excel workbooks: a sheet as a table of text, read by calamine after a look inside.

Calamine keeps room for every cell between the first and the last that hold a value, and
ends the process where there is no such room. A sheet whose last cell is far away is
refused before.
"""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from missfit.tables.columns import shown
from missfit.tables.layout import Header, header_of
from missfit.tables.options import ReadOptions
from missfit.tables.packed import DAMAGED, FREE_BYTES, MOST_RATIO
from missfit.tables.problems import Problems, TableError, as_line, listed, needs
from missfit.tables.text_table import TextTable

WORKBOOKS = (".xlsx", ".xlsm")
COVER = 0.1  # share of the cells of the largest sheet up to which one is no table
LOOKED_AT = 200  # rows in which the header is looked for
BATCH = 20_000  # rows that become a batch of Arrow
BLOCK = 2**20  # bytes of a sheet that are looked at together
MOST_CELLS = 2**25  # of a sheet: 32 bytes each before any is read, a gigabyte
MOST_TAG = 400  # bytes of the tag of a cell
TAG = re.compile(
    rb"""<(?:\w+:)?(?P<kind>c|row)\b(?P<before>[^<>]*?)\br\s*=\s*["']"""
    rb"""(?P<column>[A-Za-z]{0,7})(?P<row>\d{1,10})["'][^<>]*?(?P<empty>/?)>"""
)


def workbook_table(path: Path, options: ReadOptions) -> TextTable:
    """Return the table of a sheet, which is read whole."""
    sheet, n_sheets = _sheet(path, options.sheet)
    where = f"{path}, sheet {shown(sheet.name)}"
    start = list(islice(_rows(sheet), LOOKED_AT))
    if not start:
        raise TableError(f"{where} is empty; name another sheet, or fill it.")
    header = header_of(start, where, "row")

    def batches(columns, marks, problems: Problems, whole: bool) -> Iterator[Any]:
        del problems, whole  # every row is as wide as the sheet, which is read
        return _batches(sheet, header, columns, set(marks))

    notes = [f"{path.name}: {note}" for note in header.notes]
    return TextTable(
        path,
        header.names,
        ".",
        [*_which_sheet(path, sheet.name, n_sheets, options), *notes],
        batches,
        lambda row: f"row {_row_number(sheet, header, row):,}",
    )


def _which_sheet(path: Path, name: str, n_sheets: int, options: ReadOptions):
    """Say which sheet is read where nobody chose among several."""
    if options.sheet or n_sheets == 1:
        return []
    return [f"{path.name}: sheet {shown(name)}, of {n_sheets}, is read"]


def _sheet(path: Path, name: str | None) -> tuple[Any, int]:
    """Return the sheet of a name, or the first with a table, and their number."""
    try:
        import python_calamine as calamine
    except ImportError as error:
        raise needs("python-calamine", error, "excel") from error
    _look_inside(path)
    try:
        book = calamine.CalamineWorkbook.from_path(path)
        names = book.sheet_names
        if name is None:
            return _first_table(book, path), len(names)
        if name in names:
            return book.get_sheet_by_name(name), len(names)
    except TableError:
        raise
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # also a panic of Rust, which is no Exception
        raise _not_whole(path, error) from error
    raise TableError(
        f"{path} has no sheet {shown(name)}; its sheets are "
        f"{listed([shown(one) for one in names])}.",
        column=name,
        role="sheet",
    )


def _first_table(book: Any, path: Path) -> Any:
    """Return the first sheet that is not much smaller than the largest, as a cover."""
    sheets = [book.get_sheet_by_name(name) for name in book.sheet_names]
    n_cells = [sheet.height * sheet.width for sheet in sheets]
    most = max(n_cells, default=0)
    if not most:
        raise TableError(f"{path} has no sheet with a value in it; fill one.")
    return next(s for s, n in zip(sheets, n_cells, strict=True) if n > COVER * most)


def _not_whole(path: Path, error: BaseException) -> TableError:
    return TableError(
        f"{path} is not a whole Excel workbook ({as_line(error)}); open it in Excel "
        "and save it as .xlsx without a password, or as CSV."
    )


def _look_inside(path: Path) -> None:
    """Raise where a workbook unpacks to too much, or a sheet reaches too far."""
    room = max(FREE_BYTES, MOST_RATIO * path.stat().st_size)
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if member.filename.lower().endswith((".xml", ".rels")):
                    member.file_size = 2**62  # what the archive says may be too little
                    room -= _looked_at(archive, member, path, room)
    except TableError:
        raise
    except DAMAGED as error:
        raise _not_whole(path, error) from error


def _looked_at(archive, member, path: Path, room: int) -> int:
    """Return the bytes of a part of a workbook; raise where they are too many."""
    n_bytes, rows, columns, rest = 0, 0, 0, b""
    sheet = "sheet" in member.filename.lower()
    with archive.open(member) as file:
        while block := file.read(BLOCK):
            n_bytes += len(block)
            if n_bytes > room:
                raise TableError(
                    f"{path} unpacks to more than {MOST_RATIO} times its size, as a "
                    "file does that is made to fill the memory; save the table as CSV."
                )
            if sheet:
                block = rest + block
                rows, columns = _reach(block, rows, columns)
                rest = block[-MOST_TAG:]
            if rows * columns > MOST_CELLS:
                raise TableError(
                    f"{path}: a sheet has values up to row {rows:,} and column "
                    f"{columns:,}, {rows * columns:,} cells in all; delete what lies "
                    "far from the table, or save the table as CSV."
                )
    return n_bytes


def _reach(block: bytes, rows: int, columns: int) -> tuple[int, int]:
    """Return the last row and column that hold a value, of those before and these."""
    for tag in TAG.finditer(block):
        if not tag["empty"]:
            rows = max(rows, int(tag["row"]))
            if tag["kind"] == b"c":
                columns = max(columns, _column_number(tag["column"].upper()))
    # cells need not say where they are: then they come one after another
    return rows, max(columns, 1)


def _column_number(letters: bytes) -> int:
    """Return the number of a column.

    >>> _column_number(b"A"), _column_number(b"XFD")
    (1, 16384)
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _batches(
    sheet: Any, header: Header, columns: Sequence[str], marks: set[str]
) -> Iterator[Any]:
    """Yield the rows below the header that are not empty."""
    import pyarrow as pa

    places = [header.names.index(name) for name in columns]
    rows = (row for row in islice(_rows(sheet), header.row + 1, None) if any(row))
    while some := list(islice(rows, BATCH)):
        values = [
            pa.array([None if row[j] in marks else row[j] for row in some], "str")
            for j in places
        ]
        yield pa.RecordBatch.from_arrays(values, list(columns))


def _row_number(sheet: Any, header: Header, row: int) -> int:
    """Return the number of a row of the table among the rows of its sheet, from 1."""
    filled = (k for k, values in enumerate(_rows(sheet), 1) if any(values))
    below = (k for k in filled if k > header.row + 1)
    return next(islice(below, row, None), header.row + 2)


def _rows(sheet: Any) -> Iterator[list[str]]:
    """Yield all rows of a sheet as text, from the first column that holds a value."""
    for row in sheet.iter_rows():
        yield [_text(value) for value in row]


def _text(value: Any) -> str:
    """Write the value of a cell.

    >>> [_text(value) for value in (3.0, 0.5, True, datetime.date(2024, 1, 31))]
    ['3', '0.5', 'True', '2024-01-31']
    """
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 1e15
        return str(int(value)) if whole else repr(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    if isinstance(value, datetime.timedelta):
        return repr(value / datetime.timedelta(days=1))
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)
