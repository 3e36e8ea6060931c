"""Regression of a latent target on features that are known through their law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr, logsumexp, ndtri

from missfit.gaussian.expected_features import ExpectedFeatures
from missfit.gaussian.probit import inverse_mills

RULED_OUT = -50.0  # the evidence for a component that x has ruled out
RARE = 1e-9  # no label is held to be rarer than this at the start


class LatentRegression(NamedTuple):
    """The latent target is intercept + slope'X + N(0, 1), in the units of the law."""

    intercept: float
    slope: NDArray[np.float64]


class _Index(NamedTuple):
    """s (b0 + b'E[X]) / tau of the rows of a component, and what its slope needs."""

    value: NDArray[np.float64]
    tau: NDArray[np.float64]
    pull: NDArray[np.float64]  # Cov(X) b of each group


def _index(part: ExpectedFeatures, law: LatentRegression, sign: NDArray) -> _Index:
    pull = part.cov @ law.slope
    tau = np.sqrt(1 + np.maximum(pull @ law.slope, 0.0))[part.group]
    linear = law.intercept + part.mean @ law.slope
    return _Index(sign[part.rows] * linear / tau, tau, pull)


def log_shares(
    parts: Sequence[ExpectedFeatures], law: LatentRegression, sign: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the logarithm of P(the latent target has the sign) of each row.

    It is P = sum_k w_k Phi(s (b0 + b'E_k[X]) / tau_k), tau_k^2 = 1 + b'Cov_k(X) b.
    """
    terms = _terms(parts, [_index(part, law, sign) for part in parts], len(sign))
    return np.asarray(logsumexp(terms, axis=1))


def evidence(
    parts: Sequence[ExpectedFeatures], law: LatentRegression, sign: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log P(the sign | component k) of each row, where x does not rule k out."""
    found = np.full((len(sign), len(parts)), RULED_OUT)
    for k, part in enumerate(parts):
        found[part.rows, k] = log_ndtr(_index(part, law, sign).value)
    return found


def _terms(parts, indices: list[_Index], n: int) -> NDArray[np.float64]:
    """Return log w_k Phi(index) of each row and component."""
    terms = np.full((n, len(parts)), -np.inf)
    for k, (part, index) in enumerate(zip(parts, indices, strict=True)):
        terms[part.rows, k] = np.log(part.weight) + log_ndtr(index.value)
    return terms


def latent_regression(
    parts: Sequence[ExpectedFeatures],
    label: NDArray[np.bool_],
    weight: NDArray[np.float64],
    slope_rows: float,
) -> LatentRegression:
    """Maximise sum_i w_i log P(label_i) - slope_rows / 2 |b|^2 over b0 and b.

    The law of X is given, so that there are d + 1 numbers to find: quasi-Newton steps
    (L-BFGS) from slopes of zero.
    """
    sign = np.where(label, 1.0, -1.0)
    share = float(np.clip(np.average(label, weights=weight), RARE, 1 - RARE))
    d = parts[0].mean.shape[1]

    def loss(vector: NDArray) -> tuple[float, NDArray[np.float64]]:
        law = LatentRegression(float(vector[0]), vector[1:])
        indices = [_index(part, law, sign) for part in parts]
        terms = _terms(parts, indices, len(sign))
        log_share = np.asarray(logsumexp(terms, axis=1))
        belongs = np.exp(terms - log_share[:, None])
        slope = np.r_[0.0, slope_rows * law.slope]
        for k, (part, index) in enumerate(zip(parts, indices, strict=True)):
            of_row = (weight * belongs[:, k])[part.rows]
            slope -= _gradient(part, index, of_row, sign[part.rows])
        height = weight @ log_share - slope_rows / 2 * law.slope @ law.slope
        return -float(height), slope

    start = np.r_[float(ndtri(share)), np.zeros(d)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return LatentRegression(float(found[0]), found[1:])


def _gradient(part: ExpectedFeatures, index: _Index, weight, sign):
    """Return the sum over rows of weight times the slope of log Phi(index)."""
    rate = weight * inverse_mills(index.value)
    straight = rate * sign / index.tau
    flatter = rate * index.value / index.tau**2
    by_group = np.bincount(part.group, flatter, len(part.cov))
    return np.r_[straight.sum(), straight @ part.mean - by_group @ index.pull]
