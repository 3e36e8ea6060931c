"""How one column is read: its kind, how its values are written, what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.tables.arrays import is_missing
from missfit.tables.columns import (
    DAY,
    Column,
    count_of,
    days_of_object,
    hours_of_object,
    shown,
)
from missfit.tables.date_text import ClockFormat, DateFormat
from missfit.tables.marks import is_mark, is_mark_beside, is_sign, truth
from missfit.tables.number_text import NumberFormat

Format = NumberFormat | DateFormat | ClockFormat
KINDS = ("number", "boolean", "date", "category", "text", "identifier", "empty")
MOST_SHOWN = 3  # misfits in a message


class Misfits(NamedTuple):
    """Values of a column that do not fit its kind, as distinct ones."""

    name: str
    kind: str
    values: list[str]  # as they are shown
    rows: list[int]  # how many rows have each
    first: list[int]  # the first row of each, counted from 0
    n_observed: int  # rows of the column that are not missing

    @property
    def n_rows(self) -> int:
        """Return how many rows do not fit."""
        return sum(self.rows)

    def after(self, n_rows: int) -> Misfits:
        """Return the same with rows counted from an earlier one."""
        return self._replace(first=[row + n_rows for row in self.first])

    def __add__(self, other: Any) -> Misfits:
        """Return the misfits of two chunks of one column."""
        rows = dict(zip(self.values, self.rows, strict=True))
        first = dict(zip(self.values, self.first, strict=True))
        for value, n, row in zip(other.values, other.rows, other.first, strict=True):
            rows[value] = rows.get(value, 0) + n
            first.setdefault(value, row)
        n_observed = self.n_observed + other.n_observed
        ends = list(rows), list(rows.values()), list(first.values())
        return Misfits(self.name, self.kind, *ends, n_observed)

    def __str__(self) -> str:
        total = self.n_rows
        some = [
            f"{value} in row {first + 1:,}"  # row 1 is the first below the header
            + (f" and {rows - 1:,} more" if rows > 1 else "")
            for value, rows, first in zip(
                self.values[:MOST_SHOWN], self.rows, self.first, strict=False
            )
        ]
        more = len(self.values) - MOST_SHOWN
        some += [f"{more:,} other values"] if more > 0 else []
        what = f"{total:,} values that are" if total > 1 else "1 value that is"
        none = f"no {self.kind}" if self.kind != "boolean" else "neither yes nor no"
        return f"{what} {none} ({', '.join(some)})"


class Numbers(NamedTuple):
    """A column as numbers, NaN where missing, and which rows do not fit its kind."""

    values: NDArray[np.float64]
    unfit: NDArray[np.bool_]


@dataclass(frozen=True)
class ColumnReading:
    """How one column is read.

    Attributes
    ----------
    name : str
    kind : str
        One of `KINDS`.
    format : NumberFormat, DateFormat, ClockFormat or None
        How numbers and dates are written as text; None where they are typed, or are
        written as Python writes them.
    marks : tuple of str
        Texts that stand for a missing value beside those that always do.
    sentinels : tuple of float
        Numbers that stand for a missing value.
    example : str
        The first value as it is written, and as it is read where this differs.
    missing : int
        How many values were missing, with those taken as missing.
    notes : tuple of str
        What else a reader of the table should know, as sentences without a full stop.
    spellings : mapping of str to str
        Of levels that are written in several ways, such as Paris and PARIS: the most
        frequent way, by the level in small letters.
    sentinel_rows : tuple of int
        How many rows had each of the sentinels.
    """

    name: str
    kind: str
    format: Format | None = None
    marks: tuple[str, ...] = ()
    sentinels: tuple[float, ...] = ()
    example: str = ""
    missing: int = 0
    notes: tuple[str, ...] = ()
    spellings: Mapping[str, str] = field(default_factory=dict)
    sentinel_rows: tuple[int, ...] = ()

    def describe(self) -> str:
        """Return the kind, and how it is written.

        >>> ColumnReading("price", "number", NumberFormat(",")).describe()
        'number, decimal comma'
        """
        how = self.format.describe() if self.format else ""
        return f"{self.kind}, {how}" if how else self.kind

    def sentinel_notes(self) -> list[str]:
        """Return which numbers were taken as missing, and in how many rows."""
        found = zip(self.sentinels, self.sentinel_rows, strict=False)
        return [
            f"{self.shown_as(value)} taken as missing in {count_of(n, 'row')}"
            for value, n in found
        ]

    def shown_as(self, value: float) -> str:
        """Return a number of this column as a person would write it.

        >>> ColumnReading("sold", "date").shown_as(365.25)
        '1971-01-01T06:00:00'
        """
        if self.kind == "date":
            when = np.datetime64(round(value * 86_400), "s")
            return str(when).replace("T00:00:00", "")
        if self.kind == "boolean":
            return "yes" if value else "no"
        return f"{value:.10g}"

    def is_mark(self, text: str) -> bool:
        """Whether a text stands for a missing value in this column."""
        if is_mark(text, self.marks):
            return True
        if self.kind in ("number", "date"):
            return is_mark_beside(text)
        return self.kind == "boolean" and is_sign(text)

    def seen(self, column: Column) -> NDArray[np.bool_]:
        """Return which rows of a column of text or ids are not missing."""
        if column.typed:
            return ~column.missing
        return np.array([level is not None for level in self.levels(column)])[
            column.codes
        ]

    def levels(self, column: Column) -> list[str | None]:
        """Text of each distinct value of a column of objects, None for missing ones."""
        levels = (
            None if level is None or self.is_mark(level) else _level(level)
            for level in column.levels()
        )
        known = self.spellings
        return [one and known.get(one.casefold(), one) for one in levels]

    def numbers(self, column: Column) -> Numbers:
        """Return a column of numbers, truth values or dates as numbers."""
        if self.kind == "empty":
            nothing = np.full(len(column.missing), np.nan)
            return Numbers(nothing, np.zeros(len(nothing), dtype=bool))
        if column.typed and (column.typed == "M") == (self.kind == "date"):
            values = column.values
            values = values.astype(np.int64) / DAY if column.typed == "M" else values
            unfit = self._unfit(values) & ~column.missing
            numbers = np.where(column.missing | unfit, np.nan, values)
            return Numbers(self._without_sentinels(numbers), unfit)
        column = column.as_objects()
        return self.rows(column, *self.distinct(column.values))

    def rows(
        self, column: Column, values: NDArray[np.float64], lost: NDArray[np.bool_]
    ) -> Numbers:
        """Return the rows of a column whose distinct values are read already."""
        unfit = np.isnan(values) & ~lost
        values = self._without_sentinels(values)
        return Numbers(values[column.codes], unfit[column.codes])

    def _unfit(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Which typed values do not fit; no need to look at integers."""
        if self.kind == "boolean":
            return ~np.isin(values, (0, 1))
        if values.dtype.kind in "iu":
            return np.zeros(len(values), dtype=bool)
        return np.isinf(values)

    def _without_sentinels(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self.sentinels:
            return values
        return np.where(np.isin(values, self.sentinels), np.nan, values)

    def distinct(self, values: list[Any]) -> tuple[NDArray, NDArray[np.bool_]]:
        """Return objects as numbers, NaN for others, and which of them are missing."""
        numbers = np.full(len(values), np.nan)
        lost = np.zeros(len(values), dtype=bool)
        texts = []
        for k, value in enumerate(values):
            if is_missing(value):
                lost[k] = True
            elif not isinstance(value, str):
                numbers[k] = self.read_object(value)
            elif self.is_mark(value):
                lost[k] = True
            else:
                texts.append(k)
        if texts:
            numbers[texts] = self.read_texts([values[k] for k in texts])
        numbers[np.isinf(numbers)] = np.nan
        return numbers, lost

    def read_texts(self, texts: list[str]) -> NDArray[np.float64]:
        """Return texts as numbers, NaN for those that do not fit."""
        if self.kind == "boolean":
            return np.array([truth(text) for text in texts], dtype=float)
        if self.kind == "date":
            return (self.format or ISO).numbers(texts)
        return (self.format or PLAIN).numbers(texts)

    def read_object(self, value: Any) -> float:
        """Return an object that is no text as a number, NaN where it does not fit."""
        if self.kind == "date":
            days = days_of_object(value)
            if days is None and isinstance(value, Real):  # 20200131
                return float(self.read_texts([f"{value:.0f}"])[0])
            return np.nan if days is None else days
        if isinstance(value, (Real, np.bool_)) or type(value).__name__ == "Decimal":
            try:
                number = float(value)
            except OverflowError:  # an integer of more than 308 digits
                return np.nan
            return number if self.kind != "boolean" or number in (0, 1) else np.nan
        hours = hours_of_object(value) if self.kind == "number" else None
        return np.nan if hours is None else hours

    def misfits(self, column: Column, unfit: NDArray[np.bool_]) -> Misfits | None:
        """Return the values of the rows that do not fit, None where all do."""
        if not unfit.any():
            return None
        column = column.as_objects()
        rows = np.flatnonzero(unfit)
        found, first, count = np.unique(
            column.codes[rows], return_index=True, return_counts=True
        )
        order = np.argsort(first)
        return Misfits(
            self.name,
            self.kind,
            [shown(column.values[k]) for k in found[order]],
            count[order].tolist(),
            rows[first[order]].tolist(),
            int((~column.missing).sum()),
        )


PLAIN = NumberFormat()
ISO = DateFormat(("%Y-%m-%d",))


def _level(text: str) -> str:
    """Return a level without blanks around it; 7.0 is 7 in any writing.

    >>> _level(" a  b"), _level("7.0"), _level("7.5"), _level("v1.0")
    ('a b', '7', '7.5', 'v1.0')
    """
    text = " ".join(text.split())
    whole = text.removesuffix(".0")
    return whole if whole.removeprefix("-").isdigit() else text
