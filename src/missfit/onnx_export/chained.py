"""MICELR in a graph: its chained regressions, one after another."""

from __future__ import annotations

import numpy as np

from missfit.estimators import MICELR
from missfit.estimators.chained_regressions import Chain
from missfit.onnx_export.graph import Value
from missfit.onnx_export.rows import Rows
from missfit.onnx_export.targets import Target, predicted


@predicted.register
def _(model: MICELR, rows: Rows) -> Target:
    used = np.flatnonzero(model._used_)
    intercept, coef = model._line_
    if not len(used):
        return Target(rows.repeated(np.asarray(intercept)))
    standard = (rows.x - model._shift_) / model._scale_
    own = Rows(standard, rows.n_features).take(used)
    filled = _imputed(own, Chain(*model._chain_))
    return Target(filled @ np.atleast_2d(coef).T + np.atleast_1d(intercept))


def _imputed(rows: Rows, chain: Chain) -> Value:
    """Return the rows with their missing values filled, as `Chain.impute` does."""
    g, filled = rows.graph, rows.filled(chain.start)
    bounded = np.isfinite(chain.bounds).all()
    here = [g.node("And", rows.missing, own) for own in np.eye(rows.n_features) == 1]
    for intercept, coef in zip(chain.intercept, chain.coef, strict=True):
        for j in chain.order:
            value = g.node("Gemm", filled, coef[j][:, None], intercept[j : j + 1])
            if bounded:
                value = g.node("Clip", value, *chain.bounds[:, j])
            filled = g.where(here[j], value, filled)
    return filled
