"""The rows of a graph: values and which of them are missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from missfit.onnx_export.graph import Graph, Value


@dataclass(frozen=True, eq=False)
class Rows:
    """Features of shape (n, d) in float64, NaN where missing."""

    x: Value
    n_features: int

    @property
    def graph(self) -> Graph:
        """Return the graph that the rows belong to."""
        return self.x.graph

    @property
    def missing(self) -> Value:
        """Return where values are missing, as truth values."""
        return self.graph.node("IsNaN", self.x)

    @property
    def mask(self) -> Value:
        """Return 1 where a value is missing and 0 elsewhere."""
        return self.missing.as_type("float64")

    @property
    def seen(self) -> Value:
        """Return 0 where a value is missing and 1 elsewhere."""
        return 1.0 - self.mask

    def filled(self, constants: float | np.ndarray = 0.0) -> Value:
        """Return the values, and constants where they are missing."""
        return self.graph.where(self.missing, constants, self.x)

    def take(self, columns: np.ndarray) -> Rows:
        """Return rows of some of the features."""
        if len(columns) == self.n_features and (np.diff(columns) == 1).all():
            return self
        return Rows(self.x.columns(columns), len(columns))

    def repeated(self, value: float | np.ndarray) -> Value:
        """Return a row of constants, shape (t,), for each row, shape (n, t)."""
        constants = np.atleast_1d(np.asarray(value, dtype=float))
        nothing = np.zeros((self.n_features, len(constants)))
        return self.filled() @ nothing + constants
