"""Graphs of what rivals are made of: steps and regressions of scikit-learn."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from missfit.onnx_export.classes import probabilities, shares_of_scores
from missfit.onnx_export.graph import Value
from missfit.onnx_export.problems import ExportError, no_export_of
from missfit.onnx_export.rows import Rows
from missfit.onnx_export.targets import Target, predicted


@singledispatch
def transformed(step: Any, rows: Rows) -> Rows:
    """Return what a fitted step of a pipeline makes of rows."""
    raise no_export_of(step)


@transformed.register
def _(step: StandardScaler, rows: Rows) -> Rows:
    x = rows.x
    if step.mean_ is not None:
        x = x - step.mean_
    if step.scale_ is not None:
        x = x / step.scale_
    return Rows(x, rows.n_features)


@transformed.register
def _(step: SimpleImputer, rows: Rows) -> Rows:
    values = np.asarray(step.statistics_, dtype=float)
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise ExportError(
            f"SimpleImputer(missing_values={step.missing_values!r}) cannot be exported "
            "to ONNX; missing values must be NaN."
        )
    kept = np.flatnonzero(~np.isnan(values) | bool(step.keep_empty_features))
    values = np.where(np.isnan(values), 0.0, values)
    x = rows.filled(values).columns(kept)
    if step.indicator_ is None:
        return Rows(x, len(kept))
    flagged = step.indicator_.features_
    whole = rows.graph.joined([x, rows.mask.columns(flagged)])
    return Rows(whole, len(kept) + len(flagged))


@predicted.register(Ridge)
@predicted.register(RidgeCV)
@predicted.register(LinearRegression)
def _(model: Any, rows: Rows) -> Target:
    coef = np.atleast_2d(model.coef_)
    return Target(rows.x @ coef.T + np.atleast_1d(model.intercept_))


@predicted.register
def _(model: Pipeline, rows: Rows) -> Target:
    return predicted(model.steps[-1][1], _before_last(model, rows))


@probabilities.register
def _(model: Pipeline, rows: Rows) -> Value:
    return probabilities(model.steps[-1][1], _before_last(model, rows))


def _before_last(model: Pipeline, rows: Rows) -> Rows:
    """Return the rows as the last step of a pipeline meets them."""
    for _, step in model.steps[:-1]:
        rows = rows if step in (None, "passthrough") else transformed(step, rows)
    return rows


@probabilities.register
def _(model: LogisticRegression, rows: Rows) -> Value:
    return shares_of_scores(rows.x @ model.coef_.T + model.intercept_, model.classes_)
