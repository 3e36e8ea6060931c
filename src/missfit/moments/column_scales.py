"""Location and spread of every column, from pattern moments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from missfit.moments.pattern_moments import PatternMoments


@dataclass(frozen=True, eq=False)
class ColumnScales:
    """Mean, standard deviation and count of the observed values of each column.

    ``varies`` is False for columns without spread.
    """

    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    count: NDArray[np.float64]
    varies: NDArray[np.bool_]


def column_scales(moments: PatternMoments) -> ColumnScales:
    """Mean, standard deviation and count of the observed values of each column.

    Columns are the features, then the targets. One without spread gets standard
    deviation 1, one without values mean 0.
    """
    pattern, values, weight = moments.points()
    always = np.ones((len(pattern), moments.n_targets), dtype=bool)
    seen = np.hstack([~moments.patterns[pattern], always])
    weight = weight[:, None] * seen
    count = weight.sum(axis=0)
    known = np.where(count > 0, count, 1.0)
    # twice: the second corrects the rounding of large means
    mean = (weight * values).sum(axis=0) / known
    mean += (weight * (values - mean)).sum(axis=0) / known
    square = (weight * (values - mean) ** 2).sum(axis=0)
    square += np.diagonal(moments.condensed_scatter, axis1=1, axis2=2).sum(axis=0)
    std = np.sqrt(square / known)
    constant = std <= 1e-13 * np.abs(mean)
    return ColumnScales(mean, np.where(constant, 1.0, std), count, ~constant)


def n_varying(moments: PatternMoments) -> int:
    """Return how many features have a coefficient: those with two values or more."""
    return int(column_scales(moments).varies[: moments.n_features].sum())
