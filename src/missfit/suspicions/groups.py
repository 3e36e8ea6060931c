"""Groups: rows of one school or patient, whose targets are alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as fisher

from missfit.suspicions.look import Feature, Look
from missfit.suspicions.names import GROUP_WORDS
from missfit.suspicions.suspicion import Remedy, Suspicion, listed
from missfit.tables.codes import is_id_name, words_of
from missfit.tables.columns import shown

LEVEL = 0.01  # of the test, for all columns together
ALIKE = 0.1  # intraclass correlation from which on shuffled folds hide something
FEWEST_GROUPS = 15  # of a column whose name tells nothing: fewer may be a category
FEWEST_NAMED_GROUPS = 8  # of a column whose name says that it names persons or places
FEWEST_ROWS = 2.0  # of a group, on average
DEGREE = 3  # of the polynomial that stands for a smooth function of numbers
ROUGH = 0.5  # share of the likeness that a smooth function must leave
DENSE = 1.5  # numbers for each level that codes may run over, as 1, 2, 3, ...


class Likeness(NamedTuple):
    """How alike the rows of a level are: intraclass correlation and p-value."""

    correlation: float
    p: float


def repeated_groups(look: Look) -> list[Suspicion]:
    """Return the column that names groups of rows with like targets, if there is one.

    A column may name groups where it has many levels of several rows each, and where
    its levels are names: text, or whole numbers as 1, 2, 3. The test is an analysis of
    variance of the ranks of the target. Of numbers it takes what a polynomial leaves:
    the effect of an age is smooth, that of a school is not.
    """
    able = [feature for feature in look.features if _may_be_groups(feature)]
    found = []
    for feature in able:
        codes, y = feature.codes[feature.known], look.rank[feature.known]
        alike = likeness(codes, y).correlation
        rough = likeness(codes, _not_smooth(feature, y))
        is_rough = rough.correlation >= ROUGH * alike and rough.p < LEVEL / len(able)
        if alike >= ALIKE and is_rough:
            found.append((alike, feature))
    if not found:
        return []
    found.sort(key=lambda pair: (pair[1].missing.any(), -pair[0]))
    correlation, best = found[0]
    n_groups = len(best.distinct[0])
    others = [feature.name for _, feature in found[1:]]
    more = f" The same holds for {listed(others)}." if others else ""
    return [
        Suspicion(
            "groups",
            (best.name, *others),
            f"rows with the same {shown(best.name)} have like targets: {n_groups:,} "
            f"values in {len(best.known):,} rows, intraclass correlation "
            f"{correlation:.2f}.{more} If new rows come from new ones, as from another "
            "school or patient, the scores below are too good.",
            Remedy("group", (best.name,)),
        )
    ]


def _may_be_groups(feature: Feature) -> bool:
    values, _ = feature.distinct
    name = feature.name
    is_named = is_id_name(name) or not GROUP_WORDS.isdisjoint(words_of(name))
    fewest = FEWEST_NAMED_GROUPS if is_named else FEWEST_GROUPS
    if len(values) < fewest or len(feature.known) < FEWEST_ROWS * len(values):
        return False
    if feature.kind == "category":
        return True
    if not feature.is_whole:
        return False
    return is_named or bool(values[-1] - values[0] < DENSE * len(values))


def _not_smooth(feature: Feature, y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a smooth function of a number leaves of the target."""
    x = feature.values[feature.known]
    if feature.kind == "category":
        return y
    x = x / np.abs(x).max()  # squares of large numbers overflow
    powers = np.vander((x - x.mean()) / x.std(), DEGREE + 1)
    return y - powers @ np.linalg.lstsq(powers, y, rcond=None)[0]


def likeness(codes: NDArray[np.intp], y: NDArray[np.float64]) -> Likeness:
    """Return the intraclass correlation of y, and the p-value that there is none.

    With mean squares B between and W within L levels of n_l rows and
    k = (n - sum n_l^2 / n) / (L - 1) it is (B - W) / (B + (k - 1) W) (Fisher 1925), and
    B / W is tested by an F distribution with L - 1 and n - L degrees of freedom.
    """
    n, count = len(y), np.bincount(codes)
    count = count[count > 0]
    n_levels = len(count)
    if n_levels < 2 or n <= n_levels:
        return Likeness(0.0, 1.0)
    mean = np.bincount(codes, y)[codes] / np.bincount(codes)[codes]
    within = float(((y - mean) ** 2).sum() / (n - n_levels))
    between = float(((mean - y.mean()) ** 2).sum() / (n_levels - 1))
    size = (n - (count**2).sum() / n) / (n_levels - 1)
    if between == 0:
        return Likeness(0.0, 1.0)
    correlation = (between - within) / (between + (size - 1) * within)
    if within == 0:
        return Likeness(float(correlation), 0.0)
    p = fisher.sf(between / within, n_levels - 1, n - n_levels)
    return Likeness(float(correlation), float(p))
