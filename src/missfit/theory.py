"""The paper's theory as functions: counts, bounds, regimes and an explicit network.

Where the paper's text has a slip, the right formula is here and the slip is named in
the docstring.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from missfit.bayes.predictor import conditional_moments, expanded_coefficients
from missfit.bayes.risk import Estimate, bayes_risk
from missfit.moments.blocks import blocks
from missfit.moments.patterns import all_patterns
from missfit.simulate.linear_target import LinearTarget
from missfit.simulate.pattern_mixture import GaussianPatternMixture
from missfit.tables.arrays import check_features

MAX_UNITS = 2**16


def n_parameters(
    predictor: str, d: int, *, width: int | None = None, order: int | None = None
) -> int:
    """Count the parameters that a predictor needs for d features.

    =================== ============================================================
    ConstantImputedLR   2d + 1
    FactorizedLR        ``order`` o: sum_{k<=o} C(d,k)(d-k) + sum_{k<=o+1} C(d,k)
    ExpandedLR          2^(d-1) (d + 2)
    EMLR                d(d + 5)/2 + 1: beta, mean and covariance of X
    MICELR              d^2 + d + 1: d chained regressions and the last one
    MLP                 ``width`` h: h(2d + 2) + 1
    NeuMiss             d^2 + 2d + 1: mean, shared weights, linear head
    =================== ============================================================

    Section 6 of the paper counts (d + 1) 2^(d-1) for the expanded predictor, and 111
    for a network of 10 units at d = 10: the formulas above, which are the paper's own
    elsewhere, give 2^(d-1) (d + 2) and 221.

    Examples
    --------
    >>> n_parameters("ExpandedLR", 10), n_parameters("MLP", 10, width=10)
    (6144, 221)
    """
    d = _check_dimension(d)
    if predictor == "FactorizedLR":
        cut = _check_option("order", order, "FactorizedLR", low=0)
        slopes = sum(comb(d, k) * (d - k) for k in range(min(cut, d) + 1))
        return slopes + sum(comb(d, k) for k in range(min(cut + 1, d) + 1))
    if predictor == "MLP":
        return _check_option("width", width, "MLP", low=1) * (2 * d + 2) + 1
    counts = {
        "ConstantImputedLR": 2 * d + 1,
        "ExpandedLR": 2**d * (d + 2) // 2,
        "EMLR": d * (d + 5) // 2 + 1,
        "MICELR": d**2 + d + 1,
        "NeuMiss": d**2 + 2 * d + 1,
    }
    if predictor not in counts:
        known = sorted([*counts, "FactorizedLR", "MLP"])
        raise ValueError(f"unknown predictor {predictor!r}; known: {', '.join(known)}.")
    return counts[predictor]


def _check_dimension(d: int) -> int:
    if not d >= 1 or d != int(d):
        raise ValueError(f"d={d!r} features; it must be a whole number >= 1.")
    return int(d)


def _check_option(name: str, value: int | None, predictor: str, low: int) -> int:
    if value is None or value < low or value != int(value):
        raise ValueError(
            f"{name}={value!r}; {predictor} needs {name}=, a whole number >= {low}."
        )
    return int(value)


def clip(values: ArrayLike, L: float) -> NDArray[np.float64]:
    """Return the values cut off at -L and L: T_L of Section 5.

    >>> clip([-3.0, 0.5, 2.0], 1.0).tolist()
    [-1.0, 0.5, 1.0]
    """
    if not L > 0:
        raise ValueError(f"L={L!r}; the clipping level must be > 0.")
    return np.clip(np.asarray(values, dtype=float), -L, L)


def expanded_risk_bound(
    n: float, d: int, *, noise_variance: float, L: float, c: float = 1.0
) -> float:
    """Return the upper bound of Theorem 5.1 on the risk of the clipped expanded model.

    It is sigma^2 + c max(sigma^2, L^2) 2^(d-1) (d + 2) (1 + log n) / n, where sigma^2
    bounds Var[Y | Z], L bounds the Bayes predictor and c is the universal constant of
    Györfi et al. (2006), Theorem 11.3.
    """
    _check_bound(n, d, noise_variance)
    p = n_parameters("ExpandedLR", d)
    return noise_variance + _estimation_error(n, p, noise_variance, L, c)


def expanded_risk_lower_bound(
    n: float, d: int, *, noise_variance: float, c1: float, share: float = 1.0
) -> float:
    """Return the lower bound of Theorem 5.1.

    It is sigma^2 + c1 2^d / (n + 1), for n large enough.

    ``share`` is the alpha of the theorem, the share of the 2^d patterns that occur. The
    paper includes this factor in its c1; here it is separate.
    """
    _check_bound(n, d, noise_variance)
    _check_positive(c1=c1, share=share)
    if share > 1:
        raise ValueError(f"share={share!r}; a share of the patterns is at most 1.")
    return noise_variance + c1 * share * 2.0**d / (n + 1)


def constant_imputation_risk_bound(
    n: float, d: int, *, noise_variance: float, L: float, c: float = 1.0
) -> float:
    """Return the upper bound of Theorem 5.2, on the clipped linear approximation.

    It is sigma^2 + c max(sigma^2, L^2) 2d (1 + log n) / n + 64 (d + 1)^2 L^2. (The
    proof in the paper ends with d where the statement has 2d.)
    """
    _check_bound(n, d, noise_variance)
    approximation = 64 * (d + 1) ** 2 * L**2
    return (
        noise_variance
        + _estimation_error(n, 2 * d, noise_variance, L, c)
        + approximation
    )


def _estimation_error(n: float, p: int, noise_variance: float, L: float, c: float):
    _check_positive(L=L, c=c)
    return c * max(noise_variance, L**2) * p * (1 + np.log(n)) / n


def _check_bound(n: float, d: int, noise_variance: float) -> None:
    _check_dimension(d)
    if not 1 <= n < np.inf:
        raise ValueError(f"n={n!r} rows; the bounds hold for n >= 1.")
    if not 0 <= noise_variance < np.inf:
        raise ValueError(f"noise_variance={noise_variance!r}; it must be >= 0.")


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < np.inf:
            raise ValueError(f"{name}={value!r}; it must be > 0 and finite.")


def bounds_crossover(
    d: int, *, noise_variance: float, L: float, c: float = 1.0
) -> float:
    """Return the sample size from which Theorem 5.1 promises less than Theorem 5.2.

    It is of order 2^d / d. For fewer rows the linear approximation has the lower bound
    on its risk.
    """

    def advantage(log_n: float) -> float:
        n = np.exp(log_n)
        bounds = {"noise_variance": noise_variance, "L": L, "c": c}
        approximate = constant_imputation_risk_bound(n, d, **bounds)
        return approximate - expanded_risk_bound(n, d, **bounds)

    if advantage(0.0) >= 0:
        return 1.0
    highest = 1.0
    while advantage(highest) < 0:
        highest *= 2
    return float(np.exp(optimize.root_scalar(advantage, bracket=(0, highest)).root))


def n_affine_regions(width: int, d: int) -> int:
    """Return the largest number of affine regions of a one-hidden-layer ReLU network.

    It is sum_{j<=d} C(width, j) (Section 6.2, after Pascanu et al. 2013). With
    ``width = d`` it is 2^d, one region for each pattern.

    >>> n_affine_regions(10, 10)
    1024
    """
    return sum(comb(width, j) for j in range(d + 1))


class Regime(NamedTuple):
    """The regime of a sample size, and the predictor it calls for; see `regime`."""

    name: str
    predictor: str
    rows_per_parameter: float
    reason: str


SMALL, LARGE, ENOUGH = 0.16, 5.0, 15.0  # rows per parameter of the expanded model


def regime(n: int, d: int) -> Regime:
    """Return the sample-size regime of Section 7, and the predictor that it calls for.

    At d = 10, where the expanded model has 6,144 parameters, the paper finds EM best
    below 1,000 rows, ExpandedLR above 30,000 rows in mixture 1 (10,000 in mixture 3),
    and the MLP in between. ExpandedLR reaches the Bayes rate at about 15 rows per
    parameter for every d. Here the sizes of mixture 1 are expressed as rows per
    parameter of the expanded model, so that they carry over to other d.

    Examples
    --------
    >>> regime(750, 10).predictor, regime(7_500, 10).predictor
    ('EMLR', 'MLP')
    """
    _check_positive(n=n)
    ratio = n / n_parameters("ExpandedLR", d)
    rows = f"{ratio:.3g} rows per parameter of the expanded model"
    if ratio < SMALL:
        return Regime(
            "small", "EMLR", ratio, f"{rows}: few parameters matter more than bias."
        )
    if ratio < LARGE:
        return Regime(
            "medium", "MLP", ratio, f"{rows}: the width trades bias for variance."
        )
    reached = "the Bayes rate is within reach" if ratio >= ENOUGH else "it pays"
    return Regime("large", "ExpandedLR", ratio, f"{rows}: {reached}.")


@dataclass(frozen=True, eq=False)
class NonlinearSubmodel(LinearTarget):
    """Example 3.1: Y = X_1 + X_2 + noise with X_2 = exp(X_1) + noise_2.

    X_1 ~ N(0, spread^2) is always observed, and X_2 is missing with probability
    ``rate``. Y is linear in the complete X, but the Bayes predictor of the rows without
    X_2 is X_1 + exp(X_1), which is not linear.

    Parameters
    ----------
    rate : float
        The probability that X_2 is missing.
    spread, noise_2, noise : float
        Standard deviations of X_1, of X_2 about exp(X_1), and of Y about X_1 + X_2.
    """

    rate: float = 0.5
    spread: float = 0.5
    noise_2: float = 0.1
    noise: float = 0.1

    def __post_init__(self):
        if not 0 <= self.rate <= 1:
            raise ValueError(f"rate={self.rate!r}; it must lie between 0 and 1.")
        _check_positive(spread=self.spread)
        if min(self.noise_2, self.noise) < 0:
            raise ValueError(
                f"noise_2={self.noise_2!r} and noise={self.noise!r} must be >= 0."
            )
        self._set(beta=np.ones(2), beta0=0.0)

    def target_moments(self) -> tuple[float, float]:
        """Return the mean and variance of Y, by the moments of lognormal exp(X_1)."""
        v = self.spread**2
        mean = np.exp(v / 2)
        # Var X_1 + Var exp(X_1) + 2 Cov(X_1, exp(X_1)); the last by Stein's identity
        own = v + np.exp(v) * (np.exp(v) - 1) + 2 * v * mean
        return mean, own + self.noise_2**2 + self.noise**2

    def _draw_features(self, n, rng):
        x1 = self.spread * rng.standard_normal(n)
        x2 = np.exp(x1) + self.noise_2 * rng.standard_normal(n)
        mask = np.zeros((n, 2), dtype=bool)
        mask[:, 1] = rng.random(n) < self.rate
        return np.column_stack([x1, x2]), mask


@conditional_moments.register
def _(model: NonlinearSubmodel, X):
    if np.isnan(X[:, 0]).any():
        raise ValueError(
            f"X_1 is missing in {np.isnan(X[:, 0]).sum()} rows; in Example 3.1 only "
            "X_2 can be missing."
        )
    hidden = np.isnan(X[:, 1])
    mean = X[:, 0] + np.where(hidden, np.exp(X[:, 0]), X[:, 1])
    return mean, model.noise**2 + hidden * model.noise_2**2


@bayes_risk.register
def _(model: NonlinearSubmodel, **_):
    return Estimate(model.noise**2 + model.rate * model.noise_2**2, 0.0)


@dataclass(frozen=True, eq=False)
class ReLUNetwork:
    """A network b2 + W2' relu(W1 (x, m) + b1), x with 0 for missing and m the mask.

    Attributes
    ----------
    hidden_weights : ndarray of shape (units, 2d)
        The weights of x, then the weights of m.
    hidden_bias : ndarray of shape (units,)
    output_weights : ndarray of shape (units,)
    output_bias : float
    bound : float
        The network is right for rows with ``|x_j| <= bound``.
    """

    hidden_weights: NDArray[np.float64]
    hidden_bias: NDArray[np.float64]
    output_weights: NDArray[np.float64]
    output_bias: float
    bound: float

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the output of the network for rows with NaN where missing."""
        X = check_features(X, self.hidden_weights.shape[1] // 2)
        largest = np.nanmax(np.abs(X), initial=0.0, where=~np.isnan(X))
        if largest > self.bound:
            raise ValueError(
                f"X holds a value of size {largest:.6g}; the network was built for "
                f"|x| <= {self.bound:.6g}. Build it with bayes_mlp(model, "
                f"bound={largest:.6g}) or larger."
            )
        prediction = np.empty(len(X))
        for rows in blocks(len(X), len(self.hidden_bias), size=2**20):
            mask = np.isnan(X[rows])
            inputs = np.hstack([np.where(mask, 0.0, X[rows]), mask])
            hidden = np.maximum(inputs @ self.hidden_weights.T + self.hidden_bias, 0.0)
            prediction[rows] = hidden @ self.output_weights + self.output_bias
        return prediction


def bayes_mlp(model: Any, bound: float | None = None) -> ReLUNetwork:
    """Build the network of Theorem 6.1, which equals the Bayes predictor.

    There is one hidden unit per pattern m_k. It is active on the rows of m_k alone, and
    there it returns the affine function of Proposition 4.1. With output weights 1,
    slopes beta_k, biases alpha_k, ``K_k = bound * max_j |beta_kj|`` and
    ``o_k = |obs(m_k)|``::

        b2    = min_k (alpha_k - o_k K_k) - 1 - max_k K_k
        eps_k = 2 (alpha_k - b2 - o_k K_k)
        mask weight of feature j = (1 - 2 o_k) K_k - eps_k   where m_k observes j
                                   (1 + 2 o_k) K_k + eps_k   where it does not
        b1_k  = o_k K_k - |mis(m_k)| ((1 + 2 o_k) K_k + eps_k) + eps_k / 2

    This departs from the letter of the proof in two points, without which it fails:
    each unit has an eps of its own, and the mask weights are set directly rather than
    as W^(X) G, so that patterns that differ only in features of zero slope are told
    apart too (Case 2). Features missing in m_k get no slope in unit k.

    Parameters
    ----------
    model : a law of `missfit.simulate` whose Bayes predictor is affine by pattern
    bound : float, optional
        The network equals the Bayes predictor on rows with ``|x_j| <= bound``. By
        default the bound lies ten standard deviations beyond the mean of every feature.
    """
    d = model.n_features
    if 2**d > MAX_UNITS:
        raise ValueError(
            f"{d} features need 2^{d} hidden units, more than {MAX_UNITS:,}; the "
            "construction is meant for small d."
        )
    maps = expanded_coefficients(model, all_patterns(d))
    bound = _default_bound(model) if bound is None else bound
    _check_positive(bound=bound)
    n_obs = (~maps.patterns).sum(axis=1)
    K = bound * np.abs(maps.coef).max(axis=1)
    output_bias = float((maps.intercept - n_obs * K).min() - 1 - K.max())
    eps = 2 * (maps.intercept - output_bias - n_obs * K)
    enter = (1 + 2 * n_obs) * K + eps  # I^(1): weight of a feature that m_k misses
    leave = (1 - 2 * n_obs) * K - eps  # I^(2): weight of a feature that m_k observes
    mask_weights = np.where(maps.patterns, enter[:, None], leave[:, None])
    return ReLUNetwork(
        hidden_weights=np.hstack([maps.coef, mask_weights]),
        hidden_bias=n_obs * K - (d - n_obs) * enter + eps / 2,
        output_weights=np.ones(len(K)),
        output_bias=output_bias,
        bound=float(bound),
    )


def _default_bound(model: Any) -> float:
    mixture = isinstance(model, GaussianPatternMixture)
    means = model.means if mixture else model.mean
    covs = model.covs if mixture else model.cov
    spread = np.sqrt(np.diagonal(covs, axis1=-2, axis2=-1))
    return float((np.abs(means) + 10 * spread).max())
