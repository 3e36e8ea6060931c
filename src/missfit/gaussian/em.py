"""The EM step for one Gaussian of (X, y) with missing coordinates, and its fits.

`e_step` costs patterns, not rows: of a pattern's rows it needs count, mean and scatter
alone. `PenalisedGaussian.m_step` is the M step; `plain_em` and `accelerated_em` repeat
both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.gaussian.acceleration import climb
from missfit.gaussian.completion import (
    CovarianceLaw,
    PrecisionLaw,
    complete,
    completed_sums,
)
from missfit.gaussian.covariances import (
    at_least,
    log_of_positive,
    power_of_e,
    regression_slopes,
    set_apart,
)
from missfit.gaussian.pattern_chunks import GaussianData, PatternChunk

# Safe from d = 10 to d = 50, on the published tables and wider ones: without any, R2
# falls to .56 at d = 50 and 500 rows; 2 rows gain 7.5e-4 at d = 10 and 750 rows, but
# cost .015 at d = 50 and 500 rows.
PRIOR_ROWS = 0.3
# The share of the variance of y from which on EM may end sooner: the less noise, the
# slower it is. Stopped by 1e-4 and not 1e-6 (3,750 rows of mixtures 1 and 3, 10
# features), it loses 1e-4 and 2e-4 of R2 without noise, up to 5e-5 with a share of .05,
# and 1e-5 with one of .2.
NOISY = 0.1
# Standard deviations that are nothing to go on for. Measured: fits with half of the
# values missing have 2e-4 left, those with 90 % missing .005 to .2.
NOTHING_LEFT = 5e-4
# The highest rate of convergence that is believed: two steps do not tell a higher one
# from 1, at which the rest would be infinite.
SLOWEST = 0.999


class ExpectedMoments(NamedTuple):
    """What the E step returns: sums over all rows, about the mean it was given."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    log_likelihood: float


def e_step(
    data: GaussianData,
    mean: NDArray[np.float64],
    cov: NDArray[np.float64],
    *,
    robust: bool = False,
) -> ExpectedMoments:
    """Return the expected sums of (z - mean) and (z - mean)(z - mean)'.

    Given the observed part r = z_o - mean_o, the missing coordinates of a row have
    mean B r and covariance V. With the precision Omega = cov^-1::

        V = Omega_uu^-1,  B = -V Omega_uo
        log-likelihood = -1/2 [o log 2 pi + log det Omega_uu - log det Omega
                               + r'(Omega_oo + Omega_ou B) r]

    ``robust=True`` takes B = S_uo S_oo^-1 from the covariance instead, which stays
    right where the last column is all but a linear function of the others (the
    precision overflows there), and returns NaN for the log-likelihood.
    """
    law = CovarianceLaw(cov) if robust else PrecisionLaw.of_cov(cov)

    def expect(chunk: PatternChunk) -> ExpectedMoments:
        return _chunk_moments(chunk, mean, law)

    first, second, log_likelihood = np.zeros(len(mean)), np.zeros_like(cov), 0.0
    # Not all parts are kept at once: k^2 numbers each. Not in threads: on two cores two
    # of them took 1.4 times as long (11,000 patterns of 20 features, 20,000 of 40).
    for part in map(expect, data.chunks):
        first += part.first
        second += part.second
        log_likelihood += part.log_likelihood
    return ExpectedMoments(first, (second + second.T) / 2, log_likelihood)


def _chunk_moments(chunk: PatternChunk, mean, law) -> ExpectedMoments:
    """E step of one chunk of patterns."""
    completion = complete(chunk, mean, law)
    sums = completed_sums(chunk, completion)
    return ExpectedMoments(*sums, float(completion.log_likelihood.sum()))


class PenalisedGaussian:
    """M step for a Gaussian (X, y), pulled a little towards where data say nothing.

    The covariance of X has an inverse Wishart prior worth ``prior_rows`` rows of
    uncorrelated features, in standard units, and the regression of y on X is fitted as
    if ``slope_rows`` such rows had y at its mean: one number, or one for each target;
    infinitely many keep y apart. It leaves a variance of at least ``floor`` times that
    of y. Without them the likelihood of a noise-free target has no bound, and few rows
    in many dimensions overfit.

    A feature without two different values, or hardly ever observed, says nothing of the
    others: it is held at variance 1, without covariances, so that its slope is
    exactly 0.
    """

    def __init__(
        self,
        n_features: int,
        prior_rows: float,
        floor: float,
        *,
        slope_rows: float | NDArray[np.float64] = 0.0,
        silent: NDArray[np.bool_] | None = None,
    ):
        self.d = n_features
        self.prior_rows = prior_rows
        self.slope_rows = slope_rows
        self.floor = floor
        nothing = np.zeros(n_features, dtype=bool)
        self.silent = np.flatnonzero(nothing if silent is None else silent)

    @classmethod
    def of_data(cls, data: GaussianData, n_features: int, floor: float):
        """Return the model for a table with rows enough for each feature."""
        return cls(n_features, PRIOR_ROWS, floor, silent=~data.varies[:n_features])

    def m_step(self, expected: ExpectedMoments, mean, n_rows: float):
        """Mean and covariance that maximise the expected log-posterior."""
        d = self.d
        shift = expected.first / n_rows
        cov = expected.second / n_rows - np.outer(shift, shift)
        shift[self.silent] = 0.0
        set_apart(cov, self.silent)
        inner, cross = cov[:d, :d], cov[:d, d:]
        slopes = regression_slopes(inner, cross, self.slope_rows / n_rows)
        # of the rows and of the pseudo-rows
        residual = at_least(cov[d:, d:] - slopes.T @ cross, self.floor)
        total = n_rows + self.prior_rows
        inner = (n_rows * inner + self.prior_rows * np.eye(d)) / total
        cross = inner @ slopes
        return mean + shift, np.block(
            [[inner, cross], [cross.T, residual + slopes.T @ cross]]
        )

    def above_floor(self, mean, cov):
        """Return a law whose regression leaves at least the floor, as `m_step`'s do.

        Below it the likelihood of a noise-free target is higher than any step's.
        """
        d = self.d
        slopes = regression_slopes(cov[:d, :d], cov[:d, d:])
        inner = slopes.T @ cov[:d, d:]
        cov = cov.copy()
        cov[d:, d:] = at_least(cov[d:, d:] - inner, self.floor) + inner
        return mean, cov

    def share_left(self, cov) -> float:
        """Return the least share of the variance of a target that X leaves."""
        d = self.d
        try:
            slopes = np.linalg.solve(cov[:d, :d], cov[:d, d:])
        except np.linalg.LinAlgError:  # collinear features: take it that X tells all
            return 0.0
        explained = np.sum(slopes * cov[:d, d:], axis=0)
        return float(np.min(1 - explained / np.diag(cov)[d:]))

    def log_prior(self, cov) -> float:
        """Log-density of the prior, up to a constant."""
        inner, cross = cov[: self.d, : self.d], cov[: self.d, self.d :]
        root = np.linalg.cholesky(inner)
        half = np.linalg.inv(root)
        log_det = 2 * np.log(np.diag(root)).sum()
        height = -self.prior_rows / 2 * (log_det + np.sum(half**2))
        if np.any(self.slope_rows):
            slopes = half.T @ (half @ cross)
            residual = cov[self.d :, self.d :] - slopes.T @ cross
            height += self.log_prior_of_slopes(slopes, residual)
        return height

    def log_prior_of_slopes(self, slopes, residual) -> Any:
        """Log-density of the slopes (d, t) given what they leave, up to a constant.

        Of a stack of them there is one for each.
        """
        finite = np.where(np.isinf(self.slope_rows), 0.0, self.slope_rows)
        pulled = slopes * np.sqrt(finite)
        inner = np.linalg.solve(residual, pulled.swapaxes(-1, -2) @ pulled)
        return -np.trace(inner, axis1=-2, axis2=-1) / 2


class GaussianFit(NamedTuple):
    """Parameters of a Gaussian for (X, y), and how they were reached."""

    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    n_iter: int
    converged: bool
    log_likelihood: float


def plain_em(data: GaussianData, *, max_iter: int, tol: float) -> GaussianFit:
    """EM as R's package norm runs it: from means and unit variances, unaccelerated.

    Stops once no entry of the mean and covariance, in standard units, moves by more
    than ``tol``. Nothing keeps the covariance from becoming singular: with a target
    that is an exact function of the features the likelihood has no maximum. Rounding
    then makes it indefinite and lets it grow without bound: a LinAlgError.
    """
    mean, cov = np.zeros(data.n_columns), np.eye(data.n_columns)
    converged, n_iter = False, 0
    while n_iter < max_iter and not converged:
        with np.errstate(over="ignore", invalid="ignore"):  # seen in the covariance
            first, second, _ = e_step(data, mean, cov, robust=True)
            shift = first / data.n_rows
            new_cov = second / data.n_rows - np.outer(shift, shift)
        n_iter += 1
        if not _is_covariance(new_cov):
            raise np.linalg.LinAlgError(f"indefinite after {n_iter} steps")
        change = max(np.abs(shift).max(), np.abs(new_cov - cov).max())
        mean, cov = mean + shift, new_cov
        converged = bool(change <= tol)
    try:
        log_likelihood = e_step(data, mean, cov).log_likelihood
    except np.linalg.LinAlgError:  # singular: the likelihood has no bound
        log_likelihood = np.inf
    return GaussianFit(mean, cov, n_iter, converged, log_likelihood)


def _is_covariance(cov: NDArray[np.float64]) -> bool:
    """Whether the covariance of standard units is semidefinite and of a sane size.

    Where rounding has taken over, variances pass 1e50 within the 1,000 steps allowed; a
    covariance of few rows, which is singular for good, has eigenvalues of -1e-8.
    """
    if not np.isfinite(cov).all():
        return False
    values = np.linalg.eigvalsh(cov)
    return bool(values[0] >= -1e-4 * values[-1] and values[-1] < 1e8)


def accelerated_em(
    data: GaussianData,
    model: PenalisedGaussian,
    start: tuple[NDArray, NDArray],
    *,
    max_iter: int,
    tol: float,
    noisy_tol: float | None = None,
) -> GaussianFit:
    """EM with the leaps of `acceleration.climb`, in the mean and log covariance.

    Stops once three steps gain less than ``tol`` per row, or than ``noisy_tol`` per
    observed value where the features leave more than a tenth of every target
    unexplained.
    """

    def step(law):
        mean, cov = law
        expected = e_step(data, mean, cov)
        height = expected.log_likelihood + model.log_prior(cov)
        return model.m_step(expected, mean, data.n_rows), height

    def unpack(vector, like):
        return model.above_floor(*_unpack(vector, data.n_columns))

    def least_gain(law):
        if noisy_tol is None or model.share_left(law[1]) <= NOISY:
            return tol * data.n_rows
        return noisy_tol * data.n_observed.sum()

    ended = climb(
        step, start, (_pack, unpack), max_iter=max_iter, least_gain=least_gain
    )
    mean, cov = ended.point
    log_likelihood = e_step(data, mean, cov).log_likelihood
    return GaussianFit(mean, cov, ended.n_iter, ended.converged, log_likelihood)


def _pack(law):
    """Mean and matrix logarithm of the covariance as one vector.

    Any such vector is a valid Gaussian, and the order of the columns does not matter.
    """
    mean, cov = law
    return np.concatenate([mean, log_of_positive(cov).ravel()])


def _unpack(vector, k: int):
    return vector[:k], power_of_e(vector[k:].reshape(k, k))


def distance_left(data: GaussianData, model: PenalisedGaussian, fit: GaussianFit):
    """Estimate how far any parameter would still move, in standard units.

    Plain EM moves by steps that shrink at a rate r in the end, and so by the last one
    times r / (1 - r) more. Three steps tell that nothing is left; otherwise ten more
    let all but the slowest direction pass.
    """
    theta, moves = (fit.mean, fit.cov), []
    left = np.inf
    for n_steps in (3, 10):
        for _ in range(n_steps):
            expected = e_step(data, *theta)
            new = model.m_step(expected, theta[0], data.n_rows)
            pairs = zip(theta, new, strict=True)
            moves.append(np.concatenate([(b - a).ravel() for a, b in pairs]))
            theta = new
        left = _geometric_rest(moves[-2], moves[-1])
        if left < NOTHING_LEFT:
            break
    return left


def _geometric_rest(before: NDArray, last: NDArray) -> float:
    """Return the largest entry of last (r + r^2 + ...), r the ratio of the norms."""
    size, length = np.linalg.norm(before), np.linalg.norm(last)
    rate = min(length / max(size, np.finfo(float).tiny), SLOWEST)
    return float(np.abs(last).max() * rate / (1 - rate))
