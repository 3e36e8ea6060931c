"""SelfMaskedLR in a graph: expectation propagation, repeated until it has settled."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators import SelfMaskedLR
from missfit.onnx_export.distributions import inverse_mills
from missfit.onnx_export.gaussian_law import conditional_by_inverse
from missfit.onnx_export.graph import Value
from missfit.onnx_export.rows import Rows
from missfit.onnx_export.targets import Target, predicted

# `predict` renews one site after another, a graph all of them at once, by one inverse:
# 50 operators for all in place of 68 for each. The limit is the same. It takes 6 sweeps
# of the paper's settings, and 10 to 16 (39 at most) of star_math3 and nhanes_sbp; with
# 20 features of correlation 0.9999 and slopes of 30 there were 28 at most.
MOST_SWEEPS = 100
# Prior standard deviations by which no mean may move in the last sweep, as in `predict`
SETTLED = 1e-10
TINY = np.finfo(float).tiny


class _Prior(NamedTuple):
    """The law of K values z_j = bias_j + slope_j x_j before their masks are known.

    Feature j is missing with the probability Phi(z_j). One that is observed has no
    variance left, so that its site changes nothing.
    """

    mean: Value  # (n, 1, K)
    cov: Value  # (n, K, K)
    ones: Value  # (n, 1, K)
    n_values: int

    def diagonal(self, factor: Value) -> Value:
        """Return the diagonal of cov times a matrix, (n, 1, K)."""
        # a product with a constant on its left fails in onnxruntime for no rows
        weighed = factor * self.cov
        return weighed.graph.node("MatMul", self.ones, weighed)


class _Sites(NamedTuple):
    """The Gaussian sites exp(nu z - tau z^2 / 2) in place of Phi(z), and what follows.

    The law of z is that of the prior times the sites, with the covariance cov inverse.
    """

    mean: Value  # (n, 1, K)
    variance: Value  # (n, 1, K)
    tau: Value  # (n, 1, K)
    nu: Value  # (n, 1, K)
    inverse: Value  # (n, K, K), of I + diag(tau) cov


def masked_moments(
    model: SelfMaskedLR, rows: Rows, slopes: NDArray[np.float64]
) -> tuple[Value, Value]:
    """Return the mean and variance of slopes'X, (n, t), given the values and the mask.

    Parameters
    ----------
    model : SelfMaskedLR
    rows : Rows
    slopes : ndarray of shape (t, d)
        Of the features with a value at fit, in standard units.
    """
    rows = rows.take(np.flatnonzero(model._used_))
    law, (bias, slope) = model._standard_, model._curves_
    features, t = np.flatnonzero(slope), len(slopes)
    k = len(features)
    curves = np.diag(slope)[features]
    both = np.concatenate([curves, slopes]) / law.scale
    mean, cov = conditional_by_inverse(rows, law, both)
    z, target = mean.split(k, t)
    above, below = cov.split(k, t, axis=-2)
    variance = (below.columns(range(k, k + t)) * np.eye(t)).summed(t)
    target = target.reshaped(0, t)
    if k:
        ones = rows.repeated(np.ones(k)).reshaped(0, 1, k)
        z = z + bias[features]
        sites = _settled(_Prior(z, above.columns(range(k)), ones, k))
        pull = below.columns(range(k))  # of the targets with the curves, (n, t, K)
        weights = pull @ sites.inverse
        gap = sites.nu - sites.tau * z
        target = target + (weights * gap).summed(k)
        variance = variance - (weights * sites.tau * pull).summed(k)
    return target, rows.graph.node("Max", variance, 0.0)


@predicted.register
def _(model: SelfMaskedLR, rows: Rows) -> Target:
    law = model._standard_
    coef = np.atleast_2d(model.coef_)[:, model._used_]
    mean, variance = masked_moments(model, rows, coef * law.scale)
    offset = np.atleast_1d(model.intercept_) + coef @ law.shift
    return Target(mean + offset, variance + model._residual_variance_)


def _settled(prior: _Prior) -> _Sites:
    """Return the sites that stand for the masks.

    As `missfit.gaussian.probit.probit_posterior`.
    """
    g = prior.mean.graph
    variance = prior.diagonal(g.constant(np.eye(prior.n_values)))
    deviation = g.node("Sqrt", g.node("Max", variance, 0.0))
    enough = SETTLED * deviation + TINY
    nothing = variance * 0.0
    start = _Sites(prior.mean, variance, nothing, nothing, prior.cov)
    step = partial(_sweep, prior, enough)
    return _Sites(*g.repeated(MOST_SWEEPS, start, step))


def _sweep(prior: _Prior, enough: Value, state: list[Value]) -> tuple[Value, _Sites]:
    """Return whether to go on after renewing all sites, and the state after it."""
    before = _Sites(*state)
    g, k = before.mean.graph, prior.n_values
    tau, nu = _renewed(before)
    inverse = (tau.reshaped(0, k, 1) * prior.cov + np.eye(k)).inverse()
    mean = (nu @ prior.cov + prior.mean) @ inverse
    moved = g.node("Abs", mean - before.mean) - enough
    go_on = g.node("Greater", g.node("ReduceMax", moved, keepdims=0), 0.0)
    return go_on, _Sites(mean, prior.diagonal(inverse), tau, nu, inverse)


def _renewed(sites: _Sites) -> tuple[Value, Value]:
    """Return the sites of Phi(z), as `missfit.gaussian.probit.probit_factor`.

    The cavity has the mean gap / rest and the variance variance / rest.
    """
    mean, variance, tau, nu, _ = sites
    g = mean.graph
    rest, gap = 1.0 - tau * variance, mean - nu * variance
    spread = rest + variance
    root = g.node("Sqrt", rest * spread)
    r = gap / root
    rho = inverse_mills(r)
    inside = g.node("Clip", rho * (r + rho), 0.0, 1.0)
    left = spread - variance * inside
    return inside * rest / left, (gap * inside + rho * root) / left
