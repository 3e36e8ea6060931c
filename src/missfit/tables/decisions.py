"""What the values of a column are, decided from all its distinct values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.tables.arrays import is_missing
from missfit.tables.codes import are_ids, are_padded, is_code_name, is_whole
from missfit.tables.column_reading import ColumnReading, Format
from missfit.tables.columns import Column, days_of_object, shown
from missfit.tables.date_order import Dates, date_format
from missfit.tables.date_text import ClockFormat, DateFormat, hours
from missfit.tables.marks import are_truths, is_mark, is_mark_beside
from missfit.tables.number_text import number_format
from missfit.tables.problems import TableError
from missfit.tables.sentinels import Pile, sentinels_in, sentinels_of

# How many values of a clear column of numbers or dates may be something else.
FEW_SHARE = 0.02  # of the rows
FEW_ROWS, FEW_OF = 5, 0.1  # or so many rows, and at most this share of them
FEW_WORDS, WORDS_OF = 5, 0.5  # or so many different words, such as "closed"
LEAST_LEVELS = 10  # different numbers from which a column with words is one of numbers
MANY_LEVELS, MANY_OF = 30, 0.25  # a category of so many numbers would be of no use
MANY = 30  # levels of a category
WORDS_OF_TEXT = 3  # words in a value of free text
COMPACT = DateFormat(("%Y%m%d",))  # 20200131


@dataclass(frozen=True)
class Hints:
    """What other columns, or the file, say about writings that can be read two ways."""

    decimal: str = ""  # "." or ","
    first: str = ""  # "%d" or "%m", what comes first in dates


@dataclass(frozen=True)
class Decision:
    """How a column is read, and what it left open."""

    reading: ColumnReading
    guessed: bool = False


@dataclass(frozen=True)
class _Distinct:
    """The distinct values of a column of objects that are not missing."""

    values: list[Any]
    rows: NDArray[np.int64]  # how many rows have each
    codes: NDArray[np.intp]  # which of them each row has, -1 for missing

    @classmethod
    def of(cls, column: Column, marks: Sequence[str]) -> _Distinct:
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
        return cls(values, counts[kept], place[column.codes])

    @property
    def texts(self) -> list[int]:
        """Places of the texts."""
        return [k for k, value in enumerate(self.values) if isinstance(value, str)]


def decide(
    column: Column,
    name: str,
    *,
    said: str = "",
    marks: Sequence[str] = (),
    hints: Hints | None = None,
    many: int = MANY,
) -> Decision:
    """Decide how a column is read.

    Parameters
    ----------
    column : Column
    name : str
    said : str
        What the user says that it holds: "number", "category", "date" or "text".
    marks : sequence of str
        Texts that the user says are missing.
    hints : Hints, optional
    many : int
        Text with more levels than this, of which most differ, is no category.
    """
    start = ColumnReading(name, "category", marks=tuple(marks))
    if said in ("category", "text"):
        return _closed(replace(start, kind=said), column)
    if column.missing.all():
        return _closed(replace(start, kind="empty"), column)
    if column.categorical and not said:
        return _closed(start, column)
    if column.typed:
        return _closed(_typed(start, column, said), column)
    distinct = _Distinct.of(column, marks)
    if not distinct.values:
        return _closed(replace(start, kind="empty"), column)
    _refuse_strange(distinct, column, name)
    found = _candidate(start, distinct, said, hints or Hints())
    if found is not None:
        return _closed(found.reading, column, guessed=found.guessed)
    if said:
        raise TableError(_forced(start, column, distinct, said), column=name, role="as")
    return _closed(_category(start, distinct, many), column)


def _typed(start: ColumnReading, column: Column, said: str) -> ColumnReading:
    """Decide on a column whose type says what it holds."""
    values = column.values[~column.missing]
    if column.typed == "M":
        days = values.astype("datetime64[D]").astype(np.int64)
        found = sentinels_of(days, dates=True)
        return replace(start, kind="date", sentinels=found)
    if column.typed == "b":
        return replace(start, kind="number" if said else "boolean")
    if said != "number" and _are_compact(values):
        return replace(start, kind="date", format=COMPACT)
    if said == "date":
        raise TableError(
            f"column {shown(start.name)} is to be read as dates and holds numbers, "
            f"such as {shown(values[0].item())}; write dates as 2026-01-31.",
            column=start.name,
            role="as",
        )
    if not said and is_code_name(start.name) and is_whole(values):
        return start
    if not said and are_ids(values, start.name):
        return replace(start, kind="identifier")
    finite = values if values.dtype.kind in "iu" else values[np.isfinite(values)]
    return replace(start, kind="number", sentinels=sentinels_of(finite))


def _are_compact(values: NDArray[Any]) -> bool:
    """Whether whole numbers are dates such as 20200131."""
    low, high = values.min(), values.max()
    if not (low >= 19000101 and high <= 20991231 and is_whole(values)):
        return False
    texts = [f"{value:.0f}" for value in np.unique(values)]
    return not np.isnan(COMPACT.numbers(texts)).any()


def _refuse_strange(distinct: _Distinct, column: Column, name: str) -> None:
    """Raise where an object is neither a number, a truth value, a date nor text."""
    for value in distinct.values:
        number = isinstance(value, (str, int, float, np.number, np.bool_))
        if number or type(value).__name__ in ("Decimal", "Fraction"):
            continue
        if days_of_object(value) is None:
            raise ValueError(
                f"column {name!r} holds a {type(value).__name__}, {shown(value)}; only "
                "numbers, booleans, dates and text are understood. Encode or drop it."
            )


def _candidate(
    start: ColumnReading, distinct: _Distinct, said: str, hints: Hints
) -> Decision | None:
    """Return the kind that suits the values best, None where none suits."""
    texts = [distinct.values[k] for k in distinct.texts]
    if not said and _are_truths(distinct, texts):
        return Decision(replace(start, kind="boolean"))
    code = are_padded(texts) or is_code_name(start.name)
    if not said and code and all(text.strip().isdigit() for text in texts):
        return None
    found = []
    if said != "date":
        found += _numbers(start, distinct, texts, hints)
    if said != "number":
        found += _dates(start, distinct, texts, hints)
    best, most = None, 0
    for decision in found:
        fits = _fits(decision.reading, distinct)
        rows = int(distinct.rows[fits].sum())
        compact = decision.reading.format == COMPACT  # 20200131 is a number too
        if (rows > most or (compact and rows == most)) and _suits(fits, distinct):
            best, most = decision, rows
    return best


def _are_truths(distinct: _Distinct, texts: list[str]) -> bool:
    """Whether all values are words for yes and no, or truth values."""
    others = [value for value in distinct.values if not isinstance(value, str)]
    bools = all(isinstance(value, (bool, np.bool_)) for value in others)
    if not texts:
        return bools
    words = [text for text in texts if not is_mark_beside(text)]
    signs = len(words) < len(texts)
    right = all(isinstance(x, (bool, np.bool_)) or x in (0, 1) for x in others)
    return right and are_truths(words if signs else texts) and _only_signs(texts)


def _only_signs(texts: list[str]) -> bool:
    """Whether what is neither yes nor no is a mere sign: "unknown" would be a level."""
    reading = ColumnReading("", "boolean")
    words = [text for text in texts if not reading.is_mark(text)]
    return bool(words) and are_truths(words)


def _numbers(
    start: ColumnReading, distinct: _Distinct, texts: list[str], hints: Hints
) -> list[Decision]:
    """Return the ways to read a column as numbers."""
    found = number_format(texts, distinct.rows[distinct.texts], hints.decimal)
    if found is None:
        ways = [] if texts else [Decision(replace(start, kind="number"))]
    else:
        form: Format | None = None if found.format.is_plain() else found.format
        reading = replace(start, kind="number", format=form, notes=found.notes)
        ways = [Decision(reading, found.ambiguous)]
    clocks = [text for text in texts if ":" in text]
    if len(clocks) > 0.5 * len(texts) and not np.isnan(hours(clocks)).all():
        ways.append(Decision(replace(start, kind="number", format=ClockFormat())))
    return ways


def _dates(
    start: ColumnReading, distinct: _Distinct, texts: list[str], hints: Hints
) -> list[Decision]:
    """Return the ways to read a column as dates."""
    place = np.full(len(distinct.values) + 1, -1)  # of each value among the texts
    place[distinct.texts] = np.arange(len(texts))
    codes = place[distinct.codes]
    rows = distinct.rows[distinct.texts]
    found = date_format(Dates(texts, rows, codes[codes >= 0]), hints.first)
    if found is not None:
        reading = replace(start, kind="date", format=found.format, notes=found.notes)
        return [Decision(reading, found.ambiguous)]
    objects = any(days_of_object(value) is not None for value in distinct.values)
    return [Decision(replace(start, kind="date"))] if objects else []


def _fits(reading: ColumnReading, distinct: _Distinct) -> NDArray[np.bool_]:
    return ~np.isnan(reading.distinct(distinct.values)[0])


def _suits(fits: NDArray[np.bool_], distinct: _Distinct) -> bool:
    """Whether enough values fit for the others to be taken as missing."""
    beside = [isinstance(v, str) and is_mark_beside(v) for v in distinct.values]
    unfit = ~fits & ~np.array(beside)
    n_fit, n_unfit = int(distinct.rows[fits].sum()), int(distinct.rows[unfit].sum())
    share = n_unfit / max(1, n_fit + n_unfit)
    if not n_fit:
        return False
    if share <= FEW_SHARE or (n_unfit <= FEW_ROWS and share <= FEW_OF):
        return True
    levels = int(fits.sum())
    odd = [value for value, one in zip(distinct.values, unfit, strict=True) if one]
    words = all(isinstance(v, str) and not any(map(str.isdigit, v)) for v in odd)
    if words and len(odd) <= FEW_WORDS and share <= WORDS_OF:
        return levels >= LEAST_LEVELS
    return levels > MANY_LEVELS and share <= MANY_OF


def _category(start: ColumnReading, distinct: _Distinct, many: int) -> ColumnReading:
    """Decide between a category, an identifier and free text."""
    levels = len(distinct.values)
    if levels <= many or 2 * levels <= int(distinct.rows.sum()):
        return start
    texts = [value for value in distinct.values if isinstance(value, str)]
    words = np.mean([len(text.split()) for text in texts]) if texts else 0
    return replace(start, kind="text" if words >= WORDS_OF_TEXT else "identifier")


def _forced(
    start: ColumnReading, column: Column, distinct: _Distinct, said: str
) -> str:
    """Say why a column cannot be read as the user says."""
    reading = replace(start, kind=said)
    texts = [distinct.values[k] for k in distinct.texts]
    make = _numbers if said == "number" else _dates
    ways = make(start, distinct, texts, Hints())
    reading = ways[0].reading if ways else reading
    misfits = reading.misfits(column, reading.numbers(column).unfit)
    return (
        f"column {shown(start.name)} is to be read as {said}s and holds {misfits}. "
        "Correct these values, leave them empty, or read the column as a category."
    )


def _closed(
    reading: ColumnReading, column: Column, *, guessed: bool = False
) -> Decision:
    """Complete a reading: sentinels, missing values, an example and notes."""
    notes = list(reading.notes)
    if reading.kind in ("number", "date", "boolean"):
        if not column.typed:
            reading = _with_sentinels(reading, column)
        numbers = reading.numbers(column)
        missing, row = np.isnan(numbers.values), _first(numbers.values)
        read = "" if row is None else _shown_as(reading, numbers.values[row])
        misfits = reading.misfits(column, numbers.unfit)
        notes += [*_marks_found(reading, column), *_sentinels_found(reading, column)]
        notes += [f"{misfits} taken as missing"] if misfits else []
    else:
        objects = column.as_objects()
        lost = np.array([level is None for level in reading.levels(objects)])
        missing = lost[objects.codes] if len(lost) else column.missing
        seen = np.flatnonzero(~missing)
        row, read = (int(seen[0]) if len(seen) else None), ""
    written = "" if row is None else _written(column, row)
    example = f"{written} = {read}" if read not in ("", written) else written
    n_missing = int(missing.sum())
    if n_missing == len(missing):
        reading = replace(reading, kind="empty", format=None)
    return Decision(
        replace(reading, example=example, missing=n_missing, notes=tuple(notes)),
        guessed,
    )


def _first(values: NDArray[np.float64]) -> int | None:
    seen = ~np.isnan(values)
    return int(np.argmax(seen)) if seen.any() else None


def _written(column: Column, row: int) -> str:
    """Return the value of a row as it stands in the table, cut where it is long."""
    value = column.values[row if column.typed else column.codes[row]]
    if column.typed == "M":
        return str(value.astype("datetime64[s]")).replace("T00:00:00", "")
    text = f"{value:.10g}" if isinstance(value, float) else str(value).strip()
    return text if len(text) <= 40 else f"{text[:37]}..."


def _shown_as(reading: ColumnReading, value: float) -> str:
    """Return a number as it was read."""
    if reading.kind == "date":
        when = np.datetime64(round(value * 86_400), "s")
        return str(when).replace("T00:00:00", "")
    if reading.kind == "boolean":
        return "yes" if value else "no"
    return f"{value:.10g}"


def _with_sentinels(reading: ColumnReading, column: Column) -> ColumnReading:
    """Look for sentinels among the distinct values of a column of objects."""
    if reading.kind == "boolean":
        return reading
    numbers, _ = reading.distinct(column.values)
    seen = ~np.isnan(numbers)
    values, place = np.unique(numbers[seen], return_inverse=True)
    rows = np.bincount(place, np.array(column.counts())[seen], len(values))
    pile = Pile(values, rows.astype(np.int64))
    return replace(reading, sentinels=sentinels_in(pile, dates=reading.kind == "date"))


def _sentinels_found(reading: ColumnReading, column: Column) -> list[str]:
    """Say which numbers were taken as missing, and in how many rows."""
    whole = replace(reading, sentinels=()).numbers(column).values
    return [
        f"{_shown_as(reading, value)} taken as missing in "
        f"{int((whole == value).sum()):,} rows"
        for value in reading.sentinels
    ]


def _marks_found(reading: ColumnReading, column: Column) -> list[str]:
    """Say which words were taken as missing that are levels in other columns."""
    if column.typed:
        return []
    rows = column.counts()
    found = [
        f"{shown(value)} ({rows[k]:,} rows)"
        for k, value in enumerate(column.values)
        if isinstance(value, str) and not is_mark(value) and reading.is_mark(value)
    ]
    return [f"{', '.join(found)} taken as missing"] if found else []
