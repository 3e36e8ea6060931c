"""Several linear predictors in one, where rows are too few to pick."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from missfit.estimators.base import NanEstimator, NanRegressor
from missfit.estimators.classes import NanClassifier
from missfit.moments.pattern_moments import PatternMoments


class Average(NanEstimator):
    """The weighted mean of what several predictors say.

    Parameters
    ----------
    estimators : list of estimators
    weights : tuple of float
        One for each, which add up to 1.

    Attributes
    ----------
    estimators_ : list of estimators
        The same, fitted.
    """

    is_linear = True
    has_page = False  # only AutoRegressor and AutoClassifier make one
    estimators_: list[Any]

    def __init__(self, estimators: list[Any], weights: tuple[float, ...]):
        self.estimators = estimators
        self.weights = weights

    def _fitted_to(self, X: Any, y: Any, sample_weight: Any) -> list[Any]:
        """Return the predictors fitted to the same rows."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return [new.fit(X, y, **weights) for new in self._unfitted()]

    def _unfitted(self) -> list[Any]:
        return [clone(member) for member in self.estimators]

    def made_of(self) -> list[Any]:
        """Return the predictors whose mean this is."""
        return self.estimators

    def of_fitted(self, models: list[Any]) -> Any:
        """Return this mean of predictors that are fitted."""
        self.n_features_in_ = models[0].n_features_in_
        self.estimators_ = models
        return self

    def _mean(self, told: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        return np.tensordot(self.weights, told, axes=1)


class LinearAverage(Average, NanRegressor):
    """The weighted mean of the predictions of several linear predictors.

    Parameters
    ----------
    estimators : list of regressors
    weights : tuple of float
        One for each, which add up to 1.

    Attributes
    ----------
    estimators_ : list of regressors
        The same, fitted.

    Notes
    -----
    Where all of them are one affine map for each missing pattern, so is their mean.

    Examples
    --------
    >>> from missfit import EMLR, ConditionalImputedLR
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> mean = LinearAverage([EMLR(), ConditionalImputedLR()], (0.75, 0.25))
    >>> mean.fit(X, 2 * X[:, 0]).predict([[1.5]]).round(6).tolist()
    [3.0]
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit each of the predictors to the same rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The features, NaN where missing.
        y : array-like of shape (n,)
            The target.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        """
        trial = self._trial()
        X, y = trial._check_fit(X, y)
        return self._become(trial.of_fitted(self._fitted_to(X, y, sample_weight)))

    @property
    def needs_rows(self) -> bool:
        """Whether the fit of one of them sees rows."""
        return any(member.needs_rows for member in self.estimators)

    def fit_moments(self, moments: PatternMoments, folds: Any = None) -> Self:
        """Fit each of the predictors to the same moments.

        Parameters
        ----------
        moments : PatternMoments
        folds : list of PatternMoments, optional
            The moments of each fold of the rows.
        """
        models = [new.fit_moments(moments, folds) for new in self._unfitted()]
        return self._become(self._trial().of_fitted(models))

    def with_chosen_strength(self) -> LinearAverage:
        """Return an unfitted copy with the ridge strengths that these fits chose."""
        free = [model.with_chosen_strength() for model in self.estimators_]
        return LinearAverage(free, self.weights)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict rows, NaN where missing.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        X = self._check_predict(X)
        return self._finite(self._mean([m.predict(X) for m in self.estimators_]))


class ClassAverage(Average, NanClassifier):
    """The weighted mean of the probabilities of several linear classifiers.

    Parameters
    ----------
    estimators : list of classifiers
    weights : tuple of float
        One for each, which add up to 1.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    estimators_ : list of classifiers
        The same, fitted.

    Examples
    --------
    >>> from missfit import EMLR, ConditionalImputedLogistic, PatternProbit
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> mean = ClassAverage(
    ...     [PatternProbit(EMLR()), ConditionalImputedLogistic()], (0.75, 0.25)
    ... )
    >>> mean.fit(X, ["a", "b", "a", "b"]).predict_proba(X).shape
    (4, 2)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit each of the classifiers to the same rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The features, NaN where missing.
        y : array-like of shape (n,)
            The labels.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        """
        trial = self._trial()
        trial._labelled_rows(X, y, sample_weight)
        return self._become(trial.of_fitted(self._fitted_to(X, y, sample_weight)))

    def of_fitted(self, models: list[Any]) -> Any:
        """Return this mean of classifiers that are fitted to the same classes."""
        self.classes_ = models[0].classes_
        return super().of_fitted(models)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, NaN in X where missing.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)

        Returns
        -------
        ndarray of shape (n, K)
        """
        check_is_fitted(self)
        X = self._check_predict(X)
        return self._mean([model.predict_proba(X) for model in self.estimators_])
