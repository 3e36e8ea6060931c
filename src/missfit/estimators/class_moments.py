"""Rows that stand for moments of features and class indicators, to fit a link to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.classes import LabelledRows
from missfit.moments.maps import AffineMaps
from missfit.moments.pattern_moments import PatternMoments

# Rows that stand for all, with at least one pair for each class in each pattern. A link
# to so many is .0001 of log-loss worse than to all rows of the same law.
N_ROWS = 20_000


class Likeness(NamedTuple):
    """Predictions (n, t) and the rows that they are of: masks, classes and weights."""

    prediction: NDArray[np.float64]
    rows: LabelledRows


def likeness(moments: PatternMoments, maps: AffineMaps, n_classes: int) -> Likeness:
    """Return rows with the moments of predictions f and classes in each pattern.

    In pattern m the moments give the share p_k of each class, the mean of f in it,
    which is E[f 1_k] / p_k, and the covariance of f, hence that within the classes::

        W = Cov(f) - sum_k p_k (mean_k - mean)(mean_k - mean)'

    Points drawn from N(mean_k, W), in pairs that mirror each other at mean_k, stand for
    the rows of class k. Sums of linear functions of f over the rows of a class are thus
    exact, and those of quadratic ones are so on average; beyond these f is taken to be
    Gaussian within a class of a pattern.

    Parameters
    ----------
    moments : PatternMoments
        Of X and the indicator of the second of two classes, or one for each of more.
    maps : AffineMaps
        Of the same indicators, for the patterns of the moments.
    n_classes : int
    """
    rng, parts = np.random.default_rng(0), []
    n_pairs = max(1, N_ROWS // (2 * len(moments) * n_classes))
    for block in moments.blocks():
        d, n = moments.n_features, block.count
        slopes = maps.coef[block.index]
        mean = maps.intercept[block.index]
        mean = mean + np.einsum("ptj,pj->pt", slopes, block.mean[:, :d])
        scatter = block.scatter / n[:, None, None]
        shares = np.clip(block.mean[:, d:], 0.0, 1.0)
        covariance = slopes @ scatter[:, :d, d:]  # of f and the indicators, (P, t, k)
        if n_classes == 2:
            shares = np.hstack([1 - shares, shares])
            covariance = np.concatenate([-covariance, covariance], axis=2)
        apart = covariance / np.maximum(shares, np.finfo(float).tiny)[:, None]
        apart = np.where(shares[:, None] > 0, apart, 0.0)  # of the means, from the mean
        within = slopes @ scatter[:, :d, :d] @ slopes.transpose(0, 2, 1)
        within = within - (apart * shares[:, None]) @ apart.transpose(0, 2, 1)
        centre = (mean[:, :, None] + apart).transpose(0, 2, 1)  # (P, K, t)
        half = rng.standard_normal((*centre.shape[:2], n_pairs, centre.shape[2]))
        half = half @ _roots(within)[:, None]
        points = centre[:, :, None] + np.concatenate([half, -half], axis=2)
        weight = (n[:, None] * shares / (2 * n_pairs))[:, :, None]
        parts.append((points, np.broadcast_to(weight, points.shape[:3])))
    return _as_rows(parts, moments.patterns, n_classes)


def joined(parts: list[Likeness]) -> Likeness:
    """Return the rows of all parts."""
    prediction, rows = zip(*parts, strict=True)
    columns = map(np.concatenate, zip(*rows, strict=True))
    return Likeness(np.concatenate(prediction), LabelledRows(*columns))


def _as_rows(parts: list, patterns: NDArray[np.bool_], n_classes: int) -> Likeness:
    """Return points (P, K, Q, t) and weights as rows, those of weight 0 left out."""
    points, weight = (np.concatenate(some) for some in zip(*parts, strict=True))
    there = weight > 0
    pattern, code, _ = np.nonzero(there)
    X = np.where(patterns[pattern], np.nan, 0.0)
    return Likeness(points[there], LabelledRows(X, code, weight[there]))


def _roots(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return symmetric roots of covariances; what rounding made negative is zero."""
    value, vectors = np.linalg.eigh(covariance)
    root = np.sqrt(np.maximum(value, 0.0))
    return (vectors * root[:, None]) @ vectors.transpose(0, 2, 1)
