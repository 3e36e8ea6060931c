"""A model of some columns among the models of all: what a scout of a wide table is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class OnColumns:
    """A model fitted to some columns, which takes rows of all of them."""

    def __init__(self, model: Any, columns: NDArray[np.intp]):
        self.model, self.columns = model, columns

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        """Return the predictions of a regressor."""
        return self.model.predict(X[:, self.columns])

    def predict_proba(self, X: NDArray) -> NDArray[np.float64]:
        """Return the probabilities of a classifier."""
        return self.model.predict_proba(X[:, self.columns])

    def __getattr__(self, name: str) -> Any:
        """Answer everything else as the model does."""
        return getattr(self.model, name)


def telling_columns(
    model: Any, X: NDArray[np.float64], most: int
) -> NDArray[np.intp] | None:
    """Return the columns of the largest standard coefficients; None is all of them.

    Parameters
    ----------
    model : estimator
        A linear predictor fitted to these columns.
    X : ndarray of shape (n, d)
    most : int
        So many columns are returned; all where there are no more.

    Examples
    --------
    >>> from missfit import EMLR
    >>> X = np.random.default_rng(0).normal(size=(99, 3))
    >>> telling_columns(EMLR().fit(X, X @ [2.0, 0.1, -3.0]), X, 2).tolist()
    [0, 2]
    """
    d, coef = X.shape[1], np.atleast_2d(getattr(model, "coef_", np.nan))
    if d <= most or coef.shape[1] != d:
        return None
    seen = ~np.isnan(X)
    n_seen = np.maximum(seen.sum(axis=0), 1)
    mean = np.where(seen, X, 0.0).sum(axis=0) / n_seen
    spread = np.sqrt((np.where(seen, X - mean, 0.0) ** 2).sum(axis=0) / n_seen)
    size = np.linalg.norm(coef, axis=0) * spread
    return np.sort(np.argsort(-size, kind="stable")[:most])
