"""Probit factors by expectation propagation, against integrals."""

import numpy as np
import pytest
from scipy import linalg, special, stats
from scipy.stats import qmc

from conftest import random_cov
from missfit.gaussian import probit
from missfit.gaussian.conditional import condition
from missfit.gaussian.probit import missing_given_mask, probit_posterior


def genz_mean(mean, cov, bias, slope, power=13):
    """E[X] under N(mean, cov) prod Phi(bias + slope X), by quasi-Monte-Carlo.

    With U = bias + slope X + e the law is that of X given U > 0: Genz's separation of
    variables draws U coordinate by coordinate; E[X | U] is linear.
    """
    k = len(mean)
    total = slope[:, None] * cov * slope + np.eye(k)
    root = linalg.cholesky(total, lower=True)
    centre = bias + slope * mean
    w = qmc.Sobol(k, seed=0).random_base2(power)
    U = np.empty_like(w)
    z = np.empty_like(w)
    log_weight = np.zeros(len(w))
    for j in range(k):
        location = centre[j] + z[:, :j] @ root[j, :j]
        log_tail = special.log_ndtr(location / root[j, j])  # P(U_j > 0)
        log_weight += log_tail
        # z_j = upper-tail quantile, right in the far tail too
        z[:, j] = -special.ndtri_exp(np.log1p(-w[:, j]) + log_tail)
        U[:, j] = location + root[j, j] * z[:, j]
    weight = np.exp(log_weight - log_weight.max())
    mean_U = weight @ U / weight.sum()
    return mean + cov @ (slope * linalg.solve(total, mean_U - centre))


@pytest.mark.parametrize("k", [1, 2, 4, 7])
def test_expectation_propagation_agrees_with_quasi_monte_carlo(rng, k):
    n = 20
    mean = rng.standard_normal((n, k)) * 2
    cov = np.stack([random_cov(rng, k) for _ in range(n)])
    bias, slope = rng.standard_normal((2, n, k))
    posterior = probit_posterior(mean, cov, bias, slope)
    reference = np.stack(
        [genz_mean(*row) for row in zip(mean, cov, bias, slope, strict=True)]
    )
    scale = np.sqrt(np.trace(cov, axis1=1, axis2=2))[:, None]
    error = (posterior.mean - reference) / scale
    # one factor is exact, so what is left there is the error of the reference
    assert np.sqrt(np.mean(error**2)) < (2e-3 if k > 1 else 1e-4)
    assert posterior.n_sweeps < 50


def test_one_probit_factor_is_exact():
    # k = 1: the skew normal of Azzalini, whose moments scipy knows
    posterior = probit_posterior(
        np.zeros((1, 1)), np.ones((1, 1, 1)), np.zeros((1, 1)), np.full((1, 1), 3.0)
    )
    np.testing.assert_allclose(posterior.mean[0, 0], stats.skewnorm(3.0).mean())
    np.testing.assert_allclose(posterior.cov[0, 0, 0], stats.skewnorm(3.0).var())


def test_far_tails_and_singular_covariances_stay_finite_and_right():
    # A factor far in its tail: X is pulled to where Phi is not tiny. Reference by
    # integration on a grid.
    bias, slope = -40.0, 2.0
    posterior = probit_posterior(
        np.zeros((1, 1)),
        np.ones((1, 1, 1)),
        np.full((1, 1), bias),
        np.full((1, 1), slope),
    )
    x = np.linspace(-5, 40, 200_001)
    log_density = -(x**2) / 2 + special.log_ndtr(bias + slope * x)
    density = np.exp(log_density - log_density.max())
    np.testing.assert_allclose(
        posterior.mean[0, 0], density @ x / density.sum(), rtol=1e-6
    )
    # two equal coordinates: the covariance has no inverse
    twin = probit_posterior(
        np.zeros((1, 2)), np.ones((1, 2, 2)), np.zeros((1, 2)), np.ones((1, 2))
    )
    x = np.linspace(-10, 10, 20_001)
    density = np.exp(-(x**2) / 2) * special.ndtr(x) ** 2
    np.testing.assert_allclose(twin.mean[0], density @ x / density.sum(), rtol=2e-3)
    np.testing.assert_allclose(twin.mean[0, 0], twin.mean[0, 1])


@pytest.mark.parametrize("n", [1, 30])
def test_sites_renewed_together_are_those_renewed_one_by_one(rng, monkeypatch, n):
    k = 9
    cov = np.stack([random_cov(rng, k) for _ in range(n)])
    mean, bias, slope = rng.standard_normal((3, n, k))
    together = probit.probit_posterior(mean, cov, bias, slope)
    monkeypatch.setattr(probit, "TOGETHER", 1)
    one_by_one = probit.probit_posterior(mean, cov, bias, slope)
    assert together.n_sweeps == one_by_one.n_sweeps
    np.testing.assert_allclose(together.mean, one_by_one.mean, atol=1e-12)
    np.testing.assert_allclose(together.cov, one_by_one.cov, atol=1e-12)


def test_the_law_before_the_mask_is_that_of_the_pattern(rng):
    d, cov, mean = 5, random_cov(rng, 5), rng.standard_normal(5)
    X = np.where(rng.random((200, d)) < 0.5, np.nan, rng.standard_normal((200, d)))
    seen = np.zeros(len(X), dtype=int)
    for part in missing_given_mask(X, mean, cov, np.zeros(d), np.ones(d)):
        maps, residual = condition(cov, np.isnan(X[part.rows]))
        gap = np.nan_to_num(X[part.rows] - mean)
        prior = mean + (maps @ gap[:, :, None])[:, :, 0]
        seen[part.rows] += 1
        for i, mis in enumerate(part.missing):
            np.testing.assert_allclose(part.mean[i], prior[i, mis], atol=1e-12)
            inner = residual[i][np.ix_(mis, mis)]
            np.testing.assert_allclose(part.cov[i], inner, atol=1e-12)
    np.testing.assert_array_equal(seen, np.isnan(X).any(axis=1))


def test_every_row_is_in_one_block_beside_those_that_miss_as_many(rng):
    X = np.where(rng.random((5_000, 20)) < 0.5, np.nan, 0.0)
    rows = probit.alike_rows(X)
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(len(X)))
    assert len(rows) > 1
    assert (np.diff(np.isnan(X[np.concatenate(rows)]).sum(axis=1)) >= 0).all()


def test_no_rows_are_no_work():
    empty = probit_posterior(
        *(np.empty(s) for s in [(0, 2), (0, 2, 2), (0, 2), (0, 2)])
    )
    assert empty.mean.shape == (0, 2)
