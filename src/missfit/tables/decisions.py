"""What the values of a column are, decided from all its distinct values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.tables.codes import are_ids, are_padded, is_code_name, is_whole
from missfit.tables.column_reading import ColumnReading
from missfit.tables.columns import Column, days_of_object, hours_of_object, shown
from missfit.tables.date_order import Dates, date_format
from missfit.tables.date_text import ClockFormat, DateFormat
from missfit.tables.details import Distinct, completed
from missfit.tables.marks import are_truths, is_mark_beside, is_sign
from missfit.tables.number_text import number_format
from missfit.tables.problems import TableError
from missfit.tables.sentinels import sentinels_of

# How many values of a clear column of numbers or dates may be something else.
FEW_SHARE = 0.02  # of the rows
FEW_ROWS, FEW_OF = 5, 0.1  # or so many rows, and at most this share of them
FEW_WORDS, WORDS_OF = 5, 0.5  # or so many different words, such as "closed"
LEAST_LEVELS = 10  # different numbers from which a column with words is one of numbers
MANY_LEVELS, MANY_OF = 30, 0.25  # a category of so many numbers would be of no use
MANY = 30  # levels of a category
WORDS_OF_TEXT = 3  # words in a value of free text
MOST_TRUTHS = 40  # words for yes and no that can differ in case and language
CLOCK = ClockFormat()
_TWO_UNITS = re.compile(r"\d ?[dhDH][a-zA-Z]* ?\d+ ?[mM]")  # 2h 30m
COMPACT = DateFormat(("%Y%m%d",))  # 20200131


@dataclass(frozen=True)
class Hints:
    """What other columns, or the file, say about a column that can be read two ways."""

    decimal: str = ""  # "." or ","
    first: str = ""  # "%d" or "%m", what comes first in dates
    target: str = ""  # the column to predict: its numbers are no ids


@dataclass(frozen=True)
class Decision:
    """How a column is read, and whether that is a guess which others may settle."""

    reading: ColumnReading
    guessed: bool = False


class _Candidate(NamedTuple):
    """A way to read a column, and its distinct values read that way."""

    reading: ColumnReading
    numbers: NDArray[np.float64]
    guessed: bool = False


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
        Where it is "number" or "date", no value is taken for a sentinel.
    marks : sequence of str
        Texts that the user says are missing.
    hints : Hints, optional
    many : int
        Text with more levels than this, of which most differ, is no category.
    """
    start = ColumnReading(name, "category", marks=tuple(marks))
    if said in ("category", "text"):
        return Decision(completed(replace(start, kind=said), column))
    if column.missing.all():
        return Decision(completed(replace(start, kind="empty"), column))
    if column.categorical and not said:
        return Decision(completed(start, column))
    hints = hints or Hints()
    if column.typed:
        is_target = name == hints.target
        return Decision(completed(_typed(start, column, said, is_target), column))
    distinct = Distinct.of(column, marks)
    if not distinct.values:
        return Decision(completed(replace(start, kind="empty"), column))
    _refuse_strange(distinct, column, name)
    found = _candidate(start, distinct, said, hints)
    if found is not None:
        numbers = distinct.all_of(found.numbers)
        reading = completed(found.reading, column, numbers, as_said=bool(said))
        return Decision(reading, found.guessed)
    if said:
        raise TableError(_forced(start, column, distinct, said), column=name, role="as")
    return Decision(completed(_category(start, distinct, many), column))


def _typed(
    start: ColumnReading, column: Column, said: str, is_target: bool
) -> ColumnReading:
    """Decide on a column whose type says what it holds."""
    values = column.values[~column.missing]
    if column.typed == "M":
        days = values.astype("datetime64[D]").astype(np.int64)
        found = () if said else sentinels_of(days, dates=True)
        return replace(start, kind="date", sentinels=found)
    if column.typed == "b":
        return replace(start, kind="number" if said else "boolean")
    if said != "number" and not is_target and _are_compact(values):
        return replace(start, kind="date", format=COMPACT)
    if said == "date":
        raise TableError(
            f"column {shown(start.name)} is to be read as dates and holds numbers, "
            f"such as {shown(values[0].item())}; write dates as 2026-01-31.",
            column=start.name,
            role="as",
        )
    if said:
        return replace(start, kind="number")
    if not is_target and is_code_name(start.name) and is_whole(values):
        return start
    if not is_target and are_ids(values, start.name):
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


def _refuse_strange(distinct: Distinct, column: Column, name: str) -> None:
    """Raise where an object is neither a number, a truth value, a date nor text."""
    for value in distinct.values:
        number = isinstance(value, (str, int, float, np.number, np.bool_))
        if number or type(value).__name__ in ("Decimal", "Fraction"):
            continue
        if days_of_object(value) is None and hours_of_object(value) is None:
            raise ValueError(
                f"column {name!r} holds a {type(value).__name__}, {shown(value)}; only "
                "numbers, booleans, dates and text are understood. Encode or drop it."
            )


def _candidate(
    start: ColumnReading, distinct: Distinct, said: str, hints: Hints
) -> _Candidate | None:
    """Return the way to read a column that suits its values best, None without one."""
    texts = [distinct.values[k] for k in distinct.texts]
    if not said and _are_truths(distinct, texts):
        return _way(replace(start, kind="boolean"), distinct)
    if not said and _are_codes(start.name, texts):
        return None
    ways = _numbers(start, distinct, texts, hints, said) if said != "date" else []
    whole = len(ways) == 1 and not np.isnan(ways[0].numbers).any()
    if said != "number" and not (whole and not _may_be_compact(ways[0].numbers)):
        ways += _dates(start, distinct, texts, hints)
    best, most = None, 0
    for way in ways:
        fits = ~np.isnan(way.numbers)
        rows = int(distinct.rows[fits].sum())
        compact = way.reading.format == COMPACT  # 20200131 is a number too
        if (rows > most or (compact and rows == most)) and _suits(fits, distinct):
            best, most = way, rows
    return best


def _way(
    reading: ColumnReading,
    distinct: Distinct,
    read: NDArray[np.float64] | None = None,
    guessed: bool = False,
) -> _Candidate:
    """Return a candidate; its texts may have been read already."""
    values, texts = distinct.values, distinct.texts
    if read is None:
        read = reading.read_texts([values[k] for k in texts])
    numbers = np.full(len(values), np.nan)
    numbers[texts] = read
    objects = set(range(len(values))) - set(texts) if len(texts) < len(values) else ()
    for k in objects:
        numbers[k] = reading.read_object(values[k])
    numbers[np.isinf(numbers)] = np.nan
    return _Candidate(reading, numbers, guessed)


def _are_codes(name: str, texts: list[str]) -> bool:
    """Whether digits are codes, by their name or by zeros on their left."""
    digits = bool(texts) and all(text.strip().isdigit() for text in texts)
    return digits and (are_padded(texts) or is_code_name(name))


def _may_be_compact(numbers: NDArray[np.float64]) -> bool:
    return bool(numbers.min() >= 19000101 and numbers.max() <= 20991231)


def _are_truths(distinct: Distinct, texts: list[str]) -> bool:
    """Whether all values are words for yes and no, or truth values.

    A mere sign may stand for a missing value beside them; "unknown" is a third level.
    """
    others = [value for value in distinct.values if not isinstance(value, str)]
    if not texts:
        return all(isinstance(value, (bool, np.bool_)) for value in others)
    if len(texts) > MOST_TRUTHS or any(value not in (0, 1) for value in others):
        return False
    return are_truths([text for text in texts if not is_sign(text)])


def _numbers(
    start: ColumnReading,
    distinct: Distinct,
    texts: list[str],
    hints: Hints,
    said: str = "",
) -> list[_Candidate]:
    """Return the ways to read a column as numbers."""
    n_others = len(distinct.values) - len(texts)
    rows = distinct.rows[distinct.texts]
    found = number_format(texts, rows, hints.decimal, n_others)
    if found is not None and found.are_labels and said != "number":
        ways = []
    elif found is None:
        ways = [] if texts else [_way(replace(start, kind="number"), distinct)]
    else:
        form = None if found.format.is_plain() else found.format
        reading = replace(start, kind="number", format=form, notes=found.notes)
        ways = [_way(reading, distinct, found.values, found.ambiguous)]
    if any(":" in text or _TWO_UNITS.search(text) for text in texts[:MOST_TRUTHS]):
        ways.append(_way(replace(start, kind="number", format=CLOCK), distinct))
    return ways


def _dates(
    start: ColumnReading, distinct: Distinct, texts: list[str], hints: Hints
) -> list[_Candidate]:
    """Return the ways to read a column as dates."""
    place = np.full(len(distinct.values) + 1, -1)  # of each value among the texts
    place[distinct.texts] = np.arange(len(texts))
    codes = place[distinct.codes]
    rows = distinct.rows[distinct.texts]
    found = date_format(Dates(texts, rows, codes[codes >= 0]), hints.first)
    if found is not None:
        reading = replace(start, kind="date", format=found.format, notes=found.notes)
        return [_way(reading, distinct, guessed=found.ambiguous)]
    objects = (value for value in distinct.values if not isinstance(value, str))
    dates = any(days_of_object(value) is not None for value in objects)
    return [_way(replace(start, kind="date"), distinct)] if dates else []


def _suits(fits: NDArray[np.bool_], distinct: Distinct) -> bool:
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


def _category(start: ColumnReading, distinct: Distinct, many: int) -> ColumnReading:
    """Decide between a category, an identifier and free text."""
    levels = len(distinct.values)
    if levels <= many or 2 * levels <= int(distinct.rows.sum()):
        return start
    texts = [value for value in distinct.values if isinstance(value, str)]
    words = np.mean([len(text.split()) for text in texts]) if texts else 0
    return replace(start, kind="text" if words >= WORDS_OF_TEXT else "identifier")


def _forced(start: ColumnReading, column: Column, distinct: Distinct, said: str) -> str:
    """Say why a column cannot be read as the user says."""
    texts = [distinct.values[k] for k in distinct.texts]
    ways = (_numbers if said == "number" else _dates)(start, distinct, texts, Hints())
    reading = ways[0].reading if ways else replace(start, kind=said)
    misfits = reading.misfits(column, reading.numbers(column).unfit)
    return (
        f"column {shown(start.name)} is to be read as {said}s and holds {misfits}. "
        "Correct these values, leave them empty, or read the column as a category."
    )
