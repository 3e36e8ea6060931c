"""Put holes into a complete table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from missfit.simulate.checks import check_columns, check_number
from missfit.simulate.linear_target import RandomState, as_generator
from missfit.tables.arrays import as_floats

MECHANISMS = ("MCAR", "MAR", "self-masking", "MNAR")  # the last two are the same
MOST_MISSING = 0.8  # under MAR, the largest rate in the columns a row does not keep


def ampute(
    X: Any,
    mechanism: str,
    rate: float,
    *,
    columns: Any = None,
    strength: float = 1.0,
    random_state: RandomState = None,
) -> Any:
    """Put missing values into a complete table.

    The expected share of missing cells in every amputed column is ``rate``.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n, d)
        Numbers, none missing.
    mechanism : {"MCAR", "MAR", "self-masking", "MNAR"}
        What decides whether a cell is missing:

        - "MCAR": nothing in the table.
        - "MAR": the columns that stay observed in the same row, through a logistic
          curve. If ``columns`` is given, all other columns stay observed. Otherwise
          each row keeps one of a few random groups of columns, and holes come in the
          other columns.
        - "self-masking": the cell's own value, through a probit curve; large values
          are missing more often. "MNAR" is another name for it.
    rate : float
        Share of missing cells in each amputed column, between 0 and 1.
    columns : sequence of int or mask, optional
        Columns to ampute, by position or by a mask of booleans; by default all.
    strength : float
        Slope of the curve for a column of unit standard deviation. A negative slope
        turns the direction around; with 0 all three mechanisms are MCAR.
    random_state : int, Generator or RandomState, optional

    Returns
    -------
    ndarray, or DataFrame where X is one
        A copy of X, in float64, with NaN at the missing cells.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(1000, 4))
    >>> holes = ampute(X, "MAR", 0.3, random_state=0)
    >>> float(np.isnan(holes).mean().round(2))
    0.3
    """
    table = as_floats(X)
    columns = _check_table(table, mechanism, rate, columns, strength)
    rng = as_generator(random_state)
    probability = np.zeros(table.shape)
    if mechanism == "MCAR":
        probability[:, columns] = rate
    elif mechanism in ("self-masking", "MNAR"):
        index = strength * _standardised(table[:, columns])
        probability[:, columns] = _curve(index, rate, special.ndtr, special.ndtri)
    elif len(columns) < table.shape[1]:
        probability[:, columns] = _driven_by(
            np.delete(table, columns, axis=1), rate, strength
        )
    else:
        probability = _mar_everywhere(table, rate, strength, rng)
    mask = rng.random(table.shape) < probability
    if hasattr(X, "columns") and hasattr(X, "mask"):  # a pandas DataFrame
        return X.astype(float).mask(mask)
    return np.where(mask, np.nan, table)


def self_masking_probability(
    values: NDArray[np.float64], rate: float, strength: float = 1.0
) -> NDArray[np.float64]:
    """Return the probability with which `ampute` hides each value by self-masking.

    >>> self_masking_probability(np.array([0.0, 1.0]), 0.5, strength=1.0).round(2)
    array([0.16, 0.84])
    """
    index = strength * _standardised(values[:, None])
    return _curve(index, rate, special.ndtr, special.ndtri)[:, 0]


def _mar_everywhere(table, rate: float, strength: float, rng) -> NDArray[np.float64]:
    """Return the probability of each cell; each row keeps one of the column groups.

    The group that a row kept is one of those that are observed in its pattern, so that
    the probability of the pattern depends on observed columns alone: this is MAR.
    """
    n, d = table.shape
    n_groups = _n_column_groups(rate, d)
    column_group = rng.permutation(np.arange(d) % n_groups)
    row_group = rng.integers(n_groups, size=n)
    probability = np.zeros(table.shape)
    # Each column is kept in one group of rows out of n_groups.
    inside = rate * n_groups / (n_groups - 1)
    for k in range(n_groups):
        rows, kept = row_group == k, column_group == k
        if rows.any():
            driven = _driven_by(table[rows][:, kept], inside, strength)
            probability[np.ix_(rows, ~kept)] = driven
    return probability


def _n_column_groups(rate: float, d: int) -> int:
    """Return the fewest groups of columns with which the rate can be reached."""
    for n_groups in range(2, d + 1):
        if rate * n_groups / (n_groups - 1) <= MOST_MISSING:
            return n_groups
    raise ValueError(
        f"rate={rate:g} is too high for MAR with {d} columns: each row keeps a column "
        f"observed, so it can be at most {MOST_MISSING * (d - 1) / d:.3g}. Lower it, "
        "or use mechanism='MCAR' or 'self-masking'."
    )


def _driven_by(drivers, rate: float, strength: float) -> NDArray[np.float64]:
    """Return logistic probabilities (n, 1) of mean ``rate`` by the average driver."""
    index = _standardised(_standardised(drivers).mean(axis=1, keepdims=True))
    return _curve(strength * index, rate, special.expit, special.logit)


def _curve(index, rate: float, link, inverse) -> NDArray[np.float64]:
    """Return link(bias_j + index_ij), with biases that give columns mean ``rate``."""
    if rate in (0, 1):
        return np.full(index.shape, float(rate))
    return np.column_stack([_column_curve(c, rate, link, inverse) for c in index.T])


def _column_curve(index, rate: float, link, inverse) -> NDArray[np.float64]:
    # link(b + min) <= mean <= link(b + max) encloses the bias
    low, high = inverse(rate) - index.max(), inverse(rate) - index.min()
    if high - low < 1e-12:
        return np.full(len(index), rate)
    bias = optimize.root_scalar(
        lambda b: link(b + index).mean() - rate, bracket=(low - 1e-9, high + 1e-9)
    ).root
    return link(bias + index)


def _standardised(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns of mean 0 and standard deviation 1; constant ones become 0."""
    size = np.abs(table).max(axis=0)
    unit = table / np.where(size > 0, size, 1.0)  # squares neither over- nor underflow
    centred = unit - unit.mean(axis=0)
    scale = centred.std(axis=0)
    constant = scale <= 1e-12
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, scale))


def _check_table(table, mechanism: str, rate: float, columns, strength: float):
    """Return the columns to ampute, or say what is wrong."""
    if mechanism not in MECHANISMS:
        raise ValueError(
            f"unknown mechanism {mechanism!r}; choose one of {', '.join(MECHANISMS)}."
        )
    if table.ndim != 2 or table.size == 0:
        raise ValueError(f"X has shape {table.shape}; it must be (rows, columns).")
    if not np.isfinite(table).all():
        raise ValueError(
            f"X has {np.sum(~np.isfinite(table))} cells that are NaN or infinite; "
            "ampute takes a complete table. Drop or fill these first."
        )
    if check_number("rate", rate, low=0.0) > 1:
        raise ValueError(f"rate={rate!r}; it must lie between 0 and 1.")
    check_number("strength", strength)
    d = table.shape[1]
    chosen = np.arange(d) if columns is None else check_columns("columns", columns, d)
    if mechanism == "MAR" and d == 1:
        raise ValueError(
            "X has 1 column; MAR needs another that stays observed. Use "
            "mechanism='MCAR' or 'self-masking'."
        )
    return chosen
