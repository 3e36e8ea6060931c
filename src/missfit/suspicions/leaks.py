"""Columns that know the target: by their values, or by where they are missing.

How well a column knows a number is told by R2. How well it knows a class is told by the
AUC of each class against the others; 2 AUC - 1 is 0 by chance and 1 at best, like R2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from missfit.suspicions.look import Feature, Look
from missfit.suspicions.names import is_counter
from missfit.suspicions.one_column import (
    level_auc,
    level_r2,
    neighbour_auc,
    neighbour_r2,
    separation,
)
from missfit.suspicions.suspicion import Remedy, Suspicion
from missfit.tables.columns import shown

LEAK = 0.98  # R2, or 2 AUC - 1, of a column that is hardly an honest measurement
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
    """Return how well one column knows the target, where it has a value."""
    rows = feature.known
    values, _ = feature.distinct
    if len(rows) < FEWEST or len(values) < 2 or feature.kind == "date":
        return 0.0
    is_category = feature.kind == "category"
    if is_category and len(values) > FEW_LEVELS:
        return 0.0
    if is_counter(feature, look.n_rows):  # a smooth series is not told by its index
        return 0.0
    if look.code is not None:
        return _gini(feature, rows, look.code[rows])
    if is_category:
        return level_r2(feature.codes[rows], look.rank[rows])
    return neighbour_r2(feature.values[rows], look.rank[rows])


def _gini(feature: Feature, rows: NDArray[np.intp], code: NDArray[np.intp]) -> float:
    """Return 2 AUC - 1 of a column, over the classes by their shares of the rows."""
    share = np.bincount(code) / len(code)
    if len(share) == 2:
        share = np.array([0.0, 1.0])
    total = 0.0
    for k in np.flatnonzero(share):
        if feature.kind == "category":
            auc = level_auc(feature.codes[rows], code == k)
        else:
            auc = neighbour_auc(feature.values[rows], code == k)
        total += share[k] * (2 * auc - 1)
    return total


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
    name, target = shown(feature.name), shown(look.target)
    best, where = max(others, 0.0), ""
    if feature.missing.any():
        where = " where it is known"
    if look.code is None:
        share = _below_all(r2)
        found = f"{name} alone explains {share} of the ranks of {target}{where}"
        rest = f"; no other column explains more than {best:.0%}"
    else:
        auc = _below_all((1 + r2) / 2)
        found = f"{name} alone tells the classes of {target} apart{where}, with an AUC"
        found += f" of {auc}"
        rest = f"; no other column has more than {(1 + best) / 2:.0%}"
    return Suspicion(
        "leak",
        (feature.name,),
        f"{found}{rest if len(look.features) > 1 else ''}. Will it be known before "
        f"{target} is? If not, the scores below are too good to be true.",
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
    found = []
    for feature in look.features:
        if min(int(feature.missing.sum()), len(feature.known)) < FEWEST_ON_A_SIDE:
            continue
        for y in _sides(look):
            auc = separation(y, feature.missing)
            if max(auc, 1 - auc) > SEPARATED:
                found.append(_mask_leak(feature, auc, y, look))
                break
    return found


def _sides(look: Look) -> Iterator[NDArray[np.float64]]:
    """Yield the target, or where more than two classes are each of them."""
    if look.code is None or len(look.classes) == 2:
        yield look.y
        return
    for k in range(len(look.classes)):
        yield (look.code == k).astype(float)


def _mask_leak(
    feature: Feature, auc: float, y: NDArray[np.float64], look: Look
) -> Suspicion:
    where = (
        f"where {shown(feature.name)} is missing ({feature.missing.sum():,} of "
        f"{look.of}), {shown(look.target)} is "
    )
    if look.code is None:
        side = "larger" if auc > 0.5 else "smaller"
        said = f"{side} than elsewhere in {_below_all(max(auc, 1 - auc))} of all pairs"
        said += " of rows"
    else:
        label = shown(look.classes[int(look.code[y > 0][0])])
        there, elsewhere = y[feature.missing].mean(), y[feature.known].mean()
        said = f"{label} in {there:.1%} of the rows, elsewhere in {elsewhere:.1%}"
    return Suspicion(
        "leak by missing values",
        (feature.name,),
        f"{where}{said}. Was the value left empty because of the outcome? Then it is "
        "not known when you predict.",
        Remedy("drop", (feature.name,)),
    )
