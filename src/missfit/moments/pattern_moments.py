"""PatternMoments: the one seam of the library.

Rows go in once; what comes out is count, mean and scatter of (X_obs, y) for every
missing pattern. Two tables of moments add up to the table of all their rows, which is
streaming, distribution and cross-validation at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from missfit.moments.blocks import blocks
from missfit.moments.patterns import PatternGroups, group_rows
from missfit.moments.pooling import SetMoments, no_moments, pool
from missfit.moments.rows import Rows, check_rows, refuse_overflow
from missfit.moments.runs import cut_runs, run_moments

BLOCK_DOUBLES = 2**22  # 32 MB: scatter matrices handed out at once by blocks()


@dataclass(frozen=True, eq=False)
class PatternBlock:
    """Moments of some patterns as dense arrays; see `PatternMoments.blocks`."""

    index: NDArray[np.intp]
    patterns: NDArray[np.bool_]
    count: NDArray[np.float64]
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]


class Points(NamedTuple):
    """Points with weights that, with the scatters, stand for all rows.

    The means of the patterns kept as moments, then the rows of the others.
    """

    pattern: NDArray[np.intp]
    values: NDArray[np.float64]
    weight: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PatternMoments:
    """Count, mean and scatter of (X_obs, y) for every missing pattern.

    For the rows z_i = (x_i, y_i) of pattern m, with weights w_i::

        count_m   = sum_i w_i
        mean_m    = sum_i w_i z_i / count_m
        scatter_m = sum_i w_i (z_i - mean_m)(z_i - mean_m)'

    with zeros at the missing features. Build it with `from_data`; ``a + b`` is the
    table of the rows of both, up to rounding, and `empty` is the identity of ``+``.

    A pattern with fewer rows than columns is kept as its rows: moments of it would be
    larger than the data, and rows are the more exact of the two. `mean`, `scatter` and
    `blocks` present both kinds alike.

    Attributes
    ----------
    patterns : bool ndarray of shape (P, d)
        The distinct patterns in lexicographic order, True where missing.
    count : ndarray of shape (P,)
        Sum of the weights of each pattern's rows.
    condensed : int ndarray of shape (C,)
        The patterns kept as moments, with their `condensed_mean` of shape (C, k) and
        `condensed_scatter` of shape (C, k, k), where k = d + number of targets.
    rows : Rows
        The rows of all other patterns, sorted by pattern.
    pattern_of_row : int ndarray
        The pattern of each of `rows`.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan], [3.0, np.nan], [1.0, 2.0]])
    >>> moments = PatternMoments.from_data(X, [1.0, 2.0, 3.0])
    >>> moments.patterns.tolist(), moments.count.tolist()
    ([[False, False], [False, True]], [1.0, 2.0])
    >>> moments.mean.tolist()
    [[1.0, 2.0, 3.0], [2.0, 0.0, 1.5]]
    >>> (moments + moments).count.tolist()
    [2.0, 4.0]
    """

    patterns: NDArray[np.bool_]
    count: NDArray[np.float64]
    condensed: NDArray[np.intp]
    condensed_mean: NDArray[np.float64]
    condensed_scatter: NDArray[np.float64]
    rows: Rows
    pattern_of_row: NDArray[np.intp]

    @classmethod
    def from_data(
        cls, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> PatternMoments:
        """Build the table from rows, in one pass.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The features, NaN where missing.
        y : array-like of shape (n,) or (n, t)
            The target, or several.
        sample_weight : array-like of shape (n,), optional
            Weights >= 0. A weight of 2 equals repeating the row; rows of weight 0
            do not count.
        """
        rows = check_rows(X, y, sample_weight)
        nothing = no_moments(rows.X.shape[1] + rows.y.shape[1])
        return cls._from_parts(group_rows(np.isnan(rows.X)), rows, nothing)

    @classmethod
    def empty(cls, n_features: int, n_targets: int = 1) -> PatternMoments:
        """Build the table of no rows, the identity of ``+``."""
        if n_features < 1 or n_targets < 1:
            raise ValueError(
                f"n_features={n_features} and n_targets={n_targets} must be at least 1."
            )
        rows = Rows(np.empty((0, n_features)), np.empty((0, n_targets)), np.empty(0))
        nothing = no_moments(n_features + n_targets)
        groups = group_rows(np.empty((0, n_features), dtype=bool))
        return cls._from_parts(groups, rows, nothing)

    @classmethod
    def _from_parts(
        cls, groups: PatternGroups, rows: Rows, moments: SetMoments
    ) -> PatternMoments:
        """Join rows and moments of the same patterns, condensing what is worth it.

        ``groups`` groups the masks of all rows followed by those of all moments.
        """
        pattern_of_item = groups.pattern_of_row()
        n_patterns, n_columns = len(groups.patterns), moments.mean.shape[1]
        pattern_of_moment = pattern_of_item[len(rows.X) :]
        order = groups.order[groups.order < len(rows.X)]
        n_rows = np.bincount(pattern_of_item[: len(rows.X)], minlength=n_patterns)
        starts = np.append(0, np.cumsum(n_rows))

        # Few rows stay rows, unless the pattern is condensed already.
        condense = n_rows >= n_columns
        condense[pattern_of_moment] = True
        chosen = np.flatnonzero(condense & (n_rows > 0))
        runs = cut_runs(groups.patterns, starts, chosen)
        pieces = run_moments(runs, rows, order).append(moments)
        pattern_of_piece = np.append(runs.pattern, pattern_of_moment)
        condensed, pooled = pool(pattern_of_piece, pieces)

        kept = order[~np.repeat(condense, n_rows)]
        count = np.zeros(n_patterns)
        np.add.at(count, pattern_of_item[kept], rows.weight[kept])
        count[condensed] = pooled.count
        kept_rows = rows.take(kept)
        refuse_overflow(pooled, kept_rows)
        return cls(
            groups.patterns,
            count,
            condensed,
            pooled.mean,
            pooled.scatter,
            kept_rows,
            pattern_of_item[kept],
        )

    def __add__(self, other: PatternMoments) -> PatternMoments:
        """Return the moments of the rows of both tables."""
        if not isinstance(other, PatternMoments):
            return NotImplemented
        ours = (self.n_features, self.n_targets)
        theirs = (other.n_features, other.n_targets)
        if ours != theirs:
            raise ValueError(
                f"tables of (features, targets) {ours} and {theirs} do not add up: "
                "build both from the same columns."
            )
        rows = Rows(
            *(np.concatenate(pair) for pair in zip(self.rows, other.rows, strict=True))
        )
        moments = self._moments().append(other._moments())
        mask = np.concatenate(
            [
                self.patterns[self.pattern_of_row],
                other.patterns[other.pattern_of_row],
                self.patterns[self.condensed],
                other.patterns[other.condensed],
            ]
        )
        return PatternMoments._from_parts(group_rows(mask), rows, moments)

    def __len__(self) -> int:
        """Return the number of patterns."""
        return len(self.patterns)

    def __repr__(self) -> str:
        """Say what the table holds, without its numbers."""
        return (
            f"PatternMoments({len(self):,} patterns of {self.n_features} features and "
            f"{self.n_targets} target{'s' * (self.n_targets > 1)}, "
            f"count {self.count.sum():,.10g})"
        )

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.patterns.shape[1]

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return self.rows.y.shape[1]

    @property
    def nbytes(self) -> int:
        """Memory held by the arrays of the table."""
        arrays = [getattr(self, name) for name in self.__dataclass_fields__]
        arrays += list(self.rows)
        return sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))

    @property
    def mean(self) -> NDArray[np.float64]:
        """Means of (X_obs, y), shape (P, k), zero at missing features."""
        return np.concatenate(
            [b.mean for b in self.blocks()] or [self.condensed_mean[:0]]
        )

    @property
    def scatter(self) -> NDArray[np.float64]:
        """Scatters of (X_obs, y), shape (P, k, k), zero at missing features.

        With many patterns of few rows this is far larger than the data: prefer
        `blocks` there.
        """
        return np.concatenate(
            [b.scatter for b in self.blocks()] or [self.condensed_scatter[:0]]
        )

    def points(self) -> Points:
        """Return one point for each pattern kept as moments and for each row kept.

        Sums over the rows of linear functions of (X, y) are sums over the points; those
        of quadratic ones are too, once the scatters `condensed_scatter` are added.
        Missing features are zero.
        """
        seen = np.where(np.isnan(self.rows.X), 0.0, self.rows.X)
        rows = np.hstack([seen, self.rows.y])
        return Points(
            np.concatenate([self.condensed, self.pattern_of_row]),
            np.concatenate([self.condensed_mean, rows]),
            np.concatenate([self.count[self.condensed], self.rows.weight]),
        )

    def take(self, index: ArrayLike) -> PatternMoments:
        """Return the table of some patterns alone, by index or by bool mask.

        The patterns are a set: they keep the order of the table, whatever the order of
        ``index``, and each counts once.
        """
        chosen = np.zeros(len(self), dtype=bool)
        if np.size(index):
            chosen[np.asarray(index)] = True
        position = np.cumsum(chosen) - 1
        moments = np.flatnonzero(chosen[self.condensed])
        rows = np.flatnonzero(chosen[self.pattern_of_row])
        return PatternMoments(
            self.patterns[chosen],
            self.count[chosen],
            position[self.condensed[moments]],
            self.condensed_mean[moments],
            self.condensed_scatter[moments],
            self.rows.take(rows),
            position[self.pattern_of_row[rows]],
        )

    def shifted(self, shift: NDArray[np.float64]) -> PatternMoments:
        """Return the table of the rows with ``shift`` (d,) added to their features."""
        observed = ~self.patterns[self.condensed]
        mean = self.condensed_mean.copy()
        mean[:, : self.n_features] += np.where(observed, shift, 0.0)
        rows = self.rows._replace(X=self.rows.X + shift)
        return replace(self, condensed_mean=mean, rows=rows)

    def blocks(self) -> Iterator[PatternBlock]:
        """Yield dense moments, block by block of patterns, in bounded memory."""
        n_columns = self.n_features + self.n_targets
        for block in blocks(len(self), n_columns**2, size=BLOCK_DOUBLES):
            yield self._block(np.arange(block.start, block.stop))

    def _block(self, index: NDArray[np.intp]) -> PatternBlock:
        """Dense moments of consecutive patterns."""
        n_columns = self.n_features + self.n_targets
        mean = np.zeros((len(index), n_columns))
        scatter = np.zeros((len(index), n_columns, n_columns))
        first, last = np.searchsorted(self.condensed, [index[0], index[-1] + 1])
        here = self.condensed[first:last] - index[0]
        mean[here] = self.condensed_mean[first:last]
        scatter[here] = self.condensed_scatter[first:last]

        starts = np.searchsorted(self.pattern_of_row, np.append(index, index[-1] + 1))
        runs = cut_runs(self.patterns[index], starts, np.flatnonzero(np.diff(starts)))
        order = np.arange(len(self.rows.X))
        few = run_moments(runs, self.rows, order)  # one run each: they are short
        mean[runs.pattern], scatter[runs.pattern] = few.mean, few.scatter
        return PatternBlock(
            index, self.patterns[index], self.count[index], mean, scatter
        )

    def _moments(self) -> SetMoments:
        return SetMoments(
            self.count[self.condensed], self.condensed_mean, self.condensed_scatter
        )
