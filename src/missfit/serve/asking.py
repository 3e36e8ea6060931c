"""Which missing field of a row is worth asking for next."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.evidence.next_value import NextValue, next_value
from missfit.moments.patterns import pattern_keys
from missfit.workflow.model_file import TableModel
from missfit.workflow.model_loss import ModelLoss

MOST_KEPT = 2_000  # patterns whose answer is kept


class Asking:
    """Measures, by the rows that calibrate a model, what a missing field would change.

    Parameters
    ----------
    model : TableModel
    """

    def __init__(self, model: TableModel):
        self.model, self.loss = model, ModelLoss(model)
        self.name = self.loss.name.lower().replace("-", "_")
        self._kept: dict[bytes, NextValue] = {}

    def of_row(self, X: NDArray[np.float64]) -> dict[str, Any]:
        """Return the expected error of a row, and what it would be with one field more.

        Parameters
        ----------
        X : ndarray of shape (1, k)
            The row, encoded.

        Returns
        -------
        dict
            "rmse" (for classes "log_loss") is the error of rows with the same fields
            missing, or of the rows most like them; "ask" lists the fields that lower
            it, the best first, each with the error to expect once it is known.
        """
        found = self._of_pattern(self.model.encoder.mask(X)[0])
        expected = found.expected()
        fields = [
            {"column": self.model.columns[j], self.name: self._shown(expected[j])}
            for j in sorted(found.ranked(), key=lambda j: expected[j])
        ]
        return {self.name: self._shown(found.now), "ask": fields}

    def _of_pattern(self, pattern: NDArray[np.bool_]) -> NextValue:
        key = pattern_keys(pattern[None]).tolist()[0]
        if key not in self._kept:
            loss = self.loss
            found = next_value(
                loss.of_rows, loss.X, loss.variables, pattern, loss.units
            )
            if len(self._kept) >= MOST_KEPT:
                self._kept = {}
            self._kept[key] = found
        return self._kept[key]

    def _shown(self, mean: float) -> float:
        """Return an error to the digits that it is known to."""
        return float(f"{max(0.0, self.loss.shown(mean)):.3g}")
