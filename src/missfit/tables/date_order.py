"""Which of day, month and year comes first in the dates of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.tables.date_text import (
    FORMATS,
    LATEST,
    SHORT,
    YEAR_LAST,
    DateFormat,
    days_of,
    moment,
)

ENOUGH = 0.02  # share of the rows for which an order of its own is kept


class Dates(NamedTuple):
    """Distinct texts of a column, how many rows each has, and which text a row has."""

    texts: Sequence[str]
    rows: NDArray[np.int64]
    codes: NDArray[np.intp]


class Found(NamedTuple):
    """A format that suits most texts, and what the texts left open."""

    format: DateFormat
    ambiguous: bool  # the order of day and month is a guess
    notes: tuple[str, ...]


def date_format(dates: Dates, hint: str = "") -> Found | None:
    """Find how most of the dates among some texts are written.

    Parameters
    ----------
    dates : Dates
    hint : str
        "%d" or "%m": what comes first in other columns, for dates that fit both.
    """
    moments = [moment(text) for text in dates.texts]
    plain = [one.date if one else "" for one in moments]
    if not any(plain):
        return None
    days = _Days(plain, _first_year(plain))
    used, notes = [], []
    left = np.array([bool(date) for date in plain])
    for form in FORMATS:
        if form not in YEAR_LAST + SHORT and (days.fits(form) & left).any():
            used.append(form)
            left &= ~days.fits(form)
    ambiguous = False
    for orders in (YEAR_LAST, SHORT):
        found = {form: int(dates.rows[days.fits(form) & left].sum()) for form in orders}
        if max(found.values()):
            form, guess = _order(found, dates, hint, days)
            if guess:
                ambiguous = True
                notes.append(_guessed(form, dates, days.fits(form)))
            used.append(form)
            left &= ~days.fits(form)
            others, said = _others(orders, dates, days, left)
            used += others
            notes += said
    if not used:
        return None
    form = DateFormat(tuple(used), days.first_year)
    return Found(form, ambiguous, tuple(notes))


class _Days:
    """The days that dates are in each format, read once."""

    def __init__(self, plain: Sequence[str], first_year: int):
        self.plain, self.first_year = plain, first_year
        self.read: dict[str, NDArray[np.float64]] = {}

    def of(self, form: str) -> NDArray[np.float64]:
        """Return the days in a format, NaN for what does not fit."""
        if form not in self.read:
            self.read[form] = days_of(self.plain, form, self.first_year)
        return self.read[form]

    def fits(self, form: str) -> NDArray[np.bool_]:
        """Return which dates fit a format."""
        return ~np.isnan(self.of(form))


def _order(
    found: dict[str, int], dates: Dates, hint: str, days: _Days
) -> tuple[str, bool]:
    """Return the format that suits best, and whether it is a guess."""
    most = max(found.values())
    best = [form for form, rows in found.items() if rows == most]
    if len(best) == 1:
        return best[0], False
    hinted = [form for form in best if form[:2] == hint]
    same = all(np.array_equal(days.of(best[0]), days.of(form), True) for form in best)
    if hinted or same:
        return (hinted or best)[0], False
    return max(best, key=lambda form: _rank(form, dates, days.of(form))), True


def _rank(form: str, dates: Dates, days: NDArray) -> tuple[bool, bool, bool]:
    """How likely an order is: rows in order of time, one day of all months, habit.

    Dates with strokes, as in 1/2/2020, are more often written with the month first;
    those with points or dashes with the day first.
    """
    steps = np.diff(days[dates.codes])
    steps = steps[~np.isnan(steps)]
    moves = len(steps) > 2 and bool(steps.any())
    ordered = moves and bool((steps >= 0).all() or (steps <= 0).all())
    whole = days[~np.isnan(days)].astype("datetime64[D]")
    one_day = len(np.unique(whole - whole.astype("datetime64[M]"))) == 1
    example = dates.texts[int(np.argmax(~np.isnan(days)))]
    habit = "%m" if "/" in example else "%d"
    return ordered, one_day and len(whole) > 2, form[:2] == habit


def _others(
    orders: Sequence[str], dates: Dates, days: _Days, left: NDArray[np.bool_]
) -> tuple[list[str], list[str]]:
    """Return further orders that some rows can only have, and notes on them."""
    used, notes = [], []
    for form in orders:
        only = days.fits(form) & left
        rows = int(dates.rows[only].sum())
        if rows > ENOUGH * dates.rows.sum():
            used.append(form)
            example = dates.texts[int(np.argmax(only))]
            notes.append(
                f"{rows:,} rows such as {example!r} have day and month in another "
                "order than the others; dates that fit both orders may be wrong"
            )
            left &= ~only
    return used, notes


def _guessed(form: str, dates: Dates, fits: NDArray[np.bool_]) -> str:
    first = {"%d": "day", "%m": "month", "%y": "year"}[form[:2]]
    example = dates.texts[int(np.argmax(fits))]
    return (
        f"no date says whether the day or the month comes first; the {first} was taken "
        f"to come first in dates such as {example!r}"
    )


def _first_year(plain: Sequence[str]) -> int:
    """Return the first of the hundred years that years of two digits stand for.

    The hundred years end in the widest gap between the years found, so that 85 to 99
    and 0 to 5 belong together, and not after `LATEST`.

    >>> _first_year(["1-1-45", "1-1-65", "1-1-85", "1-1-05"]), _first_year(["may-15"])
    (1926, 1941)
    """
    parts = [date.split("-") for date in plain]
    years = {int(one[-1]) for one in parts if len(one[-1]) == 2 and len(one[0]) < 4}
    if not years:
        return LATEST - 99
    ordered = np.array(sorted(years))
    gaps = np.diff(np.append(ordered, ordered[0] + 100))
    last = int(ordered[np.argmax(gaps)])  # the latest year stands before the widest gap
    latest = LATEST - (LATEST - last) % 100 + int(gaps.max()) // 2
    return min(latest, LATEST) - 99
