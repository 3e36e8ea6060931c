"""PatternMoments: the one seam of the library.

Rows go in once; what comes out is count, mean and scatter of (X_obs, y) for every
missing pattern. Two tables of moments add up to the table of all their rows, which is
streaming, distribution and cross-validation at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from missfit.moments.blocks import blocks, n_threads
from missfit.moments.patterns import PatternGroups, group_rows
from missfit.tables.arrays import LARGEST, as_floats, refuse_rows

BATCH_DOUBLES = 2**17  # 1 MB: rows gathered at once stay in the cache
LEAST_WEIGHT = 0.1  # of the mean row, from which on weights may be counts of rows
SMALLEST = 1e-140  # squares below lose digits, then vanish
BLOCK_DOUBLES = 2**22  # 32 MB: scatter matrices handed out at once by blocks()


class PatternBlock(NamedTuple):
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


class Rows(NamedTuple):
    """Rows as they came: features with NaN, targets, weights."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]

    def take(self, index: NDArray) -> Rows:
        """Return the rows at the integers ``index``."""
        # take, not X[index]: nearly three times as fast for rows of a few features
        return Rows(*(part.take(index, axis=0) for part in self))


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
        rows = _check_rows(X, y, sample_weight)
        nothing = _no_moments(rows.X.shape[1] + rows.y.shape[1])
        return cls._from_parts(group_rows(np.isnan(rows.X)), rows, nothing)

    @classmethod
    def empty(cls, n_features: int, n_targets: int = 1) -> PatternMoments:
        """Build the table of no rows, the identity of ``+``."""
        if n_features < 1 or n_targets < 1:
            raise ValueError(
                f"n_features={n_features} and n_targets={n_targets} must be at least 1."
            )
        rows = Rows(np.empty((0, n_features)), np.empty((0, n_targets)), np.empty(0))
        nothing = _no_moments(n_features + n_targets)
        groups = group_rows(np.empty((0, n_features), dtype=bool))
        return cls._from_parts(groups, rows, nothing)

    @classmethod
    def _from_parts(
        cls, groups: PatternGroups, rows: Rows, moments: _Moments
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
        runs = _runs(groups.patterns, starts, np.flatnonzero(condense & (n_rows > 0)))
        pieces = _run_moments(runs, rows, order).append(moments)
        pattern_of_piece = np.append(runs.pattern, pattern_of_moment)
        condensed, pooled = _pool(pattern_of_piece, pieces)

        kept = order[~np.repeat(condense, n_rows)]
        count = np.zeros(n_patterns)
        np.add.at(count, pattern_of_item[kept], rows.weight[kept])
        count[condensed] = pooled.count
        kept_rows = rows.take(kept)
        _refuse_overflow(pooled, kept_rows)
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
        runs = _runs(self.patterns[index], starts, np.flatnonzero(np.diff(starts)))
        order = np.arange(len(self.rows.X))
        few = _run_moments(runs, self.rows, order)  # one run each: they are short
        mean[runs.pattern], scatter[runs.pattern] = few.mean, few.scatter
        return PatternBlock(
            index, self.patterns[index], self.count[index], mean, scatter
        )

    def _moments(self) -> _Moments:
        return _Moments(
            self.count[self.condensed], self.condensed_mean, self.condensed_scatter
        )


class ColumnScales(NamedTuple):
    """Mean, standard deviation and count of the observed values of each column.

    ``varies`` is False for columns without spread.
    """

    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    count: NDArray[np.float64]
    varies: NDArray[np.bool_]


def column_scales(moments: PatternMoments) -> ColumnScales:
    """Mean, standard deviation and count of the observed values of each column.

    Columns are the features, then the targets. One without spread gets standard
    deviation 1, one without values mean 0.
    """
    pattern, values, weight = moments.points()
    always = np.ones((len(pattern), moments.n_targets), dtype=bool)
    seen = np.hstack([~moments.patterns[pattern], always])
    weight = weight[:, None] * seen
    count = weight.sum(axis=0)
    known = np.where(count > 0, count, 1.0)
    # twice: the second corrects the rounding of large means
    mean = (weight * values).sum(axis=0) / known
    mean += (weight * (values - mean)).sum(axis=0) / known
    square = (weight * (values - mean) ** 2).sum(axis=0)
    square += np.diagonal(moments.condensed_scatter, axis1=1, axis2=2).sum(axis=0)
    std = np.sqrt(square / known)
    constant = std <= 1e-13 * np.abs(mean)
    return ColumnScales(mean, np.where(constant, 1.0, std), count, ~constant)


class _Moments(NamedTuple):
    """Count, mean and scatter of some sets of rows."""

    count: NDArray[np.float64]
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]

    def append(self, other: _Moments) -> _Moments:
        if not len(other.count):
            return self
        return _Moments(
            *(np.concatenate(pair) for pair in zip(self, other, strict=True))
        )


class _Runs(NamedTuple):
    """Pieces of consecutive sorted rows, each of one pattern, fit for the cache."""

    pattern: NDArray[np.intp]
    start: NDArray[np.intp]
    length: NDArray[np.intp]
    mask: NDArray[np.bool_]


def _no_moments(n_columns: int) -> _Moments:
    return _Moments(
        np.empty(0), np.empty((0, n_columns)), np.empty((0, n_columns, n_columns))
    )


def _runs(
    patterns: NDArray[np.bool_], starts: NDArray[np.intp], chosen: NDArray[np.intp]
) -> _Runs:
    """Cut the sorted rows of the chosen patterns into pieces of bounded length."""
    longest = max(1, BATCH_DOUBLES // (patterns.shape[1] + 2))
    n_rows = np.diff(starts)[chosen]
    n_runs = -(-n_rows // longest)
    pattern = np.repeat(chosen, n_runs)
    piece = np.arange(len(pattern)) - np.repeat(np.cumsum(n_runs) - n_runs, n_runs)
    start = starts[pattern] + piece * longest
    length = np.minimum(longest, starts[pattern + 1] - start)
    return _Runs(pattern, start, length, patterns[pattern])


def _run_moments(runs: _Runs, rows: Rows, order: NDArray[np.intp]) -> _Moments:
    """Return the moments of every run, many short runs at a time.

    Runs are sorted by length and padded to the longest of their batch with rows of
    weight zero, so that one batched product serves many patterns.
    """
    n_columns = rows.X.shape[1] + rows.y.shape[1]
    out = _Moments(
        np.empty(len(runs.start)),
        np.empty((len(runs.start), n_columns)),
        np.empty((len(runs.start), n_columns, n_columns)),
    )

    def fill(batch: NDArray[np.intp]) -> None:
        length = runs.length[batch, None]
        within = np.arange(length[0, 0])
        position = runs.start[batch, None] + np.minimum(within, length - 1)
        piece = _batch_moments(
            rows.take(order[position]), within < length, runs.mask[batch]
        )
        for target, values in zip(out, piece, strict=True):
            target[batch] = values

    # numpy lets go of the interpreter lock in every step, so threads share the work;
    # each writes its own runs.
    batches = _batches(runs.length, max(1, BATCH_DOUBLES // (n_columns + 1)))
    if len(batches) < 4:
        for batch in batches:
            fill(batch)
        return out
    with ThreadPoolExecutor(min(len(batches), n_threads())) as pool:
        for _ in pool.map(fill, batches):
            pass
    return out


def _batches(length: NDArray[np.intp], n_rows: int) -> list[NDArray[np.intp]]:
    """Split runs, longest first, so that each batch pads to about ``n_rows`` rows."""
    by_length = np.argsort(-length, kind="stable")
    batches, done = [], 0
    while done < len(by_length):
        size = max(1, n_rows // length[by_length[done]])
        batches.append(by_length[done : done + size])
        done += size
    return batches


@np.errstate(over="ignore", invalid="ignore")  # _refuse_overflow sees it
def _batch_moments(
    rows: Rows, valid: NDArray[np.bool_], mask: NDArray[np.bool_]
) -> _Moments:
    """Moments of b runs of r rows each: X (b, r, d), y (b, r, t), weight (b, r).

    Two passes: the mean, then the scatter about it. A last column of ones yields the
    rounding error of the first mean for free, which corrects both (Chan, Golub and
    LeVeque 1983, "corrected two-pass").
    """
    n_features, n_columns = rows.X.shape[2], rows.X.shape[2] + rows.y.shape[2]
    weight = np.where(valid, rows.weight, 0.0)
    Z = np.empty((*valid.shape, n_columns + 1))
    Z[..., :n_features] = rows.X
    Z[..., n_features:n_columns] = rows.y
    Z[..., n_columns] = 1.0
    np.copyto(Z[..., :n_features], 0.0, where=mask[:, None, :])
    total = (weight[:, None, :] @ Z)[:, 0]
    count = total[:, n_columns]
    mean = total[:, :n_columns] / count[:, None]
    Z[..., :n_columns] -= mean[:, None, :]
    if not (weight == 1.0).all():
        Z *= np.sqrt(weight)[..., None]
    product = Z.transpose(0, 2, 1) @ Z
    error = product[:, n_columns, :n_columns] / count[:, None]
    scatter = product[:, :n_columns, :n_columns]
    scatter -= count[:, None, None] * error[:, :, None] * error[:, None, :]
    diagonal = np.einsum("pii->pi", scatter)  # a view
    np.maximum(diagonal, 0.0, out=diagonal)  # the correction may round below zero
    return _Moments(count, mean + error, scatter)


@np.errstate(over="ignore", invalid="ignore")  # _refuse_overflow sees it
def _pool(
    group: NDArray[np.intp], pieces: _Moments
) -> tuple[NDArray[np.intp], _Moments]:
    """Pool the moments of pieces that share a group: (distinct groups, moments).

    mean = sum n_i mean_i / n and scatter = sum scatter_i + sum n_i e_i e_i' with
    e_i = mean_i - mean; differences of means only, so that large means lose no digits.
    """
    distinct, first, index = np.unique(group, return_index=True, return_inverse=True)
    if len(distinct) == len(group):
        return distinct, _Moments(*(part[first] for part in pieces))
    # the heaviest piece of a group comes first: its mean is the reference
    order = np.lexsort([-pieces.count, index])
    index = index[order]
    starts = np.flatnonzero(np.diff(index, prepend=-1))
    n, mean, scatter = (part[order] for part in pieces)
    count = np.add.reduceat(n, starts)
    gap = mean - mean[starts][index]
    shift = np.add.reduceat(n[:, None] * gap, starts) / count[:, None]
    gap -= shift[index]
    scatter += n[:, None, None] * gap[:, :, None] * gap[:, None, :]
    pooled = _Moments(
        count, mean[starts] + shift, np.add.reduceat(scatter, starts, axis=0)
    )
    return distinct, pooled


def _check_rows(X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Rows:
    """Return the rows as float64 arrays, or say what is wrong with them."""
    X, y = as_floats(X), as_floats(y, "y")
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(
            f"X has shape {X.shape}; it must be (rows, features) with at least one "
            "feature. Reshape one column with X.reshape(-1, 1)."
        )
    if len(X) == 0:
        raise ValueError(
            "X has 0 rows; moments need at least one. PatternMoments.empty(n_features) "
            "is the table of no rows."
        )
    if y.ndim not in (1, 2) or len(y) != len(X) or y.size == 0:
        raise ValueError(
            f"y has shape {y.shape}; it must be (rows,) or (rows, targets) with the "
            f"{len(X)} rows of X."
        )
    y = y.reshape(len(y), -1)
    refuse_rows(
        np.isinf(X), "X", "infinite", "Use NaN for a missing value, or clip the value."
    )
    refuse_rows(
        ~np.isfinite(y),
        "y",
        "not finite",
        "Only features may be missing: drop the rows without a target.",
    )
    if sample_weight is None:
        return Rows(X, y, np.ones(len(X)))
    weight = check_weight(sample_weight, len(X))
    if weight.all():
        return Rows(X, y, weight)
    return Rows(X, y, weight).take(np.flatnonzero(weight))


def check_weight(
    sample_weight: ArrayLike, n_rows: int, *, may_be_zero: bool = False
) -> NDArray[np.float64]:
    """Return the weights as float64, or say what is wrong with them.

    All may be zero where ``may_be_zero``: a chunk of a stream may weigh nothing.
    """
    weight = as_floats(sample_weight, "sample_weight")
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; X has {n_rows} rows, so it must "
            f"be ({n_rows},)."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        what = "masked or missing" if np.isnan(weight[bad][0]) else str(weight[bad][0])
        raise ValueError(
            "sample_weight holds negative or non-finite values, the first "
            f"{what}, in row {np.argmax(bad)}; weights must be finite and >= 0."
        )
    if not (may_be_zero or weight.any()):
        raise ValueError(
            "sample_weight is zero for all rows; give at least one row a weight > 0."
        )
    return weight


def row_counts(sample_weight: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Return weights that count rows, or say why these cannot.

    A weight of 2 is a row twice, so that weights say how much there is to learn from:
    their sum is the number of rows. Weights whose own mean, sum w^2 / sum w, is below
    0.1 say that there is less than a tenth of the (sum w)^2 / sum w^2 rows that they
    weigh: they are relative weights, such as those that sum to 1.
    """
    weight = check_weight(sample_weight, n_rows)
    largest = weight.max()
    share = weight / largest
    if largest * (share @ share) / share.sum() < LEAST_WEIGHT:
        raise ValueError(
            f"sample_weight sums to {weight.sum():.3g} over {(weight > 0).sum()} rows; "
            "a weight counts rows here (2 equals repeating the row), and so few would "
            "be outweighed by any prior or ridge. For relative weights give "
            "sample_weight * len(X) / sum(sample_weight)."
        )
    return weight


def _refuse_overflow(moments: _Moments, rows: Rows) -> None:
    """Raise where squares of the values leave the range of float64, above or below."""
    largest = np.concatenate([_largest(rows.X), _largest(rows.y)])
    means = np.abs(moments.mean).max(axis=0, initial=0.0)
    finite = np.isfinite(moments.scatter).all()
    _check_largest(np.maximum(largest, means) if finite else np.array([np.inf]))


def check_scale(X: NDArray, y: NDArray) -> None:
    """Raise where squares of the values leave the range of float64, above or below."""
    _check_largest(np.concatenate([_largest(X), _largest(y.reshape(len(y), -1))]))


def _largest(table: NDArray) -> NDArray[np.float64]:
    return np.fmax.reduce(np.abs(table), axis=0, initial=0.0)


def _check_largest(largest: NDArray) -> None:
    if not (largest <= LARGEST).all():
        raise ValueError(
            "the weighted squares of X or y overflow float64 (values beyond "
            f"{LARGEST:g} or huge weights); rescale the columns or the weights first."
        )
    tiny = (largest > 0) & (largest < SMALLEST)
    if tiny.any():
        raise ValueError(
            f"column {np.argmax(tiny)} of (X, y) has no value beyond "
            f"{largest[tiny][0]:.3g}: its squares underflow float64 (below "
            f"{SMALLEST:g}). Rescale it first."
        )
