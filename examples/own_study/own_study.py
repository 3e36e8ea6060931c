"""A law and a method of one's own, which own_study.toml names."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.impute import KNNImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline


class Waves:
    """Features between -1 and 1, a target that is not linear, values missing by chance.

    A law needs `sample`, which returns X with NaN where missing, and y.
    """

    def __init__(self, d, rate=0.2):
        self.d = d
        self.rate = rate

    def sample(self, n, random_state=None):
        """Draw n rows."""
        rng = np.random.default_rng(random_state)
        X = rng.uniform(-1, 1, (n, self.d))
        y = np.sin(3 * X).sum(axis=1) + 0.1 * rng.standard_normal(n)
        X[rng.random(X.shape) < self.rate] = np.nan
        return X, y


class Nearest(RegressorMixin, BaseEstimator):
    """Missing values from the nearest rows, then least squares."""

    def __init__(self, n_neighbors=5):
        self.n_neighbors = n_neighbors

    def fit(self, X, y):
        """Learn from rows."""
        imputer = KNNImputer(n_neighbors=self.n_neighbors, add_indicator=True)
        self.model_ = make_pipeline(imputer, LinearRegression()).fit(X, y)
        return self

    def predict(self, X):
        """Predict rows."""
        return self.model_.predict(X)
