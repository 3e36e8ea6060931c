"""Gaussian features under probit factors, without the error of an approximation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.stats import qmc


class LinearLaw(NamedTuple):
    """The law of a number for each row: Gaussians with weights, and one spread.

    Attributes
    ----------
    weight, centre : ndarray of shape (n, n_points)
        The weights, which sum to one in each row, and the means of the Gaussians.
    spread : ndarray of shape (n,)
        The variance of each Gaussian of a row.
    """

    weight: NDArray[np.float64]
    centre: NDArray[np.float64]
    spread: NDArray[np.float64]

    def mean(self) -> NDArray[np.float64]:
        """Return the mean of each row."""
        return (self.weight * self.centre).sum(axis=1)

    def variance(self) -> NDArray[np.float64]:
        """Return the variance of each row."""
        away = self.centre - self.mean()[:, None]
        return self.spread + (self.weight * away**2).sum(axis=1)

    def share_above(
        self, threshold: NDArray[np.float64], noise: float
    ) -> NDArray[np.float64]:
        """Return P(number + noise e > threshold) of each row, e standard normal."""
        above = self.centre - threshold[:, None]
        sd = np.sqrt(self.spread + noise**2)[:, None]
        return (self.weight * normal_share(above, sd)).sum(axis=1)


def normal_share(
    above: NDArray[np.float64], sd: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return Phi(above / sd), which is the indicator of above > 0 where sd = 0.

    >>> normal_share(np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0]))
    array([0.5, 0. , 1. ])
    """
    known = sd == 0
    ratio = above / np.where(known, 1.0, sd)
    return np.where(known, above > 0, special.ndtr(ratio))


def probit_law(
    mean: NDArray[np.float64],
    cov: NDArray[np.float64],
    bias: NDArray[np.float64],
    slope: NDArray[np.float64],
    beta: NDArray[np.float64],
    rng: np.random.Generator,
    *,
    n_points: int = 512,
) -> LinearLaw:
    """Return the law of beta'x where x ~ N(mean, cov) prod_j Phi(bias_j + slope_j x_j).

    With U = bias + slope x + e and standard normal e, the law is that of x given U > 0.
    Genz's separation of variables draws U coordinate by coordinate with quasi-random
    numbers (Genz 1992); given U, x is Gaussian. The points are Sobol's, shifted at
    random for each row (Cranley and Patterson 1976), so that the errors of different
    rows are independent: they average out over rows, and the spread over rows shows
    them. `gaussian.conditional.probit_posterior` is faster and approximate.

    Parameters
    ----------
    mean, bias, slope, beta : ndarray of shape (n, k)
    cov : ndarray of shape (n, k, k)
    rng : Generator
        Draws the shifts.
    n_points : int
        Quasi-random points per row, a power of 2.
    """
    k = mean.shape[1]
    total = slope[:, :, None] * cov * slope[:, None, :] + np.eye(k)
    root = np.linalg.cholesky(total)
    z, weight = _orthant_points(bias + slope * mean, root, rng, n_points)
    # E[beta'x | U] = beta'mean + gain'(U - centre), and U - centre = root z
    pull = slope * (cov @ beta[:, :, None])[:, :, 0]
    gain = np.linalg.solve(total, pull[:, :, None])[:, :, 0]
    along = (z @ (gain[:, None, :] @ root).transpose(0, 2, 1))[:, :, 0]
    rest = np.einsum("ni,nij,nj->n", beta, cov, beta) - (gain * pull).sum(axis=1)
    centre = (beta * mean).sum(axis=1)[:, None] + along
    return LinearLaw(weight, centre, np.maximum(rest, 0.0))


def _orthant_points(centre, root, rng: np.random.Generator, n_points: int):
    """Return points z and weights that stand for N(0, 1) given centre + root z > 0."""
    n_rows, k = centre.shape
    points = qmc.Sobol(k, scramble=False).random(n_points)
    w = (points + rng.random((n_rows, 1, k))) % 1.0
    z = np.empty((n_rows, n_points, k))
    log_weight = np.zeros((n_rows, n_points))
    for j in range(k):
        before = (z[:, :, :j] @ root[:, j, :j, None])[:, :, 0]
        log_tail = special.log_ndtr((centre[:, j, None] + before) / root[:, j, j, None])
        log_weight += log_tail
        z[:, :, j] = -special.ndtri_exp(np.log1p(-w[:, :, j]) + log_tail)
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    return z, weight / weight.sum(axis=1, keepdims=True)
