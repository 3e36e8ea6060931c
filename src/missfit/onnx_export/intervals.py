"""Intervals and sets of classes in a graph: a threshold for each pattern known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators import ConformalClassifier, ConformalRegressor
from missfit.estimators.calibration import TIED
from missfit.moments.patterns import all_patterns, group_rows
from missfit.onnx_export.graph import Value
from missfit.onnx_export.patterns import of_pattern
from missfit.onnx_export.problems import ExportError
from missfit.onnx_export.rows import Rows

# Variables of which all patterns are tabulated, seen or not: 1,024 of them take about
# a second with the default predictor.
FEW_VARIABLES = 10
# Patterns that are tabulated beside those seen where variables are more: they take two
# seconds, and 16 bytes each in the file.
MOST_NEAR = 2_000


class Ends(NamedTuple):
    """The ends of intervals, (n,) each."""

    lower: Value
    upper: Value


class Seen(NamedTuple):
    """Patterns of the variables seen at fit, and the variable of each column."""

    patterns: NDArray[np.bool_]
    variables: NDArray[np.intp]

    @property
    def n_variables(self) -> int:
        """Return the number of variables."""
        return int(self.variables.max()) + 1

    @property
    def are_few(self) -> bool:
        """Return whether the variables are so few that all patterns are tabulated."""
        return self.n_variables <= FEW_VARIABLES


def interval(model: ConformalRegressor, rows: Rows, mean: Value, seen: Seen) -> Ends:
    """Return the intervals about a mean, (n, 1).

    The width of a pattern's interval is known for the patterns seen and for those near
    them, and for all of them where variables are few. It takes predictions of
    calibration rows to tell it for others: there the interval is infinite, as wherever
    too few rows calibrate.
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
    threshold = model.thresholds(patterns, (model.alpha,)).value[0]
    own = of_pattern(rows, patterns, threshold[:, None], np.array([np.inf]))
    sets = g.node("LessOrEqual", 1.0 - shares, own + TIED)
    if model.allow_empty:
        return sets
    best = g.node("ArgMax", shares, axis=-1, keepdims=1)
    places = np.arange(len(model.classes_), dtype=np.int64)
    return g.node("Or", sets, g.node("Equal", best, places))


def _tabulated(
    model: ConformalRegressor | ConformalClassifier, seen: Seen
) -> NDArray[np.bool_]:
    """Return the patterns of the columns whose thresholds are written down."""
    if seen.are_few:
        every = all_patterns(seen.n_variables)
        return group_rows(every[:, seen.variables]).patterns
    rows = np.isnan(np.asarray(model.calibration_rows_, dtype=float))
    first = np.unique(seen.variables, return_index=True)[1]
    near = near_patterns(np.concatenate([rows[:, first], seen.patterns]))
    known = np.concatenate([seen.patterns, near])[:, seen.variables]
    return group_rows(np.concatenate([rows, known])).patterns


def near_patterns(seen: NDArray[np.bool_], most: int = MOST_NEAR) -> NDArray[np.bool_]:
    """Return the pattern of nothing observed, and those with one variable more missing.

    More than the patterns that were seen, of the rows that are given: those near the
    most frequent ones first.

    >>> near_patterns(np.array([[True, False], [False, False]])).astype(int).tolist()
    [[1, 1], [0, 1]]
    """
    groups = group_rows(seen)
    order = np.argsort(-groups.n_rows, kind="stable")
    found = [np.ones((1, seen.shape[1]), dtype=bool)]
    n_found, known = 1, set(map(bytes, groups.patterns))
    known.add(bytes(found[0]))
    for pattern in groups.patterns[order]:
        further = pattern | np.eye(len(pattern), dtype=bool)[~pattern]
        new = np.array([bytes(one) not in known for one in further], dtype=bool)
        known.update(map(bytes, further))
        found.append(further[new])
        n_found += int(new.sum())
        if n_found >= most:
            break
    return np.concatenate(found)[:most]
