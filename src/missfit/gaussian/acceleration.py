"""Fixed point iterations that arrive sooner: leaps by what the last steps showed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Steps that `climb` looks back. Of 5, 10 and 20, which differ little, 10 was best or
# near it on the three tables of its docstring.
LOOK_BACK = 10
ROUNDING = 1e-6  # share of the height by which EM may seem to fall by rounding
WINDOW = 3  # steps whose gain together tells that an ascent has ended
# Anderson's acceleration without heights looks MEMORY steps back; it forgets them once
# the residual grows by MOST_GROWTH or the weights add up to MOST_WEIGHT. Together they
# took a third of the steps of plain EM where it is slow; no variation of one alone is
# on record.
MEMORY = 5
MOST_GROWTH = 2.0
MOST_WEIGHT = 50.0


class Climb(NamedTuple):
    """Where an ascent ended, after how many steps, and whether it had converged."""

    point: Any
    n_iter: int
    converged: bool


def climb(
    step: Callable[[Any], tuple[Any, float]],
    start: Any,
    coordinates: tuple[Callable, Callable],
    *,
    max_iter: int,
    least_gain: float | Callable[[Any], float],
) -> Climb:
    """Repeat EM steps with leaps and a monotone guard.

    After two steps the leap is that of SQUAREM (Varadhan and Roland 2008), after more
    that of Anderson (Walker and Ni 2011; for EM: Henderson and Varadhan 2019). A leap
    to a lower place is undone, and half of the past forgotten: the plain step is taken
    instead. Stops once three steps have gained less than ``least_gain`` together.

    SQUAREM's leaps alone took 41, 41 and 111 steps to within 1e-3 of the best
    log-likelihood per row, these 16, 20 and 71 (7,500 rows of mixture 1 and 750 of
    mixture 3 with 10 features; 4,000 rows of a table of 46 features); Anderson's alone
    are refused for a hundred steps on the last.

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
        Most steps, those undone among them.
    least_gain : float or callable
        What three steps must gain to go on; of the point where they led, if callable.
    """
    pack, unpack = coordinates
    past, heights, n_iter = Past(LOOK_BACK), [-np.inf], 0
    plain = point = start
    refuge = None  # after a leap: where it began
    while n_iter < max_iter:
        n_iter += 1
        image, height = _tried(step, point, is_leap=point is not plain)
        if point is not plain and not height >= heights[-1]:
            past.forget_half()
            point = plain
            continue
        fell = height < heights[-1] - ROUNDING * abs(heights[-1])
        if refuge is not None and fell:
            # EM only climbs: the last leap was to a place that no step leads to
            past, heights = Past(LOOK_BACK), [-np.inf]
            plain = point = refuge
            refuge = None
            continue
        refuge = None if point is plain else plain
        plain = image
        heights.append(height)
        least = least_gain(plain) if callable(least_gain) else least_gain
        if len(heights) > WINDOW and height - heights[-1 - WINDOW] < least:
            return Climb(plain, n_iter, True)
        past.add(pack(point), pack(image))
        point = _read(unpack, past.leap(), plain)
    return Climb(plain, n_iter, False)


def _tried(step, point, *, is_leap: bool):
    """Take a step; a leap too far is refused, not reported."""
    if not is_leap:
        return step(point)
    with np.errstate(all="ignore"):
        try:
            return step(point)
        except np.linalg.LinAlgError:
            return point, -np.inf


def _read(unpack, leap: NDArray | None, plain):
    """Return the point of a leap, or the plain one where there is none to read."""
    if leap is None:
        return plain
    with np.errstate(all="ignore"):
        try:
            return unpack(leap, plain)
        except np.linalg.LinAlgError:
            return plain


class Past:
    """Points of a fixed point iteration g, as their residuals g(x) - x and images."""

    def __init__(self, look_back: int):
        self._most = look_back + 1
        self._residuals: list[NDArray] = []
        self._images: list[NDArray] = []

    def add(self, point: NDArray, image: NDArray) -> None:
        """Take up a point, and forget the one before all that are kept."""
        self._residuals = [*self._residuals, image - point][-self._most :]
        self._images = [*self._images, image][-self._most :]

    def forget_half(self) -> None:
        """Forget the older half, but not the last."""
        kept = max(1, len(self._images) // 2)
        self._residuals, self._images = self._residuals[-kept:], self._images[-kept:]

    def leap(self) -> NDArray | None:
        """Return where to go on, or None to take the plain step."""
        if len(self._images) < 2:
            return None
        if len(self._images) == 2:
            zero = self._images[0] - self._residuals[0]
            return extrapolation(zero, *self._residuals)
        return mixed(self._residuals, self._images, 1e-8)[0]


def extrapolation(zero: NDArray, residual: NDArray, following: NDArray) -> NDArray:
    """Return SQUAREM's leap from a point, its residual and that after one step.

    theta - 2 a r + a^2 v with the residual r, its change v and a = -|r| / |v|.
    """
    change = following - residual
    size = max(np.linalg.norm(change), np.finfo(float).tiny)
    step = max(1.0, np.linalg.norm(residual) / size)
    return zero + 2 * step * residual + step**2 * change


def mixed(residuals: list[NDArray], images: list[NDArray], rcond: float):
    """Return sum_i a_i g(x_i) with weights of sum 1 that make the residual least.

    And the weights of the differences between successive images that lead there. Where
    no weights can be found (a residual is not finite) it is the last image.
    """
    change = np.diff(residuals, axis=0).T
    if not np.isfinite(change).all():
        return images[-1], np.zeros(change.shape[1])
    weight = np.linalg.lstsq(change, residuals[-1], rcond=rcond)[0]
    return images[-1] - np.diff(images, axis=0).T @ weight, weight


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
        leap, weight = mixed(self._residuals, self._images, 1e-6)
        if np.abs(weight).sum() > MOST_WEIGHT:
            self._residuals, self._images = [], []
            return image
        return leap
