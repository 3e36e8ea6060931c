"""The choice of a ridge strength by cross-validated R2, from moments alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.moment_splits import Split, total_moments
from missfit.moments.maps import AffineMaps
from missfit.moments.pattern_moments import PatternMoments, Points


class Choice(NamedTuple):
    """A ridge strength, and the cross-validated R2 of each (empty without splits)."""

    alpha: float
    scores: dict[float, float]


def choose_alpha(
    alphas: tuple[float, ...],
    splits: list[Split],
    path: Callable[[PatternMoments], Iterable[Callable[[NDArray], AffineMaps]]],
) -> Choice:
    """Choose the strength of the best mean R2 over the splits.

    ``path(train)`` yields, for each strength, a function from patterns to maps. Where a
    test part has no spread of its own, as a single row, the squared errors of all parts
    are pooled instead. Without splits the first strength is taken.
    """
    if len(alphas) == 1 or not splits:
        return Choice(alphas[0], {})
    errors, spreads = [], []
    for train, test in splits:
        points = test.points()
        maps = (model(test.patterns) for model in path(train))
        errors.append([squared_error(m, test, points) for m in maps])
        spreads.append(target_spread(test, points))
    error, spread = np.array(errors), np.array(spreads)[:, None, :]  # (s, a, t)
    if (spread > 0).all():
        score = (1 - error / spread).mean(axis=(0, 2))
    else:
        pooled = total_moments([split.test for split in splits])
        whole = target_spread(pooled, pooled.points())
        met = np.where(whole > 0, whole, 1.0)
        score = (1 - error.sum(axis=0) / met).mean(axis=1)
    scores = dict(zip(alphas, score.tolist(), strict=True))
    return Choice(max(scores, key=lambda alpha: scores[alpha]), scores)


def squared_error(
    maps: AffineMaps, moments: PatternMoments, points: Points
) -> NDArray[np.float64]:
    """Sum of squared errors of maps on the rows of a table of moments, per target.

    ``maps`` are those of the table's patterns. A pattern kept as moments adds
    count (mean'v - intercept)^2 + v'scatter v with v = (-coef, 1), a row its square.
    """
    d, t = moments.n_features, moments.n_targets
    pattern, values, weight = points
    predicted = maps.intercept[pattern] + np.einsum(
        "ptd,pd->pt", maps.coef[pattern], values[:, :d]
    )
    error = weight @ (values[:, d:] - predicted) ** 2
    coef = maps.coef[moments.condensed]
    v = np.concatenate(
        [-coef, np.broadcast_to(np.eye(t), (*coef.shape[:2], t))], axis=2
    )
    return error + np.einsum("ptk,ptk->t", v @ moments.condensed_scatter, v)


def target_spread(moments: PatternMoments, points: Points) -> NDArray[np.float64]:
    """Sum of squares of each target about its mean."""
    _, values, weight = points
    y = values[:, moments.n_features :]
    gap = y - weight @ y / weight.sum()
    inner = np.diagonal(moments.condensed_scatter, axis1=1, axis2=2).sum(axis=0)
    return weight @ gap**2 + inner[moments.n_features :]
