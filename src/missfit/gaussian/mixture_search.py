"""Starts of a pattern mixture: many are tried for a few steps, the best is fitted.

A mixture's likelihood has many local maxima. Drawing all means anew finds partitions
far from that of one component less, and sometimes none that is better; one component
more than before finds those nearby.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from missfit.gaussian.completion import PrecisionLaw, complete
from missfit.gaussian.covariances import at_least
from missfit.gaussian.em import GaussianFit
from missfit.gaussian.mixture import (
    MixtureFit,
    MixtureLaw,
    PenalisedMixture,
    accelerated_mixture,
    e_step,
    regression_of,
    stacked_laws,
)
from missfit.gaussian.pattern_chunks import GaussianData, PatternChunk
from missfit.moments.pattern_moments import PatternMoments

# Powers of the responsibilities while starts are tried, N_STARTS of them with all means
# drawn anew; N_KEPT of all go on for KEPT_STEPS steps. On the published mixtures (d = 4
# to 10) the fit has the R2 of one started at the true parameters, to 2e-4. 25 kept
# steps instead of 12 take up to a quarter longer; 96 tables of mixture3 (d = 4 to 10,
# 400 to 1,500 rows) had the same K, and the means of R2 of the twelve tables of each
# size were within 1e-4.
TEMPERATURES = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.0, 1.0)
N_STARTS = 12
N_KEPT = 3
KEPT_STEPS = 12
START_SPREAD = 0.6  # of the covariance of one component, measured along with them
START_RESIDUAL = 0.01  # of the variance of y at least, likewise
# Starts with one component more than the mixture before, which are near and need no
# early cooling. Without them the twelve others all missed the third component of a
# table of mixture3 (d = 4, 3,750 rows). Their number alone is not on record.
WARM_TEMPERATURES = (0.4, 0.7, 1.0, 1.0, 1.0)
N_WARM_STARTS = 8
# The heaviest patterns, which the starts are tried on: all of them up to d = 8. A bound
# on the time.
START_PATTERNS = 256


class MixtureSearch:
    """The search for mixtures of one component more, and one more.

    Parameters
    ----------
    data : GaussianData
    few : GaussianData
        What the starts are tried on: ``data``, or its heaviest patterns.
    one : GaussianFit
        The fit of one component.
    model : PenalisedMixture
    """

    def __init__(
        self,
        data: GaussianData,
        few: GaussianData,
        one: GaussianFit,
        model: PenalisedMixture,
    ):
        self.data, self.few, self.one, self.model = data, few, one, model
        self.d = len(model.prior_cov)
        points, self.weight = _imputed_means(few, one)
        self.points = points[:, : self.d]

    def one_more(
        self,
        before: MixtureLaw,
        rng: np.random.RandomState,
        *,
        max_iter: int,
        tol: float,
    ) -> MixtureFit:
        """Fit one component more than before: many tempered starts, the best polished.

        Parameters
        ----------
        before : MixtureLaw
            The mixture of one component less.
        rng : RandomState
            Draws the starts.
        max_iter, tol
            As `mixture.accelerated_mixture` takes them.
        """
        new = stacked_laws(self._new_starts(len(before.share) + 1, rng))
        more = stacked_laws(self._warm_starts(before, rng))
        tried = [self._steps(new, TEMPERATURES), self._steps(more, WARM_TEMPERATURES)]
        laws, heights = zip(*tried, strict=True)
        every = MixtureLaw(*map(np.concatenate, zip(*laws, strict=True)))
        kept = np.argsort(-np.concatenate(heights), kind="stable")[:N_KEPT]
        law, height = self._steps(every.take(kept), [1.0] * KEPT_STEPS)
        return accelerated_mixture(
            self.data,
            law.take(int(np.argmax(height))),
            self.model,
            max_iter=max_iter,
            tol=tol,
        )

    def _new_starts(self, n_components: int, rng) -> list[MixtureLaw]:
        """Laws with means drawn by k-means++ among the patterns' imputed means."""
        d, one = self.d, self.one
        intercept, slopes, residual = regression_of(one, d)
        return [
            MixtureLaw(
                np.full(n_components, 1 / n_components),
                self._seeds(np.empty((0, d)), n_components, rng),
                np.repeat(START_SPREAD * one.cov[None, :d, :d], n_components, axis=0),
                intercept,
                slopes,
                at_least(residual, START_RESIDUAL),
            )
            for _ in range(N_STARTS)
        ]

    def _warm_starts(self, before: MixtureLaw, rng) -> list[MixtureLaw]:
        """Return the mixture before with one more component, at a pattern far away."""
        n_components = len(before.share) + 1
        spread = START_SPREAD * self.model.prior_cov[None]
        return [
            before._replace(
                share=np.full(n_components, 1 / n_components),
                mean=self._seeds(before.mean, 1, rng),
                cov=np.concatenate([before.cov, spread]),
            )
            for _ in range(N_WARM_STARTS)
        ]

    def _seeds(
        self, means: NDArray[np.float64], n_seeds: int, rng
    ) -> NDArray[np.float64]:
        """Add k-means++ seeds to some means.

        Each is drawn with probability weight times squared distance to the nearest.
        """
        for _ in range(n_seeds):
            p = self.weight
            if len(means):
                gap = self.points[:, None, :] - means
                near = self.weight * (gap**2).sum(axis=2).min(axis=1)
                p = near if near.sum() > 0 else self.weight
            chosen = rng.choice(len(self.points), p=p / p.sum())
            means = np.concatenate([means, self.points[[chosen]]])
        return means

    def _steps(
        self, law: MixtureLaw, temperatures: Sequence[float]
    ) -> tuple[MixtureLaw, NDArray[np.float64]]:
        """Take one EM step at each temperature: the laws, and the last heights seen."""
        height = np.full(len(law.share), -np.inf)
        for temperature in temperatures:
            expected = e_step(self.few, law, temperature)
            height = expected.log_likelihood + self.model.log_prior(law)
            law = self.model.m_step(law, expected)
        return law, height


def _imputed_means(few: GaussianData, one: GaussianFit):
    """Mean of each pattern with E[X_u | means of X_o and y] where missing."""
    law = PrecisionLaw.of_cov(one.cov)

    def impute(chunk: PatternChunk):
        total = chunk.sum_rows(complete(chunk, one.mean, law).filled)
        return total / chunk.count[:, None] + one.mean, np.sqrt(chunk.count)

    points, weight = zip(*map(impute, few.chunks), strict=True)
    # in an order that does not depend on how a pattern is kept: a weight of 2 is then
    # a row twice for the draws among them too
    return few.in_table_order(list(points)), few.in_table_order(list(weight))


def n_parameters(n_components: int, data: GaussianData, n_features: int) -> int:
    """Free parameters of the mixture: laws of X, shares, one regression.

    Features without two different values have none.
    """
    d = int(data.varies[:n_features].sum())
    t = data.n_columns - n_features
    law = d + d * (d + 1) // 2
    return n_components * (law + 1) - 1 + t * (d + 1) + t * (t + 1) // 2


def heaviest(moments: PatternMoments, data: GaussianData) -> GaussianData:
    """Return the patterns of most weight, which the starts are tried on."""
    if len(moments) <= START_PATTERNS:
        return data
    heavy = np.argsort(-moments.count, kind="stable")[:START_PATTERNS]
    return GaussianData(moments.take(heavy), data.scales)
