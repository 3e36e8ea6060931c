"""The section of the report that shows the predictions beside the actual values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.comparison import Comparison
from missfit.report.page import Html, figure, number, paragraph, section, side_by_side
from missfit.report.table import prediction_figures as figures


def predictions_section(comparison: Comparison) -> Html:
    """Return predicted against actual values, and the distribution of the target."""
    comparison = comparison.tested
    guess = comparison.trial(comparison.recommended).predictions
    plot = figures.predicted_and_actual(comparison.y, guess)
    return section(
        "Predicted and actual",
        paragraph(calibration(comparison)),
        side_by_side(
            figure(plot, _plot_caption(comparison, guess), name="predicted"),
            figure(
                figures.distribution(comparison.y, guess, comparison.target),
                _distribution_caption(comparison.y),
                name="distribution",
            ),
        ),
    )


class Slope(NamedTuple):
    """The slope of the actual values on the predictions, and its standard error."""

    value: float
    error: float


def calibration_slope(
    y: NDArray[np.float64], guess: NDArray[np.float64], groups: NDArray | None = None
) -> Slope | None:
    """Return the slope of least squares, with an error that is robust to groups.

    It is None where all predictions are the same. With x the centred predictions and e
    the residuals, the square of the error is
    sum_g (sum_{i in g} x_i e_i)^2 / (sum x^2)^2 (White 1980, Liang and Zeger 1986);
    without groups each row is one.
    """
    x = guess - guess.mean()
    spread = x @ x
    if spread <= 1e-20 * (guess @ guess):
        return None
    value = x @ y / spread
    score = x * (y - y.mean() - value * x)
    if groups is not None:
        score = np.bincount(np.unique(groups, return_inverse=True)[1], score)
    return Slope(float(value), float(np.sqrt(score @ score) / spread))


def calibration(comparison: Comparison) -> str:
    """Say whether the predictions vary too much or too little."""
    guess = comparison.trial(comparison.recommended).predictions
    slope = calibration_slope(comparison.y, guess, comparison.units)
    if slope is None:
        return "All predictions are the same."
    found = (
        f"Where {comparison.recommended} predicts 1 more, the actual value is on "
        f"average {slope.value:.2f} ± {slope.error:.2f} (standard error) more"
    )
    if abs(slope.value - 1) <= 2 * slope.error:
        return f"{found}: the predictions can be taken at their word."
    if slope.value < 1:
        return f"{found}: the predictions vary more than they should."
    return f"{found}: the predictions vary less than they should."


def _plot_caption(comparison: Comparison, guess: NDArray[np.float64]) -> str:
    low, high = figures.shown_range(comparison.y, guess)
    inside = (np.minimum(comparison.y, guess) >= low) & (
        np.maximum(comparison.y, guess) <= high
    )
    outside = int((~inside).sum())
    rest = f" {outside:,} rows lie outside of the picture." if outside else ""
    return (
        f"Each row by the model that has not seen it: the prediction of "
        f"{comparison.recommended} and the actual value. On the line they are equal. "
        "Orange: the mean of the actual values by tenths of the predictions, with 95 % "
        f"intervals.{rest}"
    )


def _distribution_caption(y: NDArray[np.float64]) -> str:
    low, q05, median, q95, high = np.quantile(y, [0, 0.05, 0.5, 0.95, 1])
    n_values = len(np.unique(y))
    distinct = f" It takes {n_values} different values." if n_values <= 30 else ""
    return (
        f"The target (filled) and the predictions (line). The target is between "
        f"{number(low)} and {number(high)}, with median {number(median)}, mean "
        f"{number(y.mean())} and standard deviation {number(y.std())}; nine "
        f"rows in ten are between {number(q05)} and {number(q95)}.{distinct}"
    )
