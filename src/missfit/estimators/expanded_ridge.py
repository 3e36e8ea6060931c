"""The ridge of ExpandedLR: a bordered block-diagonal system, pattern by pattern."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.moments.maps import AffineMaps
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.patterns import find_keys, pattern_keys

LEAST_ALPHA = 1e-12  # a weaker ridge is lost in rounding


class ExpandedScales(NamedTuple):
    """Standard deviations s_mj of the expanded columns (1, x_obs) of each pattern."""

    patterns: NDArray[np.bool_]
    std: NDArray[np.float64]  # (P, 1 + d)


class ExpandedSolution(NamedTuple):
    """Shared intercept b (t,) and the maps of the patterns seen."""

    intercept: NDArray[np.float64]
    maps: AffineMaps

    def at(self, patterns: NDArray[np.bool_]) -> AffineMaps:
        """Return the maps of any patterns; the intercept alone where never seen."""
        table = pattern_keys(self.maps.patterns)
        index = find_keys(table, pattern_keys(patterns))
        if not len(table):
            shape = (len(patterns), len(self.intercept))
            constant = np.broadcast_to(self.intercept, shape).copy()
            return AffineMaps(patterns, constant, np.zeros((*shape, patterns.shape[1])))
        seen = index >= 0
        intercept = np.where(seen[:, None], self.maps.intercept[index], self.intercept)
        coef = np.where(seen[:, None, None], self.maps.coef[index], 0.0)
        return AffineMaps(patterns, intercept, coef)


def expanded_scales(moments: PatternMoments) -> ExpandedScales:
    """Return the standard deviations of the expanded columns, 1 where constant.

    A column is zero outside its pattern: its mean is n_m mean_m / N and its second
    moment (scatter_m + n_m mean_m^2) / N.
    """
    d, total = moments.n_features, moments.count.sum()
    pattern, values, weight = moments.points()
    share = (moments.count / max(total, np.finfo(float).tiny))[:, None]
    mean, inner = np.zeros((2, len(moments), d))
    np.add.at(mean, pattern, weight[:, None] * values[:, :d])
    mean /= moments.count[:, None]
    np.add.at(inner, pattern, weight[:, None] * (values[:, :d] - mean[pattern]) ** 2)
    own = np.diagonal(moments.condensed_scatter, axis1=1, axis2=2)[:, :d]
    inner[moments.condensed] += own
    variance = np.hstack(
        [
            share * (1 - share),
            inner / max(total, np.finfo(float).tiny) + share * (1 - share) * mean**2,
        ]
    )
    std = np.sqrt(np.maximum(variance, 0.0))
    return ExpandedScales(moments.patterns, np.where(std > 0, std, 1.0))


def solve_expanded(
    moments: PatternMoments, alphas: Sequence[float], scale: ExpandedScales
) -> list[ExpandedSolution]:
    """Minimise the criterion of `ExpandedLR` for each alpha.

    Patterns without scales are left out. Where none is left, b is the mean of y.
    """
    index = find_keys(pattern_keys(scale.patterns), pattern_keys(moments.patterns))
    alphas = [alpha if alpha >= LEAST_ALPHA else 0.0 for alpha in alphas]
    if (index < 0).any() or not len(moments):
        if (index < 0).all():
            mean = _target_mean(moments)
            return [ExpandedSolution(mean, _empty_maps(moments.take([])))] * len(alphas)
        moments = moments.take(index >= 0)
    std = scale.std[index[index >= 0]]
    n_columns = moments.n_features + moments.n_targets
    small = len(moments) * n_columns**2 <= 2**25
    kept = list(_groups(moments, std)) if small else None  # else anew for each alpha
    solutions = []
    for alpha in alphas:
        groups = kept or _groups(moments, std)
        apart = alpha == 0 or len(moments) == 1
        solve = _solve_apart if apart else _solve_together
        solutions.append(solve(moments, groups, alpha))
    return solutions


@dataclass(frozen=True, eq=False)
class _Group:
    """Moments of patterns with equally many observed features, and of these alone."""

    index: NDArray[np.intp]
    observed: NDArray[np.intp]  # (b, o)
    count: NDArray[np.float64]
    mean: NDArray[np.float64]  # (b, o)
    scatter: NDArray[np.float64]  # (b, o, o)
    cross: NDArray[np.float64]  # (b, o, t)
    target: NDArray[np.float64]  # (b, t)
    std: NDArray[np.float64]  # (b, 1 + o)


def _groups(moments: PatternMoments, std) -> Iterator[_Group]:
    d = moments.n_features
    for block in moments.blocks():
        n_observed = (~block.patterns).sum(axis=1)
        for o in np.unique(n_observed):
            rows = np.flatnonzero(n_observed == o)
            obs = np.nonzero(~block.patterns[rows])[1].reshape(len(rows), o)
            at = rows[:, None, None], obs[:, :, None]
            index = block.index[rows]
            scales = np.take_along_axis(std[index, 1:], obs, axis=1)
            yield _Group(
                index,
                obs,
                block.count[rows],
                np.take_along_axis(block.mean[rows], obs, axis=1),
                block.scatter[(*at, obs[:, None, :])],
                block.scatter[(*at, d + np.arange(moments.n_targets))],
                block.mean[rows, d:],
                np.hstack([std[index, :1], scales]),
            )


def _solve_apart(moments, groups, alpha: float) -> ExpandedSolution:
    """Solve each pattern on its own: least squares, or the ridge of a single pattern.

    Where all rows have one pattern its indicator is constant and has no coefficient, so
    that b is its intercept. Otherwise b, which nothing determines, is the mean of y.
    """
    maps = _empty_maps(moments)
    for group in groups:
        unit = 1 / group.std[:, 1:]
        scatter = unit[:, :, None] * group.scatter * unit[:, None, :]
        values, vectors = np.linalg.eigh(scatter)
        total = np.maximum(values, 0.0) + alpha
        noise = moments.n_features * np.finfo(float).eps * values[:, -1:]
        usable = (total > noise) & (total > 0)
        inverse = np.divide(1.0, total, out=np.zeros_like(total), where=usable)
        rotated = vectors.transpose(0, 2, 1) @ (unit[:, :, None] * group.cross)
        slopes = unit[:, :, None] * (vectors @ (inverse[:, :, None] * rotated))
        at_mean = np.einsum("pot,po->pt", slopes, group.mean)
        maps.intercept[group.index] = group.target - at_mean
        maps.coef[group.index[:, None], :, group.observed] = slopes
    b = maps.intercept[0] if len(moments) == 1 else _target_mean(moments)
    return ExpandedSolution(b.copy(), maps)


def _solve_together(moments, groups, alpha: float) -> ExpandedSolution:
    """Solve all patterns, tied by the shared intercept b.

    With w = (1, x - mean_m) the Gram matrix G of a pattern is diag(n_m, scatter_m), so
    that no digit is lost to large means. The penalty is delta'R delta with
    R = alpha (s_0^2 r r' + diag(0, s_1^2 .. s_o^2)) and r = (1, -mean_m). With
    A = G + R, h = G e_0 and g = sum w y, the derivatives vanish for

        delta = A^-1 (g - b h),   b = sum_m R_0 A^-1 g / sum_m R_0 A^-1 h

    where R_0 = e_0'R: a weighted mean over the patterns, without cancellation.
    """
    t, centre = moments.n_targets, _target_mean(moments)
    solved, top, bottom = [], np.zeros(t), 0.0
    for group in groups:
        n, o = group.count, group.mean.shape[1]
        r = np.hstack([np.ones((len(n), 1)), -group.mean])
        R_0 = alpha * group.std[:, :1] ** 2 * r
        A = R_0[:, :, None] * r[:, None, :]
        A[:, 1:, 1:] += group.scatter
        A[:, np.arange(1, o + 1), np.arange(1, o + 1)] += alpha * group.std[:, 1:] ** 2
        A[:, 0, 0] += n
        rhs = np.zeros((len(n), 1 + o, t + 1))
        rhs[:, 0, :t] = n[:, None] * (group.target - centre)
        rhs[:, 1:, :t] = group.cross
        rhs[:, 0, t] = n
        unit = 1 / np.sqrt(np.diagonal(A, axis1=1, axis2=2))
        A *= unit[:, :, None] * unit[:, None, :]
        solution = unit[:, :, None] * np.linalg.solve(A, unit[:, :, None] * rhs)
        weighted = np.einsum("pi,pit->t", R_0, solution)
        top += weighted[:t]
        bottom += weighted[t]
        solved.append((group.index, group.observed, group.mean, solution))
    b = top / bottom
    maps = _empty_maps(moments)
    for index, observed, mean, solution in solved:
        delta = solution[:, :, :t] - b * solution[:, :, t:]
        at_mean = np.einsum("pot,po->pt", delta[:, 1:], mean)
        maps.intercept[index] = centre + b + delta[:, 0] - at_mean
        maps.coef[index[:, None], :, observed] = delta[:, 1:]
    return ExpandedSolution(b + centre, maps)


def _empty_maps(moments: PatternMoments) -> AffineMaps:
    shape = (len(moments), moments.n_targets)
    coef = np.zeros((*shape, moments.n_features))
    return AffineMaps(moments.patterns, np.zeros(shape), coef)


def _target_mean(moments: PatternMoments) -> NDArray[np.float64]:
    _, values, weight = moments.points()
    return weight @ values[:, moments.n_features :] / weight.sum()
