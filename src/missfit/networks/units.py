"""Units of a table: what its columns are shifted and scaled by before training."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Units(NamedTuple):
    """Shift and scale of the columns of a table."""

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, table: NDArray, weight: NDArray) -> Units:
        """Return weighted means and standard deviations without NaN, 1 if constant."""
        seen = ~np.isnan(table)
        mass = weight[:, None] * seen
        total = np.maximum(mass.sum(axis=0), np.finfo(float).tiny)
        shift = (mass * np.where(seen, table, 0.0)).sum(axis=0) / total
        gap = np.where(seen, table - shift, 0.0)
        spread = np.sqrt((mass * gap**2).sum(axis=0) / total)
        constant = spread <= 1e-12 * np.abs(shift)
        return cls(shift, np.where(constant, 1.0, spread))

    @classmethod
    def of_targets(cls, targets: NDArray, weight: NDArray) -> Units:
        """Return units of targets: one that does not vary is exactly 0 in them.

        A mean is off by rounding, and Adam makes steps of any gradient.
        """
        units, lowest = cls.of(targets, weight), targets.min(axis=0)
        shift = np.where(is_constant(targets), lowest, units.shift)
        return units._replace(shift=shift)

    @classmethod
    def unchanged(cls, n_columns: int) -> Units:
        """Return the units in which a table stays as it is."""
        return cls(np.zeros(n_columns), np.ones(n_columns))

    def standard(self, table: NDArray) -> NDArray:
        """Return the table in these units."""
        return (table - self.shift) / self.scale

    def original(self, standard: NDArray) -> NDArray:
        """Return what `standard` was made of."""
        return self.shift + self.scale * standard


def is_constant(table: NDArray) -> NDArray[np.bool_]:
    """Return which columns of a table without NaN do not vary."""
    return table.min(axis=0) == table.max(axis=0)
