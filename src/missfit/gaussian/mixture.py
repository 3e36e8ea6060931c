"""A mixture of Gaussians whose latent component belongs to the missing pattern.

All rows of a pattern share one component (Assumption 4.1, with K Gaussians for all
patterns), so that a pattern's evidence is a sum over its rows and comes from moments
alone. One regression of y on X serves all components, as in the paper's model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from missfit.gaussian.em import (
    GaussianData,
    GaussianFit,
    PatternChunk,
    PenalisedGaussian,
    PrecisionLaw,
    at_least,
    complete,
    completed_sums,
    extrapolation,
    log_of_positive,
    power_of_e,
    regression_slopes,
    set_apart,
)

TEMPERATURES = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.0, 1.0)
WARM_TEMPERATURES = (0.4, 0.7, 1.0, 1.0, 1.0)
N_STARTS = 12  # with all means drawn anew
N_WARM_STARTS = 8  # with one component more than the mixture before
N_KEPT = 3
KEPT_STEPS = 25


class MixtureLaw(NamedTuple):
    """K Gaussians of X and one regression of y, in standard units."""

    share: NDArray[np.float64]  # (K,) probability that a pattern is of a component
    mean: NDArray[np.float64]  # (K, d)
    cov: NDArray[np.float64]  # (K, d, d)
    intercept: NDArray[np.float64]  # (t,)
    slopes: NDArray[np.float64]  # (d, t)
    residual: NDArray[np.float64]  # (t, t)

    def joint(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and covariances of (X, y) in the components, (K, k) and (K, k, k)."""
        cross = self.cov @ self.slopes
        mean = np.hstack([self.mean, self.intercept + self.mean @ self.slopes])
        target = self.residual + self.slopes.T @ cross
        return mean, np.block([[self.cov, cross], [cross.swapaxes(1, 2), target]])


class MixtureFit(NamedTuple):
    """A fitted mixture, and how it was reached."""

    law: MixtureLaw
    responsibility: NDArray[np.float64]  # (P, K)
    log_likelihood: float
    n_iter: int
    converged: bool


class MixtureExpectation(NamedTuple):
    """What the E step returns, component by component, about each one's mean."""

    n_rows: NDArray[np.float64]  # (K,) rows
    n_patterns: NDArray[np.float64]  # (K,) patterns
    first: NDArray[np.float64]  # (K, k)
    second: NDArray[np.float64]  # (K, k, k)
    log_likelihood: float
    responsibility: list[NDArray[np.float64]]  # of the patterns of each chunk


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
        d = law.mean.shape[1]
        count = expected.n_rows
        share = 1.0 + expected.n_patterns
        some = np.maximum(count, np.finfo(float).tiny)[:, None]
        shift = np.where(count[:, None] > 0, expected.first / some, 0.0)
        centred = expected.second - count[:, None, None] * (
            shift[:, :, None] * shift[:, None, :]
        )
        cov = centred[:, :d, :d] + self.prior_rows * self.prior_cov
        cov /= (count + self.prior_rows)[:, None, None]
        set_apart(cov, self.one.silent)
        mean = law.joint()[0] + shift
        mean[:, self.one.silent] = 0.0
        regression = self._regression(count, mean, centred, d)
        return MixtureLaw(share / share.sum(), mean[:, :d], cov, *regression)

    def _regression(self, count, mean, centred, d: int):
        """Pooled regression of y on X: rows of all components about one centre."""
        total = count.sum()
        centre = count @ mean / total
        gap = mean - centre
        pooled = (centred.sum(axis=0) + (count[:, None] * gap).T @ gap) / total
        set_apart(pooled, self.one.silent)
        ridge = self.one.slope_rows / total * np.eye(d)
        slopes = regression_slopes(pooled[:d, :d] + ridge, pooled[:d, d:])
        residual = pooled[d:, d:] - slopes.T @ pooled[:d, d:]
        intercept = centre[d:] - centre[:d] @ slopes
        return intercept, slopes, at_least(residual, self.floor)

    def log_prior(self, law: MixtureLaw) -> float:
        """Log-density of the prior, up to a constant."""
        root = np.linalg.cholesky(law.cov)
        log_det = 2 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum()
        spread = np.trace(
            np.linalg.solve(law.cov, self.prior_cov), axis1=1, axis2=2
        ).sum()
        pull = np.trace(np.linalg.solve(law.residual, law.slopes.T @ law.slopes))
        return float(
            np.log(law.share).sum()
            - self.prior_rows / 2 * (log_det + spread)
            - self.one.slope_rows / 2 * pull
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
    log_share = np.log(law.share)[:, None]

    def expect(chunk: PatternChunk):
        completion = complete(chunk, means, laws)
        evidence = completion.log_likelihood
        total = _log_sum(evidence + log_share).sum()
        log_weight = temperature * evidence + log_share
        weight = np.exp(log_weight - _log_sum(log_weight))
        first, second = completed_sums(chunk, completion, weight)
        return weight @ chunk.count, weight.sum(axis=1), first, second, total, weight.T

    parts = data.map_chunks(expect)
    *sums, weights = zip(*parts, strict=True)
    n_rows, n_patterns, first, second, total = (np.sum(s, axis=0) for s in sums)
    second = (second + second.transpose(0, 2, 1)) / 2
    return MixtureExpectation(
        n_rows, n_patterns, first, second, float(total), list(weights)
    )


def _log_sum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log sum exp over the first axis; scipy's costs more than the E step."""
    top = values.max(axis=0)
    return top + np.log(np.exp(values - top).sum(axis=0))


def fit_mixture(
    data: GaussianData,
    few: GaussianData,
    one: GaussianFit,
    before: MixtureLaw,
    model: PenalisedMixture,
    rng: np.random.RandomState,
    *,
    max_iter: int,
    tol: float,
) -> MixtureFit:
    """Fit one component more than before: many tempered starts, the best polished.

    Drawing all means anew finds partitions far from the one before, and sometimes none
    that is better; one more component finds those nearby.

    Parameters
    ----------
    data : GaussianData
    few : GaussianData
        What the starts are tried on: ``data``, or its heaviest patterns.
    one : GaussianFit
        The fit of one component.
    before : MixtureLaw
        The mixture of one component less.
    """
    points, weight = _imputed_means(few, one)
    points = points[:, : len(model.prior_cov)]
    new = _new_starts(one, before, points, weight, model, rng)
    more = _warm_starts(before, points, weight, model, rng)
    tried = [_tempered(few, start, model, TEMPERATURES) for start in new]
    tried += [_tempered(few, start, model, WARM_TEMPERATURES) for start in more]
    tried.sort(key=lambda pair: -pair[1])
    kept = [_steps(few, law, model, KEPT_STEPS) for law, _ in tried[:N_KEPT]]
    best = max(kept, key=lambda pair: pair[1])[0]
    return accelerated_mixture(data, best, model, max_iter=max_iter, tol=tol)


def _new_starts(
    one: GaussianFit, before: MixtureLaw, points, weight, model, rng
) -> list[MixtureLaw]:
    """Laws with means drawn by k-means++ among the patterns' imputed means."""
    d, n_components = len(model.prior_cov), len(before.share) + 1
    inner, cross = one.cov[:d, :d], one.cov[:d, d:]
    slopes = regression_slopes(inner, cross)
    residual = at_least(one.cov[d:, d:] - slopes.T @ cross, 0.01)
    none = np.empty((0, d))
    return [
        MixtureLaw(
            np.full(n_components, 1 / n_components),
            _seeds(none, points, weight, n_components, rng),
            np.repeat(0.6 * inner[None], n_components, axis=0),
            one.mean[d:] - one.mean[:d] @ slopes,
            slopes,
            residual,
        )
        for _ in range(N_STARTS)
    ]


def _warm_starts(before: MixtureLaw, points, weight, model, rng) -> list[MixtureLaw]:
    """Return the mixture before with one component more, at a pattern far from all."""
    n_components = len(before.share) + 1
    return [
        before._replace(
            share=np.full(n_components, 1 / n_components),
            mean=_seeds(before.mean, points, weight, 1, rng),
            cov=np.concatenate([before.cov, 0.6 * model.prior_cov[None]]),
        )
        for _ in range(N_WARM_STARTS)
    ]


def _imputed_means(few: GaussianData, one: GaussianFit):
    """Mean of each pattern with E[X_u | means of X_o and y] where missing."""
    law = PrecisionLaw.of_cov(one.cov)

    def impute(chunk: PatternChunk):
        filled = complete(chunk, one.mean, law).filled
        total = np.zeros((len(chunk.count), filled.shape[1]))
        np.add.at(total, chunk.pattern_of_point, chunk.weight[:, None] * filled)
        return total / chunk.count[:, None] + one.mean, np.sqrt(chunk.count)

    points, weight = zip(*few.map_chunks(impute), strict=True)
    # in an order that does not depend on how a pattern is kept: a weight of 2 is then
    # a row twice for the draws among them too
    return few.in_table_order(list(points)), few.in_table_order(list(weight))


def _seeds(means, points, weight, n_seeds: int, rng) -> NDArray[np.float64]:
    """Add k-means++ seeds to some means.

    Each is drawn with probability weight times squared distance to the nearest.
    """
    for _ in range(n_seeds):
        p = weight
        if len(means):
            gap = points[:, None, :] - means
            near = weight * (gap**2).sum(axis=2).min(axis=1)
            p = near if near.sum() > 0 else weight
        chosen = rng.choice(len(points), p=p / p.sum())
        means = np.concatenate([means, points[[chosen]]])
    return means


def _tempered(data, law, model, temperatures) -> tuple[MixtureLaw, float]:
    height = -np.inf
    for temperature in temperatures:
        expected = e_step(data, law, temperature)
        height = expected.log_likelihood + model.log_prior(law)
        law = model.m_step(law, expected)
    return law, height


def _steps(data, law: MixtureLaw, model, n_steps: int) -> tuple[MixtureLaw, float]:
    height = -np.inf
    for _ in range(n_steps):
        expected = e_step(data, law)
        height = expected.log_likelihood + model.log_prior(law)
        law = model.m_step(law, expected)
    return law, height


def accelerated_mixture(
    data: GaussianData,
    law: MixtureLaw,
    model: PenalisedMixture,
    *,
    max_iter: int,
    tol: float,
) -> MixtureFit:
    """EM with SQUAREM steps and a monotone guard, as `em.accelerated_em`."""
    n_iter, converged = 0, False
    height, fallback = -np.inf, law

    def em(law: MixtureLaw):
        nonlocal n_iter
        n_iter += 1
        expected = e_step(data, law)
        log_posterior = expected.log_likelihood + model.log_prior(law)
        return model.m_step(law, expected), log_posterior

    while n_iter < max_iter and not converged:
        one, before = em(law)
        if not before >= height - 1e-6 * abs(height):
            # EM only climbs: the height of the last leap was an error of rounding
            law = fallback
            one, before = em(law)
        two, height = em(one)
        leap = extrapolation(_pack(law), _pack(one), _pack(two))
        law = fallback = two
        with np.errstate(all="ignore"):  # a leap too far is refused, not reported
            try:
                landed, log_posterior = em(_unpack(leap, law, model.floor))
                if log_posterior >= height:
                    law, height = landed, log_posterior
            except np.linalg.LinAlgError:
                pass
        converged = bool(height - before < tol * data.n_rows)
    expected = e_step(data, law)
    responsibility = data.in_table_order(expected.responsibility)
    return MixtureFit(law, responsibility, expected.log_likelihood, n_iter, converged)


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
