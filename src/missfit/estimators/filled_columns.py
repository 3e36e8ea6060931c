"""A regressor or a classifier on the columns that hold a value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data


class _Filled(BaseEstimator):
    """Fits an estimator to the columns that hold a value in the training rows."""

    estimator_: Any

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def fit(self, X: Any, y: Any):
        """Fit the estimator to the columns that hold a value."""
        X, y = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        self.columns_ = np.flatnonzero(~np.isnan(X).all(axis=0))
        model: Any = clone(self.estimator)
        self.estimator_ = model.fit(self._filled(X), y)
        return self

    def predict(self, X: Any) -> NDArray:
        """Predict from the columns that held a value."""
        return self.estimator_.predict(self._seen(X))

    def _seen(self, X: Any) -> NDArray[np.float64]:
        """Return the columns of rows to predict that held a value."""
        check_is_fitted(self)
        X = validate_data(
            self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return self._filled(X)

    def _filled(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        if not len(self.columns_):
            return np.zeros((len(X), 1))
        return X[:, self.columns_] if len(self.columns_) < X.shape[1] else X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class FilledColumns(RegressorMixin, _Filled):
    """Fit a regressor to the columns that hold a value in the training rows.

    A column can be empty inside a fold, or among the rows that are left where others
    calibrate intervals. `sklearn.ensemble.HistGradientBoostingRegressor` raises on it.

    Parameters
    ----------
    estimator : regressor
        It takes NaN.

    Attributes
    ----------
    columns_ : int ndarray
        The columns that hold a value.
    estimator_ : regressor
        Fitted to these columns; to a column of zeros where there are none.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> X = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, np.nan]])
    >>> model = FilledColumns(HistGradientBoostingRegressor()).fit(X, [1.0, 2.0, 3.0])
    >>> model.columns_.tolist()
    [0]
    """


class FilledColumnsClassifier(ClassifierMixin, _Filled):
    """Fit a classifier to the columns that hold a value in the training rows.

    The parameters and attributes are those of `FilledColumns`.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> X = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, np.nan]])
    >>> model = FilledColumnsClassifier(HistGradientBoostingClassifier())
    >>> model.fit(X, ["a", "b", "b"]).predict_proba(X).shape
    (3, 2)
    """

    @property
    def classes_(self) -> NDArray:
        """The labels seen at fit, sorted."""
        return self.estimator_.classes_

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class."""
        return self.estimator_.predict_proba(self._seen(X))
