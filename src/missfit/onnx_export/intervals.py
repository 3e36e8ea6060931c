"""Intervals and sets of classes in a graph: a threshold for each pattern known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators import ConformalClassifier, ConformalRegressor
from missfit.moments.patterns import all_patterns, group_rows
from missfit.onnx_export.graph import Value
from missfit.onnx_export.patterns import of_pattern
from missfit.onnx_export.problems import ExportError
from missfit.onnx_export.rows import Rows

# Variables of which all patterns are tabulated, seen or not: 1,024 of them take about
# a second with the default predictor.
FEW_VARIABLES = 10


# A class whose score is the threshold belongs to the set, and rounding must not push it
# out: thresholds are scores of calibration rows, which come to be predicted too.
SLACK = 1e-12


class Ends(NamedTuple):
    """The ends of intervals, (n,) each."""

    lower: Value
    upper: Value


class Seen(NamedTuple):
    """Patterns of the variables seen at fit, and the variable of each column."""

    patterns: NDArray[np.bool_]
    variables: NDArray[np.intp]


def interval(model: ConformalRegressor, rows: Rows, mean: Value, seen: Seen) -> Ends:
    """Return the intervals about a mean, (n, 1).

    The width of a pattern's interval is known for the patterns seen, and for all of
    them where variables are few. It takes predictions of calibration rows to tell it
    for others: there the interval is infinite, as wherever too few rows calibrate.
    """
    if model.method == "nested":
        raise ExportError(
            "the intervals of ConformalRegressor(method='nested') are not symmetric "
            "about the prediction and cannot be exported to ONNX. Use method='auto', "
            "or export its estimator_ alone."
        )
    patterns = _tabulated(model, seen)
    width = model.half_widths(patterns, (model.alpha,))[0][0]
    half = of_pattern(rows, patterns, width[:, None], np.array([np.inf]))
    center, half = mean.reshaped(-1), half.reshaped(-1)
    return Ends(center - half, center + half)


def class_sets(
    model: ConformalClassifier, rows: Rows, shares: Value, seen: Seen
) -> Value:
    """Return which classes are in the set of each row, (n, K).

    All of them for a pattern whose threshold is not known, as in `interval`.
    """
    g, patterns = rows.graph, _tabulated(model, seen)
    threshold = model.thresholds(patterns, (model.alpha,))[0][0]
    own = of_pattern(rows, patterns, threshold[:, None], np.array([np.inf]))
    sets = g.node("LessOrEqual", 1.0 - shares, own + SLACK)
    if model.allow_empty:
        return sets
    best = g.node("ArgMax", shares, axis=-1, keepdims=1)
    places = np.arange(len(model.classes_), dtype=np.int64)
    return g.node("Or", sets, g.node("Equal", best, places))


def _tabulated(
    model: ConformalRegressor | ConformalClassifier, seen: Seen
) -> NDArray[np.bool_]:
    """Return the patterns of the columns whose thresholds are written down."""
    n_variables = int(seen.variables.max()) + 1
    if n_variables <= FEW_VARIABLES:
        return group_rows(all_patterns(n_variables)[:, seen.variables]).patterns
    rows = np.isnan(np.asarray(model.calibration_rows_, dtype=float))
    known = seen.patterns[:, seen.variables]
    return group_rows(np.concatenate([rows, known])).patterns
