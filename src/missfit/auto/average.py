"""LinearAverage: several linear predictors in one, where rows are too few to pick."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from missfit.estimators.base import NanRegressor
from missfit.moments.pattern_moments import PatternMoments


class LinearAverage(NanRegressor):
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

    is_linear = True
    estimators_: list[Any]

    has_page = False  # only AutoRegressor makes one

    def __init__(self, estimators: list[Any], weights: tuple[float, ...]):
        self.estimators = estimators
        self.weights = weights

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
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
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        models = [new.fit(X, y, **weights) for new in self._unfitted()]
        return self._become(trial.of_fitted(models))

    @property
    def needs_rows(self) -> bool:
        """Whether the fit of one of them sees rows."""
        return any(member.needs_rows for member in self.estimators)

    def fit_moments(self, moments: PatternMoments, folds: Any = None) -> Any:
        """Fit each of the predictors to the same moments.

        Parameters
        ----------
        moments : PatternMoments
        folds : list of PatternMoments, optional
            The moments of each fold of the rows.
        """
        models = [new.fit_moments(moments, folds) for new in self._unfitted()]
        return self._become(self._trial().of_fitted(models))

    def _unfitted(self) -> list[Any]:
        return [clone(member) for member in self.estimators]

    def with_chosen_strength(self) -> LinearAverage:
        """Return an unfitted copy with the ridge strengths that these fits chose."""
        free = [model.with_chosen_strength() for model in self.estimators_]
        return LinearAverage(free, self.weights)

    def made_of(self) -> list[Any]:
        """Return the predictors whose mean this is."""
        return self.estimators

    def of_fitted(self, models: list[Any]) -> Any:
        """Return this mean of predictors that are fitted."""
        self.n_features_in_ = models[0].n_features_in_
        self.estimators_ = models
        return self

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
        predictions = [model.predict(X) for model in self.estimators_]
        return self._finite(np.tensordot(self.weights, predictions, axes=1))
