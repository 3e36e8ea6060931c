"""The rows of a CSV file as columns of text: by Arrow, or with care, line by line.

Arrow reads what is in order, fast. Where it refuses (lines of unequal length, blanks in
a line without values), Python's reader goes on from the first row that is not yet read:
it fills short lines, and lists all lines that hold too many values.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from typing import Any

from missfit.tables.csv_layout import Layout
from missfit.tables.csv_text import MOST_LINE, open_lines
from missfit.tables.problems import Problems, TableError, as_line, needs

BLOCK = 2**20  # bytes that Arrow reads at once: fastest of 2^18 to 2^24 (CPU time)
CAREFUL_ROWS = 5_000  # read at once by Python
MOST_LINES = 10  # numbers of lines in a message
END = "\0end"  # no line of a text without noughts


def text_batches(
    path: Path,
    layout: Layout,
    columns: Sequence[str],
    marks: Sequence[str],
    problems: Problems,
    whole: bool = False,
) -> Iterator[Any]:
    """Yield Arrow's record batches of some columns, all of text, null for marks.

    Parameters
    ----------
    path : Path
    layout : Layout
    columns : sequence of str
    marks : sequence of str
        Texts that stand for a missing value.
    problems : Problems
        Takes notes on what is found in the lines.
    whole : bool
        Whether all rows are wanted at once: then several threads read them.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise needs("pyarrow and pandas", error) from error
    done = 0
    try:
        for batch in _arrow_batches(path, layout, columns, marks, whole):
            yield batch
            done += len(batch)
    except (pa.ArrowException, _RefusedError):
        yield from _careful_batches(path, layout, columns, set(marks), done, problems)


class _RefusedError(Exception):
    """Arrow has read what it should have refused."""


def _arrow_batches(
    path: Path,
    layout: Layout,
    columns: Sequence[str],
    marks: Sequence[str],
    whole: bool,
) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow

    n_empty = layout.width - len(layout.names)
    empty = [f"{END}{j}" for j in range(n_empty)]
    reading = arrow.ReadOptions(column_names=[*layout.names, *empty], block_size=BLOCK)
    parsing = arrow.ParseOptions(delimiter=layout.separator, newlines_in_values=True)
    wanted = [*columns, *empty]
    converting = arrow.ConvertOptions(
        include_columns=wanted,
        column_types=dict.fromkeys(wanted, pa.string()),
        null_values=list(marks),
        strings_can_be_null=True,
        check_utf8=False,  # CsvText has done so
    )
    with open_lines(path, layout.encoding, layout.skip) as lines:
        if not lines.peek(1):
            return
        batch = None
        asked = (lines, reading, parsing, converting)
        with ExitStack() as stack:
            if whole:
                batches = arrow.read_csv(*asked).to_batches()
            else:
                batches = stack.enter_context(closing(arrow.open_csv(*asked)))
            for batch in batches:
                if any(batch.column(name).null_count < len(batch) for name in empty):
                    raise _RefusedError
                yield batch.select(list(columns)) if empty else batch
        raw: Any = lines.raw
        if raw.odd and batch is not None and len(batch):
            _refuse_open_quote(batch, path, layout)


def _refuse_open_quote(batch: Any, path: Path, layout: Layout) -> None:
    """Raise where the last row has run to the end of the file, by line breaks in it."""
    last = batch.slice(len(batch) - 1).to_pylist()[0].values()
    if any("\n" in value or "\r" in value for value in last if value):
        for _ in _careful_rows(path, layout):
            pass


def _careful_batches(
    path: Path,
    layout: Layout,
    columns: Sequence[str],
    marks: set[str],
    done: int,
    problems: Problems,
) -> Iterator[Any]:
    """Yield the rows after those that are done, filled up where they are short."""
    import pyarrow as pa

    width = len(layout.names)
    places = [layout.names.index(name) for name in columns]
    short, long, n_rows = _Lines(), _Lines(), 0
    rows = _careful_rows(path, layout)
    while some := list(islice(rows, CAREFUL_ROWS)):
        n_rows += len(some)
        for line, row in some:
            if len(row) < width:
                short.add(line, len(row))
            elif any(value.strip() for value in row[width:]):
                long.add(line, len(row))
        some = some[done:] if done else some
        done = max(0, done - CAREFUL_ROWS)
        if not long.count and some:
            whole = [row + [""] * (width - len(row)) for _, row in some]
            values = [
                pa.array([None if row[j] in marks else row[j] for row in whole], "str")
                for j in places
            ]
            yield pa.RecordBatch.from_arrays(values, list(columns))
    if short.count:
        problems.note(
            f"{short.where()} shorter than the header ({short.fields} of {width} "
            "values): what is not there counts as missing"
        )
    if long.count:
        way_out = (
            "give every column a name"
            if long.count == n_rows
            else "remove what is too much, or put quotes around values that hold "
            f"{layout.separator!r}"
        )
        raise TableError(
            f"{path}: {long.where()} longer than the header ({long.fields} values, "
            f"{width} names); {way_out}."
        )


class _Lines:
    """Lines of a kind: how many, the numbers of the first, the values of the first."""

    def __init__(self):
        self.count, self.first, self.fields = 0, [], 0

    def add(self, line: int, fields: int) -> None:
        self.fields = self.fields if self.count else fields
        self.count += 1
        if len(self.first) < MOST_LINES:
            self.first.append(f"{line:,}")

    def where(self) -> str:
        """Name the lines, with a verb."""
        if self.count == 1:
            return f"line {self.first[0]} is"
        more = self.count - len(self.first)
        return f"lines {', '.join(self.first)}{f' and {more:,} more' * (more > 0)} are"


def _careful_rows(path: Path, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the line and the values of each row that is not blank."""
    with open_lines(path, layout.encoding, layout.skip) as lines:
        text = io.TextIOWrapper(lines, encoding="utf-8", newline="")
        reader = csv.reader(_with_end(text), delimiter=layout.separator)
        line = began = layout.line
        try:
            for row in reader:
                if row == [END]:
                    return
                if len(row) > 1 or (row and row[0].strip()):
                    yield line, row
                began, line = line, layout.line + reader.line_num
        except csv.Error as error:
            raise TableError(
                f"{path}: line {line:,} holds a value of more than {MOST_LINE:,} "
                f"characters ({as_line(error)}); close the quote that begins in this "
                "line, or cut the value."
            ) from error
        raise TableError(
            f"{path}: a quote that begins in line {began:,} is not closed; close it, "
            "or write it twice where it is part of a value."
        )


def _with_end(text: io.TextIOWrapper) -> Iterator[str]:
    """Yield the lines, and one more that a quote left open would swallow."""
    yield from text
    yield END


def line_of(path: Path, layout: Layout, row: int) -> int:
    """Return the number of the line in which a row begins; rows count from 0."""
    rows = _careful_rows(path, layout)
    return next((line for line, _ in islice(rows, row, None)), layout.line)
