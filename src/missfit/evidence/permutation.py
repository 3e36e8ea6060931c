"""Permutation tests of masks against values, corrected for the number of pairs.

The rows of the mask are dealt out anew to the rows of the values. The test is exact
where the two are independent, whatever the values look like: skewed, binary, or with
few rows on one side. The statistic of each pair is compared with the largest statistic
of each deal, which corrects for the number of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

N_DEALS = 299  # 1 / 300 is the smallest p-value: a third of the 1 % level
AT_ONCE = 20  # deals of a column: masks are read from memory once for all of them
ENOUGH = 10  # deals that reach the largest statistic; after them it is not significant


class Pairs(NamedTuple):
    """Masks against values on the same rows.

    Attributes
    ----------
    values : ndarray of shape (n, q)
        The values times the weights of the rows; each column sums to zero.
    mask : ndarray of shape (n, p)
        1.0 where missing.
    tested : bool ndarray of shape (q, p)
        Which pairs are tested.
    groups : int ndarray of shape (n,), optional
        Rows of one group are dealt out together.
    """

    values: NDArray[np.float64]
    mask: NDArray[np.float64]
    tested: NDArray[np.bool_]
    groups: NDArray[np.intp] | None = None


class Outcome(NamedTuple):
    """Statistic and corrected p-value of each pair, NaN where it was not tested."""

    z: NDArray[np.float64]
    p: NDArray[np.float64]


def max_test(family: Sequence[Pairs], seed: int = 0) -> list[Outcome]:
    r"""Test all pairs of a family; the p-values hold for the family as a whole.

    The statistic of values u and a mask m is z = sum_i m_i u_i / s, with s^2 its
    variance where m is dealt out at random (see `null_errors`). Its p-value is
    (1 + the number of deals whose largest \|z\| is as large) / (1 + the number of
    deals), which is the single-step method of Westfall and Young. Dealing ends early
    once ten deals have reached the largest \|z\| (Besag and Clifford).

    Parameters
    ----------
    family : sequence of Pairs
        The rows of each member are shuffled once before the deals, which are common to
        all of them: their statistics are then dealt as if separately. Where the values
        of two members depend on each other, the correction is a little too strong,
        never too weak.
    seed : int
    """
    rng = np.random.default_rng(seed)
    scores = [_Scored(pairs, rng) for pairs in family]
    top = max((s.largest() for s in scores), default=0.0)
    n_rows = max((len(pairs.values) for pairs in family), default=0)
    maxima = np.empty(0)
    n_reached = 0
    while top > 0 and len(maxima) < N_DEALS and n_reached < ENOUGH:
        n_deals = min(AT_ONCE, N_DEALS - len(maxima))
        orders = np.array([rng.permutation(n_rows) for _ in range(n_deals)])
        new = np.max([s.largest_of_deals(orders, rng) for s in scores], axis=0)
        reached = n_reached + np.cumsum(new >= top * (1 - 1e-9))  # sums in other order
        last = int(np.searchsorted(reached, ENOUGH)) + 1
        maxima, n_reached = np.append(maxima, new[:last]), reached[-1]
    ordered = np.sort(maxima)
    return [Outcome(s.z, _p_values(s.z, ordered)) for s in scores]


def _p_values(z: NDArray, maxima: NDArray) -> NDArray:
    reached = len(maxima) - np.searchsorted(maxima, np.abs(z) * (1 - 1e-9))
    return np.where(np.isnan(z), np.nan, (1 + reached) / (1 + len(maxima)))


class _Scored:
    """Pairs with their statistics, and the standard errors of these under the null."""

    def __init__(self, pairs: Pairs, rng: np.random.Generator):
        self.pairs = pairs
        self.shuffled = pairs.values[rng.permutation(len(pairs.values))].T.copy()
        error = null_errors(pairs)
        use = pairs.tested & (error > 1e-12 * np.max(error, initial=0.0))
        self.share = np.divide(1.0, error, out=np.zeros_like(error), where=use)
        self.deal = Deal(pairs.groups, len(pairs.values))
        found = pairs.values.T @ pairs.mask * self.share
        self.z = np.where(use, found, np.nan)

    def largest(self) -> float:
        return float(np.nanmax(np.abs(self.z), initial=0.0))

    def largest_of_deals(self, orders: NDArray, rng: np.random.Generator) -> NDArray:
        """Return the largest statistic of each deal.

        A permutation of the first n of all numbers is what an order makes of them: to
        draw one takes longer than the sums.
        """
        values, mask, _, groups = self.pairs
        n, q = values.shape
        if groups is not None:
            deals = (values.T @ mask[self.deal.rows(rng)] for _ in orders)
            return np.array([self._largest_of(found[:, None])[0] for found in deals])
        places = orders[orders < n].reshape(len(orders), n)
        some = max(1, AT_ONCE // q)
        found = []
        for start in range(0, len(orders), some):
            dealt = self.shuffled.take(places[start : start + some], axis=1)
            sums = dealt.reshape(-1, n) @ mask
            found.append(self._largest_of(sums.reshape(q, -1, mask.shape[1])))
        return np.concatenate(found)

    def _largest_of(self, sums: NDArray) -> NDArray:
        """Return the largest statistic of each deal, by the sums (q, deals, p)."""
        return np.abs(sums * self.share[:, None]).max(axis=(0, 2), initial=0.0)


def null_errors(pairs: Pairs) -> NDArray[np.float64]:
    """Return the standard errors of sum_i m_i u_i under random deals of the masks.

    s^2 = v [(1 - r) sum_i u_i^2 + r sum_g (sum_{i in g} u_i)^2], with v the variance of
    the mask and r the correlation of two of its rows in one group (0 without groups,
    where this is the exact variance of a permutation).
    """
    values, mask, _, groups = pairs
    n = len(mask)
    gap = mask - mask.mean(axis=0)
    variance = (gap**2).sum(axis=0) / max(n - 1, 1)
    alone = np.multiply.outer((values**2).sum(axis=0), variance)
    if groups is None:
        return np.sqrt(alone)
    size = np.bincount(groups).astype(float)
    n_pairs = (size**2).sum() - n
    together = (_group_sums(gap, groups) ** 2).sum(axis=0) - (gap**2).sum(axis=0)
    scale = np.maximum(variance * n_pairs, 1e-300)
    r = np.clip(together / scale, 0.0, 1.0) * (n_pairs > 0)
    between = np.multiply.outer((_group_sums(values, groups) ** 2).sum(0), variance)
    return np.sqrt((1 - r) * alone + r * between)


def _group_sums(values: NDArray, groups: NDArray) -> NDArray:
    columns = [np.bincount(groups, weights=column) for column in values.T]
    return np.column_stack(columns)


class Deal:
    """Random permutations of rows: of all rows, or of whole groups.

    A group gets the rows of another group in random order. A group larger than the
    other gets some rows twice, and a smaller one does not get all of them.
    """

    def __init__(self, groups: NDArray[np.intp] | None, n_rows: int):
        self.groups, self.n_rows = groups, n_rows
        if groups is None:
            return
        self.size = np.bincount(groups)
        self.start = np.cumsum(self.size) - self.size
        self.by_group = np.argsort(groups, kind="stable")
        self.own = groups[self.by_group]
        self.place = np.arange(n_rows) - self.start[self.own]

    def rows(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return, for one deal, the row from which each row gets its mask."""
        order = rng.permutation(self.n_rows)
        if self.groups is None:
            return order
        order = order[np.argsort(self.groups[order], kind="stable")]
        giver = rng.permutation(len(self.size))[self.own]
        dealt = np.empty(self.n_rows, dtype=np.intp)
        dealt[self.by_group] = order[self.start[giver] + self.place % self.size[giver]]
        return dealt
