"""Regression of a latent target on features that are known through their law."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp, ndtri

from missfit.gaussian.expected_features import ExpectedFeatures
from missfit.gaussian.scoring import LEAST_GAIN, MOST_STEPS, Place, higher, top

RULED_OUT = -50.0  # the evidence for a component that x has ruled out
NEAR = 0.5  # of log-likelihood that a step gains, from which on slopes tell their ridge
START_ROWS = 5_000  # that tell where the search begins, where there are many more
SAME_STRENGTH = 0.1  # the logarithm of a ratio of strengths that changes no prediction
MOST_SLOPE_ROWS = 1e6  # no slope is left
CERTAIN = 1e-12  # no label counts as less improbable in the information, for rounding
SURPRISED = 500.0  # nor a log-likelihood as lower, whose exponential is too large
LOG_ROOT_TWO_PI = np.log(2 * np.pi) / 2
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
    return _log_sums(terms)


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

    The law of X is given, so that there are d + 1 numbers to find: Fisher scoring, from
    slopes of zero.
    """
    view = _View(parts, np.where(label, 1.0, -1.0), weight)
    held = _held(slope_rows, parts)
    found = top(partial(view.held_at, held), _flat(parts, label, weight))
    return _law(found.point)


def _law(point: NDArray[np.float64]) -> LatentRegression:
    return LatentRegression(float(point[0]), point[1:])


def _flat(parts, label: NDArray[np.bool_], weight: NDArray) -> NDArray[np.float64]:
    """Return slopes of zero after the intercept, which has the share of the label."""
    share = float(np.clip(np.average(label, weights=weight), RARE, 1 - RARE))
    return np.append(ndtri(share), np.zeros(parts[0].mean.shape[1]))


def _held(slope_rows: float, parts) -> NDArray[np.float64]:
    """Return the pseudo-rows of the intercept, none, and of each slope."""
    return np.append(0.0, np.full(parts[0].mean.shape[1], slope_rows))


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
    interpolation). The rule is followed after each step near the top, from the least
    number of rows on. Labels that are all the same tell nothing but their share.
    """
    start = _flat(parts, label, weight)
    counted = label[weight > 0]
    if counted.all() or not counted.any():  # the best intercept would be infinite
        return _law(start)
    view = _View(parts, np.where(label, 1.0, -1.0), weight)
    if len(label) > 2 * START_ROWS:
        start = np.append(*rough_regression(parts, label, weight, least_rows))
    rows, here = least_rows, view.at(start)
    for _ in range(MOST_STEPS):
        held = _held(rows, parts)
        there, gain = higher(partial(view.held_at, held), here.held(held))
        here = there.held(-held)
        if gain < NEAR:
            before, rows = rows, max(least_rows, _probable_rows(here, rows))
            if gain < LEAST_GAIN and abs(np.log(rows / before)) < SAME_STRENGTH:
                break
    return _law(here.point)


def rough_regression(
    parts: Sequence[ExpectedFeatures],
    label: NDArray[np.bool_],
    weight: NDArray[np.float64],
    least_rows: float,
) -> LatentRegression:
    """Return the probable regression of `START_ROWS` to twice as many of the rows."""
    step = max(1, len(label) // START_ROWS)
    return probable_regression(*_every(parts, label, weight, step), least_rows)


def _every(parts, label: NDArray, weight: NDArray, step: int):
    """Return every so many rows as parts, labels and weights."""
    some = []
    for part in parts:
        kept = part.rows % step == 0
        group, place = np.unique(part.group[kept], return_inverse=True)
        rows, own, mean = part.rows[kept] // step, part.weight[kept], part.mean[kept]
        some.append(ExpectedFeatures(rows, own, mean, part.cov[group], place))
    return some, label[::step], weight[::step]


def _probable_rows(place: Place, rows: float) -> float:
    """Return the ``slope_rows`` that a fit with some of them makes most probable."""
    every = place.information
    slopes = every[1:, 1:] - np.outer(every[0, 1:], every[0, 1:]) / every[0, 0]
    told = np.maximum(np.linalg.eigvalsh(slopes), 0.0)
    size = float(place.point[1:] @ place.point[1:])
    n_told = float((told / (told + rows)).sum())
    return min(n_told / size if size else MOST_SLOPE_ROWS, MOST_SLOPE_ROWS)


class _View(NamedTuple):
    """Labelled rows, from which the log-likelihood of a regression is seen."""

    parts: Sequence[ExpectedFeatures]
    sign: NDArray[np.float64]  # 1 or -1, of each row
    weight: NDArray[np.float64]

    def at(self, point: NDArray[np.float64]) -> Place:
        """Return the height of a regression, its slope and the Fisher information."""
        log_share, scores = self._scores(_law(point))
        # the score of the other label is -p / (1 - p) times that of the row's own
        odds = 1 / np.maximum(np.expm1(np.minimum(-log_share, SURPRISED)), CERTAIN)
        information = (scores * (self.weight * odds)[:, None]).T @ scores
        height = float(self.weight @ log_share)
        return Place(point, height, self.weight @ scores, information)

    def held_at(self, rows: NDArray, point: NDArray[np.float64]) -> Place:
        """Return the same where numbers are pulled to zero by pseudo-rows."""
        return self.at(point).held(rows)

    def _scores(self, law: LatentRegression):
        """Return log P(label) of each row, and its slope in b0 and b."""
        indices = [_index(part, law, self.sign) for part in self.parts]
        terms = _terms(self.parts, indices, len(self.sign))
        log_share = np.asarray(_log_sums(terms))
        scores = np.zeros((len(self.sign), len(law.slope) + 1))
        for part, index in zip(self.parts, indices, strict=True):
            log_rate = np.log(part.weight / index.tau) - index.value**2 / 2
            rate = np.exp(log_rate - LOG_ROOT_TWO_PI - log_share[part.rows])
            flatter = rate * index.value / index.tau
            rate *= self.sign[part.rows]
            way = np.take(-index.pull, part.group, axis=0)
            way *= flatter[:, None]
            way += rate[:, None] * part.mean
            rows = slice(None) if len(part.rows) == len(scores) else part.rows
            scores[rows, 0] += rate
            scores[rows, 1:] += way
        return log_share, scores


def _log_sums(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the sum of the exponentials of each row."""
    return terms[:, 0] if terms.shape[1] == 1 else np.asarray(logsumexp(terms, axis=1))
