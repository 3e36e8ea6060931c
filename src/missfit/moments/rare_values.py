"""Columns that are hardly ever observed, or hardly ever missing: few rows tell of them.

What rests on a few rows of many is an accident of these rows, and shows where the
column comes to be observed, or missing, in all new rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# A feature is hardly observed in fewer than one in ten rows, and with fewer values than
# these and one more for each feature. Measured on 30 tables of 400 rows, 4 features and
# one more that says nothing, by how much predictions change where the latter comes to
# be observed in all new rows, in standard deviations of y: ConditionalImputedLR .67 if
# 5 values of it were known, and .38 if 10 were; EMLR .17 if 20 were.
FEW_VALUES = 10.0
RARELY = 0.1
# Pseudo-rows without an effect that hold the coefficient of an indicator which rests on
# no row, and rows from which on there are none. Least squares moves predictions by .52
# standard deviations of y where a column missing in one row comes to be missing in all
# new ones, and by .41, .21, .18, .11 with 2, 5, 10, 20 rows; held by 10 it is .05, .07,
# .08, .11, .11, and by 20 it is .03 with one row. On tables of 20 rows (4 features, 60
# draws) 10 raise the R2 of ConstantImputedLR from .31 to .44 where values are missing
# at random and from .41 to .42 where they hide themselves, and 20 lower the latter to
# .37.
MOST_HOLD = 10.0
ENOUGH_ROWS = 20.0


def hardly_observed(count: NDArray[np.float64], n_rows: float) -> NDArray[np.bool_]:
    """Whether features have too few observed values to tell how they vary with others.

    Parameters
    ----------
    count : ndarray of shape (d,)
        Rows that observe each feature.
    n_rows : float

    Examples
    --------
    >>> hardly_observed(np.array([2.0, 500.0]), 500.0).tolist()
    [True, False]
    >>> hardly_observed(np.array([2.0, 4.0]), 4.0).tolist()  # all rows are few
    [False, False]
    """
    return (count < FEW_VALUES + len(count)) & (count < RARELY * n_rows)


def held_rows(count: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return pseudo-rows without an effect that hold what rests on so many rows.

    >>> held_rows(np.array([0.0, 10.0, 20.0, 500.0])).tolist()
    [10.0, 5.0, 0.0, 0.0]
    """
    return MOST_HOLD * np.maximum(0.0, 1 - count / ENOUGH_ROWS)


def rarer_side(n_observed: NDArray[np.float64], n_rows: float) -> NDArray[np.float64]:
    """Return the rows that tell of a missing indicator: observed or missing, if fewer.

    >>> rarer_side(np.array([3.0, 98.0]), 100.0).tolist()
    [3.0, 2.0]
    """
    return np.minimum(n_observed, n_rows - n_observed)
