"""Pattern moments laid out for many E steps: standard units, chunks of patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.moments.blocks import n_threads
from missfit.moments.column_scales import ColumnScales, column_scales
from missfit.moments.pattern_moments import PatternMoments

# With fewer patterns, threads wait for each other more than they work: set when the
# linear candidates of AutoRegressor were timed on tables of 75,000 rows (2 to 9 s).
THREADED_PATTERNS = 8192
CHUNK_DOUBLES = 2**18  # 2 MB: the matrices of a chunk of patterns stay in the cache


@dataclass(frozen=True, eq=False)
class PatternChunk:
    """Patterns with equally many missing coordinates, laid out for the E step.

    Points are the means of condensed patterns, or the rows of patterns kept as rows.
    """

    index: NDArray[np.intp]  # (b,) the patterns, by their place in the table
    missing: NDArray[np.intp]  # (b, u) the missing coordinates of each pattern
    observed: NDArray[np.float64]  # (b, k) 1 where observed
    count: NDArray[np.float64]  # (b,)
    scatter: NDArray[np.float64] | None  # (b, k, k)
    points: NDArray[np.float64]  # (p, k) zero where missing
    weight: NDArray[np.float64]  # (p,)
    pattern_of_point: NDArray[np.intp]  # (p,) in order

    def sum_points(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum values (..., p) of the points over each pattern's."""
        if self.scatter is not None:  # one point each
            return values
        first = np.searchsorted(self.pattern_of_point, np.arange(len(self.count)))
        return np.add.reduceat(values, first, axis=-1)


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
        False for columns without spread.
    """

    def __init__(self, moments: PatternMoments, scales: ColumnScales | None = None):
        self.n_columns = moments.n_features + moments.n_targets
        self.n_rows = float(moments.count.sum())
        self.scales = scales = scales or column_scales(moments)
        self.shift, self.scale = scales.mean, scales.std
        self.n_observed, self.varies = scales.count, scales.varies
        self.chunks = list(self._lay_out(moments))
        n_workers = n_threads() if len(moments) >= THREADED_PATTERNS else 1
        self._pool = ThreadPoolExecutor(n_workers) if n_workers > 1 else None

    def _lay_out(self, moments: PatternMoments) -> Iterator[PatternChunk]:
        always = np.zeros((len(moments), moments.n_targets), dtype=bool)
        patterns = np.hstack([moments.patterns, always])
        n_missing = patterns.sum(axis=1)
        is_condensed = np.zeros(len(moments), dtype=bool)
        is_condensed[moments.condensed] = True
        starts = np.searchsorted(moments.pattern_of_row, np.arange(len(moments) + 1))
        position = np.cumsum(is_condensed) - 1
        for condensed in (True, False):
            for u in range(moments.n_features + 1):
                group = np.flatnonzero((is_condensed == condensed) & (n_missing == u))
                doubles = np.full(len(group), self.n_columns**2)
                if not condensed:
                    n_rows = starts[group + 1] - starts[group]
                    doubles = np.maximum(4 * u * u, n_rows * self.n_columns)
                for index in _cut(group, doubles):
                    if condensed:
                        yield self._condensed_chunk(
                            moments, patterns[index], index, position[index]
                        )
                    else:
                        yield self._row_chunk(moments, patterns[index], index, starts)

    def _condensed_chunk(self, moments, patterns, index, position) -> PatternChunk:
        mean = moments.condensed_mean[position]
        scatter = moments.condensed_scatter[position]
        count = moments.count[index]
        points = np.where(patterns, 0.0, (mean - self.shift) / self.scale)
        return PatternChunk(
            index=index,
            missing=missing_index(patterns),
            observed=(~patterns).astype(float),
            count=count,
            scatter=scatter / self.scale / self.scale[:, None],
            points=points,
            weight=count,
            pattern_of_point=np.arange(len(index)),
        )

    def _row_chunk(self, moments, patterns, index, starts) -> PatternChunk:
        lengths = starts[index + 1] - starts[index]
        rows = np.concatenate([np.arange(*starts[[i, i + 1]]) for i in index])
        values = np.hstack([moments.rows.X[rows], moments.rows.y[rows]])
        return PatternChunk(
            index=index,
            missing=missing_index(patterns),
            observed=(~patterns).astype(float),
            count=moments.count[index],
            scatter=None,
            points=np.nan_to_num((values - self.shift) / self.scale, nan=0.0),
            weight=moments.rows.weight[rows],
            pattern_of_point=np.repeat(np.arange(len(index)), lengths),
        )

    def in_table_order(self, parts: list[NDArray]) -> NDArray:
        """Join one array over the patterns of each chunk to one over the table's."""
        joined = np.concatenate(parts)
        out = np.empty_like(joined)
        out[np.concatenate([chunk.index for chunk in self.chunks])] = joined
        return out

    def map_chunks(self, work: Callable[[PatternChunk], Any]) -> list[Any]:
        """Return ``work`` of every chunk, in the order of the chunks."""
        return list(self.each_chunk(work))

    def each_chunk(self, work: Callable[[PatternChunk], Any]) -> Iterator[Any]:
        """Yield ``work`` of every chunk, in the order of the chunks."""
        # numpy's linear algebra lets go of the interpreter lock
        return iter((self._pool.map if self._pool else map)(work, self.chunks))


def _cut(items: NDArray[np.intp], doubles: NDArray) -> list[NDArray[np.intp]]:
    """Cut items into consecutive parts of some `CHUNK_DOUBLES` doubles each."""
    part = np.cumsum(doubles) // CHUNK_DOUBLES
    return np.split(items, np.flatnonzero(np.diff(part)) + 1) if len(items) else []


def missing_index(patterns: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the missing coordinates (b, u) of patterns that miss equally many.

    >>> missing_index(np.array([[True, False, True], [False, True, True]])).tolist()
    [[0, 2], [1, 2]]
    """
    return np.nonzero(patterns)[1].reshape(len(patterns), -1)
