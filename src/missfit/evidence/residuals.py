"""The errors of predicting y by a Gaussian law without one of the features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from missfit.moments.blocks import blocks
from missfit.moments.patterns import group_rows

RIDGE = 1e-9  # share of the variances added to them, so that collinear features invert
FLOOR = 1e-6  # least error variance, as a share of that of y: it is divided by


def errors_without(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    law: tuple[NDArray[np.float64], NDArray[np.float64]],
    block: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return (y - E[y | x_obs without block J]) / sd, of shape (n, n_blocks).

    With K the inverse of the covariance of the observed features, b = K cov(x, y) and
    g = K (x - mean), leaving out J changes the prediction by -b_J' K_JJ^-1 g_J and
    raises its variance by b_J' K_JJ^-1 b_J: one inverse for each pattern.

    Parameters
    ----------
    X, y : ndarray of shape (n, d) and (n,)
        NaN where missing.
    law : tuple of ndarrays of shape (d + 1,) and (d + 1, d + 1)
        Mean and covariance of (X, y).
    block : int ndarray of shape (d,)
        The block that each feature belongs to, 0, 1, ...
    """
    mean, cov = law
    known = np.diag(cov) > 0
    scale = np.sqrt(np.where(known, np.diag(cov), 1.0))
    cov = cov / scale / scale[:, None] + RIDGE * np.eye(len(cov))
    gap = (np.column_stack([X, y]) - mean) / scale
    gap[:, :-1][:, ~known[:-1]] = np.nan  # a feature without variance is not used
    found = [
        _block_errors(gap[rows], cov, block) for rows in blocks(len(X), X.shape[1] ** 2)
    ]
    return np.concatenate(found)


def _block_errors(gap: NDArray, cov: NDArray, block: NDArray) -> NDArray[np.float64]:
    """Return the errors of some rows, in standard units."""
    groups = group_rows(np.isnan(gap[:, :-1]))
    seen = ~groups.patterns
    pattern = np.empty(len(gap), dtype=np.intp)
    pattern[groups.order] = np.repeat(np.arange(len(seen)), groups.n_rows)
    # the identity for what is missing: it leaves the inverse of the rest as it is
    both = seen[:, :, None] & seen[:, None, :]
    inverse = np.linalg.inv(np.where(both, cov[:-1, :-1], np.eye(seen.shape[1])))
    cross = np.where(seen, cov[:-1, -1], 0.0)
    slopes = (inverse @ cross[:, :, None])[:, :, 0]
    variance = cov[-1, -1] - (slopes * cross).sum(axis=1)
    Z = np.where(seen[pattern], gap[:, :-1], 0.0)
    g = (inverse[pattern] @ Z[:, :, None])[:, :, 0]
    error = gap[:, -1] - (Z * slopes[pattern]).sum(axis=1)
    errors = np.empty((len(gap), int(block.max(initial=-1)) + 1))
    for k in range(errors.shape[1]):
        J = np.flatnonzero(block == k)
        back = _solved(inverse[:, J][:, :, J], slopes[:, J])
        spread = np.maximum(variance + (slopes[:, J] * back).sum(axis=1), FLOOR)
        without = error + (g[:, J] * back[pattern]).sum(axis=1)
        errors[:, k] = without / np.sqrt(spread[pattern])
    return errors


def _solved(A: NDArray, b: NDArray) -> NDArray[np.float64]:
    """Return A^-1 b of each pattern, by division where there is one feature."""
    if A.shape[-1] == 1:
        return b / A[:, :, 0]
    return np.linalg.solve(A, b[:, :, None])[:, :, 0]
