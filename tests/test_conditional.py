import numpy as np
import pytest
from scipy import linalg

from conftest import random_cov
from missfit.gaussian.conditional import (
    condition,
    conditional_covariance,
    conditional_maps,
    maps_by_precision,
)
from missfit.moments.patterns import all_patterns


def test_the_conditional_law_is_the_textbook_one(rng):
    cov = random_cov(rng, 4)
    patterns = all_patterns(4)
    slope, residual = condition(cov, patterns)
    for m, b, v in zip(patterns, slope, residual, strict=True):
        expected_slope, expected_residual = np.zeros((4, 4)), np.zeros((4, 4))
        if m.any():
            cross = cov[np.ix_(m, ~m)]
            inverse = (
                linalg.inv(cov[np.ix_(~m, ~m)]) if not m.all() else np.empty((0, 0))
            )
            expected_slope[np.ix_(m, ~m)] = cross @ inverse
            expected_residual[np.ix_(m, m)] = (
                cov[np.ix_(m, m)] - cross @ inverse @ cross.T
            )
        np.testing.assert_allclose(b, expected_slope, atol=1e-12)
        np.testing.assert_allclose(v, expected_residual, atol=1e-12)


def test_the_residual_is_the_inverse_of_the_precision_block(rng):
    # Var(X_u | X_o) = (Omega_uu)^-1: an identity that the kernel does not use
    cov = random_cov(rng, 6)
    pattern = np.array([[1, 0, 1, 1, 0, 0]], dtype=bool)
    _, residual = condition(cov, pattern)
    u = pattern[0]
    precision = linalg.inv(cov)[np.ix_(u, u)]
    np.testing.assert_allclose(
        residual[0][np.ix_(u, u)], linalg.inv(precision), rtol=1e-9
    )


def test_maps_take_a_law_per_pattern(rng):
    patterns = all_patterns(3)
    means = rng.standard_normal((8, 3))
    covs = np.stack([random_cov(rng, 3) for _ in range(8)])
    beta = rng.standard_normal(3)
    together = conditional_maps(means, covs, 2.0, beta, patterns)
    for i in range(8):
        alone = conditional_maps(means[i], covs[i], 2.0, beta, patterns[i : i + 1])
        np.testing.assert_allclose(together.coef[i], alone.coef[0], rtol=1e-12)
        np.testing.assert_allclose(
            together.intercept[i], alone.intercept[0], rtol=1e-12
        )


@pytest.mark.parametrize("rank", [70, 20])  # of a covariance, and of a singular one
def test_maps_by_the_precision_are_those_by_the_covariance(rng, rank):
    factor = rng.standard_normal((70, 2 * rank if rank == 70 else rank))
    cov = factor @ factor.T + (1e-10 * np.eye(70) if rank < 70 else 0.0)
    patterns = rng.random((9, 70)) < np.linspace(0, 1, 9)[:, None]
    mean, beta = rng.standard_normal(70), rng.standard_normal(70)
    ours = maps_by_precision(mean, cov, 2.0, beta, patterns)
    theirs = conditional_maps(mean, cov, 2.0, beta, patterns)
    for name in ("intercept", "coef", "variance"):
        found, expected = getattr(ours, name), getattr(theirs, name)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_the_residual_by_precision_is_that_by_covariance(rng, monkeypatch):
    cov = random_cov(rng, 6)
    patterns = rng.random((20, 6)) < 0.4
    plain = condition(cov, patterns)[1]
    np.testing.assert_allclose(conditional_covariance(cov)(patterns), plain)
    monkeypatch.setattr("missfit.gaussian.conditional.WIDE", 1)
    by_precision = conditional_covariance(cov)(patterns)
    np.testing.assert_allclose(by_precision, plain, atol=1e-10)
    equal = np.ones((6, 6))  # which has no precision: one value tells all others
    one_known = np.array([[False, True, True, True, True, True]])
    np.testing.assert_allclose(conditional_covariance(equal)(one_known), 0, atol=1e-12)
