"""What is said of a column whose kind is decided: what is missing, and an example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.tables.arrays import is_missing
from missfit.tables.column_reading import ColumnReading, Numbers
from missfit.tables.columns import Column, count_of, shown
from missfit.tables.marks import is_mark, is_sign
from missfit.tables.sentinels import Pile, sentinels_in

LEAST_FOLDED = 3  # letters of a level; m and M may be two
MOST_WORDS = 20  # repeated words of a column that are kept as marks
MOST_MARKS = 3  # words taken as missing that a note names


@dataclass(frozen=True)
class Distinct:
    """The distinct values of a column of objects that are not missing."""

    values: list[Any]
    rows: NDArray[np.int64]  # how many rows have each
    codes: NDArray[np.intp]  # which of them each row has, -1 for missing
    texts: list[int]  # which of them are texts
    places: NDArray[np.intp]  # of each among all distinct values of the column
    n_all: int

    @classmethod
    def of(cls, column: Column, marks: Sequence[str]) -> Distinct:
        """Return the values of a column that neither are missing nor stand for it."""
        counts = np.bincount(column.codes, minlength=len(column.values))
        kept = [
            k
            for k, value in enumerate(column.values)
            if not is_missing(value)
            and not (isinstance(value, str) and is_mark(value, marks))
        ]
        place = np.full(len(column.values) + 1, -1)
        place[kept] = np.arange(len(kept))
        values = [column.values[k] for k in kept]
        texts = [k for k, value in enumerate(values) if isinstance(value, str)]
        codes, places = place[column.codes], np.array(kept, dtype=np.intp)
        return cls(values, counts[kept], codes, texts, places, len(column.values))

    def all_of(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers of these values for all values, NaN for missing ones."""
        every = np.full(self.n_all, np.nan)
        every[self.places] = numbers
        return every


def completed(
    reading: ColumnReading,
    column: Column,
    numbers: NDArray[np.float64] | None = None,
    *,
    as_said: bool = False,
) -> ColumnReading:
    """Return a reading with its sentinels, missing values, an example and notes.

    Parameters
    ----------
    reading : ColumnReading
    column : Column
    numbers : ndarray, optional
        The distinct values of a column of objects as numbers.
    as_said : bool
        Whether a user says what the column holds, so that no number is a sentinel.
    """
    if reading.kind in ("number", "date", "boolean"):
        return _completed_numbers(reading, column, numbers, as_said)
    if reading.kind == "category":
        reading = _with_spellings(reading, column.as_objects())
    seen = np.flatnonzero(reading.seen(column)) if reading.kind != "empty" else []
    if not len(seen):
        reading = replace(reading, kind="empty", format=None)
    example = _written(column, int(seen[0])) if len(seen) else ""
    if reading.kind == "category" and example:
        levels = set(reading.levels(column.as_objects())) - {None}
        example = f"{example} ({count_of(len(levels), 'level')})"
    return replace(reading, example=example, missing=len(column.missing) - len(seen))


def _with_spellings(reading: ColumnReading, column: Column) -> ColumnReading:
    """Return a reading that takes Paris, PARIS and paris for one level."""
    ways: dict[str, Counter[str]] = {}
    for level, n in zip(reading.levels(column), column.counts(), strict=True):
        if level is not None and len(level) >= LEAST_FOLDED:
            ways.setdefault(level.casefold(), Counter())[level] += n
    several = {folded: found for folded, found in ways.items() if len(found) > 1}
    if not several:
        return reading
    same = {folded: found.most_common(1)[0][0] for folded, found in several.items()}
    some = ", ".join(map(shown, next(iter(several.values()))))
    what = count_of(len(same), "level")
    note = f"{what} written in several ways, such as {some}, put together"
    return replace(reading, spellings=same, notes=(*reading.notes, note))


def _completed_numbers(
    reading: ColumnReading,
    column: Column,
    numbers: NDArray[np.float64] | None,
    as_said: bool,
) -> ColumnReading:
    notes = list(reading.notes)
    if numbers is None:
        whole = replace(reading, sentinels=()).numbers(column)
    else:
        marks = (*reading.marks, *_words(reading, column, numbers))
        reading = replace(reading, marks=marks)
        lost = np.array([_is_lost(reading, value) for value in column.values])
        whole = reading.rows(column, numbers, lost)
        found = () if as_said else _sentinels(reading, column, numbers)
        reading = replace(reading, sentinels=found)
        notes += _marks_found(reading, column)
    rows = tuple(int((whole.values == value).sum()) for value in reading.sentinels)
    misfits = reading.misfits(column, whole.unfit)
    notes += [f"{misfits} taken as missing"] if misfits else []
    missing = np.isnan(whole.values) | np.isin(whole.values, reading.sentinels)
    if missing.all():
        return replace(reading, kind="empty", format=None, missing=len(missing))
    return replace(
        reading,
        example=_example(reading, column, whole, int(np.argmin(missing))),
        missing=int(missing.sum()),
        notes=tuple(notes),
        sentinel_rows=rows,
    )


def _words(
    reading: ColumnReading, column: Column, numbers: NDArray[np.float64]
) -> list[str]:
    """Return words that are repeated and do not fit: marks that new rows may have."""
    rows = column.counts()
    found = [
        value.strip()
        for k, value in enumerate(column.values)
        if rows[k] > 1
        and np.isnan(numbers[k])
        and isinstance(value, str)
        and not (any(map(str.isdigit, value)) or reading.is_mark(value))
    ]
    return found[:MOST_WORDS]


def _is_lost(reading: ColumnReading, value: Any) -> bool:
    return is_missing(value) or (isinstance(value, str) and reading.is_mark(value))


def _example(reading: ColumnReading, column: Column, whole: Numbers, row: int) -> str:
    """Return a value as it is written, and as it is read where this differs."""
    written, read = _written(column, row), reading.shown_as(whole.values[row])
    return written if read == written else f"{written} = {read}"


def _written(column: Column, row: int) -> str:
    """Return the value of a row as it stands in the table, cut where it is long."""
    value = column.values[row if column.typed else column.codes[row]]
    if column.typed == "M":
        return str(value.astype("datetime64[s]")).replace("T00:00:00", "")
    text = f"{value:.10g}" if isinstance(value, float) else str(value).strip()
    return text if len(text) <= 40 else f"{text[:37]}..."


def _sentinels(
    reading: ColumnReading, column: Column, numbers: NDArray[np.float64]
) -> tuple[float, ...]:
    """Look for sentinels among the distinct values of a column of objects."""
    if reading.kind == "boolean":
        return ()
    seen = ~np.isnan(numbers)
    values, place = np.unique(numbers[seen], return_inverse=True)
    rows = np.bincount(place, np.array(column.counts())[seen], len(values))
    pile = Pile(values, rows.astype(np.int64))
    return sentinels_in(pile, dates=reading.kind == "date")


def _marks_found(reading: ColumnReading, column: Column) -> list[str]:
    """Say which words were taken as missing that are levels in other columns."""
    rows = column.counts()
    found = [
        f"{shown(value)} in {count_of(rows[k], 'row')}"
        for k, value in enumerate(column.values)
        if isinstance(value, str)
        and reading.is_mark(value)
        and not (is_mark(value) or is_sign(value))
    ]
    more = len(found) - MOST_MARKS
    some = ", ".join(found[:MOST_MARKS]) + (f" and {more} more" if more > 0 else "")
    return [f"{some} taken as missing"] if found else []
