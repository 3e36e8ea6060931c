"""Rows completed under Gaussians: the law of what is missing given the rest.

All patterns of a chunk at once, and all laws of a stack, by the precision matrix
Omega = S^-1: for the missing coordinates u of a pattern, Var(X_u | X_o) = Omega_uu^-1,
so that only the missing block is inverted.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.gaussian.covariances import inverse_of_positive
from missfit.gaussian.pattern_chunks import PatternChunk, missing_index


class Completion(NamedTuple):
    """Points of a chunk completed under a law; see `complete`."""

    filled: NDArray[np.float64]  # (..., p, k) about the mean, expected where missing
    V: NDArray[np.float64]  # (..., b, u, u) Var(X_u | X_o)
    log_likelihood: NDArray[np.float64]  # (..., b) of each pattern's rows


class PrecisionLaw:
    """Conditional laws of the missing coordinates, by the precision matrix.

    ``precision`` has shape (..., k, k): of one Gaussian, or of a stack of them, which
    costs fewer calls than one by one. What comes of it begins with the axes of the
    stack.
    """

    def __init__(self, precision):
        self.precision = precision
        self.log_det = np.linalg.slogdet(precision)[1]

    @classmethod
    def of_cov(cls, cov):
        """Return the law of a Gaussian by its covariance."""
        precision = np.linalg.inv(cov)
        return cls((precision + precision.swapaxes(-1, -2)) / 2)

    def fill(self, chunk: PatternChunk, points: NDArray[np.float64]) -> Completion:
        """Complete points about the mean, in place.

        With r the observed part of a point, g = Omega r, V = Omega_uu^-1 and
        E[r_u] = -V g_u::

            -2 log N(r) = o log 2 pi + log det Omega_uu - log det Omega
                          + r_o'g_o + E[r_u]'g_u
        """
        u, k = chunk.missing.shape[1], points.shape[-1]
        pull = points @ self.precision
        distance = np.einsum("...pk,...pk->...p", points, pull)
        V, log_det_mis = inverse_of_positive(self._blocks(chunk))
        if u:
            pull_mis = _at(pull, chunk)
            guess = -_times(pull_mis, V, chunk)
            distance += np.einsum("...pu,...pu->...p", guess, pull_mis)
            _put(points, chunk, guess)
        per_row = self.log_det[..., None] - log_det_mis - (k - u) * np.log(2 * np.pi)
        square = chunk.sum_points(distance)
        return Completion(points, V, (chunk.count * per_row - square) / 2)

    def _blocks(self, chunk: PatternChunk) -> NDArray[np.float64]:
        """Return Omega_uu of each pattern."""
        *stack, k, _ = self.precision.shape
        place = _places(chunk.missing, k)
        return np.take(self.precision.reshape(*stack, k * k), place, axis=-1)


class CovarianceLaw:
    """Conditional laws of the missing coordinates, by the covariance matrix."""

    def __init__(self, cov):
        self.cov = cov

    def fill(self, chunk: PatternChunk, points: NDArray[np.float64]) -> Completion:
        """Complete points about the mean, in place, by the slopes S_uo S_oo^-1.

        The log-likelihood is NaN: it is not needed where this law is.
        """
        mis, obs = chunk.missing, missing_index(chunk.observed)
        unknown = np.full(len(chunk.count), np.nan)
        if not mis.shape[1]:  # what is complete needs no inverse, which may not exist
            return Completion(points, np.zeros((len(mis), 0, 0)), unknown)
        cross = self.cov[mis[:, :, None], obs[:, None, :]]
        inner = np.linalg.inv(self.cov[obs[:, :, None], obs[:, None, :]])
        slope = cross @ inner
        V = self.cov[mis[:, :, None], mis[:, None, :]]
        V = V - slope @ cross.transpose(0, 2, 1)
        seen = np.take_along_axis(points, obs[chunk.pattern_of_point], axis=-1)
        _put(points, chunk, _times(seen, slope.transpose(0, 2, 1), chunk))
        return Completion(points, V, unknown)


def complete(chunk: PatternChunk, mean: NDArray[np.float64], law) -> Completion:
    """Conditional laws of what a chunk of patterns misses, and its likelihood.

    ``mean`` has shape (..., k), with the stack of the law.
    """
    return law.fill(chunk, chunk.points - chunk.anchor * mean[..., None, :])


def completed_sums(
    chunk: PatternChunk,
    completion: Completion,
    share: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum E[r] and E[r r'] over a chunk's rows, each pattern times its share.

    ``share`` has shape (..., b), with the stack of the completion; None is 1 for all.
    """
    first, second = filled_sums(chunk, completion.filled, share)
    return first, second + spread_left(chunk, completion, share)


def filled_sums(
    chunk: PatternChunk,
    filled: NDArray[np.float64],
    share: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum E[r] and E[r] E[r]' over a chunk's rows, each pattern times its share."""
    if share is None:
        return chunk.root @ filled, filled.swapaxes(-1, -2) @ filled
    part = share[..., chunk.pattern_of_point]
    first = ((chunk.root * part)[..., None, :] @ filled)[..., 0, :]
    return first, (part[..., None] * filled).swapaxes(-1, -2) @ filled


def spread_left(
    chunk: PatternChunk,
    completion: Completion,
    share: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Sum over a chunk's rows of the covariance of what each misses, times a share."""
    weight = chunk.count if share is None else chunk.count * share
    blocks, k = weight[..., None, None] * completion.V, chunk.points.shape[1]
    stack = blocks.shape[:-3]
    place = _places(chunk.missing, k).ravel()
    if stack:
        place = (np.arange(math.prod(stack))[:, None] * k * k + place).ravel()
    sums = np.bincount(place, blocks.ravel(), minlength=math.prod(stack) * k * k)
    return np.asarray(sums, dtype=float).reshape(*stack, k, k)


def _places(index: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """Return where the block of the coordinates (b, u) lies in a raveled (k, k)."""
    return index[:, :, None] * k + index[:, None, :]


def _at(points: NDArray[np.float64], chunk: PatternChunk) -> NDArray[np.float64]:
    """Return the coordinates (..., p, u) that the points (..., p, k) miss."""
    *stack, p, k = points.shape
    flat = np.take(points.reshape(*stack, p * k), chunk.holes, axis=-1)
    return flat.reshape(*stack, p, -1)


def _put(points: NDArray[np.float64], chunk: PatternChunk, values) -> None:
    """Fill what the points miss, in place."""
    *stack, p, k = points.shape
    points.reshape(*stack, p * k)[..., chunk.holes] = values.reshape(*stack, -1)


def _times(points: NDArray[np.float64], matrix: NDArray, chunk: PatternChunk):
    """Points (..., p, i) times the matrix (..., b, i, j) of each one's pattern."""
    *stack, p, i = points.shape
    out = np.empty((*stack, p, matrix.shape[-1]))
    for patterns, some, shape in chunk.runs:
        part = points[..., some, :].reshape(*stack, *shape, i)
        product = part @ matrix[..., patterns, :, :]
        out[..., some, :] = product.reshape(*stack, math.prod(shape), out.shape[-1])
    return out
