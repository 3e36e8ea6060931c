"""One Gaussian X whose values are missing because of what they are (MNAR)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from missfit.moments.blocks import blocks
from missfit.moments.patterns import all_patterns
from missfit.simulate.checks import check_per_feature, check_rates, check_width
from missfit.simulate.selection import GaussianSelection, can_enumerate


@dataclass(frozen=True, eq=False)
class SelfMaskedProbit(GaussianSelection):
    """Gaussian X, missing by its own value: P(M_j = 1 | X) = Phi(bias_j + slope_j X_j).

    The paper's *selfmasking* with lambda_j = slope_j and mu_0 = -bias_j / slope_j.

    Parameters
    ----------
    mean, cov, beta, beta0, noise
        Parameters of the laws of X and Y.
    slope, bias : float or array-like of shape (d,)

    See Also
    --------
    SelfMaskedProbit.with_rate : makes the law from the rates of missing values.
    """

    _: KW_ONLY
    slope: Any
    bias: Any

    def __post_init__(self):
        super().__post_init__()
        d = self.n_features
        self._set(
            slope=check_per_feature("slope", self.slope, d),
            bias=check_per_feature("bias", self.bias, d),
        )

    @classmethod
    def with_rate(cls, mean, cov, beta, *, rate, slope, **target):
        """Return the law in which feature j is missing at rate_j.

        E Phi(bias + slope X) = Phi((bias + slope mu) / sqrt(1 + slope^2 var)) gives
        the bias.
        """
        base = GaussianSelection(mean, cov, beta, **target)
        rate = check_rates("rate", rate, base.n_features, open_interval=True)
        slope = check_per_feature("slope", slope, base.n_features)
        spread = np.sqrt(1 + slope**2 * np.diag(base.cov))
        bias = special.ndtri(rate) * spread - slope * base.mean
        return cls(mean, cov, beta, slope=slope, bias=bias, **target)

    def transition(self, j):
        """Return where bias_j + slope_j u = 0, and the width of the probit."""
        if self.slope[j] == 0:
            return 0.0, np.inf
        return -self.bias[j] / self.slope[j], 1 / abs(self.slope[j])

    def probability(self, j, u):
        """Return the probit Phi(bias_j + slope_j u)."""
        return special.ndtr(self.bias[j] + self.slope[j] * u)


@dataclass(frozen=True, eq=False)
class SelfMaskedGaussian(GaussianSelection):
    """Gaussian X, missing by its own value with a Gaussian bump.

    P(M_j = 1 | X) = peak_j exp(-((X_j - centre_j) / width_j)^2 / 2), the Gaussian
    self-masking of Le Morvan et al. (NeuMiss, NeurIPS 2020).

    Parameters
    ----------
    mean, cov, beta, beta0, noise
        Parameters of the laws of X and Y.
    centre, width, peak : float or array-like of shape (d,)
        ``width`` > 0 and 0 <= ``peak`` <= 1.

    See Also
    --------
    SelfMaskedGaussian.with_rate : makes the law from the rates of missing values.
    """

    _: KW_ONLY
    centre: Any
    width: Any
    peak: Any

    def __post_init__(self):
        super().__post_init__()
        d = self.n_features
        width = check_width(self.width, d)
        self._set(
            centre=check_per_feature("centre", self.centre, d),
            width=width,
            peak=check_rates("peak", self.peak, d),
        )

    @classmethod
    def with_rate(cls, mean, cov, beta, *, rate, centre, width, **target):
        """Return the law in which feature j is missing at rate_j."""
        base = GaussianSelection(mean, cov, beta, **target)
        d = base.n_features
        rate = check_rates("rate", rate, d)
        centre = check_per_feature("centre", centre, d)
        width = check_width(width, d)
        total = width**2 + np.diag(base.cov)
        distance = (base.mean - centre) ** 2 / total
        highest = width / np.sqrt(total) * np.exp(-distance / 2)
        if (rate > highest).any():
            j = np.argmax(rate - highest)
            raise ValueError(
                f"feature {j} cannot be missing at rate {rate[j]:.6g}: with centre "
                f"{centre[j]:.6g} and width {width[j]:.6g} the rate is at most "
                f"{highest[j]:.6g}. Move the centre nearer to the mean or widen it."
            )
        return cls(
            mean,
            cov,
            beta,
            centre=centre,
            width=width,
            peak=np.where(rate == 0, 0.0, rate / np.maximum(highest, rate)),
            **target,
        )

    def transition(self, j):
        """Return the middle and the width of the bump."""
        return self.centre[j], self.width[j]

    def probability(self, j, u):
        """Return the height of the Gaussian bump at centre_j."""
        return self.peak[j] * np.exp(-0.5 * ((u - self.centre[j]) / self.width[j]) ** 2)

    def pattern_probabilities(self):
        """Patterns and their probabilities, None where there are too many.

        Q(S) = E prod_{j in S} P(M_j = 1 | X) is a Gaussian integral, and P(M = m) is
        the sum over S containing mis(m) of (-1)^|S - mis(m)| Q(S).
        """
        d = self.n_features
        if not can_enumerate(d):
            return None
        patterns = all_patterns(d)
        both = np.concatenate(
            [self._log_all_missing(patterns[b]) for b in blocks(2**d, d**2)]
        )
        probabilities = np.exp(both).reshape((2,) * d)
        for axis in range(d):  # inclusion and exclusion, one feature at a time
            lattice = np.moveaxis(probabilities, axis, 0)
            lattice[0] -= lattice[1]
        return patterns, np.maximum(probabilities.ravel(), 0.0)

    def _log_all_missing(self, subsets: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return log E prod_{j in S} P(M_j = 1 | X) for each subset S of features."""
        pair = subsets[:, :, None] & subsets[:, None, :]
        total = np.where(
            pair, self.cov + np.diag(self.width**2), np.eye(len(self.mean))
        )
        gap = np.where(subsets, self.mean - self.centre, 0.0)
        distance = (gap * np.linalg.solve(total, gap[:, :, None])[:, :, 0]).sum(axis=1)
        log_det = np.linalg.slogdet(total)[1]
        with np.errstate(divide="ignore"):
            log_peak = np.log(self.peak) + np.log(self.width)
        return np.where(subsets, log_peak, 0.0).sum(axis=1) - (log_det + distance) / 2
