"""The Bayes classifier of a law with classes, and the losses that no learner beats."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin

from missfit.bayes.predictor import conditional_moments, n_features_of, probit_parts
from missfit.bayes.risk import N_DRAWS, Estimate
from missfit.gaussian.probit import normal_share, probit_law
from missfit.moments.blocks import blocks
from missfit.simulate.linear_target import RandomState, as_generator
from missfit.simulate.probit import Probit
from missfit.simulate.self_masked import SelfMaskedProbit
from missfit.tables.arrays import check_features

POINTS = 512  # quasi-random points per row under probit self-masking
Loss = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class BayesClassifier(ClassifierMixin, BaseEstimator):
    """The Bayes classifier of a law: the probabilities that no learner can beat.

    P(label > k | Z) = Phi((f*(Z) - t_k) / s(Z)) where Y is Gaussian given what is
    observed: one linear probit for each missing pattern. Under probit self-masking Y is
    skew given the mask, and its law is integrated with quasi-random numbers.

    Parameters
    ----------
    model : missfit.simulate.Probit

    Examples
    --------
    >>> from missfit.simulate import Probit, published
    >>> model = Probit(published("mixture1", 4), threshold=0.0)
    >>> X, label = model.sample(1000, random_state=0)
    >>> BayesClassifier(model).predict_proba(X).shape
    (1000, 2)
    """

    def __init__(self, model: Any):
        self.model = model

    @property
    def classes_(self) -> NDArray[np.int64]:
        """The classes 0, 1, 2, ..."""
        return np.arange(_checked(self.model).n_classes)

    def fit(self, X: Any = None, y: Any = None) -> BayesClassifier:
        """Learn nothing; it is here so that this can be used like any estimator."""
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, for each row; NaN is missing."""
        model = _checked(self.model)
        X = check_features(X, n_features_of(model))
        rng = np.random.default_rng(0)
        return _shares(shares_above(model.model, X, model.thresholds, rng))

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __sklearn_is_fitted__(self) -> bool:
        """Nothing is learned, so it is always fitted."""
        return True

    def __sklearn_tags__(self):
        """Return the tags: NaN is welcome, `fit` is not needed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.requires_fit = False
        return tags


def bayes_log_loss(
    model: Probit, *, n_draws: int = N_DRAWS, random_state: RandomState = 0
) -> Estimate:
    """Return the log-loss of the Bayes classifier, the least that there is.

    It is the mean entropy of the class given what is observed, -sum_k p_k log p_k,
    over ``n_draws`` simulated rows; the labels themselves are integrated out.

    Examples
    --------
    >>> from missfit.simulate import Probit, published
    >>> law = published("mixture1", 4)
    >>> loss = bayes_log_loss(Probit(law, law.target_quantile(0.5)))
    >>> round(loss.value, 2), loss.standard_error < 0.001
    (0.35, True)
    """
    return _mean_loss(model, _entropy, n_draws, random_state)


def bayes_error(
    model: Probit, *, n_draws: int = N_DRAWS, random_state: RandomState = 0
) -> Estimate:
    """Return the share of rows that the Bayes classifier gets wrong, the least share.

    It is the mean of 1 - max_k p_k over ``n_draws`` simulated rows.
    """
    return _mean_loss(model, _error, n_draws, random_state)


def _entropy(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    return special.entr(shares).sum(axis=1)


def _error(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 - shares.max(axis=1)


def _mean_loss(
    model: Probit, loss: Loss, n_draws: int, random_state: RandomState
) -> Estimate:
    """Return the mean of a function of the classes' probabilities, over drawn rows.

    Where the target is not Gaussian given what is observed, its Gaussian approximation
    serves on all rows, and the mean of its error on one row in 50 is added.
    """
    if n_draws < 2:
        raise ValueError(f"n_draws={n_draws}; a standard error needs at least 2.")
    exact = shares_above.dispatch(type(_checked(model).model))
    gaussian = shares_above.dispatch(object)
    n_exact = 0 if exact is gaussian else max(2, n_draws // 50)
    rng = as_generator(random_state)
    X, _ = model.sample(n_draws + n_exact, rng)
    rough = loss(_shares(gaussian(model.model, X, model.thresholds, rng)))
    means = [rough[:n_draws]]
    if n_exact:
        true = loss(_shares(exact(model.model, X[n_draws:], model.thresholds, rng)))
        means.append(true - rough[n_draws:])
    spread = sum(values.var(ddof=1) / len(values) for values in means)
    return Estimate(
        float(sum(values.mean() for values in means)), float(np.sqrt(spread))
    )


def _checked(model: Any) -> Probit:
    if not isinstance(model, Probit):
        raise TypeError(
            f"model={model!r}; give a law with classes: missfit.simulate.Probit(law, "
            "threshold)."
        )
    return model


def _shares(above: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of each class from those of lying above each threshold."""
    ones = np.ones((len(above), 1))
    return np.maximum(-np.diff(above, prepend=ones, append=0.0 * ones, axis=1), 0.0)


@singledispatch
def shares_above(
    law: Any,
    X: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return P(Y > t | Z) for each row and threshold t, where Y given Z is Gaussian.

    Register a function for a law of your own whose target is not Gaussian given Z.
    """
    mean, variance = conditional_moments(law, X)
    return normal_share(mean[:, None] - thresholds, np.sqrt(variance)[:, None])


@shares_above.register
def _(law: SelfMaskedProbit, X, thresholds, rng):
    known = law.beta0 + np.where(np.isnan(X), 0.0, X) @ law.beta
    shares = normal_share(known[:, None] - thresholds, np.array([[law.noise]]))
    for rows in blocks(len(X), POINTS * law.n_features, size=2**22):
        for part in probit_parts(law, X[rows]):
            beta = law.beta[part.missing]
            target = probit_law(*part[2:], beta, rng, n_points=POINTS)
            for k, threshold in enumerate(thresholds):
                rest = threshold - known[rows][part.rows]
                shares[rows][part.rows, k] = target.share_above(rest, law.noise)
    return shares
