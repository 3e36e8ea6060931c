"""Whether probabilities come true: by their size, and by what is missing in a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.comparison.class_scores import mean_with_error
from missfit.comparison.errors import MOST_GROUPS, count_groups
from missfit.comparison.results import Comparison

BINS = 10
ROWS_EACH = 20  # of a bin: with fewer rows there are fewer bins
DRAWS = 2_000  # of what chance allows: its quantile of 1 in 240 rests on 8 of them
LEVEL = 0.05  # of all groups of rows together


class Bins(NamedTuple):
    """Rows with about the same probability: its mean, what came true, and an error.

    Attributes
    ----------
    predicted, actual, error : ndarray of shape (n_bins,)
        The mean probability, the share of the rows in which it came true, and the
        standard error of this share.
    n_rows : int ndarray of shape (n_bins,)
    spread : ndarray of shape (n_bins,)
        The sum of p (1 - p) over the rows: the variance of the number that come true,
        if the probabilities are right.
    """

    predicted: NDArray[np.float64]
    actual: NDArray[np.float64]
    error: NDArray[np.float64]
    n_rows: NDArray[np.intp]
    spread: NDArray[np.float64]

    @property
    def expected_error(self) -> float:
        """Return the expected calibration error: the mean gap, weighted by rows."""
        gap = np.abs(self.actual - self.predicted)
        return float(self.n_rows @ gap / self.n_rows.sum())

    def allowed_error(self, level: float = LEVEL, seed: int = 0) -> float:
        """Return what this error stays below if all probabilities are right.

        The number of rows of a bin that come true is then about normal.
        """
        draws = np.random.default_rng(seed).standard_normal((DRAWS, len(self.spread)))
        total = np.abs(draws) @ np.sqrt(self.spread) / self.n_rows.sum()
        return float(np.quantile(total, 1 - level))


def reliability(share: NDArray[np.float64], true: NDArray[np.bool_]) -> Bins:
    """Return rows in bins of as many rows each, by their probability.

    Rows of equal probability are in one bin.

    Parameters
    ----------
    share : ndarray of shape (n,)
        Probabilities.
    true : bool ndarray of shape (n,)
        Whether they came true.

    Examples
    --------
    >>> share = np.repeat([0.25, 0.75], 40)
    >>> reliability(share, np.arange(80) % 4 < 2).actual.tolist()
    [0.5, 0.5]
    """
    n_bins = int(np.clip(len(share) // ROWS_EACH, 1, BINS))
    edges = np.unique(np.quantile(share, np.linspace(0, 1, n_bins + 1)))
    part = np.searchsorted(edges[1:-1], share, side="right")
    n_rows = np.bincount(part)
    known = n_rows > 0
    count = n_rows[known]
    total, came_true, spread = (
        np.asarray(np.bincount(part, values)[known], dtype=np.float64)
        for values in (share, true, share * (1 - share))
    )
    actual = came_true / count
    error = np.sqrt(actual * (1 - actual) / count)
    return Bins(total / count, actual, error, count, spread)


class Calibration(NamedTuple):
    """Whether the probabilities of some rows come true.

    Attributes
    ----------
    label : str
        The number of missing variables.
    n_rows : int
    predicted, actual : float
        The mean probability, and the share of the rows in which it came true.
    gap_error : float
        The standard error of the difference of these two.
    bins : Bins
    allowed : float
        What the expected calibration error of these bins stays below if the
        probabilities are right, but in 5 % of all tables.
    """

    label: str
    n_rows: int
    predicted: float
    actual: float
    gap_error: float
    bins: Bins
    allowed: float

    @property
    def is_off(self) -> bool:
        """Return whether the probabilities are further off than chance allows."""
        return self.bins.expected_error > self.allowed


def probabilities(
    comparison: Comparison,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the probability that each tested row is judged by, and what came true.

    It is that of the second class where there are two, and that of the most probable
    class where there are more.
    """
    rows = comparison.is_tested
    shares = comparison.trial(comparison.recommended).predictions[rows]
    code = comparison.y[rows].astype(np.intp)
    if shares.shape[1] == 2:
        return shares[:, 1], code == 1
    return shares.max(axis=1), shares.argmax(axis=1) == code


def calibration_by_count(
    comparison: Comparison, most: int = MOST_GROUPS
) -> list[Calibration]:
    """Return whether the probabilities come true, by the number of missing variables.

    Parameters
    ----------
    comparison : Comparison
        Its target is a class.
    most : int
        The most groups of rows.
    """
    share, true = probabilities(comparison)
    tested = comparison.tested
    groups = count_groups(tested.mask, most=most)
    found = []
    for label, rows in groups:
        units = None if tested.units is None else tested.units[rows]
        gap = mean_with_error(true[rows] - share[rows], units)
        bins = reliability(share[rows], true[rows])
        found.append(
            Calibration(
                label,
                int(rows.sum()),
                float(share[rows].mean()),
                float(true[rows].mean()),
                gap.standard_error,
                bins,
                bins.allowed_error(LEVEL / len(groups), comparison.seed),
            )
        )
    return found
