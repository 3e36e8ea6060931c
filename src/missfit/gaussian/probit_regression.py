"""Regression of a latent target on features that are known through their law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri

from missfit.gaussian.expected_features import ExpectedFeatures
from missfit.gaussian.probit import inverse_mills

RULED_OUT = -50.0  # the evidence for a component that x has ruled out
STRENGTH_ROUNDS = 8
SAME_STRENGTH = 0.1  # the logarithm of a ratio of strengths that changes no prediction
MOST_SLOPE_ROWS = 1e6  # no slope is left
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
    start: LatentRegression | None = None,
) -> LatentRegression:
    """Maximise sum_i w_i log P(label_i) - slope_rows / 2 |b|^2 over b0 and b.

    The law of X is given, so that there are d + 1 numbers to find: quasi-Newton steps
    (L-BFGS), by default from slopes of zero.
    """
    sign = np.where(label, 1.0, -1.0)
    start = _flat(parts[0].mean.shape[1], label, weight) if start is None else start

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

    begin = np.r_[start.intercept, start.slope]
    found = minimize(loss, begin, jac=True, method="L-BFGS-B").x
    return LatentRegression(float(found[0]), found[1:])


def _flat(d: int, label: NDArray[np.bool_], weight: NDArray) -> LatentRegression:
    """Return slopes of zero, with the share of the label."""
    share = float(np.clip(np.average(label, weights=weight), RARE, 1 - RARE))
    return LatentRegression(float(ndtri(share)), np.zeros(d))


def probable_regression(
    parts: Sequence[ExpectedFeatures],
    label: NDArray[np.bool_],
    weight: NDArray[np.float64],
    least_rows: float,
) -> LatentRegression:
    """Return the regression whose ``slope_rows`` make the labels most probable.

    With slopes b ~ N(0, I / a) the evidence for a, by a Gaussian law of b around its
    best value, is greatest where a |b|^2 is the number of slopes that the labels tell,
    d - a tr((F + a I)^-1) with their Fisher information F (MacKay 1992, Bayesian
    interpolation): a few rounds of fits and of this rule, from the least number of rows
    on.
    """
    rows = least_rows
    found = latent_regression(parts, label, weight, rows)
    for _ in range(STRENGTH_ROUNDS):
        before, size = rows, float(found.slope @ found.slope)
        told = np.linalg.eigvalsh(_information(parts, found, weight))
        n_told = float((told / (told + rows)).sum())
        rows = max(least_rows, n_told / size if size else MOST_SLOPE_ROWS)
        rows = min(rows, MOST_SLOPE_ROWS)
        if abs(np.log(rows / before)) < SAME_STRENGTH:
            break
        found = latent_regression(parts, label, weight, rows, found)
    return found


def _information(
    parts: Sequence[ExpectedFeatures], law: LatentRegression, weight: NDArray
) -> NDArray[np.float64]:
    """Return the Fisher information of the slopes, given the best intercept."""
    n, d = len(weight), len(law.slope)
    above = np.ones(n)
    share, pull = np.zeros(n), np.zeros((n, d + 1))
    for part in parts:
        index = _index(part, law, above)
        density = np.exp(-(index.value**2) / 2) / np.sqrt(2 * np.pi)
        rate = part.weight * density / index.tau
        flatter = index.value / index.tau
        share[part.rows] += part.weight * ndtr(index.value)
        pull[part.rows, 0] += rate
        way = part.mean - flatter[:, None] * index.pull[part.group]
        pull[part.rows, 1:] += rate[:, None] * way
    spread = np.maximum(share * (1 - share), RARE)
    every = (pull * (weight / spread)[:, None]).T @ pull
    return every[1:, 1:] - np.outer(every[0, 1:], every[0, 1:]) / every[0, 0]


def _gradient(part: ExpectedFeatures, index: _Index, weight, sign):
    """Return the sum over rows of weight times the slope of log Phi(index)."""
    rate = weight * inverse_mills(index.value)
    straight = rate * sign / index.tau
    flatter = rate * index.value / index.tau**2
    by_group = np.bincount(part.group, flatter, len(part.cov))
    return np.r_[straight.sum(), straight @ part.mean - by_group @ index.pull]
