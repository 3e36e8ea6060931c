"""Graphs of regressors: one function for each kind of predictor.

`predicted` asks for the kind of a fitted model and writes its formula, the one of its
own ``predict``, for any row.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from missfit.estimators import (
    EMLR,
    ConditionalImputedLR,
    ConstantImputedLR,
    ExpandedLR,
    FactorizedLR,
    PartialPooling,
    PatternMixtureLR,
)
from missfit.estimators.pattern_mixture_lr import CERTAIN
from missfit.onnx_export.gaussian_law import conditional
from missfit.onnx_export.graph import Value
from missfit.onnx_export.patterns import evaluated, of_pattern
from missfit.onnx_export.problems import ExportError, no_export_of
from missfit.onnx_export.rows import Rows


class Target(NamedTuple):
    """What a graph says of the targets: their mean, (n, t), and variance if known."""

    mean: Value
    variance: Value | None = None


@singledispatch
def predicted(model: Any, rows: Rows) -> Target:
    """Return what a fitted regressor predicts for rows."""
    raise no_export_of(model)


@predicted.register
def _(model: EMLR, rows: Rows) -> Target:
    law, coef = model.feature_law(), np.atleast_2d(model.coef_)
    found = conditional(rows, [law], coef)
    offset = np.atleast_1d(model.intercept_) + coef @ law.shift
    left = found.variance + model._residual_variance_
    return Target(_first(found.mean, coef) + offset, _first(left, coef))


@predicted.register
def _(model: ConditionalImputedLR, rows: Rows) -> Target:
    law, coef = model._law_, np.atleast_2d(model.coef_)
    mean = _first(conditional(rows, [law], coef).mean, coef)
    offset = np.atleast_1d(model.intercept_) + coef @ law.shift
    return Target(mean + rows.mask @ np.atleast_2d(model.mask_coef_).T + offset)


def _first(value: Value, coef: np.ndarray) -> Value:
    """Drop the axis of the laws where there is one, (n, 1, t)."""
    return value.reshaped(0, len(coef))


@predicted.register
def _(model: ConstantImputedLR, rows: Rows) -> Target:
    coef, mask_coef = np.atleast_2d(model.coef_), np.atleast_2d(model.mask_coef_)
    mean = rows.filled() @ coef.T + rows.mask @ mask_coef.T
    return Target(mean + np.atleast_1d(model.intercept_))


@predicted.register
def _(model: FactorizedLR, rows: Rows) -> Target:
    t, d = model.zeta_coef_.shape[1:]
    # a subset counts where none of its features is observed
    outside = rows.seen @ model.subsets_.T.astype(float)
    inside = rows.graph.node("Equal", outside, 0.0).as_type("float64")
    slopes = (inside @ model.zeta_coef_.reshape(-1, t * d)).reshaped(0, t, d)
    gap = rows.graph.where(rows.missing, 0.0, rows.x - model.centre_)
    value = (slopes * gap.reshaped(0, 1, d)).summed(d)
    return Target(value + inside @ model.zeta_intercept_)


@predicted.register
def _(model: ExpandedLR, rows: Rows) -> Target:
    own = evaluated(rows, model._maps_seen_)
    if model.fallback_ is None:
        other: Any = np.atleast_1d(model.intercept_)
    else:
        _refuse_averaged(model.fallback_)
        other = predicted(model.fallback_, rows).mean
    return Target(rows.graph.where(own.known, own.value, other))


def _refuse_averaged(fallback: Any) -> None:
    """Refuse a mixture behind ExpandedLR, which asks it for its averaged maps."""
    if isinstance(fallback, PatternMixtureLR) and fallback.n_components_ > 1:
        raise ExportError(
            "ExpandedLR with a PatternMixtureLR of several components as its fallback "
            "cannot be exported to ONNX. Give another fallback, such as "
            "ConstantImputedLR(), or export the PatternMixtureLR itself."
        )


@predicted.register
def _(model: PartialPooling, rows: Rows) -> Target:
    mean = predicted(model.estimator_, rows).mean
    if not len(model.corrections_.patterns):
        return Target(mean)
    return Target(mean + evaluated(rows, model.corrections_).value)


@predicted.register
def _(model: PatternMixtureLR, rows: Rows) -> Target:
    laws, coef = [law for law, _ in model.laws()], np.atleast_2d(model.coef_)
    found = conditional(rows, laws, coef)
    share = component_shares(model, rows, found.log_density)
    offset = np.atleast_1d(model.intercept_) + coef @ laws[0].shift
    weight = share.reshaped(0, 1, len(laws))
    mean = weight @ found.mean
    gap = found.mean - mean
    inner = found.variance + np.atleast_1d(model.residual_variance_)
    variance = weight @ (inner + gap * gap)
    return Target(_first(mean, coef) + offset, _first(variance, coef))


def component_shares(model: PatternMixtureLR, rows: Rows, log_density: Value) -> Value:
    """Return the probability of each component for each row, (n, K)."""
    prior = np.concatenate([model.responsibilities_, model.weights_[None]])
    certain = prior.max(axis=1, keepdims=True) >= 1 - CERTAIN
    with np.errstate(divide="ignore"):
        tables = np.hstack([prior, np.log(prior)])
    k = len(model.weights_)
    own = of_pattern(rows, model.patterns_, tables[:-1], tables[-1])
    share, log_share = own.split(k, k)
    known = of_pattern(rows, model.patterns_, certain[:-1], certain[-1])
    g = rows.graph
    weighed = g.node("Softmax", log_share + log_density, axis=-1)
    return g.where(known, share, weighed)
