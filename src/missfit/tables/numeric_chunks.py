"""Chunks of a table as numbers, read as its first rows say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.tables.column_reading import ColumnReading
from missfit.tables.columns import Column, pandas_column, shown
from missfit.tables.decisions import Hints
from missfit.tables.problems import TableError
from missfit.tables.reading import Reading


class NumericChunks:
    """Reads the chunks of a table of numbers; how is decided from the first one.

    A value that does not fit is refused: there is nobody to tell that it was taken as
    missing.

    Parameters
    ----------
    first : DataFrame
        The first rows.
    path : Path
        The file, for messages.
    decimal : str
        The decimal sign that the file seems to have.
    line_of : callable
        Returns where a row stands in the file, in words.
    """

    def __init__(
        self, first: Any, path: Path, decimal: str, line_of: Callable[[int], str]
    ):
        self.path, self.line_of = path, line_of
        hint = decimal if decimal == "," else ""
        reading = Reading.of(first, hints=Hints(decimal=hint))
        self.reading = Reading(tuple(map(_as_number, reading.columns)), reading.n_rows)
        for one in self.reading.columns:
            if one.kind not in ("number", "boolean", "empty"):
                column = pandas_column(first[one.name], one.name)
                self._refuse(one, column, int(np.argmax(~column.missing)), 0)

    def of(self, frame: Any, first: int) -> NDArray[np.float64]:
        """Return a chunk as an array; its first row is counted by ``first``."""
        values = np.empty(frame.shape)
        for j, one in enumerate(self.reading.columns):
            column = pandas_column(frame[one.name], one.name)
            reading = one if one.kind != "empty" else ColumnReading(one.name, "number")
            values[:, j], unfit = reading.numbers(column)
            if unfit.any():
                self._refuse(one, column, int(np.argmax(unfit)), first)
        return values

    def _refuse(self, one: ColumnReading, column: Column, row: int, first: int) -> None:
        value = column.values[row if column.typed else column.codes[row]]
        raise TableError(
            f"{self.path}: column {shown(one.name)} holds {shown(value)} in "
            f"{self.line_of(first + row)}, which is no number; encode the column as "
            "numbers, or leave it out.",
            column=one.name,
        )


def _as_number(one: ColumnReading) -> ColumnReading:
    """Return how a column is read that was asked for: ids and -999 are numbers too.

    Arrow reads them as numbers where no column holds text.
    """
    if one.kind == "identifier":
        return ColumnReading(one.name, "number", missing=one.missing)
    return replace(one, sentinels=())
