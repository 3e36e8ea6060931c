"""How a CSV file is written: read off its first lines, with quotes respected."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from missfit.tables.csv_text import LINE_END, MOST_LINE, binary, not_this_encoding
from missfit.tables.encodings import NotThisEncodingError, Recoder, found_encoding
from missfit.tables.layout import header_of
from missfit.tables.options import ReadOptions
from missfit.tables.packed import Unpacked, refuse_other_formats
from missfit.tables.problems import TableError, as_line

SEPARATORS = ",;\t|"
LOOKED_AT = 200  # rows of the start
SAID_SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # as Excel writes it
# A comma before other than three digits cannot be one between thousands.
DECIMAL_COMMA = r'(?m)(?:^|[\r{0}])\s*"?[-+]?\d*,(?:\d{{1,2}}|\d{{4,}})(?=["\s{0}]|$)'
CONTROL = re.compile(r"[\0-\x08\x0e-\x1f]")
MOST_CONTROL = 0.01  # share of control characters in what may yet be text

csv.field_size_limit(max(csv.field_size_limit(), MOST_LINE))


class Layout(NamedTuple):
    """How a CSV file is written.

    Attributes
    ----------
    names : list of str
        The columns.
    separator, decimal : str
        What stands between values, and within a number.
    width : int
        The values of a line: those of the columns, then some that are empty.
    encoding : str or None
        None where the first lines are ASCII.
    skip, line : int
        Bytes of UTF-8 up to the first line after the header, and its number.
    notes : list of str
        What was decided.
    """

    names: list[str]
    separator: str
    decimal: str
    width: int
    encoding: str | None
    skip: int
    line: int
    notes: list[str]


def csv_layout(path: Path, options: ReadOptions) -> Layout:
    """Read off the first lines of a CSV file how it is written."""
    text, encoding, notes = _start(path, options)
    lines = list(io.StringIO(text, newline=""))
    said = SAID_SEPARATOR.fullmatch(lines[0]) if lines else None
    first = 1 if said else 0
    separator = said[1] if said else _separator(lines, path)
    rows, ends = _rows(lines[first:], separator, path)
    header = header_of([[]] * first + rows, str(path))
    end = first + ends[header.row - first]
    body = "".join(lines[end:])
    comma = re.compile(DECIMAL_COMMA.format(re.escape(separator)))
    return Layout(
        header.names,
        separator,
        "," if separator != "," and comma.search(body) else ".",
        header.width,
        encoding,
        sum(len(line.encode()) for line in lines[:end]),
        end + 1,
        [*notes, *header.notes],
    )


def _start(path: Path, options: ReadOptions) -> tuple[str, str | None, list[str]]:
    """Return the first lines of a file, its encoding, and what was assumed."""
    with Unpacked(path) as file:
        start = file.read(MOST_LINE)
    if not start:
        raise TableError(f"{path} is empty; give a table with a header and rows.")
    refuse_other_formats(path, start)
    whole = len(start) < MOST_LINE
    encoding = options.encoding or found_encoding(start, whole)
    if encoding is None and b"\0" in start:
        raise binary(path)
    try:
        text = Recoder(encoding)(start, whole).decode()
    except NotThisEncodingError as error:
        line = 1 + len(LINE_END.findall(start[: error.start]))
        raise not_this_encoding(path, encoding, line, str(error)) from error
    guessed = options.encoding is None and encoding not in (None, "utf-8")
    n_control = len(CONTROL.findall(text))
    if "\0" in text or (guessed and n_control > MOST_CONTROL * len(text)):
        raise binary(path)
    if not whole and not LINE_END.search(start):
        raise TableError(
            f"{path}: the first line is longer than {MOST_LINE:,} bytes, which is no "
            "header; give a table with one line per row."
        )
    if not whole:  # the last line is cut
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text
    notes = [f"{path.name} is read as {encoding}, not as UTF-8"] if guessed else []
    return text, encoding, notes


def _separator(lines: Sequence[str], path: Path) -> str:
    """Return the separator that cuts most rows, and the first, into as many values."""
    return max(SEPARATORS, key=lambda one: _score(lines, one, path))


def _score(lines: Sequence[str], separator: str, path: Path) -> tuple[float, int]:
    rows, _ = _rows(lines, separator, path)
    try:  # under a wrong separator, quotes end within a value
        list(islice(csv.reader(lines, delimiter=separator, strict=True), LOOKED_AT))
        fault = 0.0
    except csv.Error:
        fault = 0.5
    counts = [len(row) for row in rows if len(row) > 1 or (row and row[0].strip())]
    several = Counter(count for count in counts if count > 1)
    if not several:
        return 0.0, 1
    usual, n = several.most_common(1)[0]
    return n / len(counts) + (counts[0] == usual) - fault, usual


def _rows(
    lines: Sequence[str], separator: str, path: Path
) -> tuple[list[list[str]], list[int]]:
    """Return the first rows, and the number of lines up to the end of each."""
    reader = csv.reader(lines, delimiter=separator)
    rows, ends = [], []
    try:
        for row in islice(reader, LOOKED_AT):
            rows.append(row)
            ends.append(reader.line_num)
    except csv.Error as error:
        if not rows:
            raise TableError(
                f"{path}: the first line cannot be read as column names "
                f"({as_line(error)})."
            ) from error
    return rows, ends
