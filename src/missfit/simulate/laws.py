"""Laws of (X, M, Y) whose Bayes predictor is known.

In all of them Y = beta0 + beta'X + noise (the paper's equation 1); they differ in the
law of X and of the missing values M. ``noise`` is the standard deviation sigma.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from missfit.patterns import group_rows
from missfit.simulate.checks import (
    check_array,
    check_columns,
    check_component,
    check_covs,
    check_number,
    check_patterns,
    check_per_feature,
    check_probabilities,
    check_rates,
    check_width,
)
from missfit.tables import blocks, check_features

MAX_ENUMERATED = 2**16  # patterns; beyond, risks are estimated by simulation

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return the numpy Generator of a seed, a Generator or a RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    return np.random.default_rng(random_state)


class LinearTarget:
    """What all laws share: Y = beta0 + beta'X + noise, drawing and hiding."""

    beta: NDArray[np.float64]
    beta0: float
    noise: float

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.beta)

    def sample(
        self, n: int, random_state: RandomState = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw n rows: X with NaN where missing, and y."""
        X, mask, y = self._draw(n, random_state)
        return np.where(mask, np.nan, X), y

    def sample_complete(
        self, n: int, random_state: RandomState = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw n rows before masking: the rows of `sample` under the same seed."""
        X, _, y = self._draw(n, random_state)
        return X, y

    def _draw(self, n: int, random_state: RandomState):
        if n < 0 or n != int(n):
            raise ValueError(f"n={n} rows asked; it must be a whole number >= 0.")
        rng = as_generator(random_state)
        X, mask = self._draw_features(int(n), rng)
        y = self.beta0 + X @ self.beta + self.noise * rng.standard_normal(len(X))
        return X, mask, y

    def _draw_features(self, n: int, rng: np.random.Generator) -> Any:
        raise TypeError(f"{type(self).__name__} defines no law of (X, M).")

    def _set(self, **arrays: Any) -> None:
        for name, value in arrays.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class GaussianPatternMixture(LinearTarget):
    """Assumption 4.1: X | M = m is Gaussian, with a law that depends on m.

    Each pattern belongs to one of K Gaussian components, so that K = 1 is MCAR (the
    paper's *mixture 1*), K = 3 its *mixture 3*, and K = number of patterns the general
    case.

    Parameters
    ----------
    patterns : array-like of shape (P, d)
        The patterns that occur, True where missing; kept in lexicographic order.
    weights : array-like of shape (P,)
        Their probabilities.
    means : array-like of shape (K, d)
    covs : array-like of shape (K, d, d)
    beta : array-like of shape (d,)
    component : array-like of shape (P,), optional
        The component of each pattern. By default all belong to the one component, or
        each to its own where K = P.
    beta0, noise : float

    Examples
    --------
    >>> model = GaussianPatternMixture(
    ...     patterns=[[0, 0], [0, 1]], weights=[0.5, 0.5],
    ...     means=[[0, 0]], covs=[[[1, 0.5], [0.5, 1]]], beta=[1, 1])
    >>> X, y = model.sample(4, random_state=0)
    >>> X.shape, y.shape
    ((4, 2), (4,))
    """

    patterns: NDArray[np.bool_]
    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    covs: NDArray[np.float64]
    beta: NDArray[np.float64]
    _: KW_ONLY
    component: Any = None
    beta0: float = 0.0
    noise: float = 0.0

    def __post_init__(self):
        patterns = check_patterns(self.patterns)
        n_patterns, d = patterns.shape
        means = check_array("means", self.means, (None, d))
        covs = check_covs(self.covs, (len(means), d, d))
        weights = check_probabilities(self.weights, n_patterns)
        component = check_component(self.component, n_patterns, len(means))
        order = group_rows(patterns).order
        self._set(
            patterns=patterns[order],
            weights=weights[order],
            means=means,
            covs=covs,
            beta=check_array("beta", self.beta, (d,)),
            component=component[order],
            beta0=check_number("beta0", self.beta0),
            noise=check_number("noise", self.noise, low=0.0),
        )

    def pattern_probabilities(self) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Patterns and their probabilities."""
        return self.patterns, self.weights

    def target_moments(self) -> tuple[float, float]:
        """Mean and variance of Y."""
        share = np.bincount(self.component, self.weights, minlength=len(self.means))
        centre = self.beta0 + self.means @ self.beta
        spread = np.einsum("i,kij,j->k", self.beta, self.covs, self.beta)
        mean = share @ centre
        variance = share @ (spread + (centre - mean) ** 2) + self.noise**2
        return float(mean), float(variance)

    def _draw_features(self, n, rng):
        index = rng.choice(len(self.weights), size=n, p=self.weights)
        component = self.component[index]
        X = rng.standard_normal((n, self.n_features))
        for k, root in enumerate(np.linalg.cholesky(self.covs)):
            rows = component == k
            X[rows] = X[rows] @ root.T + self.means[k]
        return X, self.patterns[index]


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
        """P(M_j = 1) where row j of ``directions @ x`` equals ``u``."""
        raise TypeError(f"{type(self).__name__} defines no law of the missing values.")

    def transition(self, j: int) -> tuple[float, float]:
        """Where P(M_j = 1) changes as a function of u_j, and over what width."""
        return 0.0, np.inf

    def missing_probability(self, X: ArrayLike) -> NDArray[np.float64]:
        """P(M_j = 1 | X = x) for each row x of complete X and each feature j."""
        u = check_features(X, self.n_features) @ self.directions.T
        return np.column_stack(
            [self.probability(j, u[:, j]) for j in range(self.n_features)]
        )

    def pattern_probabilities(
        self,
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]] | None:
        """Patterns and their probabilities, None where they have no closed form."""
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
        Laws of X and Y.
    rate : float or array-like of shape (d,)
        Probability of each feature to be missing, whatever X.
    """

    _: KW_ONLY
    rate: Any

    def __post_init__(self):
        super().__post_init__()
        self._set(rate=check_rates("rate", self.rate, self.n_features))

    def probability(self, j, u):
        """P(M_j = 1), which does not depend on X."""
        return np.full(np.shape(u), self.rate[j])

    def pattern_probabilities(self):
        """Patterns and their probabilities, None where there are too many."""
        unsure = np.flatnonzero((self.rate > 0) & (self.rate < 1))
        if 2 ** len(unsure) > MAX_ENUMERATED:
            return None
        patterns = np.tile(self.rate == 1, (2 ** len(unsure), 1))
        patterns[:, unsure] = all_patterns(len(unsure))
        factors = np.where(patterns, self.rate, 1 - self.rate)
        return patterns, factors.prod(axis=1)


@dataclass(frozen=True, eq=False)
class MARGaussian(GaussianSelection):
    """Gaussian X, missing at random: logistic on columns that are always observed.

    P(M_j = 1 | X) = sigmoid(bias_j + sum_k slopes_jk X_k). A column k that drives
    another (slopes_jk != 0) must never be missing itself: bias_k = -inf. (Its Bayes
    predictor still answers where such a column is missing: it ignores the mechanism.)

    Parameters
    ----------
    mean, cov, beta, beta0, noise
        Laws of X and Y.
    slopes : array-like of shape (d, d)
    bias : array-like of shape (d,)
        -inf for a column that is never missing.

    See Also
    --------
    MARGaussian.with_rate : the same from missing rates.
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
        """Law in which all but the ``observed`` columns are missing at ``rate``.

        Each of the others depends on the average of the standardised observed columns,
        scaled to unit variance, through a logistic curve of the given ``slope``.
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
        """Half of the sigmoid, where bias_j + u = 0."""
        return -self.bias[j], 1.0

    def probability(self, j, u):
        """Sigmoid of bias_j + u."""
        return special.expit(self.bias[j] + u)


@dataclass(frozen=True, eq=False)
class SelfMaskedProbit(GaussianSelection):
    """Gaussian X, missing by its own value: P(M_j = 1 | X) = Phi(bias_j + slope_j X_j).

    The paper's *selfmasking* with lambda_j = slope_j and mu_0 = -bias_j / slope_j.

    Parameters
    ----------
    mean, cov, beta, beta0, noise
        Laws of X and Y.
    slope, bias : float or array-like of shape (d,)

    See Also
    --------
    SelfMaskedProbit.with_rate : the same from missing rates.
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
        """Law in which feature j is missing at rate_j.

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
        """Half of the probit, where bias_j + slope_j u = 0."""
        if self.slope[j] == 0:
            return 0.0, np.inf
        return -self.bias[j] / self.slope[j], 1 / abs(self.slope[j])

    def probability(self, j, u):
        """Probit of bias_j + slope_j u."""
        return special.ndtr(self.bias[j] + self.slope[j] * u)


@dataclass(frozen=True, eq=False)
class SelfMaskedGaussian(GaussianSelection):
    """Gaussian X, missing by its own value with a Gaussian bump.

    P(M_j = 1 | X) = peak_j exp(-((X_j - centre_j) / width_j)^2 / 2), the Gaussian
    self-masking of Le Morvan et al. (NeuMiss, NeurIPS 2020).

    Parameters
    ----------
    mean, cov, beta, beta0, noise
        Laws of X and Y.
    centre, width, peak : float or array-like of shape (d,)
        ``width`` > 0 and 0 <= ``peak`` <= 1.

    See Also
    --------
    SelfMaskedGaussian.with_rate : the same from missing rates.
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
        """Law in which feature j is missing at rate_j; its peak follows."""
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
        """Middle and width of the bump."""
        return self.centre[j], self.width[j]

    def probability(self, j, u):
        """Gaussian bump at centre_j."""
        return self.peak[j] * np.exp(-0.5 * ((u - self.centre[j]) / self.width[j]) ** 2)

    def pattern_probabilities(self):
        """Patterns and their probabilities, None where there are too many.

        Q(S) = E prod_{j in S} P(M_j = 1 | X) is a Gaussian integral, and P(M = m) is
        the sum over S containing mis(m) of (-1)^|S - mis(m)| Q(S).
        """
        d = self.n_features
        if 2**d > MAX_ENUMERATED:
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
        """Log E prod_{j in S} P(M_j = 1 | X) for each subset S of features."""
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


def all_patterns(n_features: int) -> NDArray[np.bool_]:
    """All 2^d patterns in lexicographic order: row i has the binary digits of i.

    >>> all_patterns(2).astype(int).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    index = np.arange(2**n_features)[:, None]
    return (index >> np.arange(n_features - 1, -1, -1)) & 1 == 1


def _logistic_bias(rate: float, slope: float) -> float:
    """Bias b with E sigmoid(b + slope T) = rate for standard normal T."""
    if rate == 0:
        return -np.inf
    # P(L < b + slope T) for logistic L: integrate over the narrower of the two, on
    # which the other is smooth. The trapezoidal rule converges exponentially.
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
