"""The Bayes predictor of every law, and its expanded form (Proposition 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from missfit.gaussian.conditional import condition, conditional_maps
from missfit.gaussian.probit import (
    ProbitPart,
    alike_rows,
    missing_given_mask,
    probit_posterior,
)
from missfit.moments.blocks import blocks
from missfit.moments.maps import AffineMaps
from missfit.moments.patterns import find_keys, format_pattern, group_rows, pattern_keys
from missfit.simulate.checks import check_patterns
from missfit.simulate.pattern_mixture import GaussianPatternMixture
from missfit.simulate.probit import Probit
from missfit.simulate.selection import MARGaussian, MCARGaussian
from missfit.simulate.self_masked import SelfMaskedGaussian, SelfMaskedProbit
from missfit.tables.arrays import check_features


class BayesPredictor(RegressorMixin, BaseEstimator):
    """The Bayes predictor E[Y | Z] of a law: what no learner can beat.

    It has a closed form where it is affine for each pattern (pattern mixtures, MCAR,
    MAR and Gaussian self-masking: Proposition 4.1 and similar formulas). For probit
    self-masking it is computed by expectation propagation. It knows the law, so `fit`
    learns nothing and may be left out.

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
        """Learn nothing; it is here so that this can be used like any estimator."""
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Return E[Y | Z] for each row.

        Parameters
        ----------
        X : array-like of shape (n, d)
            NaN where missing.
        return_std : bool
            Also return the standard deviation of Y given Z, the noise(Z) of
            Proposition 4.2: sqrt(sigma^2 + beta_mis' T_M beta_mis). For probit
            self-masking it comes from expectation propagation, which is exact with one
            missing feature. With several it is too small or too large where masking is
            steep and features are strongly correlated
            (`gaussian.probit.probit_posterior` has figures). `bayes_risk` corrects
            for this error.
        """
        d = n_features_of(self.model)
        X = check_features(X, d)
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


def n_features_of(model: Any) -> int:
    """Return the number of features of a law; raise where the model is no law."""
    if not hasattr(model, "n_features"):
        raise TypeError(f"model={model!r}; give a law of missfit.simulate.")
    return model.n_features


@singledispatch
def conditional_moments(
    model: Any, X: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return E[Y | Z] and Var[Y | Z] for each row of X.

    Register a function for a law of your own to give it a `BayesPredictor`.
    """
    groups = group_rows(np.isnan(X))
    index = groups.pattern_of_row()
    maps = expanded_coefficients(model, groups.patterns)
    variance = np.asarray(maps.variance)[index]
    return maps.evaluate(X, index), variance + model.noise**2


@conditional_moments.register
def _(model: SelfMaskedProbit, X):
    mean, variance = np.empty(len(X)), np.empty(len(X))
    for rows in alike_rows(X):
        mean[rows], variance[rows] = _probit_moments(model, X[rows])
    return mean, variance + model.noise**2


def _probit_moments(model: SelfMaskedProbit, X: NDArray[np.float64]):
    """Return the mean and variance of beta0 + beta'X given Z, by EP."""
    mean = model.beta0 + np.where(np.isnan(X), 0.0, X) @ model.beta
    variance = np.zeros(len(X))
    for part in probit_parts(model, X):
        posterior = probit_posterior(part.mean, part.cov, part.bias, part.slope)
        beta = model.beta[part.missing]
        mean[part.rows] += (beta * posterior.mean).sum(axis=1)
        variance[part.rows] = np.einsum("ni,nij,nj->n", beta, posterior.cov, beta)
    return mean, np.maximum(variance, 0.0)


def probit_parts(
    model: SelfMaskedProbit, X: NDArray[np.float64]
) -> Iterator[ProbitPart]:
    """Yield the laws of the missing features given the observed ones and the mask."""
    return missing_given_mask(X, model.mean, model.cov, model.bias, model.slope)


def expanded_coefficients(
    model: Any, patterns: NDArray[np.bool_] | None = None
) -> AffineMaps:
    """Return the coefficients delta of Proposition 4.1: one affine map per pattern.

    Parameters
    ----------
    model : a law of `missfit.simulate` whose Bayes predictor is affine by pattern
    patterns : bool ndarray of shape (P, d), optional
        Distinct patterns; the maps come in lexicographic order. By default these are
        all patterns of positive probability.
    """
    d = n_features_of(model)
    if patterns is None:
        patterns = _possible_patterns(model)
    if len(patterns) == 0:
        nothing = np.empty((0, d))
        return AffineMaps(nothing.astype(bool), np.empty(0), nothing, np.empty(0))
    patterns = group_rows(check_patterns(patterns, d)).patterns
    parts = [
        _pattern_maps(model, patterns[block]) for block in blocks(len(patterns), d**2)
    ]
    return AffineMaps(
        patterns,
        np.concatenate([part.intercept for part in parts]),
        np.concatenate([part.coef for part in parts]),
        np.concatenate([np.asarray(part.variance) for part in parts]),
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


@_pattern_maps.register
def _(model: Probit, patterns):
    """Return the maps of the index (f*(Z) - t) / s(Z), whose Phi is P(label = 1)."""
    if model.n_classes != 2:
        raise ValueError(
            f"the model has {model.n_classes} classes; one affine map per pattern "
            "gives the probability of two. Give one threshold."
        )
    maps = _pattern_maps(model.model, patterns)
    sd = np.sqrt(np.asarray(maps.variance) + model.model.noise**2)
    if (sd == 0).any():
        known = format_pattern(patterns[np.argmin(sd)])
        raise ValueError(
            f"the label is certain in the pattern with {known}, so the index is "
            "infinite there. Give a law with noise."
        )
    intercept = (maps.intercept - model.thresholds[0]) / sd
    return AffineMaps(patterns, intercept, maps.coef / sd[:, None], np.zeros(len(sd)))


def _possible_patterns(model: Any) -> NDArray[np.bool_]:
    enumerated = model.pattern_probabilities()
    if enumerated is None:
        raise ValueError(
            f"the patterns of this {type(model).__name__} with {model.n_features} "
            "features cannot be enumerated; name the patterns that you want."
        )
    patterns, probabilities = enumerated
    return patterns[probabilities > 0]
