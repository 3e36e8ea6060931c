"""Numbers that were taken for marks of missing values: far from the others."""

from __future__ import annotations

from missfit.suspicions.look import Feature, Look
from missfit.suspicions.suspicion import MOST_NAMES, Remedy, Suspicion, listed
from missfit.tables.columns import count_of


def sentinels(look: Look) -> list[Suspicion]:
    """Return the numbers that stand for missing values, one line for each.

    They are found where tables are read (`missfit.tables.sentinels`), and are missing
    in these rows already.
    """
    found: dict[str, list[Feature]] = {}
    for feature in look.features:
        for mark in feature.sentinels:
            found.setdefault(mark, []).append(feature)
    return [_suspicion(mark, features) for mark, features in found.items()]


def _suspicion(mark: str, features: list[Feature]) -> Suspicion:
    names = tuple(feature.name for feature in features)
    n_values = sum(feature.sentinels[mark] for feature in features)
    what = count_of(n_values, "row" if len(features) == 1 else "value")
    return Suspicion(
        "sentinel",
        names,
        f"{mark} was taken as missing in {what} of {listed(names)}, since "
        f"{_others(features)}. Is it a value that was measured?",
        Remedy("keep", names[:MOST_NAMES]),
    )


def _others(features: list[Feature]) -> str:
    """Say where all other values lie."""
    one, *more = features
    if more or not len(one.known):
        return "it lies far from all other values there"
    known = one.values[one.known]
    ends = one.written(known.min()), one.written(known.max())
    return f"all other values lie between {ends[0]} and {ends[1]}"
