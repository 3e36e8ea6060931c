"""Numbers that were taken for marks of missing values: far from the others."""

from __future__ import annotations

import numpy as np

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
    n_rows = sum(feature.sentinels[mark] for feature in features)
    known = [f.values[f.known] for f in features if len(f.known)]
    others = "."
    if known:
        low, high = np.min([k.min() for k in known]), np.max([k.max() for k in known])
        first = features[0]
        others = f", since all other values lie between {first.written(low)} and "
        others += f"{first.written(high)}."
    return Suspicion(
        "sentinel",
        names,
        f"{mark} was taken as missing in {count_of(n_rows, 'row')} of {listed(names)}"
        f"{others} Is it a value that was measured?",
        Remedy("keep", names[:MOST_NAMES]),
    )
