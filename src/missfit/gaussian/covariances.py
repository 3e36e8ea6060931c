"""Functions of covariance matrices: logarithm, inverse, regression, floor."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import get_lapack_funcs

MANY = 16  # triangles that are quicker inverted together than by LAPACK one by one
# Rows from which LAPACK's inverse of each matrix, by its Cholesky factor, is quicker
# than that of a batch: a matrix takes 21 us instead of 26 with 40 rows, 126 instead of
# 327 with 100, 9 instead of 7 with 25.
LARGE = 32
# Matrices, and their rows, from and up to which sweeps beat Cholesky factors: with
# 1,000 of them by 2.5 at 5 rows, 1.5 at 8, nothing at 11; with 20 of them nothing.
SWEPT_MATRICES = 64
SWEPT_ROWS = 10
LEAST_SHARE = 1e-12  # of the largest eigenvalue: Cholesky factors hold up to 1e-15


def inverse_of_positive(matrix: NDArray) -> tuple[NDArray, NDArray]:
    """Return the inverses of positive definite matrices, batched, and log det of each.

    >>> inverse, log_det = inverse_of_positive(np.array([[4.0, 0.0], [0.0, 16.0]]))
    >>> inverse.tolist(), float(np.exp(log_det).round(9))
    ([[0.25, 0.0], [0.0, 0.0625]], 64.0)
    """
    if not matrix.size:
        return matrix, np.zeros(matrix.shape[:-2])
    if matrix.shape[-1] >= LARGE:
        return _inverses_one_by_one(matrix)
    if matrix.shape[-1] <= SWEPT_ROWS and _n_matrices(matrix) >= SWEPT_MATRICES:
        return _inverses_all_at_once(matrix)
    root = np.linalg.cholesky(matrix)
    half = inverse_of_triangular(root)
    log_root = np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
    return half.swapaxes(-1, -2) @ half, 2 * log_root


def _n_matrices(matrix: NDArray) -> int:
    return math.prod(matrix.shape[:-2])


def _inverses_all_at_once(matrix: NDArray) -> tuple[NDArray, NDArray]:
    """Invert a batch with the matrix as its last axis: one step sweeps all."""
    u = matrix.shape[-1]
    last = np.ascontiguousarray(matrix.reshape(-1, u * u).T).reshape(u, u, -1)
    inverse, log_det = swept_inverse(last)
    inverse = np.ascontiguousarray(inverse.reshape(u * u, -1).T)
    return inverse.reshape(matrix.shape), log_det.reshape(matrix.shape[:-2])


def swept_inverse(matrix: NDArray[np.float64]):
    """Return inverses and log-determinants of positive definite matrices (u, u, n).

    The matrices are overwritten. By the sweep operator: a pivot d with its column c
    leaves A - c c'/d, and what it sweeps out holds the inverse in the end.

    >>> inverse, log_det = swept_inverse(np.array([[[2.0, 4.0]]]))
    >>> inverse.tolist(), np.exp(log_det).round(9).tolist()
    ([[[0.5, 0.25]]], [2.0, 4.0])
    """
    log_det = np.zeros(matrix.shape[2:])
    for j in range(len(matrix)):
        pivot = matrix[j, j].copy()
        if not (pivot > 0).all():
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        column = matrix[:, j].copy()
        scaled = column / pivot
        matrix -= column[:, None] * scaled
        matrix[:, j] = matrix[j] = scaled
        matrix[j, j] = -1.0 / pivot
        log_det += np.log(pivot)
    return np.negative(matrix, out=matrix), log_det


def _inverses_one_by_one(matrix: NDArray) -> tuple[NDArray, NDArray]:
    """Invert each of a batch by LAPACK's potrf and potri."""
    u = matrix.shape[-1]
    inverse, log_det = np.empty_like(matrix), np.empty(matrix.shape[:-2])
    potrf, potri = get_lapack_funcs(("potrf", "potri"), (matrix,))
    above = np.triu_indices(u, 1)
    for place in np.ndindex(matrix.shape[:-2]):
        root, failed = potrf(matrix[place].T, lower=0)
        if failed:
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        log_det[place] = 2 * np.log(root.diagonal()).sum()
        half_filled, _ = potri(root, lower=0, overwrite_c=1)
        inverse[place] = half_filled.T  # whose lower triangle holds the inverse
    inverse[..., above[0], above[1]] = inverse[..., above[1], above[0]]
    return inverse, log_det


def solution_of_positive(matrix: NDArray, right: NDArray) -> NDArray:
    """Return x with matrix x = right, of one positive definite matrix.

    By LAPACK's posv: with 60 rows in a third of the time of scipy's `cho_solve`.

    >>> solution_of_positive(np.diag([4.0, 16.0]), np.ones(2)).tolist()
    [0.25, 0.0625]
    """
    (posv,) = get_lapack_funcs(("posv",), (matrix,))
    _, x, failed = posv(matrix.T, right, lower=0)
    if failed:
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return x


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


def set_apart(cov: NDArray[np.float64], columns: NDArray[np.intp]) -> None:
    """Give columns variance 1 and no covariances, in place; (..., k, k)."""
    cov[..., columns, :] = 0.0
    cov[..., :, columns] = 0.0
    cov[..., columns, columns] = 1.0


def at_least(residual: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """Raise the eigenvalues of a covariance to a floor."""
    values, vectors = np.linalg.eigh((residual + residual.swapaxes(-1, -2)) / 2)
    raised = vectors * np.maximum(values, floor)[..., None, :]
    return raised @ vectors.swapaxes(-1, -2)


def precision_of(cov: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverse of a covariance, positive definite whatever rounding does.

    With eigenvalues of 1e-10 and 1e7, as EM may come to on four rows, the inverse has
    negative ones. So eigenvalues are raised to 1e-12 of the largest.

    >>> precision_of(np.diag([4.0, 0.5])).tolist()
    [[0.25, 0.0], [0.0, 2.0]]
    """
    values, vectors = np.linalg.eigh((cov + cov.T) / 2)
    least = LEAST_SHARE * values[-1]
    if values[0] < least:
        return (vectors / np.maximum(values, least)) @ vectors.T
    inverse = np.linalg.inv(cov)
    return (inverse + inverse.T) / 2


def regression_slopes(inner, cross, ridge: float | NDArray = 0.0):
    """Solve (inner + ridge I) @ slopes = cross; least norm where nothing varies.

    ``ridge`` may be one for each column of ``cross``; an infinite one makes its slopes
    0. The cut is far above rounding, so that what rounding adds to a singular matrix is
    never taken for variance. Where one ridge is above it nothing is cut, and a Cholesky
    factor is enough: 1 ms instead of 8 with 200 features.
    """
    strength = np.unique(ridge)
    if np.isinf(strength).all():
        return np.zeros_like(cross)
    if inner.ndim == 2 and len(strength) == 1 and strength > 1e-8 * np.trace(inner):
        held = inner + strength * np.eye(len(inner))
        return linalg.solve(held, cross, assume_a="pos")
    values, vectors = np.linalg.eigh(inner)
    total = values[..., None] + np.atleast_1d(ridge)[..., None, :]
    largest = total.max(axis=-2, keepdims=True, initial=np.finfo(float).tiny)
    usable = total > 1e-10 * largest
    inverse = np.divide(1.0, total, out=np.zeros_like(total), where=usable)
    return vectors @ (inverse * (vectors.swapaxes(-1, -2) @ cross))


def log_of_positive(matrix):
    """Matrix logarithm of positive definite matrices, batched.

    An eigenvalue that rounding has made negative counts as the least above rounding.
    """
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, np.finfo(float).eps * values[..., -1:])
    return (vectors * np.log(values)[..., None, :]) @ vectors.swapaxes(-1, -2)


def power_of_e(matrix):
    """Matrix exponential of symmetric matrices, batched."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.exp(values)[..., None, :]) @ vectors.swapaxes(-1, -2)
