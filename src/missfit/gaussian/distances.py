"""Squared Mahalanobis distances to the last digits.

Far from all components of a mixture, the weights of its components are those of small
differences of large squares: 20,000 and 20,005, say, of 46 features. Rounding in a
Cholesky factor touches the eleventh digit of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

GRID = 2.0**28  # leaves 24 bits of a number: sums of products of two such are exact


def squared_distance(
    gap: NDArray[np.float64], weight: NDArray[np.float64], cov: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return z'C^-1 z of rows z, given s that is near C^-1 z.

    ::

        z'C^-1 z = s'z + s'(z - C s) + e'C e,   e = s - C^-1 z

    The last term, the square of an error, is left out.

    Parameters
    ----------
    gap, weight : ndarray of shape (n, d)
        z and s, 0 where missing.
    cov : ndarray of shape (d, d)
        C; s is near the inverse of its observed block times z.
    """
    left = unexplained(gap, weight, np.abs(weight).sum(axis=1, keepdims=True), cov)
    return (weight * gap).sum(axis=1) + (weight * left).sum(axis=1)


def unexplained(gap: Any, weight: Any, size: Any, cov: NDArray[np.float64]) -> Any:
    """Return z - C s of rows to the last digits, though it nearly cancels.

    The leading bits of C and s have a product without rounding, and the others are
    small. ``size`` is the sum of the magnitudes of each row of s. Arrays and values of
    an ONNX graph are taken alike.
    """
    top = leading(cov, np.abs(cov).max())
    head = leading(weight, size)
    return ((gap - head @ top) - (weight - head) @ top) - weight @ (cov - top)


def leading(values: Any, size: Any) -> Any:
    """Return values rounded to multiples of about 2^-24 of a size that bounds them."""
    far = size * GRID
    return (values + far) - far
