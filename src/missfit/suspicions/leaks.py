"""Columns that know the target: by their values, or by where they are missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from missfit.suspicions.look import Feature, Look
from missfit.suspicions.names import is_counter
from missfit.suspicions.one_column import level_r2, neighbour_r2
from missfit.suspicions.suspicion import Remedy, Suspicion
from missfit.tables.columns import shown

LEAK = 0.98  # R2 of one column from which it is hardly an honest measurement
# What a leak leaves unexplained is less than this share of what the best other column
# leaves: in a table of physics every column may explain 98 %.
FAR_ABOVE = 0.25
FEW_LEVELS = 20  # of a category that may leak; one of more levels is a group
FEWEST = 30  # rows with a value from which on a claim is made
FEWEST_ON_A_SIDE = 10  # rows that miss a value, and rows that have it
N_SPANS = 20  # of time, in which a leak must follow the target
FOLLOWED = 0.5  # squared correlation within the spans: noise weighs more there
SEPARATED = 0.98  # AUC from which on a mask tells the target


def leaks(
    look: Look, groups: set[str], in_time: NDArray[np.intp] | None = None
) -> list[Suspicion]:
    """Return the columns that predict the target almost perfectly on their own.

    The target is taken by its ranks, so that a copy, a multiple, a logarithm and any
    other monotone function of it count alike.

    Parameters
    ----------
    look : Look
    groups : set of str
        Columns that are suspected to be groups, and so no leaks.
    in_time : ndarray of int, optional
        The rows in the order of time, where the target drifts with it. Then neighbours
        in a smooth column are neighbours in time, and a leak must follow the target
        up and down as well.
    """
    able = [feature for feature in look.features if feature.name not in groups]
    r2 = {f.name: _r2(f, look) for f in able}
    if in_time is not None:
        r2 = {f.name: r2[f.name] * _follows(f, look, in_time) for f in able}
    others = max((value for value in r2.values() if value <= LEAK), default=0.0)
    found = []
    for feature in look.features:
        value = r2.get(feature.name, 0.0)
        if value > LEAK and 1 - value < FAR_ABOVE * (1 - max(others, 0.0)):
            found.append(_leak(feature, value, others, look))
    return found


def _r2(feature: Feature, look: Look) -> float:
    """Return R2 of the ranks of the target by one column, where it has a value."""
    rows = feature.known
    values, _ = feature.distinct
    if len(rows) < FEWEST or len(values) < 2 or feature.kind == "date":
        return 0.0
    y = look.rank[rows]
    if feature.kind == "category":
        is_small = len(values) <= FEW_LEVELS
        return level_r2(feature.codes[rows], y) if is_small else 0.0
    if is_counter(feature, look.n_rows):  # a smooth series is not told by its index
        return 0.0
    return neighbour_r2(feature.values[rows], y)


def _follows(feature: Feature, look: Look, in_time: NDArray[np.intp]) -> bool:
    """Whether a column goes up and down with the target within short spans of time.

    Two trends have like ranks by chance, but not the same deviations from their means
    over a twentieth of the rows.
    """
    rows = in_time[~feature.missing[in_time]]
    if len(rows) < FEWEST:
        return False
    span = np.arange(len(rows)) * N_SPANS // len(rows)
    x, y = (
        rank - (np.bincount(span, rank) / np.bincount(span))[span]
        for rank in (rankdata(feature.values[rows]), rankdata(look.y[rows]))
    )
    return bool((x @ y) ** 2 > FOLLOWED * (x @ x) * (y @ y))


def _leak(feature: Feature, r2: float, others: float, look: Look) -> Suspicion:
    best = f"; no other column explains more than {max(others, 0.0):.0%}"
    rest = best if len(look.features) > 1 else ""
    where = "" if not feature.missing.any() else " where it is known"
    return Suspicion(
        "leak",
        (feature.name,),
        f"{shown(feature.name)} alone explains {_below_all(r2)} of the ranks of "
        f"{shown(look.target)}{where}{rest}. Will it be known before "
        f"{shown(look.target)} is? If not, the scores below are too good to be true.",
        Remedy("drop", (feature.name,)),
    )


def _below_all(share: float) -> str:
    """Write a share without rounding it up to all.

    >>> _below_all(0.99998), _below_all(0.985), _below_all(1.0)
    ('99.99 %', '98.50 %', '100 %')
    """
    return "100 %" if share == 1 else f"{np.floor(share * 1e4) / 100:.2f} %"


def mask_leaks(look: Look) -> list[Suspicion]:
    """Return the columns whose being missing tells the target almost perfectly.

    The evidence is the AUC: how often a row that misses the value has a larger target
    than a row that has it.
    """
    rank = rankdata(look.y)
    found = []
    for feature in look.features:
        n_missing, n_known = int(feature.missing.sum()), len(feature.known)
        if min(n_missing, n_known) < FEWEST_ON_A_SIDE:
            continue
        above = rank[feature.missing].mean() - (n_missing + 1) / 2
        auc = float(above / n_known)
        if max(auc, 1 - auc) > SEPARATED:
            found.append(_mask_leak(feature, auc, look))
    return found


def _mask_leak(feature: Feature, auc: float, look: Look) -> Suspicion:
    side = "larger" if auc > 0.5 else "smaller"
    return Suspicion(
        "leak by missing values",
        (feature.name,),
        f"where {shown(feature.name)} is missing ({feature.missing.sum():,} of "
        f"{look.of}), {shown(look.target)} is {side} than elsewhere in "
        f"{_below_all(max(auc, 1 - auc))} of all pairs of rows. Was the value left "
        "empty because of the outcome? Then it is not known when you predict.",
        Remedy("drop", (feature.name,)),
    )
