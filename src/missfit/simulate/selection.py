"""One Gaussian X whose values go missing: completely at random, or at random.

``noise`` is the standard deviation of Y - beta0 - beta'X.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from missfit.moments.patterns import all_patterns
from missfit.simulate.checks import (
    check_array,
    check_columns,
    check_covs,
    check_number,
    check_rates,
)
from missfit.simulate.linear_target import LinearTarget
from missfit.tables.arrays import check_features

MAX_ENUMERATED = 2**16  # patterns; with more, risks are estimated by simulation


@dataclass(frozen=True, eq=False)
class GaussianSelection(LinearTarget):
    """One Gaussian X whose values go missing independently given X.

    P(M_j = 1 | X) = p_j(u_j) with u = directions @ X. Use one of the laws that derive
    from it: `MCARGaussian`, `MARGaussian`, `SelfMaskedProbit`, `SelfMaskedGaussian`.
    """

    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    beta: NDArray[np.float64]
    _: KW_ONLY
    beta0: float = 0.0
    noise: float = 0.0

    def __post_init__(self):
        mean = check_array("mean", self.mean, (None,))
        d = len(mean)
        self._set(
            mean=mean,
            cov=check_covs(np.asarray(self.cov, dtype=float)[None], (1, d, d))[0],
            beta=check_array("beta", self.beta, (d,)),
            beta0=check_number("beta0", self.beta0),
            noise=check_number("noise", self.noise, low=0.0),
        )

    @property
    def directions(self) -> NDArray[np.float64]:
        """Matrix (d, d) of the linear functions of X that drive the missing values."""
        return np.eye(self.n_features)

    def probability(self, j: int, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P(M_j = 1) for ``u``, the value of row j of ``directions @ x``."""
        raise TypeError(f"{type(self).__name__} defines no law of the missing values.")

    def transition(self, j: int) -> tuple[float, float]:
        """Return the u_j about which P(M_j = 1) changes, and over what width."""
        return 0.0, np.inf

    def missing_probability(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return P(M_j = 1 | X = x) for each row x of complete X and each feature j."""
        u = check_features(X, self.n_features) @ self.directions.T
        return np.column_stack(
            [self.probability(j, u[:, j]) for j in range(self.n_features)]
        )

    def pattern_probabilities(
        self,
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]] | None:
        """Return patterns and their probabilities, None without a closed form."""
        return None

    def target_moments(self) -> tuple[float, float]:
        """Mean and variance of Y."""
        mean = self.beta0 + self.beta @ self.mean
        variance = self.beta @ self.cov @ self.beta + self.noise**2
        return float(mean), float(variance)

    def _draw_features(self, n, rng):
        root = np.linalg.cholesky(self.cov)
        X = rng.standard_normal((n, self.n_features)) @ root.T + self.mean
        return X, rng.random(X.shape) < self.missing_probability(X)


@dataclass(frozen=True, eq=False)
class MCARGaussian(GaussianSelection):
    """Gaussian X, each feature j missing at random with probability rate_j.

    Parameters
    ----------
    mean, cov, beta, beta0, noise
        Parameters of the laws of X and Y.
    rate : float or array-like of shape (d,)
        The probability that each feature is missing, whatever X is.
    """

    _: KW_ONLY
    rate: Any

    def __post_init__(self):
        super().__post_init__()
        self._set(rate=check_rates("rate", self.rate, self.n_features))

    def probability(self, j, u):
        """Return P(M_j = 1), which does not depend on X."""
        return np.full(np.shape(u), self.rate[j])

    def pattern_probabilities(self):
        """Patterns and their probabilities, None where there are too many."""
        unsure = np.flatnonzero((self.rate > 0) & (self.rate < 1))
        if not can_enumerate(len(unsure)):
            return None
        patterns = np.tile(self.rate == 1, (2 ** len(unsure), 1))
        patterns[:, unsure] = all_patterns(len(unsure))
        factors = np.where(patterns, self.rate, 1 - self.rate)
        return patterns, factors.prod(axis=1)


@dataclass(frozen=True, eq=False)
class MARGaussian(GaussianSelection):
    """Gaussian X, missing at random: logistic on columns that are always observed.

    P(M_j = 1 | X) = sigmoid(bias_j + sum_k slopes_jk X_k). A column k that drives
    another (slopes_jk != 0) must never be missing itself: bias_k = -inf. (The Bayes
    predictor still predicts rows where such a column is missing, since it does not
    depend on the mechanism.)

    Parameters
    ----------
    mean, cov, beta, beta0, noise
        Parameters of the laws of X and Y.
    slopes : array-like of shape (d, d)
    bias : array-like of shape (d,)
        -inf for a column that is never missing.

    See Also
    --------
    MARGaussian.with_rate : makes the law from the rates of missing values.
    """

    _: KW_ONLY
    slopes: Any
    bias: Any

    def __post_init__(self):
        super().__post_init__()
        d = self.n_features
        slopes = check_array("slopes", self.slopes, (d, d))
        bias = np.asarray(self.bias, dtype=float)
        if bias.shape != (d,) or np.isnan(bias).any() or (bias == np.inf).any():
            raise ValueError(
                f"bias must hold {d} numbers, -inf for a column that is never missing; "
                f"got {bias}."
            )
        drivers = np.flatnonzero((slopes != 0).any(axis=0))
        hidden = drivers[np.isfinite(bias[drivers])]
        if len(hidden):
            raise ValueError(
                f"column {hidden[0]} drives missing values but can be missing itself "
                f"(bias {bias[hidden[0]]:.6g}): that is not MAR. Set its bias to -inf, "
                "or use SelfMaskedProbit."
            )
        self._set(slopes=slopes, bias=bias)

    @classmethod
    def with_rate(cls, mean, cov, beta, *, observed, rate, slope=1.0, **target):
        """Return the law with all but the ``observed`` columns missing at ``rate``.

        Whether one of them is missing depends on the average of the standardised
        observed columns, scaled to unit variance, through a logistic curve of the given
        ``slope``.
        """
        base = GaussianSelection(mean, cov, beta, **target)
        d = base.n_features
        driver = np.zeros(d)
        observed = check_columns("observed", observed, d)
        if not 0 < len(observed) < d:
            raise ValueError(
                f"observed={observed.tolist()}: between 1 and {d - 1} of the {d} "
                "columns must stay observed."
            )
        driver[observed] = 1 / np.sqrt(np.diag(base.cov)[observed])
        driver *= slope / np.sqrt(driver @ base.cov @ driver)
        slopes, bias = np.zeros((d, d)), np.full(d, -np.inf)
        centre = driver @ base.mean
        rates = check_rates("rate", rate, d)
        if (rates == 1).any():
            raise ValueError("rate holds 1; a logistic curve never reaches it.")
        for j in np.setdiff1d(np.arange(d), observed):
            slopes[j] = driver
            bias[j] = _logistic_bias(float(rates[j]), slope) - centre
        return cls(mean, cov, beta, slopes=slopes, bias=bias, **target)

    @property
    def directions(self):
        """Matrix (d, d) of the linear functions of X that drive the missing values."""
        return self.slopes

    def transition(self, j):
        """Return the middle of the sigmoid, where bias_j + u = 0, and its width."""
        return -self.bias[j], 1.0

    def probability(self, j, u):
        """Return the sigmoid of bias_j + u."""
        return special.expit(self.bias[j] + u)


def can_enumerate(n_features: int) -> bool:
    """Return whether all patterns of this number of features may be listed."""
    return 2**n_features <= MAX_ENUMERATED


def _logistic_bias(rate: float, slope: float) -> float:
    """Return the bias b with E sigmoid(b + slope T) = rate for standard normal T."""
    if rate == 0:
        return -np.inf
    # This is P(L < b + slope T) for logistic L. Integrate over the narrower of L and
    # slope T, on which the probability by the other is smooth: the trapezoidal rule
    # then converges exponentially.
    if abs(slope) <= 1:
        nodes = np.linspace(-9, 9, 401)
        weights = np.exp(-(nodes**2) / 2)
    else:
        nodes = np.linspace(-45, 45, 1801)
        weights = special.expit(nodes) * special.expit(-nodes)
    weights = weights / weights.sum()

    def excess(bias: float) -> float:
        if abs(slope) <= 1:
            return weights @ special.expit(bias + slope * nodes) - rate
        return weights @ special.ndtr((bias - nodes) / abs(slope)) - rate

    centre, reach = special.logit(rate), 50 + 40 * abs(slope)
    bracket = (centre - reach, centre + reach)
    return optimize.root_scalar(excess, bracket=bracket, xtol=1e-13).root
