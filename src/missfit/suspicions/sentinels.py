"""Numbers that stand for a missing value: far from the others, and many of them."""

from __future__ import annotations

from missfit.suspicions.look import Feature, Look
from missfit.suspicions.suspicion import Remedy, Suspicion, listed
from missfit.tables.columns import shown

# Numbers that people write for "not known".
MARKS = {-1, -7, -8, -9, 9, 99, 999, 9999, 99999, 999999}
MARKS |= {
    -99,
    -999,
    -9999,
    -99999,
    -999999,
    -77,
    -88,
    -777,
    -888,
    777,
    888,
    8888,
    -8888,
}
FEWEST = 3  # rows with the number
PILE = 0.005  # share of the rows with the number
# Distance to the nearest other value, over the range of all others. 99 among ages of 18
# to 70 has 0.56; the largest of 1,000 exponential draws has 0.14 on average.
FAR = 0.5


def sentinels(look: Look) -> list[Suspicion]:
    """Return the numbers that look like marks of missing values, one line for each."""
    found: dict[float, list[Feature]] = {}
    for feature in look.features:
        mark = sentinel_of(feature)
        if mark is not None:
            found.setdefault(mark, []).append(feature)
    return [_suspicion(mark, features) for mark, features in found.items()]


def sentinel_of(feature: Feature) -> float | None:
    """Return the number of a column that stands for a missing value, if there is one.

    It is the largest or smallest value, one that people use as a mark, in several rows,
    and far from all others.
    """
    values, counts = feature.distinct
    if feature.kind != "number" or len(values) < 4:
        return None
    least = max(FEWEST, PILE * len(feature.known))
    for end, rest in ((0, values[1:]), (-1, values[:-1])):
        span, near = rest[-1] - rest[0], rest[0] if end == 0 else rest[-1]
        is_far = abs(values[end] - near) > FAR * span
        if values[end] in MARKS and counts[end] >= least and is_far:
            return float(values[end])
    return None


def _suspicion(mark: float, features: list[Feature]) -> Suspicion:
    names = tuple(feature.name for feature in features)
    first = features[0]
    values, counts = first.distinct
    rest = values[values != mark]
    n = int(counts[values == mark][0])
    return Suspicion(
        "sentinel",
        names,
        f"{mark:g} in {listed(names)} looks like a mark for a missing value: {n:,} "
        f"rows of {shown(names[0])} have it, and all others lie between {rest[0]:g} "
        f"and {rest[-1]:g}.",
        Remedy("missing", names, f"{mark:g}"),
    )
