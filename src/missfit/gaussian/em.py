"""EM for one Gaussian with missing coordinates, from pattern moments.

The E step costs patterns, not rows: of a pattern's rows it needs count, mean and
scatter alone. It works with the precision matrix Omega = S^-1: for the missing
coordinates u of a pattern, Var(X_u | X_o) = Omega_uu^-1, so that only the missing block
is inverted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.moments.blocks import n_threads
from missfit.moments.pattern_moments import ColumnScales, PatternMoments, column_scales
from missfit.moments.ridge import pseudo_rows

THREADED_PATTERNS = 8192  # with fewer, threads wait for each other more than they work
CHUNK_DOUBLES = 2**18  # 2 MB: the matrices of a chunk of patterns stay in the cache
NOTHING_LEFT = 5e-4  # standard deviations; half of the values missing leave 2e-4
SLOWEST = 0.999  # two steps do not tell a higher rate from 1
MANY = 16  # triangles that are quicker inverted together than by LAPACK one by one


class ExpectedMoments(NamedTuple):
    """What the E step returns: sums over all rows, about the mean it was given."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    log_likelihood: float


class PatternChunk(NamedTuple):
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
        size = max(1, CHUNK_DOUBLES // self.n_columns**2)
        for condensed in (True, False):
            for u in range(moments.n_features + 1):
                group = np.flatnonzero((is_condensed == condensed) & (n_missing == u))
                for first in range(0, len(group), size):
                    index = group[first : first + size]
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
            missing=_missing_index(patterns),
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
            missing=_missing_index(patterns),
            observed=(~patterns).astype(float),
            count=moments.count[index],
            scatter=None,
            points=np.nan_to_num((values - self.shift) / self.scale, nan=0.0),
            weight=moments.rows.weight[rows],
            pattern_of_point=np.repeat(np.arange(len(index)), lengths),
        )

    def e_step(
        self, mean: NDArray[np.float64], cov: NDArray[np.float64], *, robust=False
    ) -> ExpectedMoments:
        """Return the expected sums of (z - mean) and (z - mean)(z - mean)'.

        Given the observed part r = z_o - mean_o, the missing coordinates of a row have
        mean B r and covariance V. With the precision Omega = cov^-1::

            V = Omega_uu^-1,  B = -V Omega_uo
            log-likelihood = -1/2 [o log 2 pi + log det Omega_uu - log det Omega
                                   + r'(Omega_oo + Omega_ou B) r]

        ``robust=True`` takes B = S_uo S_oo^-1 from the covariance instead, which stays
        right where the last column is all but a linear function of the others (the
        precision overflows there), and returns NaN for the log-likelihood.
        """
        law = CovarianceLaw(cov) if robust else PrecisionLaw.of_cov(cov)

        def expect(chunk: PatternChunk) -> ExpectedMoments:
            return _chunk_moments(chunk, mean, law)

        first, second, log_likelihood = zip(*self.map_chunks(expect), strict=True)
        total = np.sum(second, axis=0)
        return ExpectedMoments(
            np.sum(first, axis=0), (total + total.T) / 2, float(np.sum(log_likelihood))
        )

    def in_table_order(self, parts: list[NDArray]) -> NDArray:
        """Join one array over the patterns of each chunk to one over the table's."""
        joined = np.concatenate(parts)
        out = np.empty_like(joined)
        out[np.concatenate([chunk.index for chunk in self.chunks])] = joined
        return out

    def map_chunks(self, work: Callable[[PatternChunk], Any]) -> list[Any]:
        """Return ``work`` of every chunk, in the order of the chunks."""
        # numpy's linear algebra lets go of the interpreter lock
        return list((self._pool.map if self._pool else map)(work, self.chunks))


class PrecisionLaw:
    """Conditional laws of the missing coordinates, by the precision matrix.

    ``precision`` has shape (..., k, k): of one Gaussian, or of a stack of them, which
    costs fewer calls than one by one. What the methods return then begins with the axes
    of the stack.
    """

    def __init__(self, precision):
        self.precision = precision
        self.log_det = np.linalg.slogdet(precision)[1]

    @classmethod
    def of_cov(cls, cov):
        """Return the law of a Gaussian by its covariance."""
        precision = np.linalg.inv(cov)
        return cls((precision + precision.swapaxes(-1, -2)) / 2)

    def condition(self, chunk: PatternChunk):
        """Return V, B and log det Omega_uu of each pattern."""
        mis = chunk.missing
        block = self.precision[..., mis[:, :, None], mis[:, None, :]]
        root = np.linalg.cholesky(block)
        half = inverse_of_triangular(root)
        V = half.swapaxes(-1, -2) @ half
        B = -(V @ self.precision[..., mis, :]) * chunk.observed[:, None, :]
        log_root = np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
        return V, B, 2 * log_root

    def log_likelihood(self, chunk: PatternChunk, filled, B, cross, log_det_mis):
        """Log-likelihood of each pattern's rows, filled with their conditional means.

        r'(Omega_oo + Omega_ou B) r = f'Omega f for the filled row f = (r, B r), since
        Omega_uo r + Omega_uu B r = 0; of the scatter C likewise tr(Omega C) +
        tr(Omega_ou B C).
        """
        *stack, k, _ = self.precision.shape
        n_observed = k - chunk.missing.shape[1]
        square = ((filled @ self.precision) * filled).sum(axis=-1)
        distance = chunk.sum_points(chunk.weight * square)
        if chunk.scatter is not None:
            flat = chunk.scatter.reshape(-1, k * k)
            distance = distance + self.precision.reshape(*stack, k * k) @ flat.T
            distance += (self.precision[..., chunk.missing, :] * cross).sum((-1, -2))
        per_row = self.log_det[..., None] - log_det_mis - n_observed * np.log(2 * np.pi)
        return (chunk.count * per_row - distance) / 2


def inverse_of_triangular(root: NDArray) -> NDArray:
    """Invert lower triangular matrices, batched.

    Row i of the inverse is (e_i - root_i,:i inverse_:i) / root_ii. With the batch last,
    one step does all matrices: up to three times faster than LAPACK's LU of each.

    >>> inverse_of_triangular(np.array([[2.0, 0.0], [1.0, 1.0]])).tolist()
    [[0.5, 0.0], [-0.5, 1.0]]
    """
    u = root.shape[-1]
    stack = root.reshape(-1, u, u)
    if len(stack) < MANY:
        return np.linalg.inv(root)
    last = np.ascontiguousarray(np.moveaxis(stack, 0, -1))  # (u, u, batch)
    inverse = np.zeros_like(last)
    for i in range(u):
        inverse[i, i] = 1.0 / last[i, i]
        done = np.einsum("jb,jkb->kb", last[i, :i], inverse[:i, :i])
        inverse[i, :i] = -inverse[i, i] * done
    return np.moveaxis(inverse, -1, 0).reshape(root.shape)


class CovarianceLaw:
    """Conditional laws of the missing coordinates, by the covariance matrix."""

    def __init__(self, cov):
        self.cov = cov

    def condition(self, chunk: PatternChunk):
        """Return V and B of each pattern, NaN for the determinant."""
        mis, k = chunk.missing, len(self.cov)
        obs = _missing_index(chunk.observed == 1)
        cross = self.cov[mis[:, :, None], obs[:, None, :]]
        inner = np.linalg.inv(self.cov[obs[:, :, None], obs[:, None, :]])
        slope = cross @ inner
        V = self.cov[mis[:, :, None], mis[:, None, :]] - slope @ cross.transpose(
            0, 2, 1
        )
        B = np.zeros((*mis.shape, k))
        np.put_along_axis(B, np.broadcast_to(obs[:, None, :], slope.shape), slope, 2)
        return V, B, np.nan

    def log_likelihood(self, chunk: PatternChunk, filled, B, cross, log_det_mis):
        """Return NaN: not needed where this law is."""
        return np.full(len(chunk.count), np.nan)


def _missing_index(patterns: NDArray[np.bool_]) -> NDArray[np.intp]:
    return np.nonzero(patterns)[1].reshape(len(patterns), -1)


class Completion(NamedTuple):
    """Rows of a chunk completed under a law; see `complete`."""

    filled: NDArray[np.float64]  # (..., p, k) points about the mean, B r where missing
    V: NDArray[np.float64]  # (..., b, u, u) Var(X_u | X_o)
    B: NDArray[np.float64]  # (..., b, u, k) slopes of X_u on X_o
    cross: NDArray[np.float64]  # (..., b, u, k) B times the scatter, if there is one
    log_likelihood: NDArray[np.float64]  # (..., b) of each pattern's rows


def complete(chunk: PatternChunk, mean, law) -> Completion:
    """Conditional laws of what a chunk of patterns misses, and its likelihood.

    ``mean`` has shape (..., k), with the stack of the law.
    """
    b, u = chunk.missing.shape
    *stack, k = mean.shape
    of_point = chunk.pattern_of_point
    filled = (chunk.points - mean[..., None, :]) * chunk.observed[of_point]
    V, B, cross = (np.zeros((*stack, b, u, size)) for size in (u, k, k))
    log_det_mis = np.zeros(b)
    if u:
        V, B, log_det_mis = law.condition(chunk)
        B_of_point = B if chunk.scatter is not None else B[..., of_point, :, :]
        guess = (B_of_point @ filled[..., None])[..., 0]
        place = np.arange(len(of_point))[:, None], chunk.missing[of_point]
        filled[..., *place] = guess
        if chunk.scatter is not None:
            cross = B @ chunk.scatter
    log_likelihood = law.log_likelihood(chunk, filled, B, cross, log_det_mis)
    return Completion(filled, V, B, cross, log_likelihood)


def completed_sums(
    chunk: PatternChunk, completion: Completion, share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum E[r] and E[r r'] over a chunk's rows, each pattern times its share.

    ``share`` has shape (..., b), with the stack of the completion.
    """
    filled, V, B, cross, _ = completion
    *stack, _, k = filled.shape
    weighted = (chunk.weight * share[..., chunk.pattern_of_point])[..., None] * filled
    second = weighted.swapaxes(-1, -2) @ filled
    inner = (chunk.count * share)[..., None, None] * V
    if chunk.scatter is not None:
        flat = chunk.scatter.reshape(len(chunk.scatter), -1)
        second += (share @ flat).reshape(*stack, k, k)
        cross = share[..., None, None] * cross
        inner += cross @ B.swapaxes(-1, -2)
        rows = _add_rows(chunk.missing, cross, k)
        second += rows + rows.swapaxes(-1, -2)
    second += _add_blocks(chunk.missing, inner, k)
    return weighted.sum(axis=-2), second


def _chunk_moments(chunk: PatternChunk, mean, law) -> ExpectedMoments:
    """E step of one chunk of patterns."""
    completion = complete(chunk, mean, law)
    sums = completed_sums(chunk, completion, np.ones(len(chunk.count)))
    return ExpectedMoments(*sums, float(completion.log_likelihood.sum()))


def _add_blocks(index, blocks, k: int) -> NDArray:
    """Sum of blocks (..., b, u, u), each put at the rows and columns of its index."""
    return _add_at(index[:, :, None] * k + index[:, None, :], blocks, k)


def _add_rows(index, rows, k: int) -> NDArray:
    """Sum of matrices (..., b, u, k), each row put at its index."""
    return _add_at(index[:, :, None] * k + np.arange(k), rows, k)


def _add_at(place, values, k: int) -> NDArray:
    """Sum of values (..., b, u, v), each put at its place (b, u, v) in (..., k, k)."""
    stack = values.shape[:-3]
    places = np.arange(math.prod(stack))[:, None] * k * k + place.ravel()
    sums = np.bincount(
        places.ravel(), values.ravel(), minlength=places.shape[0] * k * k
    )
    return sums.reshape(*stack, k, k)


class GaussianFit(NamedTuple):
    """Parameters of a Gaussian for (X, y), and how they were reached."""

    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    n_iter: int
    converged: bool
    log_likelihood: float


def plain_em(data: GaussianData, *, max_iter: int, tol: float) -> GaussianFit:
    """EM as R's package norm runs it: from means and unit variances, unaccelerated.

    Stops once no entry of the mean and covariance, in standard units, moves by more
    than ``tol``. Nothing keeps the covariance from becoming singular: with a target
    that is an exact function of the features the likelihood has no maximum.
    """
    mean, cov = np.zeros(data.n_columns), np.eye(data.n_columns)
    converged, n_iter = False, 0
    while n_iter < max_iter and not converged:
        first, second, _ = data.e_step(mean, cov, robust=True)
        n_iter += 1
        shift = first / data.n_rows
        new_cov = second / data.n_rows - np.outer(shift, shift)
        change = max(np.abs(shift).max(), np.abs(new_cov - cov).max())
        mean, cov = mean + shift, new_cov
        converged = bool(change <= tol)
    try:
        log_likelihood = data.e_step(mean, cov).log_likelihood
    except np.linalg.LinAlgError:  # singular: the likelihood has no bound
        log_likelihood = np.inf
    return GaussianFit(mean, cov, n_iter, converged, log_likelihood)


PRIOR_ROWS = 0.3  # safe from d = 10 to d = 50, and not felt with many rows


class PenalisedGaussian:
    """M step for a Gaussian (X, y), pulled a little towards where data say nothing.

    The covariance of X has an inverse Wishart prior worth ``prior_rows`` rows of
    uncorrelated features, in standard units, and the regression of y on X is fitted as
    if ``slope_rows`` such rows had y at its mean. It leaves a variance of at least
    ``floor`` times that of y. Without them the likelihood of a noise-free target has no
    bound, and few rows in many dimensions overfit.

    A feature without two different values says nothing of the others: it is held at
    variance 1, without covariances, so that its slope is exactly 0.
    """

    def __init__(
        self,
        n_features: int,
        prior_rows: float,
        floor: float,
        *,
        slope_rows: float = 0.0,
        silent: NDArray[np.bool_] | None = None,
    ):
        self.d = n_features
        self.prior_rows = prior_rows
        self.slope_rows = slope_rows
        self.floor = floor
        nothing = np.zeros(n_features, dtype=bool)
        self.silent = np.flatnonzero(nothing if silent is None else silent)

    @classmethod
    def of_data(cls, data: GaussianData, n_features: int, floor: float):
        """Return the model that suits the rows of a table and its columns."""
        varies = data.varies[:n_features]
        more = pseudo_rows(data.n_rows, int(varies.sum()))
        return cls(
            n_features, PRIOR_ROWS + more, floor, slope_rows=more, silent=~varies
        )

    def m_step(self, expected: ExpectedMoments, mean, n_rows: float):
        """Mean and covariance that maximise the expected log-posterior."""
        d = self.d
        shift = expected.first / n_rows
        cov = expected.second / n_rows - np.outer(shift, shift)
        shift[self.silent] = 0.0
        set_apart(cov, self.silent)
        inner, cross = cov[:d, :d], cov[:d, d:]
        ridge = self.slope_rows / n_rows * np.eye(d)
        slopes = regression_slopes(inner + ridge, cross)
        # of the rows and of the pseudo-rows
        residual = at_least(cov[d:, d:] - slopes.T @ cross, self.floor)
        total = n_rows + self.prior_rows
        inner = (n_rows * inner + self.prior_rows * np.eye(d)) / total
        cross = inner @ slopes
        return mean + shift, np.block(
            [[inner, cross], [cross.T, residual + slopes.T @ cross]]
        )

    def log_prior(self, cov) -> float:
        """Log-density of the prior, up to a constant."""
        inner, cross = cov[: self.d, : self.d], cov[: self.d, self.d :]
        root = np.linalg.cholesky(inner)
        half = np.linalg.inv(root)
        log_det = 2 * np.log(np.diag(root)).sum()
        height = -self.prior_rows / 2 * (log_det + np.sum(half**2))
        if self.slope_rows:
            slopes = half.T @ (half @ cross)
            residual = cov[self.d :, self.d :] - slopes.T @ cross
            pull = np.trace(np.linalg.solve(residual, slopes.T @ slopes))
            height -= self.slope_rows / 2 * pull
        return height


def set_apart(cov: NDArray[np.float64], columns: NDArray[np.intp]) -> None:
    """Give columns variance 1 and no covariances, in place; (..., k, k)."""
    cov[..., columns, :] = 0.0
    cov[..., :, columns] = 0.0
    cov[..., columns, columns] = 1.0


def at_least(residual: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """Raise the eigenvalues of a covariance to a floor."""
    values, vectors = np.linalg.eigh((residual + residual.T) / 2)
    return (vectors * np.maximum(values, floor)) @ vectors.T


def regression_slopes(inner, cross):
    """Solve inner @ slopes = cross; least norm in directions without variance.

    The cut is far above rounding, so that what rounding adds to a singular matrix is
    never taken for variance.
    """
    values, vectors = np.linalg.eigh(inner)
    usable = values > 1e-10 * max(values[-1], np.finfo(float).tiny)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=usable)
    return vectors @ (inverse[:, None] * (vectors.T @ cross))


def accelerated_em(
    data: GaussianData,
    model: PenalisedGaussian,
    start: tuple[NDArray, NDArray],
    *,
    max_iter: int,
    tol: float,
) -> GaussianFit:
    """EM with SQUAREM steps (Varadhan and Roland 2008) and a monotone guard.

    Two EM steps give a direction r and its change v; the extrapolation
    theta - 2 a r + a^2 v with a = -|r| / |v|, in the mean and the logarithm of the
    covariance, is kept if the log-posterior there is no lower. Stops once a cycle gains
    less than ``tol`` per row.
    """
    n_iter = 0

    def em(mean, cov):
        """One EM step, and the log-posterior before it."""
        nonlocal n_iter
        n_iter += 1
        expected = data.e_step(mean, cov)
        log_posterior = expected.log_likelihood + model.log_prior(cov)
        return model.m_step(expected, mean, data.n_rows), log_posterior

    theta, converged, height, fallback = start, False, -np.inf, start
    while n_iter < max_iter and not converged:
        one, before = em(*theta)
        if not before >= height - 1e-6 * abs(height):
            # EM only climbs: the height of the last leap was an error of rounding
            theta = fallback
            one, before = em(*theta)
        two, height = em(*one)
        leap = extrapolation(_pack(*theta), _pack(*one), _pack(*two))
        theta = fallback = two
        with np.errstate(all="ignore"):  # a leap too far is refused, not reported
            try:
                landed, log_posterior = em(*_unpack(leap, data.n_columns))
                if log_posterior >= height:
                    theta, height = landed, log_posterior
            except np.linalg.LinAlgError:
                pass
        converged = bool(height - before < tol * data.n_rows)
    log_likelihood = data.e_step(*theta).log_likelihood
    return GaussianFit(*theta, n_iter, converged, log_likelihood)


def distance_left(data: GaussianData, model: PenalisedGaussian, fit: GaussianFit):
    """Estimate how far any parameter would still move, in standard units.

    Plain EM moves by steps that shrink at a rate r in the end, and so by the last one
    times r / (1 - r) more. Three steps tell that nothing is left; otherwise ten more
    let all but the slowest direction pass.
    """
    theta, moves = (fit.mean, fit.cov), []
    left = np.inf
    for n_steps in (3, 10):
        for _ in range(n_steps):
            expected = data.e_step(*theta)
            new = model.m_step(expected, theta[0], data.n_rows)
            pairs = zip(theta, new, strict=True)
            moves.append(np.concatenate([(b - a).ravel() for a, b in pairs]))
            theta = new
        left = _geometric_rest(moves[-2], moves[-1])
        if left < NOTHING_LEFT:
            break
    return left


def _geometric_rest(before: NDArray, last: NDArray) -> float:
    """Return the largest entry of last (r + r^2 + ...), r the ratio of the norms."""
    size, length = np.linalg.norm(before), np.linalg.norm(last)
    rate = min(length / max(size, np.finfo(float).tiny), SLOWEST)
    return float(np.abs(last).max() * rate / (1 - rate))


def extrapolation(zero, one, two):
    """Return where SQUAREM leaps to after the steps zero, one, two."""
    r = one - zero
    v = two - one - r
    step = max(1.0, np.linalg.norm(r) / max(np.linalg.norm(v), np.finfo(float).tiny))
    return zero + 2 * step * r + step**2 * v


def _pack(mean, cov):
    """Mean and matrix logarithm of the covariance as one vector.

    Any such vector is a valid Gaussian, and the order of the columns does not matter.
    """
    return np.concatenate([mean, log_of_positive(cov).ravel()])


def _unpack(vector, k: int):
    return vector[:k], power_of_e(vector[k:].reshape(k, k))


def log_of_positive(matrix):
    """Matrix logarithm of positive definite matrices, batched."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.log(values)[..., None, :]) @ vectors.swapaxes(-1, -2)


def power_of_e(matrix):
    """Matrix exponential of symmetric matrices, batched."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.exp(values)[..., None, :]) @ vectors.swapaxes(-1, -2)
