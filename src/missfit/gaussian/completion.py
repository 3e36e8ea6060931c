"""Rows completed under a Gaussian: the law of what is missing given the rest.

All patterns of a chunk at once, by the precision matrix Omega = S^-1: for the missing
coordinates u of a pattern, Var(X_u | X_o) = Omega_uu^-1, so that only the missing block
is inverted.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.gaussian.covariances import inverse_of_positive
from missfit.gaussian.pattern_chunks import PatternChunk, missing_index


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
        """Return V, B and log det Omega_uu of each pattern.

        B is None for patterns kept as rows, which `guess` fills without it: it costs u
        d numbers for each pattern, and u^2 d operations.
        """
        mis = chunk.missing
        block = self.precision[..., mis[:, :, None], mis[:, None, :]]
        V, log_det_mis = inverse_of_positive(block)
        if chunk.scatter is None:
            return V, None, log_det_mis
        B = -(V @ self.precision[..., mis, :]) * chunk.observed[:, None, :]
        return V, B, log_det_mis

    def guess(self, chunk: PatternChunk, seen, V, B):
        """Return B r = -V Omega_uo r of each point, r its observed part."""
        if B is not None:
            return (B @ seen[..., None])[..., 0]
        of_point = chunk.pattern_of_point
        pull = np.take_along_axis(
            seen @ self.precision,
            np.broadcast_to(
                chunk.missing[of_point], (*seen.shape[:-1], chunk.missing.shape[1])
            ),
            axis=-1,
        )
        one_each = len(of_point) == len(chunk.missing)
        V_of_point = V if one_each else V[..., of_point, :, :]
        return -(V_of_point @ pull[..., None])[..., 0]

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


class CovarianceLaw:
    """Conditional laws of the missing coordinates, by the covariance matrix."""

    def __init__(self, cov):
        self.cov = cov

    def condition(self, chunk: PatternChunk):
        """Return V and B of each pattern, NaN for the determinant."""
        mis, k = chunk.missing, len(self.cov)
        obs = missing_index(chunk.observed == 1)
        cross = self.cov[mis[:, :, None], obs[:, None, :]]
        inner = np.linalg.inv(self.cov[obs[:, :, None], obs[:, None, :]])
        slope = cross @ inner
        V = self.cov[mis[:, :, None], mis[:, None, :]] - slope @ cross.transpose(
            0, 2, 1
        )
        B = np.zeros((*mis.shape, k))
        np.put_along_axis(B, np.broadcast_to(obs[:, None, :], slope.shape), slope, 2)
        return V, B, np.nan

    def guess(self, chunk: PatternChunk, seen, V, B):
        """Return B r of each point, r its observed part."""
        if chunk.scatter is None:
            B = B[chunk.pattern_of_point]
        return (B @ seen[..., None])[..., 0]

    def log_likelihood(self, chunk: PatternChunk, filled, B, cross, log_det_mis):
        """Return NaN: not needed where this law is."""
        return np.full(len(chunk.count), np.nan)


class Completion(NamedTuple):
    """Rows of a chunk completed under a law; see `complete`."""

    filled: NDArray[np.float64]  # (..., p, k) points about the mean, B r where missing
    V: NDArray[np.float64]  # (..., b, u, u) Var(X_u | X_o)
    B: NDArray[np.float64] | None  # (..., b, u, k) slopes of X_u on X_o, if needed
    cross: NDArray[np.float64] | None  # (..., b, u, k) B times the scatter, likewise
    log_likelihood: NDArray[np.float64]  # (..., b) of each pattern's rows


def complete(chunk: PatternChunk, mean, law) -> Completion:
    """Conditional laws of what a chunk of patterns misses, and its likelihood.

    ``mean`` has shape (..., k), with the stack of the law.
    """
    b, u = chunk.missing.shape
    *stack, k = mean.shape
    of_point = chunk.pattern_of_point
    filled = (chunk.points - mean[..., None, :]) * chunk.observed[of_point]
    V = np.zeros((*stack, b, u, u))
    B = cross = None if chunk.scatter is None else np.zeros((*stack, b, u, k))
    log_det_mis = np.zeros(b)
    if u:
        V, B, log_det_mis = law.condition(chunk)
        place = np.arange(len(of_point))[:, None], chunk.missing[of_point]
        filled[..., *place] = law.guess(chunk, filled, V, B)
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
    if chunk.scatter is not None and B is not None and cross is not None:
        flat = chunk.scatter.reshape(len(chunk.scatter), -1)
        second += (share @ flat).reshape(*stack, k, k)
        cross = share[..., None, None] * cross
        inner += cross @ B.swapaxes(-1, -2)
        rows = _add_rows(chunk.missing, cross, k)
        second += rows + rows.swapaxes(-1, -2)
    second += _add_blocks(chunk.missing, inner, k)
    return weighted.sum(axis=-2), second


def spread_left(chunk: PatternChunk, completion: Completion) -> NDArray[np.float64]:
    """Sum over a chunk's rows of the covariance of what each misses."""
    V, k = completion.V, chunk.points.shape[1]
    return _add_blocks(chunk.missing, chunk.count[:, None, None] * V, k)


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
