"""A mixture of Gaussians whose latent component belongs to the missing pattern.

All rows of a pattern share one component (Assumption 4.1, with K Gaussians for all
patterns), so that a pattern's evidence is a sum over its rows and comes from moments
alone. One regression of y on X serves all components, as in the paper's model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from missfit.gaussian.acceleration import climb
from missfit.gaussian.completion import PrecisionLaw, complete, completed_sums
from missfit.gaussian.covariances import (
    at_least,
    log_of_positive,
    power_of_e,
    regression_slopes,
    set_apart,
)
from missfit.gaussian.em import GaussianFit, PenalisedGaussian
from missfit.gaussian.pattern_chunks import GaussianData, PatternChunk


class MixtureLaw(NamedTuple):
    """K Gaussians of X and one regression of y, in standard units.

    All arrays may begin with one more axis: a stack of laws, whose E and M steps are
    taken at once.
    """

    share: NDArray[np.float64]  # (K,) probability that a pattern is of a component
    mean: NDArray[np.float64]  # (K, d)
    cov: NDArray[np.float64]  # (K, d, d)
    intercept: NDArray[np.float64]  # (t,)
    slopes: NDArray[np.float64]  # (d, t)
    residual: NDArray[np.float64]  # (t, t)

    def joint(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and covariances of (X, y) in the components, (K, k) and (K, k, k)."""
        d, t = self.slopes.shape[-2:]
        slopes = self.slopes[..., None, :, :]
        cross = self.cov @ slopes
        mean = np.empty((*self.mean.shape[:-1], d + t))
        mean[..., :d] = self.mean
        mean[..., d:] = self.intercept[..., None, :] + self.mean @ self.slopes
        cov = np.empty((*mean.shape, d + t))
        cov[..., :d, :d] = self.cov
        cov[..., :d, d:] = cross
        cov[..., d:, :d] = cross.swapaxes(-1, -2)
        inner = slopes.swapaxes(-1, -2) @ cross
        cov[..., d:, d:] = self.residual[..., None, :, :] + inner
        return mean, cov

    def take(self, index: Any) -> MixtureLaw:
        """Return some laws of a stack, or one."""
        return MixtureLaw(*(part[index] for part in self))


def stacked_laws(laws: Sequence[MixtureLaw]) -> MixtureLaw:
    """Return laws of equally many components as one stack."""
    return MixtureLaw(*(np.stack(parts) for parts in zip(*laws, strict=True)))


class MixtureFit(NamedTuple):
    """A fitted mixture, and how it was reached."""

    law: MixtureLaw
    responsibility: NDArray[np.float64]  # (P, K)
    log_likelihood: float
    n_iter: int
    converged: bool


class MixtureExpectation(NamedTuple):
    """What the E step returns, component by component, about each one's mean."""

    n_rows: NDArray[np.float64]  # (K,) rows; a stack of laws has one more axis here
    n_patterns: NDArray[np.float64]  # (K,) patterns
    first: NDArray[np.float64]  # (K, k)
    second: NDArray[np.float64]  # (K, k, k)
    log_likelihood: NDArray[np.float64]
    responsibility: list[NDArray[np.float64]]  # (b, K) of the patterns of each chunk


@dataclass(frozen=True)
class PenalisedMixture:
    """M step for a pattern mixture.

    Each covariance has an inverse Wishart prior worth ``prior_rows`` rows of covariance
    ``prior_cov``, the shares a Dirichlet prior worth one pattern each. The regression
    of y on X is that of ``one``, the model of one component: its floor, its pull of the
    slopes, and the features that it holds apart.
    """

    prior_cov: NDArray[np.float64]
    prior_rows: float
    one: PenalisedGaussian

    @property
    def floor(self) -> float:
        """Variance that the regression leaves at least, in standard units."""
        return self.one.floor

    def m_step(self, law: MixtureLaw, expected: MixtureExpectation) -> MixtureLaw:
        """Parameters that maximise the expected log-posterior."""
        d = law.mean.shape[-1]
        count = expected.n_rows
        share = 1.0 + expected.n_patterns
        some = np.maximum(count, np.finfo(float).tiny)[..., None]
        shift = np.where(count[..., None] > 0, expected.first / some, 0.0)
        centred = expected.second - count[..., None, None] * (
            shift[..., :, None] * shift[..., None, :]
        )
        cov = centred[..., :d, :d] + self.prior_rows * self.prior_cov
        cov /= (count + self.prior_rows)[..., None, None]
        set_apart(cov, self.one.silent)
        mean = law.joint()[0] + shift
        mean[..., self.one.silent] = 0.0
        regression = self._regression(count, mean, centred, d)
        share /= share.sum(axis=-1, keepdims=True)
        return MixtureLaw(share, mean[..., :d], cov, *regression)

    def _regression(self, count, mean, centred, d: int):
        """Pooled regression of y on X: rows of all components about one centre."""
        total = count.sum(axis=-1)[..., None]
        centre = (count[..., None, :] @ mean)[..., 0, :] / total
        gap = mean - centre[..., None, :]
        spread = (count[..., None] * gap).swapaxes(-1, -2) @ gap
        pooled = (centred.sum(axis=-3) + spread) / total[..., None]
        set_apart(pooled, self.one.silent)
        cross = pooled[..., :d, d:]
        ridge = self.one.slope_rows / total
        slopes = regression_slopes(pooled[..., :d, :d], cross, ridge)
        residual = pooled[..., d:, d:] - slopes.swapaxes(-1, -2) @ cross
        intercept = centre[..., d:] - (centre[..., None, :d] @ slopes)[..., 0, :]
        return intercept, slopes, at_least(residual, self.floor)

    def log_prior(self, law: MixtureLaw) -> NDArray[np.float64]:
        """Log-density of the prior, up to a constant."""
        root = np.linalg.cholesky(law.cov)
        log_det = 2 * np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=(-1, -2))
        inner = np.linalg.solve(law.cov, self.prior_cov)
        spread = np.trace(inner, axis1=-2, axis2=-1).sum(axis=-1)
        return (
            np.log(law.share).sum(axis=-1)
            - self.prior_rows / 2 * (log_det + spread)
            + self.one.log_prior_of_slopes(law.slopes, law.residual)
        )


def e_step(
    data: GaussianData, law: MixtureLaw, temperature: float = 1.0
) -> MixtureExpectation:
    """Responsibilities of the patterns and expected sums of each component.

    r_mk is proportional to share_k exp(temperature sum_i log N(x_o,i, y_i; k)), over
    the rows i of pattern m. The log-likelihood is that of temperature 1.
    """
    means, covs = law.joint()
    laws = PrecisionLaw.of_cov(covs)
    log_share = np.log(law.share)[..., None]

    def expect(chunk: PatternChunk):
        completion = complete(chunk, means, laws)
        evidence = completion.log_likelihood
        total = _log_sum(evidence + log_share).sum(axis=(-1, -2))
        log_weight = temperature * evidence + log_share
        weight = np.exp(log_weight - _log_sum(log_weight))
        sums = completed_sums(chunk, completion, weight)
        return weight @ chunk.count, weight.sum(axis=-1), *sums, total, weight

    *sums, weights = zip(*map(expect, data.chunks), strict=True)
    n_rows, n_patterns, first, second, total = (np.sum(s, axis=0) for s in sums)
    second = (second + second.swapaxes(-1, -2)) / 2
    return MixtureExpectation(
        n_rows,
        n_patterns,
        first,
        second,
        total,
        [weight.swapaxes(-1, -2) for weight in weights],
    )


def _log_sum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log sum exp over the components; scipy's costs more than the E step."""
    top = values.max(axis=-2, keepdims=True)
    return top + np.log(np.exp(values - top).sum(axis=-2, keepdims=True))


def mixture_of_one(one: GaussianFit, n_patterns: int, d: int) -> MixtureFit:
    """Write the fit of one Gaussian as a mixture of one."""
    intercept, slopes, residual = regression_of(one, d)
    if len(residual) == 1:
        residual = np.maximum(residual, 0.0)
    mean, cov = one.mean[None, :d], one.cov[None, :d, :d]
    law = MixtureLaw(np.ones(1), mean, cov, intercept, slopes, residual)
    certain = np.ones((n_patterns, 1))
    return MixtureFit(law, certain, one.log_likelihood, one.n_iter, one.converged)


def regression_of(one: GaussianFit, d: int) -> tuple[NDArray, NDArray, NDArray]:
    """Intercept (t,), slopes (d, t) and residual (t, t) of y on X in one Gaussian."""
    cross = one.cov[:d, d:]
    slopes = regression_slopes(one.cov[:d, :d], cross)
    residual = one.cov[d:, d:] - slopes.T @ cross
    return one.mean[d:] - one.mean[:d] @ slopes, slopes, residual


def accelerated_mixture(
    data: GaussianData,
    law: MixtureLaw,
    model: PenalisedMixture,
    *,
    max_iter: int,
    tol: float,
) -> MixtureFit:
    """EM with leaps and a monotone guard, as `em.accelerated_em`."""

    def step(law: MixtureLaw):
        expected = e_step(data, law)
        height = expected.log_likelihood + model.log_prior(law)
        return model.m_step(law, expected), float(height)

    def unpack(vector, like: MixtureLaw):
        return _unpack(vector, like, model.floor)

    ended = climb(
        step, law, (_pack, unpack), max_iter=max_iter, least_gain=tol * data.n_rows
    )
    last = e_step(data, ended.point)
    return MixtureFit(
        ended.point,
        data.in_table_order(last.responsibility),
        float(last.log_likelihood),
        ended.n_iter,
        ended.converged,
    )


def _pack(law: MixtureLaw) -> NDArray[np.float64]:
    """One vector without constraints: logarithms of shares and covariances."""
    parts = [
        np.log(law.share),
        law.mean,
        log_of_positive(law.cov),
        law.intercept,
        law.slopes,
        log_of_positive(law.residual),
    ]
    return np.concatenate([part.ravel() for part in parts])


def _unpack(vector, like: MixtureLaw, floor: float) -> MixtureLaw:
    """Return the law of a vector of `_pack`, its residual variance at the floor."""
    ends = np.cumsum([part.size for part in like])[:-1]
    pieces = [
        piece.reshape(part.shape)
        for piece, part in zip(np.split(vector, ends), like, strict=True)
    ]
    share, mean, cov, intercept, slopes, residual = pieces
    return MixtureLaw(
        special.softmax(share),
        mean,
        power_of_e(cov),
        intercept,
        slopes,
        at_least(power_of_e(residual), floor),
    )
