r"""Whether new rows differ from old ones: exact tests of counts.

All tests here hold under one assumption: where nothing has changed, which of all rows
are the new ones is as good as drawn at random. Given the pooled rows, every statistic
then has a hypergeometric law, whatever the mechanism of missingness and whatever the
law of the values. Rows of one group (a patient, a day) that are alike break the
assumption.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

LEVEL = 0.01  # the chance of any alarm where nothing has changed
N_DRAWS = 1_999  # 1 / 2,000 is the smallest p-value of a test by drawing
ENOUGH = 10  # draws that reach what was found; after them it is not significant


class Counts(NamedTuple):
    """How many of the old and of the new rows there are, and show something."""

    old: int
    n_old: int
    new: int
    n_new: int

    @property
    def shares(self) -> tuple[float, float]:
        """Return the share of the old and of the new rows."""
        return self.old / max(self.n_old, 1), self.new / max(self.n_new, 1)


def share_p_value(counts: Counts) -> float:
    """Return the two-sided p-value of a difference of two shares.

    Fisher's exact test, with twice the smaller tail.

    >>> round(share_p_value(Counts(3, 10, 3, 10)), 3)
    1.0
    >>> share_p_value(Counts(0, 1000, 12, 1000)) < 0.001
    True
    """
    total = counts.n_old + counts.n_new
    law = stats.hypergeom(total, counts.old + counts.new, counts.n_new)
    tail = min(law.cdf(counts.new), law.sf(counts.new - 1))
    return float(min(1.0, 2 * tail))


def beyond_p_value(n_beyond: int, n_old: int, n_new: int) -> float:
    """Return the p-value of so many new values that are all beyond every old one.

    The chance that the largest k of all values are new ones is
    n_new (n_new - 1) ... (n_new - k + 1) over N (N - 1) ... (N - k + 1). The same holds
    for k rows of one level, or of one pattern, that no old row has.

    >>> beyond_p_value(1, 10, 10), beyond_p_value(0, 10, 10)
    (0.5, 1.0)
    """
    k = np.arange(n_beyond)
    return float(np.prod((n_new - k) / (n_old + n_new - k)))


def unseen_p_value(
    old: Mapping[bytes, int], new: Mapping[bytes, int], seed: int = 0
) -> float:
    """Return the p-value of the number of new rows whose pattern no old row has.

    Rows are dealt out anew to old and new ones (`N_DRAWS` times, or until ten deals
    have reached what was found), which needs the number of rows of each pattern alone.

    Parameters
    ----------
    old, new : mapping of bytes to int
        The number of rows of each pattern.
    """
    keys = sorted({*old, *new})
    before = np.array([old.get(key, 0) for key in keys])
    after = np.array([new.get(key, 0) for key in keys])
    found = after[before == 0].sum()
    rng = np.random.default_rng(seed)
    pooled, n_draws, n_reached = before + after, 0, 0
    while n_draws < N_DRAWS and n_reached < ENOUGH:
        dealt = rng.multivariate_hypergeometric(pooled, after.sum(), method="marginals")
        n_reached += int(dealt[dealt == pooled].sum() >= found)
        n_draws += 1
    return (1 + n_reached) / (1 + n_draws)


def corrected(p: NDArray[np.float64], n_tests: int | None = None) -> NDArray:
    """Return p-values that hold for all tests together (Holm 1979).

    Parameters
    ----------
    p : ndarray of shape (n,)
    n_tests : int, optional
        The number of tests where not all are given: those left out have a p-value of 1.

    >>> corrected(np.array([0.01, 0.04, 0.02])).tolist()
    [0.03, 0.04, 0.04]
    """
    n_tests = len(p) if n_tests is None else n_tests
    order = np.argsort(p, kind="stable")
    factor = n_tests - np.arange(len(p))
    found = np.empty(len(p))
    found[order] = np.maximum.accumulate(np.minimum(1.0, factor * p[order]))
    return found
