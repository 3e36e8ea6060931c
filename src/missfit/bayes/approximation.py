"""The linear approximation of the Bayes predictor (Definition 4.1) and its risk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from missfit.bayes.predictor import check_features
from missfit.gaussian import pattern_blocks
from missfit.simulate.laws import GaussianPatternMixture, GaussianSelection


@dataclass(frozen=True, eq=False)
class LinearApproximation:
    """The best predictor that is linear in (X with 0 for missing, M): Definition 4.1.

    Attributes
    ----------
    intercept : float
        beta*_{0,0}.
    mask_coef : ndarray of shape (d,)
        beta*_{j,0}, of the indicators M_j.
    coef : ndarray of shape (d,)
        beta*_j, of the observed values.
    risk, r2 : float
        Its exact risk E(Y - f(Z))^2 and share of explained variance: what
        ConstantImputedLR tends to with more rows.
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


def linear_approximation(model: Any) -> LinearApproximation:
    """Best linear predictor in (X with 0 for missing, M) under the law.

    From the exact second moments of (M, X with 0 for missing, Y): sums over the
    patterns for pattern mixtures, and integrals over pairs of features otherwise.
    """
    mean, cov = _design_moments(model)
    d = model.n_features
    gram, cross = cov[:-1, :-1], cov[:-1, -1]
    scale = np.sqrt(np.diag(gram))
    scale[scale < 1e-12] = 1.0  # an indicator that never varies gets coefficient 0
    gram = gram / scale / scale[:, None]
    solution = linalg.pinvh(gram, rtol=1e-13) @ (cross / scale) / scale
    risk = cov[-1, -1] - solution @ cross
    return LinearApproximation(
        intercept=float(mean[-1] - mean[:-1] @ solution),
        mask_coef=solution[:d],
        coef=solution[d:],
        risk=float(risk),
        r2=float(1 - risk / cov[-1, -1]),
    )


@singledispatch
def _design_moments(model: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and covariance of (M, X with 0 for missing, Y)."""
    raise TypeError(f"the moments of {type(model).__name__} are not known.")


@_design_moments.register
def _(model: GaussianPatternMixture):
    d = model.n_features
    n_columns = 2 * d + 1
    mean = np.zeros(n_columns)
    inner = np.zeros((n_columns, n_columns))
    shifts = np.empty((len(model.patterns), n_columns))
    for block in pattern_blocks(len(model.patterns), n_columns):
        mask, p = model.patterns[block], model.weights[block]
        k = model.component[block]
        # A linear map of X given the pattern: the indicators are constant.
        design = np.zeros((len(mask), n_columns, d))
        design[:, d : 2 * d, :] = ~mask[:, :, None] * np.eye(d)
        design[:, -1, :] = model.beta
        shifts[block] = (design @ model.means[k][:, :, None])[:, :, 0]
        shifts[block, :d] = mask
        shifts[block, -1] += model.beta0
        within = design @ model.covs[k] @ design.transpose(0, 2, 1)
        inner += np.einsum("p,pij->ij", p, within)
        mean += p @ shifts[block]
    gap = shifts - mean
    inner += (model.weights[:, None] * gap).T @ gap
    inner[-1, -1] += model.noise**2
    return mean, inner


@_design_moments.register
def _(model: GaussianSelection):
    """Integrate over the pairs (u_i, u_j) that drive the missing values.

    Given the pair, X is Gaussian with a linear mean, so that the moments need only
    E[f t^a s^b] for products f of probabilities and two standard normals t, s.
    """
    d = model.n_features
    target_mean, target_variance = model.target_moments()
    second = np.zeros((2 * d + 1, 2 * d + 1))  # of (M, X0, Y), about zero
    second[-1, -1] = target_variance + target_mean**2
    mean = np.zeros(2 * d + 1)
    mean[-1] = target_mean
    for i in range(d):
        for j in range(i, d):
            pair = _pair_moments(model, i, j)
            mean[[i, d + i]] = pair.missing_i, pair.observed_i_x
            second[i, j] = second[j, i] = pair.missing_both
            second[d + i, d + j] = second[d + j, d + i] = pair.observed_both_xx
            second[i, d + j] = second[d + j, i] = pair.missing_i_observed_j_x
            second[j, d + i] = second[d + i, j] = pair.missing_j_observed_i_x
            if i == j:
                second[i, -1] = second[-1, i] = pair.missing_i_y
                second[d + i, -1] = second[-1, d + i] = pair.observed_i_xy
    return mean, second - np.outer(mean, mean)


class _PairMoments(NamedTuple):
    """Expectations of products of indicators, values and the target."""

    missing_i: float
    observed_i_x: float
    missing_i_y: float
    observed_i_xy: float
    missing_both: float
    observed_both_xx: float
    missing_i_observed_j_x: float
    missing_j_observed_i_x: float


def _pair_moments(model: GaussianSelection, i: int, j: int) -> _PairMoments:
    root, t, s, weight = _pair_grid(model, i, j)
    centre = model.directions @ model.mean
    p_i = model.probability(i, centre[i] + root[0, 0] * t + 0.0 * s)
    p_j = (
        p_i
        if i == j
        else model.probability(j, centre[j] + root[1, 0] * t + root[1, 1] * s)
    )
    # X and Y regressed on (t, s): columns are the slopes on t and on s.
    slopes = _regression_on_pair(model, i, j, root)
    x_i, x_j = (model.mean[a] + slopes[a, 0] * t + slopes[a, 1] * s for a in (i, j))
    slope_y = model.beta @ slopes
    y = model.target_moments()[0] + slope_y[0] * t + slope_y[1] * s
    rest_xx = model.cov[i, j] - slopes[i] @ slopes[j]
    rest_xy = model.cov[i] @ model.beta - slopes[i] @ slope_y

    def expect(values):
        return float(np.sum(weight * values))

    both = 1 - p_i if i == j else (1 - p_i) * (1 - p_j)
    apart = 0.0 if i == j else p_i * (1 - p_j)
    apart_back = 0.0 if i == j else p_j * (1 - p_i)
    return _PairMoments(
        missing_i=expect(p_i),
        observed_i_x=expect((1 - p_i) * x_i),
        missing_i_y=expect(p_i * y),
        observed_i_xy=expect((1 - p_i) * (x_i * y + rest_xy)),
        missing_both=expect(p_i if i == j else p_i * p_j),
        observed_both_xx=expect(both * (x_i * x_j + rest_xx)),
        missing_i_observed_j_x=expect(apart * x_j),
        missing_j_observed_i_x=expect(apart_back * x_i),
    )


def _pair_grid(model: GaussianSelection, i: int, j: int):
    """Lower root of Cov(u_i, u_j), nodes (t, s) and weights of two standard normals.

    Gauss-Legendre on [-9, 9] rather than Gauss-Hermite: its nodes stay dense where a
    steep probability needs them.
    """
    A = model.directions[[i, j]]
    cov = A @ model.cov @ A.T
    root = np.zeros((2, 2))
    root[0, 0] = np.sqrt(cov[0, 0])
    root[1, 0] = cov[1, 0] / root[0, 0] if root[0, 0] > 0 else 0.0
    root[1, 1] = np.sqrt(max(cov[1, 1] - root[1, 0] ** 2, 0.0))
    nodes, weights = _normal_nodes()
    if i == j:
        return root * [[1], [0]], nodes, np.zeros(1), weights
    return root, nodes[:, None], nodes[None, :], weights[:, None] * weights[None, :]


def _normal_nodes(n_nodes: int = 240, reach: float = 9.0):
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    nodes = nodes * reach
    weights = weights * np.exp(-(nodes**2) / 2)
    return nodes, weights / weights.sum()


def _regression_on_pair(model: GaussianSelection, i: int, j: int, root):
    """Slopes (d, 2) of X on the standard normals (t, s) that generate (u_i, u_j)."""
    cross = model.cov @ model.directions[[i, j]].T  # Cov(X, u)
    slopes = np.zeros((model.n_features, 2))
    if root[0, 0] > 0:
        slopes[:, 0] = cross[:, 0] / root[0, 0]
    if root[1, 1] > 1e-8 * np.sqrt(cross[j, 1] ** 2 + np.finfo(float).tiny):
        slopes[:, 1] = (cross[:, 1] - root[1, 0] * slopes[:, 0]) / root[1, 1]
    return slopes
