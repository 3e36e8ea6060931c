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
NEGATIVE = [-1.0, -7.0, -8.0, *(-x for x in (*_NINES, *_SURVEY, *_LIMITS))]
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
SMALL = 9.0  # numbers up to this are natural values so often that they must pile up:
SHARE = 0.01  # of the rows must hold them
PILE = 10.0  # times as often as any other value, for a number among the others
PILED = 5  # rows at least of a number that must pile up
# The same for 8 or 9 after a scale of answers, such as 1 to 5: whole numbers without a
# gap, and then this many that nobody gave. The tail of counts has few rows there.
SCALE_GAP = 3.0
SCALE_SHARE = 0.02  # of the rows ...
SCALE_PART = 0.1  # ... and of the mean number of rows of an answer


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
        if _are_far(values, rows, n):
            return values[:n]
    return values[:0]


def _are_far(values: NDArray, rows: NDArray, n: int) -> bool:
    """Whether the n lowest values lie far below the others.

    A value below zero is far from others that all are zero or more, whatever their
    range. Of both signs the small ones must pile up.
    """
    others, last = values[n:], values[n - 1]
    gap, span = others[0] - last, others[-1] - others[0]
    below = last < 0 <= others[0] and others[-1] > 0
    far = bool(gap > (SMALL - 1 if below else FAR) * span) and span > 0
    if len(others) < (FEW_LEVELS if far else LEAST_LEVELS):
        return False
    if rows[n:].sum() < LEAST_OTHERS:
        return False
    if abs(last) <= SMALL and rows[:n].min() < max(PILED, SHARE * rows.sum()):
        return False
    repeated = rows[:n].min() > 1
    if _after_a_scale(values, rows, n):
        return True
    if below:
        return bool(repeated or gap > span)
    if repeated:
        return bool(gap > (MARGIN if len(others) >= FEW else FEW_MARGIN) * span)
    return abs(last) > LARGE and bool(gap > WIDE * span)


def _after_a_scale(values: NDArray, rows: NDArray, n: int) -> bool:
    """Whether the n lowest values are 9 or 8, after answers from 0 or 1 to k.

    The values are negative here: the upper end of a column comes first.
    """
    others, outer = -values[n:][::-1], -values[:n]
    is_scale = others[0] in (0, 1) and bool((np.diff(others) == 1).all())
    if not is_scale or outer.min() - others[-1] < SCALE_GAP or outer.max() > SMALL:
        return False
    least = max(PILED, SCALE_SHARE * rows.sum(), SCALE_PART * rows[n:].mean())
    return bool(rows[:n].min() >= least)


def _piled(values: NDArray, rows: NDArray, found: list[float]) -> list[float]:
    """Return strong candidates among the others that pile up as no other value does."""
    strong = np.isin(values, STRONG) & ~np.isin(values, found)
    others = rows[~strong & (values != 0)]
    if len(others) < 10 * LEAST_LEVELS:
        return []
    enough = rows >= max(PILED, PILE * others.max())
    return [float(value) for value in values[strong & enough]]
