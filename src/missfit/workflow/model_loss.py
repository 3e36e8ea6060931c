"""The loss of a model on rows with known targets: squared error, or log-loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.classes import CERTAIN
from missfit.workflow.model_file import TableModel


class ModelLoss:
    """The loss of a model on the rows that calibrate it, also with values hidden.

    Parameters
    ----------
    model : TableModel

    Attributes
    ----------
    name : str
        "RMSE" for numbers, whose mean loss is shown as its root, else "log-loss".
    X : ndarray of shape (n, k)
        The rows that calibrate, encoded.
    units : int ndarray of shape (n,)
        Rows of one group, which count as one draw, have the same number.
    """

    def __init__(self, model: TableModel):
        self.fitted: Any = model.regressor
        self.has_classes = getattr(self.fitted, "classes_", None) is not None
        self.name = "log-loss" if self.has_classes else "RMSE"
        self.X: NDArray[np.float64] = self.fitted.calibration_rows_
        self.units: NDArray[np.intp] = self.fitted.calibration_groups_
        self.variables = model.encoder.variables_

    def of_rows(
        self, X: NDArray[np.float64], places: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the losses of calibration rows, by their places, as X shows them."""
        if self.has_classes:
            return self._losses(self.fitted.predict_proba(X), places)
        return self._losses(self.fitted.predict(X), places)

    def held_out(self) -> NDArray[np.float64]:
        """Return the losses of all calibration rows, by a model not fitted to them."""
        everything = np.arange(len(self.X))
        return self._losses(self.fitted.calibration_predictions_, everything)

    def _losses(self, predicted: NDArray, places: NDArray[np.intp]) -> NDArray:
        targets = self.fitted.calibration_targets_[places]
        if not self.has_classes:
            return (predicted - targets) ** 2
        own = predicted[np.arange(len(places)), targets.astype(np.intp)]
        return -np.log(np.maximum(own, CERTAIN))

    def of_constant(self) -> float:
        """Return the mean loss of the best constant prediction of these rows."""
        targets = self.fitted.calibration_targets_
        if not self.has_classes:
            return float(np.var(targets))
        shares = np.bincount(targets.astype(np.intp)) / len(targets)
        seen = shares[shares > 0]
        return float(-(seen * np.log(seen)).sum())

    def shown(self, mean: float) -> float:
        """Return a mean loss as it is shown: the root of a mean squared error."""
        return mean if self.has_classes else float(np.sqrt(max(mean, 0.0)))
