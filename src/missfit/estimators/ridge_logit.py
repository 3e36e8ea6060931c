"""Ridge logistic regression of two classes, and the strength that predicts best."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize
from scipy.special import expit, log_expit

from missfit.gaussian.scoring import Place, top

# Columns up to which Newton steps, which factor a matrix of this size each, are quicker
# than quasi-Newton steps (L-BFGS).
FEW_COLUMNS = 250
MOST_TOLD = 1 - 1e-9  # of a row's score by the row itself


class LabelledColumns(NamedTuple):
    """Columns, among them that of the intercept, with labels and weights of the rows.

    Attributes
    ----------
    values : ndarray of shape (n, k)
    sign : ndarray of shape (n,)
        1 or -1.
    weight : ndarray of shape (n,)
    """

    values: NDArray[np.float64]
    sign: NDArray[np.float64]
    weight: NDArray[np.float64]

    def log_likelihood(self, coef: NDArray[np.float64]):
        """Return the sum of log P(label), its slope, and P(the other label)."""
        index = self.sign * (self.values @ coef)
        other = expit(-index)
        slope = (self.weight * self.sign * other) @ self.values
        return float(self.weight @ log_expit(index)), slope, other

    def at(self, coef: NDArray[np.float64]) -> Place:
        """Return the same with minus the curvature."""
        height, slope, other = self.log_likelihood(coef)
        spread = self.weight * other * (1 - other)
        information = (self.values * spread[:, None]).T @ self.values
        return Place(coef, height, slope, information)

    def left_out_loss(self, found: Place) -> float:
        """Return the log-loss, each row predicted by a fit to the others.

        ``found`` is the fit to all, with the curvature of its ridge. A Newton step from
        it tells where the fit without a row is (Rad and Maleki 2020): its leverage h is
        what the row adds to its own score for a unit of slope. One unit of a row's
        weight is left out, or all of a smaller one.
        """
        factor = linalg.cholesky(found.information, lower=True, check_finite=False)
        spans = linalg.solve_triangular(
            factor, self.values.T, lower=True, check_finite=False
        )
        leverage = np.minimum(self.weight, 1.0) * np.einsum("kn,kn->n", spans, spans)
        index = self.sign * (self.values @ found.point)
        other = expit(-index)
        told = np.minimum(leverage * other * (1 - other), MOST_TOLD)
        left = index - leverage * other / (1 - told)
        return float(-self.weight @ log_expit(left))


def ridge_logit(
    rows: LabelledColumns,
    ridge: NDArray[np.float64],
    start: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Maximise sum_i w_i log P(label_i) - sum_j ridge_j b_j^2 / 2 over b.

    Parameters
    ----------
    rows : LabelledColumns
    ridge : ndarray of shape (k,)
    start : ndarray of shape (k,), optional
        Where to begin, by default at zero.
    """
    start = np.zeros(len(ridge)) if start is None else start
    if len(ridge) <= FEW_COLUMNS:
        return held_top(rows, ridge, start).point

    def loss(coef: NDArray) -> tuple[float, NDArray[np.float64]]:
        height, slope, _ = rows.log_likelihood(coef)
        return float(ridge @ coef**2) / 2 - height, ridge * coef - slope

    found = optimize.minimize(loss, start, jac=True, method="L-BFGS-B")
    return np.asarray(found.x)


def held_top(rows: LabelledColumns, ridge: NDArray, start: NDArray) -> Place:
    """Return the fit by Newton steps, with what is seen there."""
    return top(partial(_held_at, rows, ridge), start)


def _held_at(rows: LabelledColumns, ridge: NDArray, coef: NDArray) -> Place:
    return rows.at(coef).held(ridge)


def best_ridge(rows: LabelledColumns, ridges: Sequence[NDArray[np.float64]]) -> int:
    """Return which ridge predicts rows that are left out best, the strongest first.

    Each fit begins where the one before ended, and those after two that predict worse
    than the best are not made.
    """
    losses: list[float] = []
    coef = np.zeros(rows.values.shape[1])
    for ridge in ridges:
        found = held_top(rows, ridge, coef)
        coef = found.point
        losses.append(rows.left_out_loss(found))
        if len(losses) - int(np.argmin(losses)) > 2:
            break
    return int(np.argmin(losses))
