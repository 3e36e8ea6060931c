"""The calibration of intervals: held-out scores in, one threshold per pattern out.

A score says how badly a held-out row was predicted, such as its absolute error.
Everything here is made of scores, masks, groups and weights, so that it serves sets of
classes as well as intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.moments.patterns import find_keys, group_rows, pattern_keys

SAME, POOLED, ALL, TOO_FEW = "same pattern", "pooled patterns", "all rows", "too few"
# Rows in a pool of patterns, and in the one of those with the most missing values, who
# differ most from others. Sets of classes of 90 %, rows that miss 6, 7 and 8 of 10
# values under self-masking, 100 fits with 400 and with 2,000 calibration rows:
#    50, 20    .887 .850 .856    .901 .904 .904
#    30, 20    .912 .883 .887    .901 .904 .904
#    20, 10    .908 .890 .894    .901 .902 .903
# The standard errors are .004 to .007. The coverage of one pool of 20 has a standard
# deviation of 6 points.
POOL, LAST_POOL = 20, 10
ROUNDING = 1e-9  # of sums of weights
# Probabilities that differ by no more are the same: predictions of one row differ in
# their last digits with the rows beside it.
TIED = 1e-9


class Ties(NamedTuple):
    """By how much equal scores may differ: absolutely, and as a share of themselves.

    A score of probability is 1 - p, known to the last digit of 1. An error has a unit.
    """

    absolute: float
    share: float

    def lowest(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the lowest of the scores that are equal to each of some."""
        return scores * (1 - self.share) - self.absolute

    def highest(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the highest of the scores that are equal to each of some."""
        return scores * (1 + self.share) + self.absolute


OF_PROBABILITIES, OF_ERRORS = Ties(TIED, 0.0), Ties(0.0, TIED)


class Thresholds(NamedTuple):
    """Thresholds of patterns, and which rows calibrated each of them.

    Attributes
    ----------
    value : ndarray of shape (P,)
        Infinite where there are too few rows.
    kind : ndarray of str, shape (P,)
        "same pattern", "pooled patterns", "all rows" or "too few".
    tied : ndarray of shape (P,)
        Of rows whose score is the value itself, the share that coverage needs.
    """

    value: NDArray[np.float64]
    kind: NDArray[np.str_]
    tied: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Calibration:
    """Held-out scores, and the thresholds that they give to patterns.

    The threshold of a pattern m is the quantile of the scores of a set R(m) of
    calibration rows:

    - same pattern: R(m) are the rows of m, where they are 1/alpha - 1 or more: as many
      as the rank needs.
    - pooled patterns: the rows of all other rare patterns with about as many missing
      values, 20 or more, or 10 with the most. A row is in a pool where its pattern
      *without this row* is too rare, the rule by which a new row comes there, so that
      both are exchangeable.
    - all rows: where rare patterns have too few rows even together.

    In the last two cases it is the quantile of their `place` among the scores that are
    typical of their own pattern, and the threshold is the score at that place among
    those typical of m (`missfit.estimators.typical_scores`).

    Same pattern covers 1 - alpha given the pattern, and pooled patterns on average over
    the pool, whatever the mechanism and whatever is typical. All rows relies on it.

    Attributes
    ----------
    score : ndarray of shape (n,)
    place : ndarray of shape (n,)
    mask : bool ndarray of shape (n, d)
        True where a value is missing.
    group : int ndarray of shape (n,)
        Rows of one group count as one draw, of which each is a part.
    weight : ndarray of shape (n,)
    """

    score: NDArray[np.float64]
    place: NDArray[np.float64]
    mask: NDArray[np.bool_]
    group: NDArray[np.intp]
    weight: NDArray[np.float64]

    def has_own_rows(
        self, patterns: NDArray[np.bool_], alpha: float
    ) -> NDArray[np.bool_]:
        """Whether patterns (P, d) have enough rows of their own."""
        seen = group_rows(self.mask)
        number = effective_numbers(seen.pattern_of_row(), self.group, self.weight)
        place = find_keys(pattern_keys(seen.patterns), pattern_keys(patterns))
        return (place >= 0) & is_enough(number[place], alpha)

    def thresholds(
        self,
        patterns: NDArray[np.bool_],
        alpha: float,
        score_at: Callable[[NDArray], tuple[NDArray, NDArray]],
    ) -> Thresholds:
        """Return the thresholds of distinct patterns.

        Parameters
        ----------
        patterns : bool ndarray of shape (P, d)
        alpha : float
        score_at : callable
            From a place (P,) to the score at that place in each of these patterns, and
            the share of the rows with this score that are within the place.
        """
        seen = group_rows(self.mask)
        pattern_of_row = seen.pattern_of_row()
        number = effective_numbers(pattern_of_row, self.group, self.weight)
        place = find_keys(pattern_keys(seen.patterns), pattern_keys(patterns))
        places, kind = self._of_rare_patterns(
            patterns.sum(axis=1), number[pattern_of_row], alpha
        )
        value, tied = score_at(places)
        for p in np.flatnonzero((place >= 0) & is_enough(number[place], alpha)):
            rows = seen.order[seen.starts[place[p]] : seen.starts[place[p] + 1]]
            value[p] = self.quantile(self.score, rows, alpha)
            kind[p] = SAME
            tied[p] = tied_share(self._draws(self.score, rows), alpha, value[p])
        return Thresholds(value, kind.astype(str), tied)

    def _of_rare_patterns(self, n_missing, number_of_row, alpha: float):
        """Return quantiles of places by number of missing values, and kinds."""
        rare = np.flatnonzero(~is_enough(number_of_row - 1, alpha))
        value = np.empty(len(n_missing))
        kind = np.full(len(n_missing), POOLED, dtype=object)
        pools = self._pools(rare, alpha)
        if not pools:
            everything = np.arange(len(self.score))
            value[:] = self.quantile(self.place, everything, alpha)
            kind[:] = ALL if np.isfinite(value).all() else TOO_FEW
            return value, kind
        last = [self.mask[pool].sum(axis=1).max() for pool in pools[:-1]]
        pool_of = np.searchsorted(last, n_missing)
        levels = [self.quantile(self.place, pool, alpha) for pool in pools]
        return np.array(levels)[pool_of], kind

    def _pools(self, rare: NDArray[np.intp], alpha: float) -> list[NDArray[np.intp]]:
        """Cut rows by their number of missing values into pools with enough of them."""
        n_missing = self.mask[rare].sum(axis=1)
        pools: list[NDArray[np.intp]] = []
        pool = np.empty(0, dtype=np.intp)
        for count in np.unique(n_missing):
            pool = np.append(pool, rare[n_missing == count])
            if self._number(pool) >= POOL and is_enough(self._number(pool), alpha):
                pools.append(pool)
                pool = pool[:0]
        left = self._number(pool)
        if is_enough(left, alpha) and (left >= LAST_POOL or not pools):
            pools.append(pool)
        elif pools:  # what is left is too little for a pool of its own
            pools[-1] = np.append(pools[-1], pool)
        return pools

    def _number(self, rows: NDArray[np.intp]) -> float:
        if not len(rows):
            return 0.0
        together = np.zeros(len(rows), dtype=np.intp)
        return effective_numbers(together, self.group[rows], self.weight[rows])[0]

    def quantile(
        self, values: NDArray[np.float64], rows: NDArray[np.intp], alpha: float
    ) -> float:
        """`conformal_quantile` of the values, one of each row, of some rows."""
        return conformal_quantile(self._draws(values, rows), alpha)

    def _draws(self, values: NDArray[np.float64], rows: NDArray[np.intp]) -> Draws:
        return Draws.of(values[rows], self.group[rows], self.weight[rows])


def is_enough(number, alpha: float):
    """Whether so many rows reach the rank (1 - alpha)(n + 1) <= n.

    >>> is_enough(9, 0.1), is_enough(8, 0.1), is_enough(99, 0.01)
    (True, False, True)
    """
    return number + ROUNDING >= (1 - alpha) * (number + 1)


class Draws(NamedTuple):
    """Scores in ascending order, with the number of draws that each counts for.

    A group has the mean weight of its rows, of which each has its part; together they
    are as many draws as the effective number of groups.
    """

    score: NDArray[np.float64]
    mass: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        score: NDArray[np.float64],
        group: NDArray[np.intp],
        weight: NDArray[np.float64],
    ) -> Draws:
        """Order the scores of rows."""
        _, unit, size = np.unique(group, return_inverse=True, return_counts=True)
        mass = weight / size[unit]
        together = np.zeros(len(score), dtype=np.intp)
        number = effective_numbers(together, group, weight)[0]
        order = np.argsort(score, kind="stable")
        return cls(score[order], mass[order] * number / mass.sum())


def conformal_quantile(draws: Draws, alpha: float) -> float:
    r"""Return the score that a new one exceeds with probability alpha.

    The quantile at 1 - alpha of the law with mass n/(n + 1) on the scores and 1/(n + 1)
    at infinity (Lee, Barber, Willett 2023), n being the effective number of groups.
    Linear between scores. Without groups and weights that is the value at rank
    (1 - alpha)(n + 1), which covers 1 - alpha on average where scores are uniform
    between neighbours, more where their density falls (Jensen), and never less than
    1 - alpha - 1/(n + 1). The usual rank, rounded up, covers up to 1/(n + 1) too much:
    4.7 points with 18 rows at 90 %.

    >>> nine = Draws(np.arange(1.0, 10.0), np.ones(9))
    >>> conformal_quantile(nine, alpha=0.1), conformal_quantile(nine, alpha=0.09)
    (9.0, inf)
    """
    rank = np.cumsum(draws.mass)
    number = rank[-1]
    if not is_enough(number, alpha):
        return np.inf
    return float(np.interp((1 - alpha) * (number + 1), rank, draws.score))


def tied_share(draws: Draws, alpha: float, value: float) -> float:
    """Return the share of new rows at a threshold that belong inside.

    With n draws, of which b lie below the threshold and t at it, P(new below) is
    b/(n + 1) and P(new at it) (t + 1)/(n + 1), so that the share with which 1 - alpha
    are inside is ((1 - alpha)(n + 1) - b) / (t + 1): the smoothed conformal predictor
    (Vovk, Gammerman, Shafer 2005).

    >>> same = Draws(np.full(99, 0.5), np.ones(99))
    >>> tied_share(same, 0.1, 0.5)
    0.9
    """
    at = np.abs(draws.score - value) <= TIED
    below = draws.mass[(draws.score < value) & ~at].sum()
    need = (1 - alpha) * (draws.mass.sum() + 1) - below
    return float(np.clip(need / (draws.mass[at].sum() + 1), 0.0, 1.0))


def effective_numbers(
    part: NDArray[np.intp], group: NDArray[np.intp], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the number of draws in each part of the rows.

    Groups in the part, or (sum u)^2 / sum u^2 with u the mean weight of a group (Kish
    1965): as many groups of equal weight would tell as much.

    >>> rows = np.zeros(4, dtype=int)
    >>> effective_numbers(rows, np.array([0, 1, 1, 1]), np.ones(4)).tolist()
    [2.0]
    >>> effective_numbers(rows, np.arange(4), np.array([1.0, 1, 0.001, 0])).round(2)
    array([2.])
    """
    pair = part * (group.max() + 1) + group
    pairs, unit, size = np.unique(pair, return_inverse=True, return_counts=True)
    mean = np.bincount(unit, weight) / size
    of = pairs // (group.max() + 1)
    return np.bincount(of, mean) ** 2 / np.bincount(of, mean**2)
