"""Errors of a Gaussian's prediction of y that does not use one of the features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from missfit.patterns import group_rows

FLOOR = 1e-6  # of the variance of y: a prediction without error has no spread


def errors_without(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    law: tuple[NDArray[np.float64], NDArray[np.float64]],
    block: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Standardised errors (y - E[y | x_obs without block J]) / sd, of shape (n, blocks).

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
    scale = np.sqrt(np.where(np.diag(cov) > 0, np.diag(cov), 1.0))
    known = np.diag(cov)[:-1] > 0
    cov = cov / scale / scale[:, None]
    Z = (X - mean[:-1]) / scale[:-1]
    gap = (y - mean[-1]) / scale[-1]
    errors = np.empty((len(X), int(block.max(initial=-1)) + 1))
    groups = group_rows(np.isnan(X))
    for p, pattern in enumerate(groups.patterns):
        rows = groups.order[groups.starts[p] : groups.starts[p + 1]]
        seen = np.flatnonzero(~pattern & known)
        errors[rows] = _pattern_errors(
            Z[np.ix_(rows, seen)], gap[rows], cov, seen, block[seen], errors.shape[1]
        )
    return errors


def _pattern_errors(Z, gap, cov, seen, block, n_blocks: int) -> NDArray[np.float64]:
    """Those of the rows of one pattern, in standard units."""
    inverse = np.linalg.pinv(cov[np.ix_(seen, seen)], hermitian=True)
    slopes = inverse @ cov[seen, -1]
    error = gap - Z @ slopes
    variance = cov[-1, -1] - slopes @ cov[seen, -1]
    g = Z @ inverse
    found = np.tile(error[:, None], n_blocks)
    spread = np.full(n_blocks, variance)
    for k in np.unique(block):
        J = np.flatnonzero(block == k)
        back = np.linalg.pinv(inverse[np.ix_(J, J)], hermitian=True) @ slopes[J]
        found[:, k] += g[:, J] @ back
        spread[k] += slopes[J] @ back
    return found / np.sqrt(np.maximum(spread, FLOOR))
