"""The linear approximation of the Bayes predictor (Definition 4.1) and its risk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from missfit.moments.blocks import blocks
from missfit.simulate.pattern_mixture import GaussianPatternMixture
from missfit.simulate.selection import GaussianSelection
from missfit.tables.arrays import check_features

REACH = 9.0  # integrals go to this many standard deviations, and leave out 2e-19


@dataclass(frozen=True, eq=False)
class LinearApproximation:
    """The best predictor that is linear in (X with 0 for missing, M): Definition 4.1.

    Attributes
    ----------
    intercept : float
        beta*_{0,0}.
    mask_coef : ndarray of shape (d,)
        beta*_{j,0}, the coefficients of the indicators M_j.
    coef : ndarray of shape (d,)
        beta*_j, the coefficients of the observed values.
    risk, r2 : float
        Its risk E(Y - f(Z))^2 and share of explained variance, computed from the law.
        ConstantImputedLR tends to these as rows are added.
    """

    intercept: float
    mask_coef: NDArray[np.float64]
    coef: NDArray[np.float64]
    risk: float
    r2: float

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return f(Z) for each row."""
        X = check_features(X, len(self.coef))
        mask = np.isnan(X)
        x = np.where(mask, 0.0, X)
        return self.intercept + mask @ self.mask_coef + x @ self.coef


class _DesignMoments(NamedTuple):
    """Mean and covariance of (M, (1 - M)(X - shift) / scale, Y), Y about its mean."""

    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    shift: NDArray[np.float64]
    scale: NDArray[np.float64]


def linear_approximation(model: Any) -> LinearApproximation:
    """Return the best linear predictor in (X with 0 for missing, M) under the law.

    It follows from the second moments of (M, X with 0 for missing, Y), which are sums
    over the patterns for pattern mixtures, and integrals over pairs of features
    otherwise. The computation uses standard units of X, which does not change the
    predictor.
    """
    mean, cov, shift, scale = _design_moments(model)
    d = model.n_features
    target_mean, _ = model.target_moments()
    gram, cross = cov[:-1, :-1], cov[:-1, -1]
    spread = np.sqrt(np.maximum(np.diag(gram), 0.0))
    spread[spread < 1e-9] = 1.0  # an indicator that never varies gets coefficient 0
    gram = gram / spread / spread[:, None]
    solution = linalg.pinvh(gram, rtol=1e-13) @ (cross / spread) / spread
    coef = solution[d:] / scale
    risk = max(float(cov[-1, -1] - solution @ cross), 0.0)
    return LinearApproximation(
        intercept=float(target_mean - mean[:-1] @ solution - coef @ shift),
        mask_coef=solution[:d] + coef * shift,
        coef=coef,
        risk=risk,
        r2=1 - risk / float(cov[-1, -1]),
    )


@singledispatch
def _design_moments(model: Any) -> _DesignMoments:
    raise TypeError(f"the moments of {type(model).__name__} are not known.")


@_design_moments.register
def _(model: GaussianPatternMixture):
    d = model.n_features
    share = np.bincount(model.component, model.weights, minlength=len(model.means))
    shift = share @ model.means
    within = np.diagonal(model.covs, axis1=1, axis2=2)
    scale = np.sqrt(share @ (within + (model.means - shift) ** 2))
    means = (model.means - shift) / scale
    covs = model.covs / scale / scale[:, None]
    beta = model.beta * scale
    n_columns = 2 * d + 1
    inner = np.zeros((n_columns, n_columns))
    centres = np.empty((len(model.patterns), n_columns))
    for block in blocks(len(model.patterns), n_columns**2):
        mask, k = model.patterns[block], model.component[block]
        # Given the pattern the indicators are constant and the rest is linear in X.
        design = np.zeros((len(mask), n_columns, d))
        design[:, d : 2 * d, :] = ~mask[:, :, None] * np.eye(d)
        design[:, -1, :] = beta
        centres[block] = (design @ means[k][:, :, None])[:, :, 0]
        centres[block, :d] = mask
        given_pattern = design @ covs[k] @ design.transpose(0, 2, 1)
        inner += np.einsum("p,pij->ij", model.weights[block], given_pattern)
    mean = model.weights @ centres
    gap = centres - mean
    inner += (model.weights[:, None] * gap).T @ gap
    inner[-1, -1] += model.noise**2
    return _DesignMoments(mean, inner, shift, scale)


@_design_moments.register
def _(model: GaussianSelection):
    """Integrate over the pairs (u_i, u_j) that drive the missing values.

    Given the pair, X is Gaussian with a linear mean, so that only integrals of
    probabilities times powers of two standard normals t and s are needed.
    """
    d = model.n_features
    law = _StandardLaw(model)
    mean = np.zeros(2 * d + 1)
    second = np.zeros((2 * d + 1, 2 * d + 1))  # of (M, X0, Y), about zero
    second[-1, -1] = model.target_moments()[1]
    for j in range(d):
        one = law.single(j)
        mean[[j, d + j]] = one.missing, one.observed_x
        second[j, j], second[d + j, d + j] = one.missing, one.observed_xx
        second[j, -1] = second[-1, j] = one.missing_y
        second[d + j, -1] = second[-1, d + j] = one.observed_xy
        for i in range(j):
            two = law.pair(i, j)
            second[i, j] = second[j, i] = two.missing_both
            second[d + i, d + j] = second[d + j, d + i] = two.observed_xx
            second[i, d + j] = second[d + j, i] = two.missing_i_observed_j
            second[j, d + i] = second[d + i, j] = two.missing_j_observed_i
    cov = second - np.outer(mean, mean)
    return _DesignMoments(mean, cov, model.mean, law.scale)


class _Single(NamedTuple):
    """Expectations of products of a feature's indicator, its value x and y."""

    missing: float
    observed_x: float
    observed_xx: float
    missing_y: float
    observed_xy: float


class _Pair(NamedTuple):
    """Expectations of products of the indicators and values of two features."""

    missing_both: float
    observed_xx: float
    missing_i_observed_j: float
    missing_j_observed_i: float


class _StandardLaw:
    """A selection law with X in standard units and u = centre + A X."""

    def __init__(self, model: GaussianSelection):
        self.model = model
        self.scale = np.sqrt(np.diag(model.cov))
        self.cov = model.cov / self.scale / self.scale[:, None]
        self.A = model.directions * self.scale
        self.centre = model.directions @ model.mean
        self.x_u = self.cov @ self.A.T  # Cov(X, u)
        self.u_u = self.A @ self.x_u
        self.beta = model.beta * self.scale

    def single(self, j: int) -> _Single:
        spread = np.sqrt(self.u_u[j, j])
        t, weight = _nodes([self._kink(j, 0.0, spread)])
        p = self.model.probability(j, self.centre[j] + spread * t[0])
        slopes = self.x_u[:, j] / spread if spread > 0 else np.zeros(len(self.cov))
        x, y = slopes[j] * t[0], (self.beta @ slopes) * t[0]
        rest_xx = 1 - slopes[j] ** 2
        rest_xy = self.cov[j] @ self.beta - slopes[j] * (self.beta @ slopes)
        w, q = weight[0], 1 - p
        return _Single(
            missing=w @ p,
            observed_x=w @ (q * x),
            observed_xx=w @ (q * (x**2 + rest_xx)),
            missing_y=w @ (p * y),
            observed_xy=w @ (q * (x * y + rest_xy)),
        )

    def pair(self, i: int, j: int) -> _Pair:
        # u_i = centre_i + a t,  u_j = centre_j + b t + c s
        a = np.sqrt(self.u_u[i, i])
        b = self.u_u[i, j] / a if a > 0 else 0.0
        c = np.sqrt(max(self.u_u[j, j] - b**2, 0.0))
        if c <= 1e-8 * np.sqrt(self.u_u[j, j]):
            c = 0.0
        t, w = (
            part[0] for part in _nodes([self._kink(i, 0.0, a), self._kink(j, c, b)])
        )
        s, w_s = _nodes([self._kink(j, 0.0, c, b * t)])
        p_i = self.model.probability(i, self.centre[i] + a * t)
        p_j = self.model.probability(j, self.centre[j] + b * t[:, None] + c * s)
        # E[p_j s^k | t]
        g0, g1, g2 = (np.sum(w_s * p_j * s**k, axis=1) for k in range(3))
        on_t = self.x_u[:, i] / a if a > 0 else np.zeros(len(self.cov))
        on_s = (self.x_u[:, j] - b * on_t) / c if c > 0 else np.zeros(len(self.cov))
        rest = self.cov[i, j] - on_t[i] * on_t[j] - on_s[i] * on_s[j]
        observed_j_xx = (
            (on_t[i] * on_t[j] * t**2 + rest) * (1 - g0)
            - (on_t[i] * on_s[j] + on_t[j] * on_s[i]) * t * g1
            + on_s[i] * on_s[j] * (1 - g2)
        )
        return _Pair(
            missing_both=w @ (p_i * g0),
            observed_xx=w @ ((1 - p_i) * observed_j_xx),
            missing_i_observed_j=w @ (p_i * (on_t[j] * t * (1 - g0) - on_s[j] * g1)),
            missing_j_observed_i=w @ ((1 - p_i) * (on_t[i] * t * g0 + on_s[i] * g1)),
        )

    def _kink(self, j: int, blur: float, spread: float, shift=0.0):
        """Return where P(M_j = 1) changes along a normal, and over what width."""
        location, width = self.model.transition(j)
        if spread == 0 or not np.isfinite(location):
            return np.zeros(np.shape(shift)), np.inf
        place = (location - self.centre[j] - shift) / spread
        return place, np.hypot(width, blur) / abs(spread)


def _nodes(kinks) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes and weights for expectations over a standard normal.

    There is one row per place. Gauss-Legendre quadrature is used on panels that shrink
    geometrically towards each kink, so that a probability may be as steep as it likes.
    """
    n_rows = max(np.size(place) for place, _ in kinks)
    edges = [np.tile(np.linspace(-REACH, REACH, 13), (n_rows, 1))]
    for place, width in kinks:
        if width < REACH:
            n_halvings = int(np.ceil(np.log2(2 * REACH / width))) + 1
            steps = width * 2.0 ** np.arange(-1, n_halvings)
            offsets = np.concatenate([-steps[::-1], [0.0], steps])
            edges.append(np.reshape(place, (-1, 1)) + offsets + np.zeros((n_rows, 1)))
    edges = np.sort(np.clip(np.hstack(edges), -REACH, REACH), axis=1)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = np.diff(edges, axis=1)[:, :, None] / 2
    t = (edges[:, :-1, None] + half * (1 + nodes)).reshape(n_rows, -1)
    weight = (half * weights).reshape(n_rows, -1)
    return t, weight * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
