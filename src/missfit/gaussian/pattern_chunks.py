"""Pattern moments laid out for many E steps: standard units, chunks of patterns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.moments.column_scales import ColumnScales, column_scales
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.patterns import group_rows
from missfit.moments.rare_values import hardly_observed

CHUNK_DOUBLES = 2**18  # 2 MB: the matrices of a chunk of patterns stay in the cache
# Covariances of all columns that the matrices of a chunk fill at least. Every chunk
# adds a few to the sums of all chunks: with 1,000 columns, where 2 MB hold a pattern or
# two, these additions took 6 of the 9 s of EMLR at 1,600 rows.
CHUNK_COVARIANCES = 4


class Run(NamedTuple):
    """Consecutive patterns of a chunk with q points each."""

    patterns: slice
    points: slice
    shape: tuple[int, int]  # patterns, q


@dataclass(frozen=True, eq=False)
class PatternChunk:
    """Patterns with equally many missing coordinates, laid out for the E step.

    Every pattern is some points z of (X, y) whose sums of squares are those of its
    rows: the rows, or their mean and the columns of a root of their scatter, which have
    no part in the mean. Each is multiplied by the root of its weight::

        sum over rows of w (z - mean)(z - mean)' = sum over points of p p'
        p = point - anchor mean,  anchor = root of the weight where observed, or 0
    """

    index: NDArray[np.intp]  # (b,) the patterns, by their place in the table
    missing: NDArray[np.intp]  # (b, u) the missing coordinates of each pattern
    observed: NDArray[np.bool_]  # (b, k)
    count: NDArray[np.float64]  # (b,)
    points: NDArray[np.float64]  # (p, k) zero where missing, pattern by pattern
    root: NDArray[np.float64]  # (p,) of the weight; 0 of what has no part in the mean
    anchor: NDArray[np.float64]  # (p, k) root where observed
    pattern_of_point: NDArray[np.intp]  # (p,)
    holes: NDArray[np.intp]  # (p u,) where coordinates are missing, in raveled points
    runs: list[Run]

    @classmethod
    def of(cls, index, patterns, count, points: PatternPoints) -> PatternChunk:
        """Lay out some patterns, those of equally many points side by side."""
        values, root, n_points = points
        of_point = np.repeat(np.arange(len(index)), n_points)
        missing = missing_index(patterns)
        holes = np.arange(len(values))[:, None] * values.shape[1] + missing[of_point]
        return cls(
            index=index,
            missing=missing,
            observed=~patterns,
            count=count,
            points=values,
            root=root,
            anchor=root[:, None] * ~patterns[of_point],
            pattern_of_point=of_point,
            holes=holes.ravel(),
            runs=list(_runs(n_points)),
        )

    def sum_points(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum values (..., p) of the points over each pattern's."""
        parts = [
            values[..., run.points].reshape(*values.shape[:-1], *run.shape).sum(axis=-1)
            for run in self.runs
        ]
        return np.concatenate(parts, axis=-1)

    def sum_rows(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum w z over the rows of each pattern (b, k), given all points (p, k)."""
        return self.sum_points((self.root[:, None] * points).T).T


class PatternPoints(NamedTuple):
    """Points of patterns, one after another; see `PatternChunk`."""

    values: NDArray[np.float64]  # (p, k)
    root: NDArray[np.float64]  # (p,)
    n_points: NDArray[np.intp]  # (b,) of each pattern

    @classmethod
    def of_rows(cls, values, weight, n_rows) -> PatternPoints:
        """Return rows of patterns, NaN where missing, as points."""
        root = np.sqrt(weight)
        return cls(root[:, None] * np.nan_to_num(values, nan=0.0), root, n_rows)


def _runs(n_points: NDArray[np.intp]) -> Iterator[Run]:
    ends = np.append(0, np.cumsum(n_points))
    cuts = np.flatnonzero(np.diff(n_points)) + 1
    for first, last in zip([0, *cuts], [*cuts, len(n_points)], strict=True):
        shape = int(last - first), int(n_points[first])
        yield Run(slice(first, last), slice(ends[first], ends[last]), shape)


class GaussianData:
    """Pattern moments of (X, y) in standard units, ready for many E steps.

    Every column is shifted to mean 0 and scaled to standard deviation 1 over its
    observed values; a constant or empty column keeps its scale. ``scales`` are those of
    another table, for moments that are a part of it.

    Attributes
    ----------
    scales : ColumnScales
        Of the columns, before.
    shift, scale : ndarray of shape (k,)
        A value z of column j stands for ``shift[j] + scale[j] * z``.
    n_rows : float
        Sum of all weights.
    n_observed : ndarray of shape (k,)
        Sum of the weights of the rows that observe each column.
    varies : bool ndarray of shape (k,)
        False for columns without spread, and for features that are hardly observed.
    n_missing : ndarray of shape (P,)
        The number of features that each pattern misses.
    """

    def __init__(self, moments: PatternMoments, scales: ColumnScales | None = None):
        self.n_columns = moments.n_features + moments.n_targets
        self.n_rows = float(moments.count.sum())
        self.n_missing = moments.patterns.sum(axis=1)
        self.scales = scales = scales or column_scales(moments)
        self.shift, self.scale = scales.mean, scales.std
        self.n_observed, self.varies = scales.count, scales.varies.copy()
        d = moments.n_features
        self.varies[:d] &= ~hardly_observed(scales.count[:d], self.n_rows)
        self.chunks = list(self._lay_out(moments))

    def _lay_out(self, moments: PatternMoments) -> Iterator[PatternChunk]:
        k, kept = self.n_columns, _Kept.of(moments)
        n_missing = kept.patterns.sum(axis=1)
        for condensed in (True, False):
            points_of = self._condensed_points if condensed else self._row_points
            for u in np.unique(n_missing):
                group = np.flatnonzero((kept.condensed == condensed) & (n_missing == u))
                group = group[np.argsort(kept.n_rows[group], kind="stable")]
                size = k * k if condensed else kept.n_rows[group] * k
                for index in _cut(group, np.maximum(4 * u * u, size), k):
                    points = points_of(moments, kept, index)
                    count = moments.count[index]
                    yield PatternChunk.of(index, kept.patterns[index], count, points)

    def _condensed_points(self, moments, kept: _Kept, index) -> PatternPoints:
        place, patterns = kept.position[index], kept.patterns[index]
        mean = (moments.condensed_mean[place] - self.shift) / self.scale
        scatter = moments.condensed_scatter[place] / self.scale / self.scale[:, None]
        q = 1 + int((~patterns[0]).sum())
        points = np.empty((len(index), q, self.n_columns))
        root = np.zeros((len(index), q))
        root[:, 0] = np.sqrt(moments.count[index])
        points[:, 0] = root[:, [0]] * mean
        points[:, 1:] = _roots(scatter, q - 1)
        points *= ~patterns[:, None, :]
        flat = points.reshape(-1, self.n_columns)
        return PatternPoints(flat, root.ravel(), np.full(len(index), q))

    def _row_points(self, moments, kept: _Kept, index) -> PatternPoints:
        rows = _consecutive(kept.start[index], kept.n_rows[index])
        values = np.hstack([moments.rows.X[rows], moments.rows.y[rows]])
        values = (values - self.shift) / self.scale
        weight = moments.rows.weight[rows]
        return PatternPoints.of_rows(values, weight, kept.n_rows[index])

    def in_table_order(self, parts: list[NDArray]) -> NDArray:
        """Join one array over the patterns of each chunk to one over the table's."""
        joined = np.concatenate(parts)
        out = np.empty_like(joined)
        out[np.concatenate([chunk.index for chunk in self.chunks])] = joined
        return out


class _Kept(NamedTuple):
    """How a table keeps its patterns."""

    patterns: NDArray[np.bool_]  # (P, k) the targets among them, never missing
    condensed: NDArray[np.bool_]  # (P,)
    position: NDArray[np.intp]  # (P,) among the condensed ones
    start: NDArray[np.intp]  # (P,) the first of its rows
    n_rows: NDArray[np.intp]  # (P,) 0 for the condensed

    @classmethod
    def of(cls, moments: PatternMoments) -> _Kept:
        always = np.zeros((len(moments), moments.n_targets), dtype=bool)
        condensed = np.zeros(len(moments), dtype=bool)
        condensed[moments.condensed] = True
        starts = np.searchsorted(moments.pattern_of_row, np.arange(len(moments) + 1))
        return cls(
            np.hstack([moments.patterns, always]),
            condensed,
            np.cumsum(condensed) - 1,
            starts[:-1],
            np.diff(starts),
        )


def chunks_of_rows(Z: NDArray[np.float64], weight: NDArray[np.float64]):
    """Yield chunks of patterns, all of whose rows are points, and their rows' numbers.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        Rows in standard units, NaN where missing.
    weight : ndarray of shape (n,)
    """
    groups = group_rows(np.isnan(Z))
    n_missing = groups.patterns.sum(axis=1)
    for u in np.unique(n_missing):
        group = np.flatnonzero(n_missing == u)
        group = group[np.argsort(groups.n_rows[group], kind="stable")]
        size = np.maximum(4 * u * u, groups.n_rows[group] * Z.shape[1])
        for index in _cut(group, size, Z.shape[1]):
            n_rows = groups.n_rows[index]
            rows = groups.order[_consecutive(groups.starts[index], n_rows)]
            points = PatternPoints.of_rows(Z[rows], weight[rows], n_rows)
            of_pattern = np.repeat(np.arange(len(index)), n_rows)
            count = np.bincount(of_pattern, weight[rows], len(index))
            patterns = groups.patterns[index]
            yield PatternChunk.of(index, patterns, count, points), rows


def _consecutive(start: NDArray[np.intp], length: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return start, start + 1, ... of each length, one after another.

    >>> _consecutive(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(length) - length
    return np.arange(length.sum()) + np.repeat(start - before, length)


def _cut(items: NDArray[np.intp], doubles: NDArray, k: int) -> list[NDArray[np.intp]]:
    """Cut items into consecutive parts of some doubles each, given so many columns."""
    each = np.broadcast_to(doubles, items.shape)
    part = np.cumsum(each) // max(CHUNK_DOUBLES, CHUNK_COVARIANCES * k * k)
    return np.split(items, np.flatnonzero(np.diff(part)) + 1) if len(items) else []


def _roots(scatter: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """Return rows (b, rank, k) whose products c c' add up to each scatter."""
    values, vectors = np.linalg.eigh(scatter)
    scaled = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    return scaled.transpose(0, 2, 1)[:, scatter.shape[1] - rank :]


def missing_index(patterns: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the missing coordinates (b, u) of patterns that miss equally many.

    >>> missing_index(np.array([[True, False, True], [False, True, True]])).tolist()
    [[0, 2], [1, 2]]
    """
    return np.nonzero(patterns)[1].reshape(len(patterns), -1)
