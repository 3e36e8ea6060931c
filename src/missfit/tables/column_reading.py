"""How one column is read: its kind, how its values are written, what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.tables.arrays import is_missing
from missfit.tables.columns import DAY, Column, days_of_object, shown
from missfit.tables.date_text import FORMATS, ClockFormat, DateFormat
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
    first: list[int]  # the first row of each
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
            f"{value} in row {first:,}"
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
        What a reader of the table should know, as sentences without a full stop.
    """

    name: str
    kind: str
    format: Format | None = None
    marks: tuple[str, ...] = ()
    sentinels: tuple[float, ...] = ()
    example: str = ""
    missing: int = 0
    notes: tuple[str, ...] = ()

    def describe(self) -> str:
        """Return the kind, and how it is written.

        >>> ColumnReading("price", "number", NumberFormat(",")).describe()
        'number, decimal comma'
        """
        how = self.format.describe() if self.format else ""
        return f"{self.kind}, {how}" if how else self.kind

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
        return [
            None if level is None or self.is_mark(level) else _level(level)
            for level in column.levels()
        ]

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
        return np.nan

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

    def as_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes the same reading."""
        plain: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.format is not None:
            plain["format"] = {"of": FORMAT_NAMES[type(self.format)]}
            plain["format"] |= _plain(asdict(self.format))
        plain |= {"marks": list(self.marks), "sentinels": list(self.sentinels)}
        plain |= {"example": self.example, "missing": self.missing}
        return {**plain, "notes": list(self.notes)}

    @classmethod
    def from_json(cls, plain: Any) -> ColumnReading:
        """Return the reading of `as_json`; raise ValueError for any other data."""
        _check(isinstance(plain, Mapping), "a column is no table of names and values")
        _check(plain.get("kind") in KINDS, f"the kind {str(plain.get('kind'))[:40]!r}")
        missing = plain.get("missing")
        _check(type(missing) is int and missing >= 0, f"{missing!r} missing values")
        sentinels = _list(plain, "sentinels", (int, float))
        form = plain.get("format")
        return cls(
            _text(plain.get("name")),
            plain["kind"],
            None if form is None else _format(form),
            tuple(_text(mark) for mark in _list(plain, "marks", (str,))),
            tuple(_number(value) for value in sentinels),
            _text(plain.get("example")),
            missing,
            tuple(_text(note) for note in _list(plain, "notes", (str,))),
        )


PLAIN = NumberFormat()
ISO = DateFormat(("%Y-%m-%d",))
FORMAT_NAMES = {NumberFormat: "number", DateFormat: "date", ClockFormat: "clock"}


def _level(text: str) -> str:
    """Return a level without blanks around it; 7.0 is 7 in any writing.

    >>> _level(" a  b"), _level("7.0"), _level("7.5"), _level("v1.0")
    ('a b', '7', '7.5', 'v1.0')
    """
    text = " ".join(text.split())
    whole = text.removesuffix(".0")
    return whole if whole.removeprefix("-").isdigit() else text


def _plain(content: dict[str, Any]) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in content.items()
    }


def _format(plain: Any) -> Format:
    """Return the format of plain data, which must be as it is written."""
    _check(isinstance(plain, Mapping), "a format is no table of names and values")
    what = plain.get("of")
    if what == "clock":
        return ClockFormat()
    if what == "date":
        formats = _list(plain, "formats", (str,))
        _check(bool(formats) and set(formats) <= set(FORMATS), "a format of dates")
        year = plain.get("first_year")
        _check(type(year) is int and 1000 <= year <= 3000, f"the year {year!r}")
        return DateFormat(tuple(formats), year)
    _check(what == "number", f"a format of {str(what)[:40]!r}")
    scales, decimal = plain.get("scales"), plain.get("decimal")
    _check(isinstance(scales, Mapping), "units that are no table")
    _check(decimal in (".", ","), "a decimal sign that is none")
    known = {_text(unit): _number(scale) for unit, scale in scales.items()}
    currencies = tuple(_text(one) for one in _list(plain, "currencies", (str,)))
    return NumberFormat(decimal, known, currencies)


def _check(right: bool, what: str) -> None:
    if not right:
        raise ValueError(
            f"the reading of a column holds {what}, which is never written"
        )


def _list(plain: Mapping[str, Any], name: str, types: tuple[type, ...]) -> list[Any]:
    found = plain.get(name)
    right = isinstance(found, list)
    _check(right and all(type(one) in types for one in found), f"a list of {name}")
    return found  # type: ignore[return-value]


def _text(value: Any) -> str:
    _check(type(value) is str, "a text of another type")
    return value


def _number(value: Any) -> float:
    right = type(value) in (int, float) and bool(np.isfinite(value))
    _check(right, f"the number {str(value)[:40]}")
    return float(value)
