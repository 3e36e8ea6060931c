"""EM for Gaussian features and a label that says where a latent target lies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from missfit.gaussian.acceleration import climb
from missfit.gaussian.conditional import (
    ScaledGaussian,
    condition,
    inverse_mills,
    observed_log_density,
)
from missfit.gaussian.covariances import log_of_positive, power_of_e
from missfit.gaussian.em import PRIOR_ROWS
from missfit.moments.blocks import blocks
from missfit.moments.patterns import group_rows

# Pseudo-rows of standard features whose latent target is 0: they keep the slopes finite
# where the classes are separated, and move those of 500 rows by less than their error.
SLOPE_ROWS = 0.3


class LatentRows(NamedTuple):
    """Rows in standard units: features, signs of the latent target, weights."""

    Z: NDArray[np.float64]
    sign: NDArray[np.float64]
    weight: NDArray[np.float64]
    patterns: NDArray[np.bool_]
    pattern: NDArray[np.intp]

    @classmethod
    def of(cls, Z: NDArray, label: NDArray[np.bool_], weight: NDArray) -> LatentRows:
        """Group the rows by what they miss."""
        groups = group_rows(np.isnan(Z))
        sign = np.where(label, 1.0, -1.0)
        return cls(Z, sign, weight, groups.patterns, groups.pattern_of_row())


class LatentLaw(NamedTuple):
    """X ~ N(mean, cov), and the latent target is intercept + slope'X + N(0, 1)."""

    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    intercept: float
    slope: NDArray[np.float64]


class LatentFit(NamedTuple):
    """The law found, after how many steps, and whether EM had converged."""

    law: LatentLaw
    n_iter: int
    converged: bool


def latent_em(
    rows: LatentRows,
    start: LatentLaw,
    *,
    more_rows: float,
    max_iter: int,
    tol: float,
) -> LatentFit:
    """Maximise sum log N(x_obs) + log Phi(s lin / tau), plus a small prior, by EM.

    Steps as in `_step`, with the leaps of `acceleration.climb`. ``more_rows`` is the number of further
    pseudo-rows, as in `missfit.moments.ridge.pseudo_rows`; stops once three
    steps gain less than ``tol`` per row.
    """

    def step(law: LatentLaw):
        return _step(rows, law, PRIOR_ROWS + more_rows, SLOPE_ROWS + more_rows)

    def unpack(vector: NDArray, like: LatentLaw) -> LatentLaw:
        d = len(like.mean)
        cov = power_of_e(vector[d : d + d * d].reshape(d, d))
        return LatentLaw(vector[:d], cov, float(vector[-d - 1]), vector[-d:])

    least = tol * rows.weight.sum()
    ended = climb(step, start, (_pack, unpack), max_iter=max_iter, least_gain=least)
    return LatentFit(ended.point, ended.n_iter, ended.converged)


def _pack(law: LatentLaw) -> NDArray[np.float64]:
    parts = law.mean, log_of_positive(law.cov).ravel(), [law.intercept], law.slope
    return np.concatenate(parts)


def _step(rows: LatentRows, law: LatentLaw, prior_rows: float, slope_rows: float):
    """Return the law after one EM step, and the height of the given one.

    With E = E[X | x_obs], V = Cov(X_u | x_obs), tau^2 = 1 + b_u'V b_u, lin = b0 + b'E,
    a = s lin / tau and r = phi(a) / Phi(a)::

        E[y*] = lin + s tau r                    Var[y*] = tau^2 (1 - r (a + r))
        E[X_u] = E_u + g (E[y*] - lin)           g = V b_u / tau^2
        Cov[X_u] = V - g g' (tau^2 - Var[y*])    Cov[X_u, y*] = g Var[y*]

    The M step lets the noise of y* be free and rescales it to 1 afterwards, which is
    the same maximum and arrives sooner (parameter expansion: Liu, Rubin and Wu 1998).
    """
    d, n = len(law.mean), rows.weight.sum()
    parts = _pattern_parts(rows, law)
    points = np.empty((len(rows.Z), d + 1))
    points[:, :d] = _expected_features(rows, law, parts.slopes)
    linear = law.intercept + points[:, :d] @ law.slope
    tau = np.sqrt(parts.left)[rows.pattern]
    a = rows.sign * linear / tau
    r = inverse_mills(a)
    surprise = rows.sign * tau * r
    points[:, d] = linear + surprise
    points[:, :d] += parts.gain[rows.pattern] * surprise[:, None]
    spread = tau**2 * np.maximum(1 - r * (a + r), 0.0)
    second = _second_moments(parts, _sums(rows, rows.weight * spread))
    standard = ScaledGaussian(np.zeros(d), np.ones(d), law.mean, law.cov)
    density = observed_log_density(standard, rows.Z, rows.patterns, rows.pattern)
    height = rows.weight @ (density + log_ndtr(a))
    after = _maximum(points, rows.weight / n, second / n, n, prior_rows, slope_rows)
    return after, float(height + _log_prior(law, prior_rows, slope_rows))


class _PatternParts(NamedTuple):
    """What an EM step needs of each pattern.

    ``slopes`` are those of E[X_u | x_obs], ``left`` is tau^2, ``gain`` is g, ``n_rows``
    the weight of the rows, and ``inner`` is the sum of V over all rows.
    """

    slopes: NDArray[np.float64]
    left: NDArray[np.float64]
    gain: NDArray[np.float64]
    n_rows: NDArray[np.float64]
    inner: NDArray[np.float64]


def _pattern_parts(rows: LatentRows, law: LatentLaw) -> _PatternParts:
    n_patterns, d = rows.patterns.shape
    count = _sums(rows, rows.weight)
    slopes, left = np.empty((n_patterns, d, d)), np.empty(n_patterns)
    gain, inner = np.empty((n_patterns, d)), np.zeros((d, d))
    for block in blocks(n_patterns, d * d):
        slopes[block], V = condition(law.cov, rows.patterns[block])
        pull = V @ law.slope
        left[block] = 1 + pull @ law.slope
        gain[block] = pull / left[block][:, None]
        inner += np.tensordot(count[block], V, axes=1)
    return _PatternParts(slopes, left, gain, count, inner)


def _sums(rows: LatentRows, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of a value over the rows of each pattern."""
    return np.asarray(np.bincount(rows.pattern, values, len(rows.patterns)), float)


def _expected_features(rows: LatentRows, law: LatentLaw, slopes: NDArray) -> NDArray:
    """Return E[X | x_obs] of each row."""
    values = np.empty_like(rows.Z)
    for some in blocks(len(rows.Z), rows.Z.shape[1] ** 2):
        index = rows.pattern[some]
        hidden = rows.patterns[index]
        gap = np.where(hidden, 0.0, rows.Z[some] - law.mean)
        guess = law.mean + (slopes[index] @ gap[:, :, None])[:, :, 0]
        values[some] = np.where(hidden, guess, rows.Z[some])
    return values


def _second_moments(parts: _PatternParts, spread: NDArray[np.float64]) -> NDArray:
    """Return the sum of the covariances of (X, y*) over all rows.

    ``spread`` is the sum of Var[y*] over the rows of each pattern.
    """
    d = parts.gain.shape[1]
    second = np.empty((d + 1, d + 1))
    known = parts.n_rows * parts.left - spread
    second[:d, :d] = parts.inner - (parts.gain.T * known) @ parts.gain
    second[:d, d] = second[d, :d] = spread @ parts.gain
    second[d, d] = spread.sum()
    return second


def _maximum(points, share, second, n: float, prior_rows: float, slope_rows: float):
    """Return the law of the expected moments: the M step."""
    d = points.shape[1] - 1
    centre = share @ points
    gap = points - centre
    cov = (share[:, None] * gap).T @ gap + second
    ridge = slope_rows / n * np.eye(d)
    slope = np.linalg.solve(cov[:d, :d] + ridge, cov[:d, d])
    noise = np.sqrt(cov[d, d] - 2 * slope @ cov[:d, d] + slope @ cov[:d, :d] @ slope)
    slope, intercept = slope / noise, (centre[d] - slope @ centre[:d]) / noise
    inner = (n * cov[:d, :d] + prior_rows * np.eye(d)) / (n + prior_rows)
    return LatentLaw(centre[:d], inner, float(intercept), slope)


def _log_prior(law: LatentLaw, prior_rows: float, slope_rows: float) -> float:
    """Log-density of the prior, up to a constant."""
    root = np.linalg.cholesky(law.cov)
    log_det = 2 * np.log(np.diag(root)).sum()
    trace = np.sum(np.linalg.inv(root) ** 2)
    return -prior_rows / 2 * (log_det + trace) - slope_rows / 2 * law.slope @ law.slope
