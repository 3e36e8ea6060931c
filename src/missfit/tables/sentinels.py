"""Numbers that stand for a missing value, such as -999: found, never taken for granted.

A number is one of these only if it is on a list of numbers that people use for it, and
the other values show it: it lies outside their range by a wide margin, or piles up far
beyond any of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_NINES = [9.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0, 9999999.0, 99999999.0]
_SURVEY = [77.0, 88.0, 97.0, 98.0, 777.0, 888.0, 997.0, 998.0, 7777.0, 8888.0]
_SURVEY += [9997.0, 9998.0]
_LIMITS = [32767.0, 65535.0, 2147483647.0, 4294967295.0, 1e10, 1e20, 1e30, 1e36]
_LIMITS += [9.969209968386869e36, 3.4028234663852886e38, 1.7976931348623157e308]
NEGATIVE = [0.0, -1.0, -7.0, -8.0, *(-x for x in (*_NINES, *_SURVEY, *_LIMITS))]
NEGATIVE += [-999.9, -99.9, -99.99, -999.99, -32768.0, -2147483648.0]
POSITIVE = [7.0, 8.0, *_NINES, *_SURVEY, *_LIMITS, 999.9, 99.9, 99.99, 999.99, 9999.99]
# numbers nobody measures: these may also stand among the others, if they pile up
STRONG = [-9999999.0, -999999.0, -99999.0, -9999.0, -999.0, 9999.0, 99999.0, 999999.0]
DATES = ["0001-01-01", "1800-01-01", "1899-12-30", "1899-12-31", "1900-01-01"]
DATES += ["1970-01-01", "2099-12-31", "2999-12-31", "9999-12-31"]
_DAYS = np.array(DATES, dtype="datetime64[D]").astype(np.int64).astype(float)

# Chosen on generated columns (ages, counts, prices, temperatures, scores, codes), with
# and without sentinels, so that no column without one lost a value.
LEAST_OTHERS = 10  # rows with other values
LEAST_LEVELS = 5  # different other values: -1, 0 and 1 are codes
FEW_LEVELS = 2  # the same, for a number as far as 99 is from 0 and 1
FAR = 20.0  # ranges of the other values that are as far
MARGIN = 1.0  # ranges between the others and a number that is repeated, ...
FEW_MARGIN = 2.0  # ... or where the others are fewer than this many different values:
FEW = 10  # prices of 49, 99, ..., 499 and 999 are no sentinels
WIDE = 10.0  # the same for a number that stands there once, and is this large:
LARGE = 500.0  # 99 days of 7 may be a slip of the pen
ZERO_MARGIN = 3.0  # the same for 0, as in years of 0 and of 1900 to 2020
LONELY = 0.25  # ranges between the others and a number below zero that may stand alone
SMALL = 9.0  # numbers up to this are natural values so often that they must pile up:
SHARE = 0.01  # of the rows must hold them
PILE = 10.0  # times as often as any other value, for a number among the others
PILED = 5  # rows at least of a number that must pile up
# The same for 8 or 9 after a scale of answers, such as 1 to 5: whole numbers without a
# gap, and then this many that nobody gave. The tail of counts has few rows there.
SCALE_GAP = 3.0
SCALE_SHARE = 0.02  # of the rows ...
SCALE_PART = 0.1  # ... and of the mean number of rows of one of 5 answers or more
# The same for 99 after hours of 0 to 80: it is beyond the others by a part of their
# range, has a share of the rows, and many times those of the end of the range.
END_GAP, END_NEAR = 0.1, 0.1
END_SHARE, END_PILE = 0.02, 5.0


class Pile(NamedTuple):
    """The different values of a column in order, and how many rows have each."""

    values: NDArray[np.float64]
    rows: NDArray[np.int64]


def sentinels_of(values: NDArray[Any], *, dates: bool = False) -> tuple[float, ...]:
    """Return the values of a column that stand for a missing value.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers without NaN, or days since 1970-01-01.
    dates : bool
        Whether they are days.

    Examples
    --------
    >>> ages = np.arange(20.0, 70)
    >>> sentinels_of(np.append(ages, [-999, -999])), sentinels_of(np.append(ages, 99))
    ((-999.0,), ())
    """
    if len(values) <= LEAST_OTHERS or not _may_hold_any(values, dates):
        return ()
    return sentinels_in(Pile(*np.unique(values, return_counts=True)), dates=dates)


def _may_hold_any(values: NDArray[Any], dates: bool) -> bool:
    """Whether an end of the range, or a strong candidate, is there: a cheap look."""
    ends = [float(values.min()), float(values.max())]
    known = _DAYS if dates else [*NEGATIVE, *POSITIVE]
    if np.isin(ends, known).any():
        return True
    strong = [] if dates else [x for x in STRONG if ends[0] < x < ends[1]]
    return any((values == x).sum() >= PILED for x in strong)


def sentinels_in(pile: Pile, *, dates: bool = False) -> tuple[float, ...]:
    """Return the values of a pile that stand for a missing value."""
    values, rows = pile.values.astype(float), pile.rows
    found: list[float] = []
    for known, sign in ((NEGATIVE, 1), (POSITIVE, -1)):
        some = _DAYS if dates else np.array(known)
        order = slice(None, None, sign)  # from the outer end of the range inwards
        with np.errstate(over="ignore"):  # the largest number is a candidate itself
            outer = _outermost(sign * values[order], rows[order], sign * some)
        found += [float(sign * value) for value in outer]
    if not dates:
        found += _piled(values, rows, found)
    return tuple(sorted(set(found)))


def _outermost(values: NDArray, rows: NDArray, known: NDArray) -> NDArray:
    """Return the candidates at the lower end that lie far from all other values.

    Several may stand together, as 97, 98 and 99 do: as many as can be taken are.
    """
    inner = np.flatnonzero(~np.isin(values, known))
    most = int(inner[0]) if len(inner) else 0
    for n in range(most, 0, -1):
        if _is_far(_End(values[:n], rows[:n], values[n:], rows[n:])):
            return values[:n]
    return values[:0]


class _End(NamedTuple):
    """The lower end of a column: candidates, and the other values with their rows.

    The upper end comes with its sign turned, so that 99 is the lowest value there, -99.
    """

    outer: NDArray[np.float64]
    outer_rows: NDArray[np.int64]
    others: NDArray[np.float64]
    other_rows: NDArray[np.int64]

    @property
    def last(self) -> float:
        """The candidate that is nearest to the others."""
        return float(self.outer[-1])

    @property
    def gap(self) -> float:
        return float(self.others[0] - self.outer[-1])

    @property
    def span(self) -> float:
        return float(self.others[-1] - self.others[0])

    @property
    def is_below(self) -> bool:
        """Whether the candidates are below zero, and no other value is."""
        return self.last < 0 <= self.others[0] and self.others[-1] > 0

    @property
    def fewest(self) -> int:
        """The rows of the candidate that has the fewest."""
        return int(self.outer_rows.min())

    def share(self, part: float) -> float:
        """Return a part of all rows, and never fewer than those of a pile."""
        n_rows = int(self.outer_rows.sum() + self.other_rows.sum())
        return max(PILED, part * n_rows)


def _is_far(end: _End) -> bool:
    """Whether the candidates of an end lie far below the others.

    A value below zero is far from others that all are zero or more, whatever their
    range. Of both signs the small ones must pile up.
    """
    gap, span, n_others = end.gap, end.span, len(end.others)
    if end.other_rows.sum() < LEAST_OTHERS:
        return False
    if _is_after_a_scale(end):
        return True
    is_far = gap > (SMALL - 1 if end.is_below else FAR) * span > 0
    if n_others < (FEW_LEVELS if is_far else LEAST_LEVELS) or not _is_enough(end):
        return False
    if end.last == 0:
        return gap > ZERO_MARGIN * span
    repeated = end.fewest > 1
    if end.is_below:
        return repeated or gap > span or _is_lonely(end)
    if repeated:
        margin = MARGIN if n_others >= FEW else FEW_MARGIN
        return gap > margin * span or _is_pile_at_end(end)
    return abs(end.last) > LARGE and gap > WIDE * span


def _is_enough(end: _End) -> bool:
    """Whether small candidates pile up, or stand where no other value is near."""
    if abs(end.last) > SMALL or _is_lonely(end):
        return True
    most = end.other_rows.max() if end.is_below else np.inf
    return end.fewest >= (end.share(0) if end.fewest > most else end.share(SHARE))


def _is_lonely(end: _End) -> bool:
    """Whether -1 or the like is far from prices that all are above 50, say."""
    return end.is_below and len(end.others) >= FEW and end.gap > LONELY * end.span


def _is_pile_at_end(end: _End) -> bool:
    """Whether many rows have a number beyond an end that hardly any row comes near.

    Hours of 0 to 80 end with a few rows, and then many have 99.
    """
    if abs(end.last) <= SMALL or end.gap < END_GAP * end.span:
        return False
    near = end.others <= end.others[0] + END_NEAR * end.span
    least = max(end.share(END_SHARE), END_PILE * end.other_rows[near].sum())
    return len(end.others) >= FEW and end.fewest >= least


def _is_after_a_scale(end: _End) -> bool:
    """Whether the candidates are 9 or 8, after answers from 0 or 1 to k."""
    answers, outer = -end.others[::-1], -end.outer
    is_scale = answers[0] in (0, 1) and bool((np.diff(answers) == 1).all())
    if not is_scale or len(answers) < FEW_LEVELS or outer.max() > SMALL:
        return False
    if outer.min() - answers[-1] < SCALE_GAP:
        return False
    usual = end.other_rows.sum() / max(LEAST_LEVELS, len(answers))
    least = max(end.share(SCALE_SHARE), SCALE_PART * usual)
    return end.fewest >= least


def _piled(values: NDArray, rows: NDArray, found: list[float]) -> list[float]:
    """Return strong candidates among the others that pile up as no other value does."""
    strong = np.isin(values, STRONG) & ~np.isin(values, found)
    others = rows[~strong & (values != 0)]
    if len(others) < 10 * LEAST_LEVELS:
        return []
    enough = rows >= max(PILED, PILE * others.max())
    return [float(value) for value in values[strong & enough]]
