"""Rows completed under many Gaussians at once, for mixtures and stacks of them.

`missfit.gaussian.completion` inverts the missing block of each pattern by LAPACK, one
small matrix at a time. Here matrices have the pattern and the law as their *last* axes,
so that one step of an inversion is one operation on all of them: for 256 patterns of 10
features and 36 laws that is eight times as fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from missfit.gaussian.pattern_chunks import PatternChunk


@dataclass(frozen=True, eq=False)
class PointChunk:
    """Patterns with equally many missing coordinates, all of whose moments are points.

    The scatter of a condensed pattern is the sum of c c' over the columns c of a root
    of it: points that have no part in the mean.
    """

    missing: NDArray[np.intp]  # (b, u) of each pattern
    count: NDArray[np.float64]  # (b,)
    points: NDArray[np.float64]  # (p, k) zero where missing
    observed: NDArray[np.float64]  # (p, k) 1 where a mean is taken off
    seen: NDArray[np.float64]  # (p, k) 1 where observed
    weight: NDArray[np.float64]  # (p,)
    in_mean: NDArray[np.float64]  # (p,) the weight, 0 for columns of a root
    pattern_of_point: NDArray[np.intp]  # (p,) in order
    place: NDArray[np.intp]  # (u, u, b) of the missing block in a matrix (k, k)
    add_blocks: sparse.csr_array  # (k k, u u b) sums what is put at one place

    @classmethod
    def of(cls, chunk: PatternChunk) -> PointChunk:
        """Lay out a chunk of patterns."""
        k, u = chunk.points.shape[1], chunk.missing.shape[1]
        points, of_point, weight = chunk.points, chunk.pattern_of_point, chunk.weight
        in_mean = weight
        if chunk.scatter is not None:
            roots = _roots(chunk.scatter, k - u) * chunk.observed[:, None, :]
            extra = np.repeat(np.arange(len(roots)), k - u)
            order = np.argsort(np.append(of_point, extra), kind="stable")
            of_point = np.append(of_point, extra)[order]
            points = np.concatenate([points, roots.reshape(-1, k)])[order]
            weight = np.append(weight, np.ones(len(extra)))[order]
            in_mean = np.append(in_mean, np.zeros(len(extra)))[order]
        mis = chunk.missing.T
        place = mis[:, None, :] * k + mis[None, :, :]
        columns = np.arange(place.size)
        shape = (k * k, place.size)
        sums = sparse.csr_array((np.ones(place.size), (place.ravel(), columns)), shape)
        seen = chunk.observed[of_point]
        return cls(
            missing=chunk.missing,
            count=chunk.count,
            points=points,
            observed=seen * (in_mean > 0)[:, None],
            seen=seen,
            weight=weight,
            in_mean=in_mean,
            pattern_of_point=of_point,
            place=place,
            add_blocks=sums,
        )

    def sum_points(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum values (..., p) of the points over each pattern's."""
        first = np.searchsorted(self.pattern_of_point, np.arange(len(self.count)))
        return np.add.reduceat(values, first, axis=-1)


_LAID_OUT: WeakKeyDictionary[PatternChunk, PointChunk] = WeakKeyDictionary()


def points_of(chunk: PatternChunk) -> PointChunk:
    """Return the chunk laid out as points; many steps use the same."""
    if chunk not in _LAID_OUT:
        _LAID_OUT[chunk] = PointChunk.of(chunk)
    return _LAID_OUT[chunk]


def _roots(scatter: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """Return rows (b, rank, k) whose products c c' add up to each scatter."""
    values, vectors = np.linalg.eigh(scatter)
    scaled = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    return scaled.transpose(0, 2, 1)[:, scatter.shape[1] - rank :]


class PointCompletion(NamedTuple):
    """Points of a chunk completed under L laws."""

    filled: NDArray[np.float64]  # (L, p, k) about the mean, expected where missing
    V: NDArray[np.float64]  # (u, u, b, L) Var(X_u | X_o)
    log_likelihood: NDArray[np.float64]  # (L, b) of each pattern's rows


def complete_points(chunk: PointChunk, mean, precision, log_det) -> PointCompletion:
    """Conditional laws of what a chunk of patterns misses, and its likelihood.

    With the precision Omega of a law, r = x - mean where observed and g = Omega r::

        V = Omega_uu^-1,  E[r_u] = -V g_u,  r'Omega r = r_o'g_o + E[r_u]'g_u

    Parameters
    ----------
    chunk : PointChunk
    mean : ndarray of shape (L, k)
    precision : ndarray of shape (L, k, k)
    log_det : ndarray of shape (L,)
        Of the precisions.
    """
    n_laws, k = mean.shape
    n_observed = k - chunk.missing.shape[1]
    filled = chunk.points - mean[:, None, :] * chunk.observed
    pull = filled @ precision
    square = (filled * pull).sum(axis=-1)
    V = np.zeros((0, 0, len(chunk.count), n_laws))
    log_det_mis = np.zeros((len(chunk.count), n_laws))
    if chunk.missing.size:
        blocks = np.ascontiguousarray(precision.reshape(n_laws, k * k).T)
        V, log_det_mis = swept_inverse(blocks[chunk.place])
        of_point = chunk.pattern_of_point
        place = np.arange(len(of_point))[:, None], chunk.missing[of_point]
        pull_mis = np.ascontiguousarray(pull[:, *place].T)  # (u, p, L)
        own = V if len(of_point) == len(chunk.count) else V[:, :, of_point]
        guess = -np.einsum("ijpl,jpl->ipl", own, pull_mis)
        filled[:, *place] = guess.T
        square += (guess * pull_mis).sum(axis=0).T
    distance = chunk.sum_points(chunk.weight * square)
    per_row = log_det[:, None] - log_det_mis.T - n_observed * np.log(2 * np.pi)
    return PointCompletion(filled, V, (chunk.count * per_row - distance) / 2)


def swept_inverse(matrix: NDArray[np.float64]):
    """Return inverses and log-determinants of positive definite matrices (u, u, ...).

    The matrices are overwritten. By the sweep operator: a pivot d with its column c
    leaves A - c c'/d, and what it sweeps out holds the inverse in the end.

    >>> inverse, log_det = swept_inverse(np.array([[[2.0]], [[0.0]]])[:1])
    >>> inverse.tolist(), float(np.exp(log_det[0]))
    ([[[0.5]]], 2.0)
    """
    log_det = np.zeros(matrix.shape[2:])
    for j in range(len(matrix)):
        pivot = matrix[j, j].copy()
        column = matrix[:, j].copy()
        scaled = column / pivot
        matrix -= column[:, None] * scaled
        matrix[:, j] = matrix[j] = scaled
        matrix[j, j] = -1.0 / pivot
        log_det += np.log(pivot)
    return np.negative(matrix, out=matrix), log_det


def point_sums(
    chunk: PointChunk, completion: PointCompletion, share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum E[r] and E[r r'] over a chunk's rows, each pattern times its share (L, b)."""
    filled, V, _ = completion
    n_laws, _, k = filled.shape
    of_point = chunk.pattern_of_point
    part = share[:, of_point]
    weighted = (chunk.weight * part)[:, :, None] * filled
    second = weighted.swapaxes(-1, -2) @ filled
    if chunk.missing.size:
        inner = V * (chunk.count * share).T
        blocks = chunk.add_blocks @ inner.reshape(-1, n_laws)
        second += blocks.T.reshape(n_laws, k, k)
    first = ((chunk.in_mean * part)[:, None, :] @ filled)[:, 0]
    return first, second
