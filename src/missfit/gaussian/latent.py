"""EM for Gaussian features and a label that says where a latent target lies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from missfit.gaussian.acceleration import climb
from missfit.gaussian.completion import (
    Completion,
    PrecisionLaw,
    complete,
    completed_sums,
)
from missfit.gaussian.covariances import log_of_positive, power_of_e
from missfit.gaussian.em import PRIOR_ROWS
from missfit.gaussian.pattern_chunks import PatternChunk, chunks_of_rows
from missfit.gaussian.probit import inverse_mills

# Pseudo-rows of standard features whose latent target is 0: they keep the slopes finite
# where the classes are separated, and move those of 500 rows by less than their error.
SLOPE_ROWS = 0.3


class LatentRows(NamedTuple):
    """Rows in standard units, in chunks of patterns, and the signs of their labels."""

    chunks: list[PatternChunk]
    signs: list[NDArray[np.float64]]
    n_rows: float  # the sum of their weights

    @classmethod
    def of(cls, Z: NDArray, label: NDArray[np.bool_], weight: NDArray) -> LatentRows:
        """Group the rows by what they miss."""
        chunks, rows = zip(*chunks_of_rows(Z, weight), strict=True)
        sign = np.where(label, 1.0, -1.0)
        return cls(list(chunks), [sign[some] for some in rows], float(weight.sum()))


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

    Steps as in `_sums`, with the leaps of `acceleration.climb`. ``more_rows`` is the
    number of further pseudo-rows, as in `missfit.moments.ridge.pseudo_rows`; stops once
    three steps gain less than ``tol`` per row.
    """
    prior = PRIOR_ROWS + more_rows, SLOPE_ROWS + more_rows

    def step(law: LatentLaw):
        sums = latent_sums(rows, law)
        after = _maximum(sums, law.mean, rows.n_rows, *prior)
        return after, sums.log_likelihood + _log_prior(law, *prior)

    def unpack(vector: NDArray, like: LatentLaw) -> LatentLaw:
        d = len(like.mean)
        cov = power_of_e(vector[d : d + d * d].reshape(d, d))
        return LatentLaw(vector[:d], cov, float(vector[-d - 1]), vector[-d:])

    least = tol * rows.n_rows
    ended = climb(step, start, (_pack, unpack), max_iter=max_iter, least_gain=least)
    return LatentFit(ended.point, ended.n_iter, ended.converged)


def _pack(law: LatentLaw) -> NDArray[np.float64]:
    parts = law.mean, log_of_positive(law.cov).ravel(), [law.intercept], law.slope
    return np.concatenate(parts)


class LatentSums(NamedTuple):
    """Expected sums over rows of (X - mean, y*) and of its products."""

    first: NDArray[np.float64]  # (d + 1,)
    second: NDArray[np.float64]  # (d + 1, d + 1)
    log_likelihood: float


def latent_sums(rows: LatentRows, law: LatentLaw) -> LatentSums:
    """Return what the E step expects.

    With E = E[X | x_obs], V = Cov(X_u | x_obs), tau^2 = 1 + b_u'V b_u, lin = b0 + b'E,
    a = s lin / tau, r = phi(a) / Phi(a), g = V b_u / tau^2 and e = s tau r::

        E[y*] = lin + e                    E[y*^2] = lin^2 + lin e + tau^2
        E[X] = E + g e                     E[X y*] = E lin + E e + g tau^2
        E[X X'] = E E' + V + (E g' + g E') e - g g' lin e
    """
    d = len(law.mean)
    gaussian = PrecisionLaw.of_cov(law.cov)
    first, second, height = np.zeros(d + 1), np.zeros((d + 1, d + 1)), 0.0
    for chunk, sign in zip(rows.chunks, rows.signs, strict=True):
        completion = complete(chunk, law.mean, gaussian)
        part = _chunk_sums(chunk, completion, sign, law)
        first += part.first
        second += part.second
        height += part.log_likelihood
    return LatentSums(first, (second + second.T) / 2, height)


def _chunk_sums(
    chunk: PatternChunk, completion: Completion, sign: NDArray, law: LatentLaw
) -> LatentSums:
    d, E, root = len(law.mean), completion.filled, chunk.root  # each E times its root
    gain, left = _gain(chunk, completion, law.slope)
    tau = np.sqrt(left)[chunk.pattern_of_point]
    linear = law.intercept + law.mean @ law.slope + (E @ law.slope) / root
    a = sign * linear / tau
    more = sign * tau * inverse_mills(a)  # e, by which y* is above what x_obs says
    first, second = np.empty(d + 1), np.empty((d + 1, d + 1))
    weight = root**2
    total, inner = completed_sums(chunk, completion)
    of_pattern = chunk.sum_points(weight * more)
    first[:d] = total + of_pattern @ gain
    first[d] = weight @ (linear + more)
    cross = chunk.sum_points(root * more * E.T) @ gain
    known = chunk.sum_points(weight * linear * more)
    second[:d, :d] = inner + cross + cross.T - (known * gain.T) @ gain
    second[:d, d] = (root * (linear + more)) @ E + (chunk.count * left) @ gain
    second[d, :d] = second[:d, d]
    second[d, d] = weight @ (linear * (linear + more)) + chunk.count @ left
    height = completion.log_likelihood.sum() + weight @ log_ndtr(a)
    return LatentSums(first, second, float(height))


def _gain(chunk: PatternChunk, completion: Completion, slope: NDArray):
    """Return g (b, d), with zeros where observed, and tau^2 (b,) of each pattern."""
    b_mis = slope[chunk.missing]
    pull = (completion.V @ b_mis[:, :, None])[:, :, 0]
    left = 1 + (pull * b_mis).sum(axis=1)
    gain = np.zeros((len(left), len(slope)))
    np.put_along_axis(gain, chunk.missing, pull / left[:, None], axis=1)
    return gain, left


def _maximum(sums: LatentSums, mean, n: float, prior_rows: float, slope_rows: float):
    """Return the law of the expected sums about a mean of X: the M step.

    It lets the noise of y* be free and rescales it to 1 afterwards, which is the same
    maximum and arrives sooner (parameter expansion: Liu, Rubin and Wu 1998).
    """
    d = len(mean)
    centre = sums.first / n
    cov = sums.second / n - np.outer(centre, centre)
    centre[:d] += mean
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
