"""Prediction intervals in a graph: half a width for each pattern that is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators import ConformalRegressor
from missfit.moments.patterns import all_patterns, group_rows
from missfit.onnx_export.graph import Value
from missfit.onnx_export.patterns import of_pattern
from missfit.onnx_export.problems import ExportError
from missfit.onnx_export.rows import Rows

# Variables of which all patterns are tabulated, seen or not: 1,024 of them take about
# a second with the default predictor.
FEW_VARIABLES = 10


class Ends(NamedTuple):
    """The ends of intervals, (n,) each."""

    lower: Value
    upper: Value


def interval(
    model: ConformalRegressor,
    rows: Rows,
    mean: Value,
    known: NDArray[np.bool_],
    variables: NDArray[np.intp],
) -> Ends:
    """Return the intervals about a mean, (n, 1).

    The width of a pattern's interval is known for the patterns seen, and for all of
    them where variables are few. It takes predictions of calibration rows to tell it
    for others: there the interval is infinite, as wherever too few rows calibrate.
    """
    patterns = _tabulated(model, known, variables)
    width = half_widths(model, patterns)
    half = of_pattern(rows, patterns, width[:, None], np.array([np.inf]))
    center, half = mean.reshaped(-1), half.reshaped(-1)
    return Ends(center - half, center + half)


def half_widths(
    model: ConformalRegressor, patterns: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return half the width of the interval of each pattern."""
    if model.method == "nested":
        raise ExportError(
            "the intervals of ConformalRegressor(method='nested') are not symmetric "
            "about the prediction and cannot be exported to ONNX. Use method='auto', "
            "or export its estimator_ alone."
        )
    return model.half_widths(patterns, (model.alpha,))[0][0]


def _tabulated(
    model: ConformalRegressor, known: NDArray[np.bool_], variables: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return the patterns of the columns whose widths are written down."""
    n_variables = int(variables.max()) + 1
    if n_variables <= FEW_VARIABLES:
        return group_rows(all_patterns(n_variables)[:, variables]).patterns
    seen = np.isnan(np.asarray(model.calibration_rows_, dtype=float))
    return group_rows(np.concatenate([seen, known])).patterns
