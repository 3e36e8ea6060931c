"""The Bayes predictor of every law, and its expanded form (Proposition 4.1)."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from missfit.gaussian import (
    condition,
    conditional_maps,
    pattern_blocks,
    probit_posterior,
)
from missfit.maps import AffineMaps
from missfit.patterns import find_keys, format_pattern, group_rows, pattern_keys
from missfit.simulate.laws import (
    GaussianPatternMixture,
    MARGaussian,
    MCARGaussian,
    SelfMaskedGaussian,
    SelfMaskedProbit,
)

CHUNK_ROWS = 2**14  # rows of expectation propagation at once


class BayesPredictor(RegressorMixin, BaseEstimator):
    """The Bayes predictor E[Y | Z] of a law: what no learner can beat.

    Closed form where the predictor is affine for each pattern (pattern mixtures, MCAR,
    MAR, Gaussian self-masking: Proposition 4.1 and its like); expectation propagation
    for probit self-masking. It knows the law, so `fit` learns nothing and may be left
    out.

    Parameters
    ----------
    model : a law of `missfit.simulate`

    Examples
    --------
    >>> from missfit.simulate import published
    >>> model = published("mixture1", 4)
    >>> X, y = model.sample(1000, random_state=0)
    >>> BayesPredictor(model).predict(X).shape
    (1000,)
    """

    def __init__(self, model: Any):
        self.model = model

    def fit(self, X: Any = None, y: Any = None) -> BayesPredictor:
        """Learn nothing; for use among estimators."""
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Return E[Y | Z] for each row.

        Parameters
        ----------
        X : array-like of shape (n, d)
            NaN where missing.
        return_std : bool
            Also return the standard deviation of Y given Z, the noise(Z) of
            Proposition 4.2: sqrt(sigma^2 + beta_mis' T_M beta_mis).
        """
        X = check_features(X, self.model.n_features)
        mean, variance = conditional_moments(self.model, X)
        return (mean, np.sqrt(variance)) if return_std else mean

    def __sklearn_is_fitted__(self) -> bool:
        """Nothing is learned, so it is always fitted."""
        return True

    def __sklearn_tags__(self):
        """Return the tags: NaN is welcome, `fit` is not needed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.requires_fit = False
        return tags


@singledispatch
def conditional_moments(
    model: Any, X: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """E[Y | Z] and Var[Y | Z] for each row of X.

    Register a function for a law of your own to give it a `BayesPredictor`.
    """
    groups = group_rows(np.isnan(X))
    index = groups.pattern_of_row()
    maps = expanded_coefficients(model, groups.patterns)
    return maps.evaluate(X, index), maps.variance[index] + model.noise**2


@conditional_moments.register
def _(model: SelfMaskedProbit, X):
    mean, variance = np.empty(len(X)), np.empty(len(X))
    for start in range(0, len(X), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        mean[rows], variance[rows] = _probit_moments(model, X[rows])
    return mean, variance + model.noise**2


def _probit_moments(model: SelfMaskedProbit, X: NDArray[np.float64]):
    """E and variance of beta0 + beta'X given the observed part, by EP.

    Given x_obs and M = m, X_mis has the density N(m, V) prod Phi(bias_j + slope_j X_j)
    over the missing j; rows are batched by their number of missing features.
    """
    mask = np.isnan(X)
    x = np.where(mask, 0.0, X)
    groups = group_rows(mask)
    index = groups.pattern_of_row()
    slope, residual = condition(model.cov, groups.patterns)
    centred = np.where(mask, 0.0, X - model.mean)
    prior = model.mean + np.einsum("nij,nj->ni", slope[index], centred)
    mean, variance = model.beta0 + x @ model.beta, np.zeros(len(X))
    n_missing = mask.sum(axis=1)
    for k in range(1, mask.shape[1] + 1):
        rows = np.flatnonzero(n_missing == k)
        mis = np.nonzero(mask[rows])[1].reshape(len(rows), k)
        posterior = probit_posterior(
            np.take_along_axis(prior[rows], mis, axis=1),
            residual[index[rows, None, None], mis[:, :, None], mis[:, None, :]],
            model.bias[mis],
            model.slope[mis],
        )
        beta = model.beta[mis]
        mean[rows] += (beta * posterior.mean).sum(axis=1)
        variance[rows] = np.einsum("ni,nij,nj->n", beta, posterior.cov, beta)
    return mean, np.maximum(variance, 0.0)


def expanded_coefficients(
    model: Any, patterns: NDArray[np.bool_] | None = None
) -> AffineMaps:
    """Coefficients delta of Proposition 4.1: one affine map per pattern.

    Parameters
    ----------
    model : a law of `missfit.simulate` whose Bayes predictor is affine by pattern
    patterns : bool ndarray of shape (P, d), optional
        Distinct patterns in lexicographic order. By default all that the law can
        enumerate.
    """
    if patterns is None:
        patterns = _enumerated(model)[0]
    parts = [
        _pattern_maps(model, patterns[block])
        for block in pattern_blocks(len(patterns), patterns.shape[1])
    ]
    if not parts:
        d = patterns.shape[1]
        return AffineMaps(patterns, np.empty(0), np.empty((0, d)), np.empty(0))
    return AffineMaps(
        patterns,
        np.concatenate([part.intercept for part in parts]),
        np.concatenate([part.coef for part in parts]),
        np.concatenate([part.variance for part in parts]),
    )


@singledispatch
def _pattern_maps(model: Any, patterns: NDArray[np.bool_]) -> AffineMaps:
    raise TypeError(
        f"the Bayes predictor of {type(model).__name__} is not affine by pattern, or "
        "not known. Laws that have one: GaussianPatternMixture, MCARGaussian, "
        "MARGaussian, SelfMaskedGaussian."
    )


@_pattern_maps.register
def _(model: GaussianPatternMixture, patterns):
    index = find_keys(pattern_keys(model.patterns), pattern_keys(patterns))
    index = np.where((index >= 0) & (model.weights[index] > 0), index, -1)
    if (index < 0).any():
        unknown = format_pattern(patterns[np.argmax(index < 0)])
        raise ValueError(
            f"the pattern with {unknown} has probability 0 under the model, so "
            "E[Y | Z] is not defined there. Give it a weight in the model."
        )
    k = model.component[index]
    return conditional_maps(
        model.means[k], model.covs[k], model.beta0, model.beta, patterns
    )


@_pattern_maps.register(MCARGaussian)
@_pattern_maps.register(MARGaussian)
def _(model, patterns):
    # The mechanism can be ignored: given x_obs, M says nothing more about X_mis.
    return conditional_maps(model.mean, model.cov, model.beta0, model.beta, patterns)


@_pattern_maps.register
def _(model: SelfMaskedGaussian, patterns):
    """Tilt N(m, V), the law of X_mis given x_obs, by the bumps N(centre, D).

    The product has mean m + V (V + D)^-1 (centre - m) and covariance V (V + D)^-1 D.
    """
    d = model.n_features
    slope, V = condition(model.cov, patterns)
    bump = np.where(patterns, model.width**2, 1.0)
    beta = np.where(patterns, model.beta, 0.0)
    total = V + bump[:, :, None] * np.eye(d)  # identity at observed coordinates
    # h = (V + D)^-1 D beta is the weight of m, and V (V + D)^-1 centre takes the rest.
    h = np.linalg.solve(total, (bump * beta)[:, :, None])[:, :, 0]
    h = np.where(patterns, h, 0.0)
    gamma = np.einsum("pij,pi->pj", slope, h)
    variance = np.einsum("pi,pij,pj->p", beta, V, h)
    intercept = model.beta0 + (
        (beta - h) * model.centre + (h - gamma) * model.mean
    ).sum(axis=1)
    coef = np.where(patterns, 0.0, model.beta) + gamma
    return AffineMaps(patterns, intercept, coef, np.maximum(variance, 0.0))


def _enumerated(model: Any) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    enumerated = model.pattern_probabilities()
    if enumerated is None:
        raise ValueError(
            f"the patterns of this {type(model).__name__} with {model.n_features} "
            "features cannot be enumerated; name the patterns that you want."
        )
    return enumerated


def check_features(X: ArrayLike, n_features: int) -> NDArray[np.float64]:
    """Return X as float64, or say what is wrong with it."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(
            f"X has shape {X.shape}; the model has {n_features} features, so it must "
            f"be (rows, {n_features})."
        )
    if np.isinf(X).any():
        raise ValueError(
            f"X holds {np.isinf(X).sum()} infinite values; use NaN for a missing value."
        )
    return X
