"""What the networks share as regressors: the squared error in standard units."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.base import NanRegressor
from missfit.moments.rows import Rows, check_scale, check_weight
from missfit.networks.batch import fit_many
from missfit.networks.estimator import NetworkEstimator
from missfit.networks.network import Params
from missfit.networks.stream import fit_source
from missfit.networks.units import Units
from missfit.tables.chunks import comes_in_chunks, named_columns


class NetworkRegressor(NanRegressor, NetworkEstimator):
    """A network that predicts numbers."""

    _y_units_: Units
    _y_ndim_: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d), or a source of chunks
            The features, NaN where missing. A source (see `missfit.EMLR.fit`) of more
            than 100,000 rows is read twice, so that an iterator does not do: give a
            function that returns one.
        y : array-like of shape (n,) or (n, t), str or list of str
            The target, or several; or the names of their columns.
        sample_weight : array-like of shape (n,), or str, optional
            Weights of the squared errors; or the name of their column.
        """
        if comes_in_chunks(X):
            return fit_source(self, X, y, sample_weight)
        fit_many([self], [tuple(named_columns(X, y, sample_weight))])
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train one more epoch, on the rows given, from where the network is.

        The first call sets the units of the features and the target from its rows, and
        takes the first weight decay.
        """
        return self._train_on(
            lambda trial, first: trial._check_rows(X, y, sample_weight, reset=first)
        )

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict rows, NaN where missing; chunks in, chunks out."""
        if comes_in_chunks(X):
            return self._predict_chunks(X)
        outputs = self._outputs(self._check_predict(X))
        prediction = self._finite(self._y_units_.original(outputs))
        return prediction[:, 0] if self._y_ndim_ == 1 else prediction

    def _check_rows(
        self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = True
    ) -> Rows:
        X, y = self._check_fit(X, y, reset=reset)
        check_scale(X, y)
        if sample_weight is None:
            return Rows(X, y, np.ones(len(X)))
        return Rows(X, y, check_weight(sample_weight, len(X)))

    def _set_target_units(self, rows: Rows) -> None:
        self._y_ndim_ = rows.y.ndim
        self._y_units_ = self._units_of_targets(_columns(rows.y), rows.weight)

    def _units_of_targets(self, y: NDArray, weight: NDArray) -> Units:
        return Units.of_targets(y, weight)

    def _targets(self, y: NDArray) -> NDArray:
        return self._y_units_.standard(_columns(y))

    def _loss(self) -> Any:
        from missfit.networks.functions import half_squared_error  # it needs jax

        return half_squared_error

    def _score(self, params: Params, inputs, targets, weight) -> float:
        """R2 on some rows, the mean over targets."""
        error = weight @ (targets - self._evaluate(params, inputs)) ** 2
        centre = weight @ targets / weight.sum()
        spread = weight @ (targets - centre) ** 2
        ratio = np.divide(error, spread, out=np.ones_like(error), where=spread > 0)
        return float(np.mean(1 - ratio))


def _columns(y: NDArray) -> NDArray:
    return y.reshape(len(y), -1)
