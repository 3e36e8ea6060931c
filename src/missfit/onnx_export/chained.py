"""MICELR in a graph: its chained regressions, all features of a round at once.

A round of `Chain.impute` renews one feature after another: h = clip(base + L h), with L
the slopes on features renewed before in the same round, and base what follows from all
else. Renewing all features at once, again and again, ends at the same h after as many
steps as there are features, and sooner where the powers of L vanish.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators import MICELR
from missfit.estimators.chained_regressions import Chain
from missfit.onnx_export.graph import Value
from missfit.onnx_export.rows import Rows
from missfit.onnx_export.targets import Target, predicted

# What the steps of a round may leave out, in ranges of a feature
ENOUGH = 1e-14
# Steps of a round that are written one after another. More are repeated, so many at a
# time, until nothing moves: on nhanes_sbp a round could need 44 and takes 12 to 20.
MOST_WRITTEN, AT_A_TIME = 20, 6


class _Units(NamedTuple):
    """Features counted from a low value on, in units of a span.

    Where imputed values are bounded these are their bounds, which become 0 and 1.
    """

    low: NDArray[np.float64]
    span: NDArray[np.float64]
    varies: NDArray[np.bool_]  # a feature with one value is imputed by it, 0
    bounded: bool

    @classmethod
    def of(cls, chain: Chain) -> _Units:
        """Return the units of a chain; those of the data where it has no bounds."""
        low, high = chain.bounds
        if not np.isfinite(chain.bounds).all():
            return cls(np.zeros_like(low), np.ones_like(low), low < high, False)
        varies = low < high
        return cls(low, np.where(varies, high - low, 1.0), varies, True)

    def shares(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return differences of imputed values in these units, along the last axis."""
        return np.where(self.varies, value / self.span, 0.0)


class _Round(NamedTuple):
    """The slopes of one round: on features renewed before in it, and on the others."""

    before: NDArray[np.float64]
    after: NDArray[np.float64]

    def n_steps(self, bounded: bool) -> int:
        """Return how many steps renew all features as one after another would."""
        d = len(self.before)
        left, n_steps = np.ones(d), 0
        while n_steps < d and (left.max() > ENOUGH or not bounded):
            left, n_steps = np.abs(self.before).T @ left, n_steps + 1
        return n_steps


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
    g, units = rows.graph, _Units.of(chain)
    known = (rows.filled(units.low) - units.low) / units.span  # 0 of missing features
    h = rows.mask * units.shares(chain.start - units.low)  # 0 of observed features
    place = np.argsort(chain.order)
    earlier = place[:, None] < place  # of two features, which is renewed first
    for intercept, coef in zip(chain.intercept, chain.coef, strict=True):
        slopes = units.shares(units.span[:, None] * coef.T)
        own = _Round(np.where(earlier, slopes, 0.0), np.where(earlier, 0.0, slopes))
        offset = units.shares(intercept + coef @ units.low - units.low)
        base = g.node("Gemm", known + h, own.after, offset)
        base = g.node("Gemm", known, own.before, base)
        if units.bounded:  # -inf is clipped to 0, whatever is added
            base = g.where(rows.missing, base, -np.inf)
        h = _renewed(rows, own, base, h, units.bounded)
    return (known + h) * units.span + units.low


def _renewed(rows: Rows, own: _Round, base: Value, h: Value, bounded: bool) -> Value:
    """Return the imputed values after a round, from those before it."""
    step = partial(_step, rows, own.before, base, bounded)
    most = own.n_steps(bounded)
    if most <= MOST_WRITTEN or not bounded:
        for _ in range(most):
            h = step(h)
        return h
    (h,) = rows.graph.repeated(-(-most // AT_A_TIME), [h], partial(_steps, step))
    return h


def _step(
    rows: Rows, slopes: NDArray[np.float64], base: Value, bounded: bool, h: Value
) -> Value:
    told = h.graph.node("Gemm", h, slopes, base)
    return h.graph.node("Clip", told, 0.0, 1.0) if bounded else told * rows.mask


def _steps(step, state: list[Value]) -> tuple[Value, list[Value]]:
    """Return whether to go on after some steps, and the values after them."""
    before, h = state[0], state[0]
    for _ in range(AT_A_TIME):
        before, h = h, step(h)
    moved = h.graph.node("Abs", h - before)
    most = h.graph.node("ReduceMax", moved, keepdims=0)
    return h.graph.node("Greater", most, ENOUGH), [h]
