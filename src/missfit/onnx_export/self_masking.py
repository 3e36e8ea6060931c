"""SelfMaskedLR in a graph: expectation propagation, repeated until it has settled."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators import SelfMaskedLR
from missfit.onnx_export.distributions import inverse_mills
from missfit.onnx_export.gaussian_law import conditional
from missfit.onnx_export.graph import Value
from missfit.onnx_export.rows import Rows
from missfit.onnx_export.targets import Target, predicted

MOST_SWEEPS = 100
# Prior standard deviations by which no mean may move in the last sweep. `predict` is
# content with 1e-8 and is that far from the limit; the graph does not add to it.
SETTLED = 1e-10
TINY = np.finfo(float).tiny


class _Curve(NamedTuple):
    """The masking curve Phi(bias + slope x) of a feature, in standard units."""

    feature: int
    bias: float
    slope: float


class MaskedLaw(NamedTuple):
    """The law of the features given what is observed and what is not.

    Of those with a value at fit, in standard units: mean (n, d) and covariance
    (n, d, d), which has zeros where a feature is observed.
    """

    mean: Value
    cov: Value

    def moments(self, slopes: NDArray[np.float64]) -> tuple[Value, Value]:
        """Return the mean and variance of slopes'X, (n, t), of one at a time."""
        spreads = [self.cov.weighed(b).weighed(b).reshaped(-1, 1) for b in slopes]
        g = self.mean.graph
        return self.mean @ slopes.T, g.node("Max", g.joined(spreads), 0.0)


def masked_law(model: SelfMaskedLR, rows: Rows) -> MaskedLaw:
    """Return the law of the features of rows given the mask."""
    rows = rows.take(np.flatnonzero(model._used_))
    law, d = model._standard_, rows.n_features
    # the law of each missing feature given the observed ones, in standard units
    found = conditional(rows, [law], np.diag(1 / law.scale))
    mean, cov = found.mean.reshaped(0, d), found.covariance.reshaped(0, d, d)
    curves = [
        _Curve(j, float(bias), float(slope))
        for j, (bias, slope) in enumerate(zip(*model._curves_, strict=True))
        if slope != 0
    ]
    if not curves:
        return MaskedLaw(mean, cov)
    spread = rows.graph.node("Sqrt", found.variance.reshaped(0, d))
    return MaskedLaw(*_given_mask(mean, cov, spread, curves, d))


@predicted.register
def _(model: SelfMaskedLR, rows: Rows) -> Target:
    law = model._standard_
    coef = np.atleast_2d(model.coef_)[:, model._used_]
    mean, variance = masked_law(model, rows).moments(coef * law.scale)
    offset = np.atleast_1d(model.intercept_) + coef @ law.shift
    return Target(mean + offset, variance + model._residual_variance_)


def _given_mask(
    mean: Value, cov: Value, spread: Value, curves: list[_Curve], n_features: int
) -> tuple[Value, Value]:
    """Return the law of the missing features given that they are missing.

    As `missfit.gaussian.conditional.probit_posterior`. An observed feature has no
    variance left, so that its site changes nothing.
    """
    nothing = mean.columns([0]) @ np.zeros((1, len(curves)))
    step = partial(_sweep, curves, n_features, SETTLED * spread + TINY)
    start = [mean, cov, nothing, nothing]
    mean, cov, *_ = mean.graph.repeated(MOST_SWEEPS, start, step)
    return mean, cov


def _sweep(
    curves: list[_Curve], d: int, enough: Value, state: list[Value]
) -> tuple[Value, list[Value]]:
    """Return whether to go on after one sweep over the sites, and the law after it."""
    mean, cov, tau, nu = state
    g, before, sizes = mean.graph, mean, [1] * len(curves)
    taus, nus = tau.split(*sizes), nu.split(*sizes)
    for k, curve in enumerate(curves):
        column = cov.columns([curve.feature])  # (n, d, 1)
        across, flat = column.reshaped(0, 1, d), column.reshaped(0, d)
        at, variance = mean.columns([curve.feature]), flat.columns([curve.feature])
        site = _site(at, variance, taus[k], nus[k], curve)
        more_tau, more_nu = site[0] - taus[k], site[1] - nus[k]
        gain = 1.0 / (1.0 + more_tau * variance)
        mean = mean + (more_nu - more_tau * at) * gain * flat
        cov = cov - (more_tau * gain).reshaped(0, 1, 1) * (column * across)
        taus[k], nus[k] = site
    moved = g.node("Greater", g.node("Abs", mean - before), enough)
    number = g.node("ReduceSum", moved.as_type("float64"), keepdims=0)
    go_on = g.node("Greater", number, 0.0)
    return go_on, [mean, cov, g.joined(taus), g.joined(nus)]


def _site(
    mean: Value, variance: Value, tau: Value, nu: Value, curve: _Curve
) -> tuple[Value, Value]:
    """Return the site of a feature, as `missfit.gaussian.conditional.probit_site`."""
    g, bias, slope = mean.graph, curve.bias, curve.slope
    rest = 1.0 - tau * variance
    v = variance / rest
    mu = (mean - nu * variance) / rest
    spread = 1.0 + slope**2 * v
    root = g.node("Sqrt", spread)
    r = (bias + slope * mu) / root
    rho = inverse_mills(r)
    inside = g.node("Min", g.node("Max", rho * (r + rho), 0.0), 1.0)
    kappa = slope**2 / spread * inside
    new_tau = kappa / (1.0 - kappa * v)
    return new_tau, mu * new_tau + slope * rho / root * (1.0 + v * new_tau)
