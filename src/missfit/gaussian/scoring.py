"""Newton steps and Fisher scoring: uphill by the slope, divided by the information."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

MOST_STEPS = 100
MOST_CUTS = 30  # of a step that does not rise
LEAST_COSINE = 1e-8  # of a way and the change of the slope, to learn from it
LEAST_CUT, MOST_CUT = 0.1, 0.5
# A step that is expected to gain less log-likelihood is the last. The estimates are
# then within a tenth of a standard error, and the next step would change them by less.
LEAST_GAIN = 0.01
# From here on the curvature changes so little that the last step tells it.
NEAR = 3.0

Vector = NDArray[np.float64]


class Place(NamedTuple):
    """A point, its height, the slope there, and the curvature or what it is like.

    Attributes
    ----------
    point : ndarray of shape (k,)
    height : float
        A log-likelihood.
    slope : ndarray of shape (k,)
    information : ndarray of shape (k, k)
        Minus the curvature, or what it is expected to be; positive definite.
    walk, change : ndarray of shape (k,), optional
        The way from the place before, and by how much the slope is less than there.
    """

    point: Vector
    height: float
    slope: Vector
    information: NDArray[np.float64]
    walk: Vector | None = None
    change: Vector | None = None

    def held(self, rows: Vector) -> Place:
        """Return the place where numbers are pulled to zero by so many pseudo-rows."""
        return Place(
            self.point,
            self.height - float(rows @ self.point**2) / 2,
            self.slope - rows * self.point,
            self.information + np.diag(rows),
            self.walk,
            None
            if self.walk is None or self.change is None
            else self.change + rows * self.walk,
        )

    def after(self, before: Place) -> Place:
        """Return the place with the way to it from another."""
        walk, change = self.point - before.point, before.slope - self.slope
        return self._replace(walk=walk, change=change)

    def step(self) -> Vector:
        """Return the step to the top of the parabola that the place suggests.

        Along the way from the place before the curvature is known: that of the
        information is replaced, as Broyden, Fletcher, Goldfarb and Shanno do.
        """
        known, way, change = self.information, self.walk, self.change
        if way is not None and change is not None and _is_known(way, change):
            across = known @ way
            known = known - np.outer(across, across) / (way @ across)
            known += np.outer(change, change) / (way @ change)
        try:
            factor = linalg.cho_factor(known, check_finite=False)
        except np.linalg.LinAlgError:  # singular to rounding: weights of 1e18, say
            walk = np.linalg.lstsq(self.information, self.slope)[0]
            return np.asarray(walk, dtype=np.float64)
        return linalg.cho_solve(factor, self.slope, check_finite=False)


def _is_known(way: Vector, change: Vector) -> bool:
    """Whether the change of the slope tells the curvature along the way to a place.

    A way and a change of the size of rounding errors may point anywhere.
    """
    sizes = float(np.linalg.norm(way) * np.linalg.norm(change))
    return float(way @ change) > LEAST_COSINE * sizes


Look = Callable[[Vector], Place]


def top(look: Look, start: Vector) -> Place:
    """Climb from a point to where the height is greatest; return what is seen there.

    Parameters
    ----------
    look : callable
        Takes a point, returns its `Place`.
    start : ndarray of shape (k,)

    Examples
    --------
    >>> def look(x):
    ...     return Place(x, -((x[0] - 3) ** 2), -2 * (x - 3), 2 * np.eye(1))
    >>> top(look, np.zeros(1)).point.tolist()
    [3.0]
    """
    here = look(np.asarray(start, dtype=float))
    for _ in range(MOST_STEPS):
        here, gain = higher(look, here)
        if gain < LEAST_GAIN:
            break
    return here


def higher(look: Look, here: Place) -> tuple[Place, float]:
    """Take a step; return its end, and what it was expected to gain.

    A step that does not rise is cut to where the slopes at its ends suggest the top;
    where none rises, the end is the start.
    """
    step = here.step()
    gain = float(step @ here.slope) / 2
    for _ in range(MOST_CUTS):
        there = look(here.point + step)
        if there.height >= here.height:
            return (there.after(here) if gain < NEAR else there), gain
        drop = step @ (here.slope - there.slope)
        cut = step @ here.slope / drop if drop > 0 else MOST_CUT
        step = step * np.clip(cut, LEAST_CUT, MOST_CUT)
    return here, 0.0
