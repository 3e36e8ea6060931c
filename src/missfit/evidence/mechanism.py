"""Why values are missing: what the rows say, at a level that holds.

Each claim is a permutation test (see `missfit.evidence.permutation`) of a null
hypothesis that its function states. All of them follow from values missing completely
at random (MCAR): the mask is independent of the features, of y and of the weights.
Three families of tests share the level of 1 %, so that on MCAR rows any claim at all is
made with a chance of at most 1 %, on skewed and binary columns too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from missfit.evidence.permutation import Outcome, Pairs, max_test
from missfit.evidence.residuals import errors_without
from missfit.moments.patterns import variable_mask

LEVEL = 0.01  # the level of all claims together
N_FAMILIES = 3  # tests of y, of the errors of its prediction, of the other features
LEAST = 10  # the fewest rows on each side of a comparison
# The most rows that are tested: with 30 % of the values missing, a difference of 0.2
# standard deviations is then 5 standard errors.
MOST_ROWS = 3_000
MOST_WORK = 3e6  # rows times squared columns: 299 deals of 1,400 x 46 take 0.25 s
WORK_A_SECOND = 3e6
FEWEST_ROWS = 300  # this many rows are tested whatever the number of columns
# The most columns whose errors and whose pairs are tested: 300 rows of 200 columns take
# 1 to 2 s, of 1,000 columns 100 s.
MOST_COLUMNS = 200


@dataclass(frozen=True)
class Rows:
    """Rows to find evidence in.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        NaN where missing.
    y, weight : ndarray of shape (n,)
    groups : ndarray of shape (n,), optional
    variables : int ndarray of shape (d,)
        The variable that each column belongs to, in order: a category has several
        columns, which are missing together.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    groups: NDArray | None
    variables: NDArray[np.intp]

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """Mask of the variables, one bit each."""
        return variable_mask(self.X, self.variables)

    def take(self, index: NDArray[np.intp]) -> Rows:
        """Return the rows at the integers ``index``."""
        groups = None if self.groups is None else self.groups[index]
        return Rows(
            self.X[index], self.y[index], self.weight[index], groups, self.variables
        )

    def of_columns(self, columns: NDArray[np.intp]) -> Rows:
        """Return the rows with some columns, and their variables numbered anew."""
        variables = np.unique(self.variables[columns], return_inverse=True)[1]
        return replace(self, X=self.X[:, columns], variables=np.ravel(variables))


def rows_of(X, y, weight=None, groups=None, variables=None) -> Rows:
    """Return rows, by default of weight 1, without groups, each column a variable."""
    weight = np.ones(len(X)) if weight is None else weight
    variables = np.arange(X.shape[1]) if variables is None else variables
    return Rows(X, y, weight, groups, np.asarray(variables))


class Relation(NamedTuple):
    """What goes with a feature's being missing.

    Attributes
    ----------
    feature : int
        The variable that is missing.
    other : int or None
        The variable that differs where the feature is missing; None is the target.
    z : float
        The difference in standard errors, positive where the other is larger.
    p : float
        The p-value, corrected for the tests of the same family; at least 1/300.
    """

    feature: int
    other: int | None
    z: float
    p: float = np.nan


class Mechanism(NamedTuple):
    """Evidence on why values are missing; the strongest relation of a list is first.

    Attributes
    ----------
    target : list of Relation
        Features where y differs in the rows that miss them, see `target_test`.
    residual : list of Relation
        Features where the error of predicting y from the other features differs in
        the rows that miss them, see `residual_test`.
    features : list of Relation
        Pairs where another feature differs in the rows that miss the first, see
        `feature_test`.
    self_masking : bool or None
        Whether values are missing because of what they are, see
        `missfit.evidence.self_masking.with_self_masking`; None where not tested.
    self_evidence : str
        The verdict and the evidence for it, in words.
    self_possible : bool
        Whether it is possible that values are missing because of what they are, or
        because of something else that y depends on.
    target_p : ndarray of shape (n_variables,), optional
        The p-values of `target_test`, NaN where a variable was not tested.
    n_paired : int
        The number of variables whose errors and pairs were tested, 0 for all of them.
    n_rows : int
        The number of rows that were tested.
    grouped : bool
        Whether whole groups were permuted.
    """

    target: list[Relation]
    residual: list[Relation]
    features: list[Relation]
    self_masking: bool | None
    self_evidence: str
    self_possible: bool = False
    target_p: NDArray[np.float64] | None = None
    n_paired: int = 0
    n_rows: int = 0
    grouped: bool = False

    @property
    def mcar_rejected(self) -> bool:
        """Whether any claim speaks against values missing completely at random."""
        return bool(self.target or self.residual or self.features)

    def merged(self, place: Sequence[int]) -> Mechanism:
        """Return the evidence with feature j at place[j], the strongest of each place.

        What a feature says about another one at the same place is left out.
        """
        p = None
        if self.target_p is not None:
            p = np.full(max(place, default=-1) + 1, np.nan)
            for j, at in enumerate(place):
                p[at] = np.fmin(p[at], self.target_p[j])
        return self._replace(
            target=_moved(self.target, place),
            residual=_moved(self.residual, place),
            features=_moved(self.features, place),
            target_p=p,
        )


def _moved(relations: Sequence[Relation], place: Sequence[int]) -> list[Relation]:
    """Return relations between places, the first of each pair: the strongest."""
    found: dict[tuple, Relation] = {}
    for relation in relations:
        other = None if relation.other is None else place[relation.other]
        moved = relation._replace(feature=place[relation.feature], other=other)
        if moved.feature != moved.other:
            found.setdefault((moved.feature, moved.other), moved)
    return list(found.values())


def mechanism(
    rows: Rows, law: tuple[NDArray, NDArray], seconds: float = np.inf
) -> Mechanism:
    """Return what the rows say about missingness, without a verdict on self-masking.

    Parameters
    ----------
    rows : Rows
        At most 3,000 of them are tested, drawn at random (as whole groups), and fewer
        where there are many columns, see `rows_to_test`.
    law : tuple of ndarrays
        The mean and covariance of (X, y) by EM, for `residual_test`.
    seconds : float
        That the tests may take: fewer rows are tested where time is short.
    """
    rows = drawn(rows, rows_to_test(rows, seconds))
    z, p = target_test(rows)
    columns = columns_to_test(rows)
    part, named = rows.of_columns(columns), np.unique(rows.variables[columns]).tolist()
    place = np.append(columns, len(law[0]) - 1)
    law = law[0][place], law[1][np.ix_(place, place)]
    return Mechanism(
        target=_claims(z, p),
        residual=_moved(_claims(*residual_test(part, law)), named),
        features=_moved(feature_claims(part), named),
        self_masking=None,
        self_evidence="not tested",
        target_p=p,
        n_paired=len(named) if len(named) < len(p) else 0,
        n_rows=len(rows.y),
        grouped=rows.groups is not None,
    )


def rows_to_test(rows: Rows, seconds: float = np.inf) -> int:
    """Return how many rows are tested: fewer where columns are many or time is short.

    In a second as much work is done as a slow processor does.
    """
    width = min(MOST_COLUMNS, max(1, rows.X.shape[1]))
    work = min(MOST_WORK, WORK_A_SECOND * seconds)
    return int(min(MOST_ROWS, max(FEWEST_ROWS, work / width**2)))


def columns_to_test(rows: Rows) -> NDArray[np.intp]:
    """Return the columns whose errors and pairs are tested: all, unless they are many.

    Of more than 200 those of the variables with most rows on the rarer side, missing
    or observed. Deals of the masks do not change that, so that the level holds.
    """
    if rows.X.shape[1] <= MOST_COLUMNS:
        return np.arange(rows.X.shape[1])
    n_missing = rows.mask.sum(axis=0)
    rarer = np.minimum(n_missing, len(rows.mask) - n_missing)
    _, kind, size = np.unique(rows.variables, return_inverse=True, return_counts=True)
    order = np.argsort(-rarer, kind="stable")
    chosen = order[np.cumsum(size[order]) <= MOST_COLUMNS]
    return np.flatnonzero(np.isin(np.ravel(kind), chosen))


def drawn(rows: Rows, most: int, seed: int = 0) -> Rows:
    """Return at most ``most`` rows, drawn at random, one whole group after another."""
    n = len(rows.y)
    if n <= most:
        return rows
    order = np.random.default_rng(seed).permutation(n)
    if rows.groups is not None:
        first = np.unique(rows.groups[order], return_index=True, return_inverse=True)
        order = order[np.argsort(first[1][first[2]], kind="stable")]
    return rows.take(np.sort(order[:most]))


def target_test(rows: Rows) -> Outcome:
    """Test whether y differs where a feature is missing.

    The null hypothesis about feature j is that its mask is independent of (y, weight).
    The statistic compares the mean rank of y in the rows that miss j with that in all
    rows. The outcome has shape (n_variables,).
    """
    pairs = _pairs(rows, _ranks(rows.y[:, None]), slice(None))
    (found,) = max_test([pairs])
    return Outcome(found.z[0], found.p[0])


def residual_test(rows: Rows, law: tuple[NDArray, NDArray]) -> Outcome:
    """Test whether y differs beyond what the other observed features explain.

    The null hypothesis about feature j is that its mask is independent of the error,
    divided by its standard deviation, of the Gaussian's prediction of y from the
    observed features without j (and without those that are always missing together
    with j). It holds under MCAR where the masks of different features are independent
    of each other, and in mean and variance where they are not. For Gaussian (X, y) it
    also holds where values are missing at random given other features. The statistic
    is the mean error. The outcome has shape (n_variables,).
    """
    mask = rows.mask
    _, block = np.unique(np.isnan(rows.X), axis=1, return_inverse=True)
    block = np.ravel(block)
    first = np.unique(rows.variables, return_index=True)[1]
    errors = errors_without(rows.X, rows.y, law, block)[:, block[first]]
    tested = np.eye(mask.shape[1], dtype=bool)
    (found,) = max_test([_pairs(rows, errors, slice(None), tested)])
    return Outcome(np.diag(found.z), np.diag(found.p))


def feature_test(rows: Rows) -> list[tuple[NDArray[np.intp], Outcome]]:
    """Test whether other features differ where a feature is missing.

    The null hypothesis about features j and k is that in the rows where k is observed,
    the mask of j is independent of (X_k, weight). The statistic is the mean rank of
    X_k. Masks are permuted among the rows where k is observed, so that the test is
    exact whichever features are missing together. Returns pairs of the columns k and
    their outcomes, of shape (columns, n_variables).
    """
    hidden = np.isnan(rows.X)
    kinds, kind = np.unique(hidden, axis=1, return_inverse=True)
    columns, family = [], []
    for k in range(kinds.shape[1]):
        here, seen = np.flatnonzero(np.ravel(kind) == k), ~kinds[:, k]
        if seen.sum() < 2 * LEAST:
            continue
        values = _ranks(rows.X[np.ix_(seen, here)])
        own = rows.variables[here][:, None] == np.arange(rows.mask.shape[1])
        columns.append(here)
        family.append(_pairs(rows, values, seen, ~own))
    return list(zip(columns, max_test(family), strict=True))


def feature_claims(rows: Rows) -> list[Relation]:
    """Return the pairs of variables that `feature_test` finds related."""
    best: dict[tuple[int, int], Relation] = {}
    for columns, (z, p) in feature_test(rows):
        for q, j in np.argwhere(p <= LEVEL / N_FAMILIES):
            other = int(rows.variables[columns[q]])
            new = Relation(int(j), other, float(z[q, j]), float(p[q, j]))
            old = best.setdefault((new.feature, other), new)
            if abs(new.z) > abs(old.z):  # a category has several columns
                best[new.feature, other] = new
    return sorted(best.values(), key=lambda r: -abs(r.z))


def _claims(z: NDArray, p: NDArray) -> list[Relation]:
    found = np.flatnonzero(p <= LEVEL / N_FAMILIES)
    order = found[np.argsort(-np.abs(z[found]), kind="stable")]
    return [Relation(int(j), None, float(z[j]), float(p[j])) for j in order]


def _pairs(rows: Rows, values, index, tested=None) -> Pairs:
    """Return values, centred by their weighted mean, with all variables' masks."""
    weight, mask = rows.weight[index][:, None], rows.mask[index].astype(float)
    values = weight * (values - (weight * values).sum(0) / weight.sum())
    n_missing = mask.sum(axis=0)
    enough = np.minimum(n_missing, len(mask) - n_missing) >= LEAST
    allowed = np.tile(enough, (values.shape[1], 1))
    groups = None
    if rows.groups is not None:
        groups = np.unique(rows.groups[index], return_inverse=True)[1]
    return Pairs(values, mask, allowed if tested is None else allowed & tested, groups)


def _ranks(values: NDArray) -> NDArray[np.float64]:
    """Return the ranks of each column, scaled to (0, 1); ties get their mean rank."""
    return (stats.rankdata(values, axis=0) - 0.5) / max(1, len(values))
