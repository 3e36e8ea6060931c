"""What has changed from the table of a fit to new rows, by tests that hold a level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.evidence.change import (
    LEVEL,
    Counts,
    beyond_p_value,
    corrected,
    share_p_value,
    unseen_p_value,
)
from missfit.moments.patterns import unpacked_patterns
from missfit.tables.columns import shown

FAMILIES = 4  # missing values, patterns, ranges, levels: each has a part of the level
MOST_NAMED = 4  # columns of a pattern in a sentence


class Change(NamedTuple):
    """A change that is not taken for chance.

    Attributes
    ----------
    kind : str
        "missing", "pattern", "range" or "level".
    column : str
        The column, "" where it is a pattern of several.
    words : str
        What has changed, as a sentence without a full stop.
    p : float
        The p-value, corrected for all tests of its kind.
    """

    kind: str
    column: str
    words: str
    p: float


class Seen(NamedTuple):
    """New rows, counted.

    Attributes
    ----------
    n_rows : int
    missing : int ndarray of shape (d,)
        Rows in which each variable is missing; levels never seen do not count.
    observed : int ndarray of shape (d,)
        Rows in which it is observed, with those of levels never seen.
    patterns : mapping of bytes to int
    beyond : int ndarray of shape (2, d)
        Values below the smallest and above the largest at fit.
    ends : ndarray of shape (2, d)
        The smallest and the largest value.
    levels : mapping of str to (mapping of str to int)
        Rows of levels never seen, by column.
    """

    n_rows: int
    missing: NDArray[np.int64]
    observed: NDArray[np.int64]
    patterns: Mapping[bytes, int]
    beyond: NDArray[np.int64]
    ends: NDArray[np.float64]
    levels: Mapping[str, Mapping[str, int]]


def changes(model: Any, seen: Seen) -> list[Change]:
    """Return what has changed, the surest first.

    Where nothing has changed, there is any change at all in at most 1 % of the cases:
    missing values, patterns, ranges and levels are tested at a quarter of that each,
    corrected for the number of columns, patterns or levels (Holm).

    Parameters
    ----------
    model : TableModel
        With a profile.
    seen : Seen
    """
    if not seen.n_rows:
        return []
    found = [
        *_missing(model, seen),
        *_patterns(model, seen),
        *_ranges(model, seen),
        *_levels(model, seen),
    ]
    return sorted((c for c in found if c.p <= LEVEL / FAMILIES), key=lambda c: c.p)


def _missing(model: Any, seen: Seen) -> list[Change]:
    old = model.missingness
    counts = [
        Counts(int(before), old.n_rows, int(now), seen.n_rows)
        for before, now in zip(old.count, seen.missing, strict=True)
    ]
    p = corrected(np.array([share_p_value(one) for one in counts]))
    found = []
    for name, one, value in zip(model.columns, counts, p, strict=True):
        before, now = one.shares
        words = (
            f"column {shown(name)} is missing in {now:.1%} of these rows, in "
            f"{before:.1%} at fit{_times(before, now)}"
        )
        found.append(Change("missing", name, words, float(value)))
    return found


def _times(before: float, now: float) -> str:
    """Return how many times as often, where that says more than the shares."""
    if before > 0 and now >= 1.5 * before:
        return f", {now / before:.1f} times as often"
    return ""


def _patterns(model: Any, seen: Seen) -> list[Change]:
    """Test the rows of patterns never seen: all together, and pattern by pattern."""
    old = model.profile.patterns
    n_old = model.profile.n_rows
    new = {key: n for key, n in seen.patterns.items() if key not in old}
    if not new:
        return []
    n_unseen = sum(new.values())
    words = (
        f"{n_unseen / seen.n_rows:.1%} of these rows have a combination of missing "
        "columns never seen at fit"
    )
    together = min(1.0, 2 * unseen_p_value(old, seen.patterns))
    found = [Change("pattern", "", words, together)]
    keys = list(new)
    p = np.array([beyond_p_value(new[key], n_old, seen.n_rows) for key in keys])
    for key, value in zip(keys, corrected(p, len({*old, *new})), strict=True):
        share = new[key] / seen.n_rows
        words = (
            f"{share:.1%} of these rows lack {_named(model, key)} together, and "
            "nothing else; no row did at fit"
        )
        found.append(Change("pattern", "", words, float(min(1.0, 2 * value))))
    return found


def _named(model: Any, key: bytes) -> str:
    """Return the columns that a pattern lacks."""
    pattern = unpacked_patterns([key], len(model.columns))[0]
    names = [shown(model.columns[j]) for j in np.flatnonzero(pattern)]
    if not names:
        return "no column"
    more = len(names) - MOST_NAMED
    text = ", ".join(names[:MOST_NAMED])
    return text + (f" and {more} other columns" if more > 0 else "")


def _ranges(model: Any, seen: Seen) -> list[Change]:
    old, limits = model.missingness, model.profile.ranges()
    ranged = np.flatnonzero(~np.isnan(limits[0]))
    p = [
        beyond_p_value(
            int(seen.beyond[side, j]),
            int(old.n_rows - old.count[j]),
            int(seen.observed[j]),
        )
        for j in ranged
        for side in (0, 1)
    ]
    found = []
    for place, value in enumerate(corrected(np.array(p))):
        j, side = int(ranged[place // 2]), place % 2
        n, what = seen.beyond[side, j], ("below the smallest", "above the largest")
        words = (
            f"column {shown(model.columns[j])} has {n:,} values {what[side]} at fit, "
            f"{limits[side, j]:.6g}, the furthest {seen.ends[side, j]:.6g}"
        )
        found.append(Change("range", model.columns[j], words, float(value)))
    return found


def _levels(model: Any, seen: Seen) -> list[Change]:
    old = model.missingness
    n_known = sum(len(levels) for levels in model.encoder.categories_)
    pairs = [(name, level) for name, count in seen.levels.items() for level in count]
    p = []
    for name, level in pairs:
        j = model.columns.index(name)
        n_old = int(old.n_rows - old.count[j])
        p.append(beyond_p_value(seen.levels[name][level], n_old, int(seen.observed[j])))
    found = []
    for (name, level), value in zip(
        pairs, corrected(np.array(p), n_known + len(pairs)), strict=True
    ):
        n = seen.levels[name][level]
        words = (
            f"column {shown(name)} has the new level {shown(level)} in {n:,} of these "
            "rows, and no row had it at fit; it is taken as missing"
        )
        found.append(Change("level", name, words, float(value)))
    return found
