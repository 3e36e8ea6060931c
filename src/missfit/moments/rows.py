"""Rows that enter the moments, and what may be wrong with them and their weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from missfit.moments.pooling import SetMoments
from missfit.tables.arrays import LARGEST, as_floats, refuse_rows

# Weight of the mean row from which on weights may be counts of rows: a rule, a
# bound between weights that sum to 1 (a mean of 1 / n) and real counts, which are
# about 1; row_counts says what it means.
LEAST_WEIGHT = 0.1
# The square is 1e-280, and float64 loses digits below 2e-308, which
# leaves room for weights and for sums of squares of differences.
SMALLEST = 1e-140


class Rows(NamedTuple):
    """Rows as they came: features with NaN, targets, weights."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]

    def take(self, index: NDArray) -> Rows:
        """Return the rows at the integers ``index``."""
        # take, not X[index]: nearly three times as fast for rows of a few features
        return Rows(*(part.take(index, axis=0) for part in self))


def check_rows(X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Rows:
    """Return the rows as float64 arrays, or say what is wrong with them."""
    X, y = as_floats(X), as_floats(y, "y")
    _refuse_shapes(X, y)
    y = y.reshape(len(y), -1)
    refuse_rows(
        np.isinf(X), "X", "infinite", "Use NaN for a missing value, or clip the value."
    )
    refuse_rows(
        ~np.isfinite(y),
        "y",
        "not finite",
        "Only features may be missing: drop the rows without a target.",
    )
    if sample_weight is None:
        return Rows(X, y, np.ones(len(X)))
    rows = Rows(X, y, check_weight(sample_weight, len(X)))
    return rows if rows.weight.all() else rows.take(np.flatnonzero(rows.weight))


def _refuse_shapes(X: NDArray, y: NDArray) -> None:
    """Raise where X is not a table with rows, or y not one value or more for each."""
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(
            f"X has shape {X.shape}; it must be (rows, features) with at least one "
            "feature. Reshape one column with X.reshape(-1, 1)."
        )
    if len(X) == 0:
        raise ValueError(
            "X has 0 rows; moments need at least one. PatternMoments.empty(n_features) "
            "is the table of no rows."
        )
    if y.ndim not in (1, 2) or len(y) != len(X) or y.size == 0:
        raise ValueError(
            f"y has shape {y.shape}; it must be (rows,) or (rows, targets) with the "
            f"{len(X)} rows of X."
        )


def check_weight(
    sample_weight: ArrayLike, n_rows: int, *, may_be_zero: bool = False
) -> NDArray[np.float64]:
    """Return the weights as float64, or say what is wrong with them.

    All may be zero where ``may_be_zero``: a chunk of a stream may weigh nothing.
    """
    weight = as_floats(sample_weight, "sample_weight")
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; X has {n_rows} rows, so it must "
            f"be ({n_rows},)."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        what = "masked or missing" if np.isnan(weight[bad][0]) else str(weight[bad][0])
        raise ValueError(
            "sample_weight holds negative or non-finite values, the first "
            f"{what}, in row {np.argmax(bad)}; weights must be finite and >= 0."
        )
    if not (may_be_zero or weight.any()):
        raise ValueError(
            "sample_weight is zero for all rows; give at least one row a weight > 0."
        )
    return weight


def row_counts(sample_weight: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Return weights that count rows, or say why these cannot.

    A weight of 2 is a row twice, so that weights say how much there is to learn from:
    their sum is the number of rows. Weights whose own mean, sum w^2 / sum w, is below
    0.1 say that there is less than a tenth of the (sum w)^2 / sum w^2 rows that they
    weigh: they are relative weights, such as those that sum to 1.
    """
    weight = check_weight(sample_weight, n_rows)
    refuse_relative(WeightSums.of(weight))
    return weight


class WeightSums(NamedTuple):
    """The number of weights above zero, their sum and that of their squares."""

    number: int
    total: float
    squares: float

    @classmethod
    def of(cls, weight: NDArray[np.float64]) -> WeightSums:
        """Sum the weights of some rows."""
        with np.errstate(over="ignore"):  # `refuse_overflow` says more of huge weights
            squares = float(np.square(weight).sum())
            return cls(int((weight > 0).sum()), float(weight.sum()), squares)

    def plus(self, other: WeightSums) -> WeightSums:
        """Return the sums over more rows."""
        return WeightSums(
            self.number + other.number,
            self.total + other.total,
            self.squares + other.squares,
        )


def refuse_relative(sums: WeightSums) -> None:
    """Raise where weights count no rows, as `row_counts` says."""
    if sums.squares < LEAST_WEIGHT * sums.total:
        raise ValueError(
            f"sample_weight sums to {sums.total:.3g} over {sums.number} rows; a weight "
            "counts rows here (2 equals repeating the row), and so few would be "
            "outweighed by any prior or ridge. For relative weights give "
            "sample_weight * len(X) / sum(sample_weight)."
        )


def refuse_overflow(moments: SetMoments, rows: Rows) -> None:
    """Raise where values, or moments of them, leave the range of float64.

    As `check_scale`, for the rows that are kept and the moments of the others.
    """
    largest = np.concatenate([_largest(rows.X), _largest(rows.y)])
    means = np.abs(moments.mean).max(axis=0, initial=0.0)
    finite = np.isfinite(moments.scatter).all()
    _check_largest(np.maximum(largest, means) if finite else np.array([np.inf]))


def check_scale(X: NDArray, y: NDArray) -> None:
    """Raise where squares of the values leave the range of float64, above or below."""
    _check_largest(np.concatenate([_largest(X), _largest(y.reshape(len(y), -1))]))


def _largest(table: NDArray) -> NDArray[np.float64]:
    return np.fmax.reduce(np.abs(table), axis=0, initial=0.0)


def _check_largest(largest: NDArray) -> None:
    if not (largest <= LARGEST).all():
        raise ValueError(
            "the weighted squares of X or y overflow float64 (values beyond "
            f"{LARGEST:g} or huge weights); rescale the columns or the weights first."
        )
    tiny = (largest > 0) & (largest < SMALLEST)
    if tiny.any():
        raise ValueError(
            f"column {np.argmax(tiny)} of (X, y) has no value beyond "
            f"{largest[tiny][0]:.3g}: its squares underflow float64 (below "
            f"{SMALLEST:g}). Rescale it first."
        )
