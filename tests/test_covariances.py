import numpy as np
import pytest
from scipy import linalg

from conftest import random_cov
from missfit.gaussian.covariances import (
    LARGE,
    MANY,
    SWEPT_MATRICES,
    at_least,
    inverse_of_positive,
    inverse_of_triangular,
    log_of_positive,
    power_of_e,
    precision_of,
    regression_slopes,
    set_apart,
)


@pytest.mark.parametrize("n_matrices", [1, MANY - 1, MANY, 3 * MANY])
def test_the_inverse_of_triangles_is_lapacks(rng, n_matrices):
    root = np.linalg.cholesky(
        np.stack([random_cov(rng, 7) for _ in range(2 * n_matrices)])
    ).reshape(2, n_matrices, 7, 7)
    found = inverse_of_triangular(root)
    np.testing.assert_allclose(found, np.linalg.inv(root), atol=1e-10)


def test_logarithm_and_exponential_are_scipys(rng):
    stack = np.stack([random_cov(rng, 4) for _ in range(3)])
    logs = log_of_positive(stack)
    for cov, log in zip(stack, logs, strict=True):
        np.testing.assert_allclose(log, linalg.logm(cov), atol=1e-9)
        np.testing.assert_allclose(power_of_e(log), linalg.expm(log), atol=1e-9)


def test_slopes_are_the_least_norm_solution_where_features_are_collinear(rng):
    X = rng.standard_normal((50, 3))
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    y = rng.standard_normal((50, 2))
    slopes = regression_slopes(X.T @ X, X.T @ y)
    np.testing.assert_allclose(slopes, np.linalg.lstsq(X, y)[0], atol=1e-9)


def test_the_floor_is_the_nearest_matrix_above_it(rng):
    cov = random_cov(rng, 3)
    floor = float(np.median(np.linalg.eigvalsh(cov)))
    raised = at_least(cov, floor)
    values = np.linalg.eigvalsh(raised)
    expected = np.maximum(np.linalg.eigvalsh(cov), floor)
    np.testing.assert_allclose(values, expected, rtol=1e-10)
    np.testing.assert_allclose(at_least(cov, 0.0), cov, atol=1e-12)


def test_columns_set_apart_are_independent_of_variance_one(rng):
    cov = random_cov(rng, 3)
    apart = cov.copy()
    set_apart(apart, np.array([1]))
    np.testing.assert_array_equal(apart[1], [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(apart[:, 1], [0.0, 1.0, 0.0])
    rest = np.ix_([0, 2], [0, 2])
    np.testing.assert_array_equal(apart[rest], cov[rest])


def is_positive_inverse(cov):
    try:
        return linalg.eigvalsh(np.linalg.inv(cov))[0] > 0
    except np.linalg.LinAlgError:  # singular on some processors
        return False


def test_a_precision_is_numpys_inverse_and_positive_where_that_is_not(rng):
    cov = random_cov(rng, 6)
    np.testing.assert_allclose(precision_of(cov), linalg.inv(cov), rtol=1e-9)
    saved = 0
    for _ in range(50):
        vectors = linalg.qr(rng.standard_normal((6, 6)))[0]
        cov = (vectors * [1e-10, 1e-9, 1, 1e3, 1e6, 1e7]) @ vectors.T
        saved += not is_positive_inverse(cov)
        found = linalg.eigvalsh(precision_of(cov))
        assert found[0] == pytest.approx(1e-7, rel=1e-3)
        assert found[-1] == pytest.approx(1e5, rel=1e-3)  # 1e12 times the least
    assert saved > 10


# swept all at once, by factors all at once, by LAPACK one by one
@pytest.mark.parametrize(("n", "size"), [(SWEPT_MATRICES, 5), (3, 5), (3, LARGE + 8)])
def test_inverses_of_a_batch_are_numpys(rng, n, size):
    stack = np.stack([random_cov(rng, size) for _ in range(2 * n)])
    stack = stack.reshape(2, n, size, size)
    inverse, log_det = inverse_of_positive(stack)
    np.testing.assert_allclose(inverse, np.linalg.inv(stack), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(stack)[1], rtol=1e-9)
    with pytest.raises(np.linalg.LinAlgError):
        inverse_of_positive(-stack)


def test_a_ridge_of_each_target_is_that_of_a_larger_diagonal(rng):
    inner, cross = random_cov(rng, 4), rng.standard_normal((4, 3))
    found = regression_slopes(inner, cross, np.array([0.0, 2.0, np.inf]))
    np.testing.assert_allclose(found[:, 0], np.linalg.solve(inner, cross[:, 0]))
    by_hand = np.linalg.solve(inner + 2 * np.eye(4), cross[:, 1])
    np.testing.assert_allclose(found[:, 1], by_hand)
    assert not found[:, 2].any()


@pytest.mark.parametrize("ridge", [0.3, np.inf])
def test_slopes_under_a_ridge_are_those_of_the_normal_equations(rng, ridge):
    inner, cross = random_cov(rng, 4), rng.standard_normal((4, 2))
    found = regression_slopes(inner, cross, ridge)
    if np.isinf(ridge):
        assert not found.any()
    else:
        left = (inner + ridge * np.eye(4)) @ found - cross
        np.testing.assert_allclose(left, 0.0, atol=1e-12)
