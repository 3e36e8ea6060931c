"""A table of text, as files and workbooks hold it: in frames, or as numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.tables.columns import count_of, shown
from missfit.tables.csv_layout import csv_layout
from missfit.tables.csv_rows import line_of, text_batches
from missfit.tables.marks import EVERYWHERE
from missfit.tables.numeric_chunks import NumericChunks
from missfit.tables.options import ReadOptions
from missfit.tables.problems import Problems, TableError
from missfit.tables.text_columns import arrow_functions, numbers_of_text, typed_frame

# of 60,000 columns each took 0.35 ms and 15 kB before anything was fitted
MOST_COLUMNS = 30_000
# in the last row of many spreadsheets
SUMS = {"total", "totals", "sum", "sums", "summe", "gesamt", "somme", "totale", "suma"}
SUMS |= {"grand total", "total général", "gran total", "average", "mean", "avg"}
SUMS |= {"durchschnitt", "mittelwert", "moyenne", "promedio", "media"}
MOST_LAST = 4  # rows at the end among which it is looked for
# columns, marks of missing values, problems, whether all rows are wanted at once ->
# record batches of Arrow, all of text
Batches = Callable[[Sequence[str], Sequence[str], Problems, bool], Iterator[Any]]


class TextTable(NamedTuple):
    """A table whose values are text.

    Attributes
    ----------
    path : Path
    names : list of str
    decimal : str
        What stands before the decimals of a number.
    notes : list of str
        What was decided about the header and the encoding.
    batches : callable
        Returns the rows of some columns.
    line_of : callable
        Returns where a row stands in the file, in words.
    """

    path: Path
    names: list[str]
    decimal: str
    notes: list[str]
    batches: Batches
    line_of: Callable[[int], str]


def csv_table(path: Path, options: ReadOptions) -> TextTable:
    """Return the table of a CSV file, of which only the first lines are read yet."""
    layout = csv_layout(path, options)
    return TextTable(
        path,
        layout.names,
        layout.decimal,
        layout.notes,
        lambda *asked: text_batches(path, layout, *asked),
        lambda row: f"line {line_of(path, layout, row):,}",
    )


def text_chunks(
    table: TextTable,
    columns: Sequence[str],
    options: ReadOptions,
    problems: Problems,
    *,
    text: Sequence[str] = (),
    rows: int | None = None,
) -> Iterator[Any]:
    """Yield DataFrames of some columns, of at most so many rows (None: all)."""
    if len(columns) > MOST_COLUMNS:
        raise TableError(
            f"{table.path} has {len(columns):,} columns to read; at most "
            f"{MOST_COLUMNS:,} are read at once. Leave columns out, or turn the table "
            "if its columns are meant to be its rows."
        )
    marks = [*EVERYWHERE, *options.na]
    problems.note(*table.notes)
    batches = table.batches(columns, marks, problems, rows is None)
    for some in _regrouped(batches, rows):
        some = _without_sums(some, problems) if rows is None else some
        yield typed_frame(some, table.decimal, text, options.na)


def _without_sums(batches: list[Any], problems: Problems) -> list[Any]:
    """Leave out a last row that says that it is the sum of the others.

    Means and remarks may stand below it.
    """
    import pyarrow as pa

    rows = pa.Table.from_batches(batches)
    last = rows.slice(max(0, len(rows) - MOST_LAST)).to_pylist()
    for k, row in enumerate(last):
        name = _sum_column(row, rows)
        if name and all(_is_remark(other, rows) for other in last[k + 1 :]):
            n_below = len(last) - k - 1
            below = f", with {count_of(n_below, 'row')} below it" if n_below else ""
            what = "the last row" if not n_below else "a row near the end"
            problems.note(
                f"{what}, with {shown(row[name])} in column {shown(name)}, is taken as "
                f"a sum of the others and left out{below}"
            )
            return rows.slice(0, len(rows) - n_below - 1).to_batches() or batches
    return batches


def _sum_column(row: dict[str, str | None], rows: Any) -> str:
    """Return the column in which a row says that it is a sum, "" without one."""
    pc = arrow_functions()
    for name, value in row.items():
        is_sum = (value or "").strip().rstrip(":").casefold() in SUMS
        if is_sum and pc.sum(pc.equal(rows.column(name), value)).as_py() == 1:
            return name  # a word that is repeated is a category
    return ""


def _is_remark(row: dict[str, str | None], rows: Any) -> bool:
    """Whether a row below a sum is another one, or hardly holds anything."""
    n_filled = sum(value is not None and bool(value.strip()) for value in row.values())
    return n_filled <= 1 or bool(_sum_column(row, rows))


def text_numbers(
    table: TextTable, columns: Sequence[str], doubles: int
) -> Iterator[NDArray[np.float64]]:
    """Yield some columns as arrays of about so many numbers, NaN where missing.

    Where the first rows are no plain numbers, they decide how all rows are read.
    """
    done, first, written = 0, None, None
    batches = table.batches(columns, EVERYWHERE, Problems(), False)
    for some in _regrouped(batches, max(1, doubles // len(columns))):
        first = first or some
        values = None if written else _plain_numbers(some, table.decimal)
        if values is None:
            if written is None:
                start = typed_frame(first, table.decimal, ())
                written = NumericChunks(start, table.path, table.decimal, table.line_of)
            text = written.reading.text_columns
            values = written.of(typed_frame(some, table.decimal, text), done)
        yield values
        done += len(values)


def _plain_numbers(batches: list[Any], decimal: str) -> NDArray[np.float64] | None:
    """Return columns of plain numbers as an array, None where some are not."""
    import pyarrow as pa

    rows = pa.Table.from_batches(batches)
    values = np.empty(rows.shape)
    for j, column in enumerate(rows.columns):
        numbers = numbers_of_text(column, decimal)
        if numbers is None:
            return None
        values[:, j] = numbers.to_numpy(zero_copy_only=False)
    return values


def _regrouped(batches: Iterator[Any], rows: int | None) -> Iterator[list[Any]]:
    """Yield lists of batches that have so many rows together, the last ones fewer."""
    waiting, held = [], 0
    for batch in batches:
        waiting.append(batch)
        held += len(batch)
        while rows is not None and held >= rows:
            over = held - rows
            last = waiting[-1]
            cut = len(last) - over
            yield [*waiting[:-1], last.slice(0, cut)]
            waiting, held = [last.slice(cut)], over
    if held:
        yield waiting
