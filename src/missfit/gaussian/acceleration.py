"""Fixed point iterations that arrive sooner: SQUAREM and Anderson's acceleration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Share of the height by which EM may seem to fall by rounding. No measurement of it is
# on record.
ROUNDING = 1e-6
# Anderson's acceleration looks MEMORY steps back; it forgets them once the residual
# grows by MOST_GROWTH or the weights add up to MOST_WEIGHT. Together they took a third
# of the steps of plain EM where it is slow; no variation of one alone is on record.
MEMORY = 5
MOST_GROWTH = 2.0
MOST_WEIGHT = 50.0


class Climb(NamedTuple):
    """Where an ascent ended, after how many steps, and whether it had converged."""

    point: Any
    n_iter: int
    converged: bool


def squarem(
    step: Callable[[Any], tuple[Any, float]],
    start: Any,
    coordinates: tuple[Callable, Callable],
    *,
    max_iter: int,
    least_gain: float,
) -> Climb:
    """Repeat EM steps with leaps (Varadhan and Roland 2008) and a monotone guard.

    Two EM steps give a direction r and its change v; the extrapolation
    theta - 2 a r + a^2 v with a = -|r| / |v| is kept if the height there, after one
    more step, is no lower. Stops once a cycle gains less than ``least_gain``.

    Parameters
    ----------
    step : callable
        Takes a point; returns the next one, and the height of the point itself.
    start : object
        The first point, whatever ``step`` takes.
    coordinates : pair of callables
        ``pack(point)`` is its vector, without constraints; ``unpack(vector, like)`` the
        point of a vector, of the same kind as the point ``like``.
    max_iter : int
        Most steps; the cycle of three is ended.
    least_gain : float
    """
    pack, unpack = coordinates
    n_iter, converged = 0, False
    point, height, fallback = start, -np.inf, start

    def counted(point):
        nonlocal n_iter
        n_iter += 1
        return step(point)

    while n_iter < max_iter and not converged:
        one, before = counted(point)
        if not before >= height - ROUNDING * abs(height):
            # EM only climbs: the height of the last leap was an error of rounding
            point = fallback
            one, before = counted(point)
        two, height = counted(one)
        leap = extrapolation(pack(point), pack(one), pack(two))
        point = fallback = two
        with np.errstate(all="ignore"):  # a leap too far is refused, not reported
            try:
                landed, there = counted(unpack(leap, two))
                if there >= height:
                    point, height = landed, there
            except np.linalg.LinAlgError:
                pass
        converged = bool(height - before < least_gain)
    return Climb(point, n_iter, converged)


def extrapolation(zero, one, two):
    """Return where SQUAREM leaps to after the steps zero, one, two."""
    r = one - zero
    v = two - one - r
    step = max(1.0, np.linalg.norm(r) / max(np.linalg.norm(v), np.finfo(float).tiny))
    return zero + 2 * step * r + step**2 * v


class AndersonMixing:
    """Anderson's acceleration of a fixed point iteration g (Walker and Ni 2011).

    The next point is sum_i a_i g(x_i) over the last points, with weights of sum 1 that
    make |sum_i a_i (g(x_i) - x_i)| least. It needs no objective, which expectation
    propagation does not give for free. Where the residual grows, or the weights do, the
    past is forgotten.
    """

    def __init__(self):
        self._residuals, self._images = [], []

    def next(self, point: NDArray, image: NDArray) -> NDArray:
        """Return the point to go on from, given the last one and its image g."""
        residual = image - point
        norms = [float(np.linalg.norm(r)) for r in self._residuals]
        if norms and np.linalg.norm(residual) > MOST_GROWTH * min(norms):
            self._residuals, self._images = [], []
        self._residuals = [*self._residuals[-MEMORY:], residual]
        self._images = [*self._images[-MEMORY:], image]
        if len(self._residuals) == 1:
            return image
        change = np.diff(self._residuals, axis=0).T
        weight = np.linalg.lstsq(change, residual, rcond=1e-6)[0]
        if np.abs(weight).sum() > MOST_WEIGHT:
            self._residuals, self._images = [], []
            return image
        return image - np.diff(self._images, axis=0).T @ weight
