"""A table of text, as files and workbooks hold it: in frames, or as numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.tables.arrays import is_missing
from missfit.tables.columns import READ, Column, array_column, shown
from missfit.tables.csv_layout import csv_layout
from missfit.tables.csv_rows import line_of, text_batches
from missfit.tables.options import ReadOptions
from missfit.tables.problems import Problems, TableError
from missfit.tables.text_columns import (
    MISSING,
    as_array,
    numbers_of_text,
    typed_frame,
)

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
    marks = [*MISSING, *options.na]
    problems.note(*table.notes)
    batches = table.batches(columns, marks, problems, rows is None)
    for some in _regrouped(batches, rows):
        yield typed_frame(some, table.decimal, text, options.na)


def text_numbers(
    table: TextTable, columns: Sequence[str], doubles: int
) -> Iterator[NDArray[np.float64]]:
    """Yield some columns as arrays of about so many numbers, NaN where missing."""
    import pyarrow as pa

    done = 0
    batches = table.batches(columns, MISSING, Problems(), False)
    for some in _regrouped(batches, max(1, doubles // len(columns))):
        rows = pa.Table.from_batches(some)
        values = np.empty((len(rows), len(columns)))
        for j, name in enumerate(columns):
            found = numbers_of_text(rows.column(name), table.decimal)
            values[:, j] = (
                as_array(found)
                if found is not None
                else _numbers(rows.column(name), name, table, done)
            )
        yield values
        done += len(values)


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


def _numbers(
    column: Any, name: str, table: TextTable, first: int
) -> NDArray[np.float64]:
    """Return a column as numbers, value by value; its first row is counted."""
    found = array_column(column.to_numpy(), name)
    numbers = [_number(found, k, name, table, first) for k in range(len(found.values))]
    return np.array(numbers)[found.codes]


def _number(column: Column, k: int, name: str, table: TextTable, first: int) -> float:
    """Return a distinct value of a column as a number."""
    value = column.values[k]
    if is_missing(value):
        return np.nan
    number = READ["number"](value)
    number = READ["boolean"](value) if number is None else number
    if number is None:
        row = first + int(np.argmax(column.codes == k))
        raise TableError(
            f"{table.path}: column {shown(name)} holds {shown(value)} in "
            f"{table.line_of(row)}, which is no number; encode the column as numbers, "
            "or leave it out.",
            column=name,
        )
    return number
