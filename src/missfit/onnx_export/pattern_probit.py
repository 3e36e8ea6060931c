"""PatternProbit in a graph: a probit on the law of X that its predictor has learned."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators import (
    EMLR,
    PatternMixtureLR,
    PatternProbit,
    SelfMaskedLR,
)
from missfit.estimators.pattern_mixture_lr import CERTAIN
from missfit.onnx_export.classes import normalised, probabilities
from missfit.onnx_export.distributions import ndtr
from missfit.onnx_export.gaussian_law import Conditional, conditional
from missfit.onnx_export.graph import Value
from missfit.onnx_export.problems import no_export_of
from missfit.onnx_export.rows import Rows
from missfit.onnx_export.self_masking import masked_moments
from missfit.onnx_export.targets import component_shares


class _Index(NamedTuple):
    """slopes'X under each component, (n, K, t), and the components' shares, (n, 1, K).

    There is no share where there is one component.
    """

    mean: Value
    variance: Value
    share: Value | None = None


@singledispatch
def _index(model: Any, rows: Rows, slopes: NDArray[np.float64]) -> _Index:
    raise no_export_of(model)


@_index.register
def _(model: EMLR, rows: Rows, slopes: NDArray[np.float64]) -> _Index:
    law = model.feature_law()
    found = conditional(rows, [law], slopes / law.scale)
    return _Index(found.mean, found.variance)


@_index.register
def _(model: PatternMixtureLR, rows: Rows, slopes: NDArray[np.float64]) -> _Index:
    laws = [law for law, _ in model.laws()]
    found: Conditional = conditional(rows, laws, slopes / laws[0].scale)
    share = component_shares(model, rows, found.log_density)
    g = rows.graph
    kept = g.where(g.node("Greater", share, CERTAIN), share, 0.0)
    return _Index(found.mean, found.variance, kept.reshaped(0, 1, len(laws)))


@_index.register
def _(model: SelfMaskedLR, rows: Rows, slopes: NDArray[np.float64]) -> _Index:
    t = len(slopes)
    mean, variance = masked_moments(model, rows, slopes[:, model._used_])
    return _Index(mean.reshaped(0, 1, t), variance.reshaped(0, 1, t))


@probabilities.register
def _(model: PatternProbit, rows: Rows) -> Value:
    slopes = np.stack([one.slope for one in model.regressions_])
    intercept = np.array([one.intercept for one in model.regressions_])
    found = _index(model.estimator_, rows, slopes)
    tau = rows.graph.node("Sqrt", found.variance + 1.0)
    shares = ndtr((found.mean + intercept) / tau)
    if found.share is not None:
        shares = found.share @ shares
    return normalised(rows.graph, shares.reshaped(0, len(slopes)), len(slopes))
