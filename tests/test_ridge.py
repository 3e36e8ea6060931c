"""Ridge from second moments."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import Ridge

from missfit.moments.ridge import MANY, STRENGTHS, most_probable_ridge, ridge_path


@pytest.mark.parametrize("n_columns", [5, MANY + 20])
def test_the_path_is_scikit_learns_ridge(rng, n_columns):
    X = rng.normal(size=(2 * n_columns, n_columns))
    X[:, 1] = X[:, 0]  # collinear: only the penalty tells them apart
    y = X @ rng.normal(size=n_columns) + rng.normal(size=len(X))
    alphas = (0.1, 10.0, 1000.0)
    path = ridge_path(X.T @ X, (X.T @ y)[:, None], alphas)
    for alpha, found in zip(alphas, path, strict=True):
        expected = Ridge(alpha=alpha, fit_intercept=False, solver="svd").fit(X, y)
        np.testing.assert_allclose(found[:, 0], expected.coef_, atol=1e-9)


def test_without_penalty_it_is_the_solution_of_least_norm(rng):
    X = rng.normal(size=(50, MANY + 1))  # fewer rows than columns
    y = rng.normal(size=50)
    (found,) = ridge_path(X.T @ X, (X.T @ y)[:, None], (0.0,))
    expected = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-9)


def test_the_most_probable_strength_is_that_of_the_density_of_y(rng):
    # the density of y without its mean, by the dense covariance of the rows
    F = rng.normal(size=(12, 5)) * [3, 1, 1, 0.2, 0]
    F -= F.mean(axis=0)
    y = F @ rng.normal(size=5) + rng.normal(size=12)
    contrasts = np.linalg.svd(np.ones((1, 12)))[2][1:]  # all that does not see the mean
    heights = []
    for alpha in STRENGTHS:
        cov = contrasts @ (np.eye(12) + F @ F.T / alpha) @ contrasts.T
        left = contrasts @ y @ np.linalg.solve(cov, contrasts @ y)
        scale = left / 11  # the most probable one
        law = stats.multivariate_normal(np.zeros(11), scale * cov)
        heights.append(law.logpdf(contrasts @ y))
    cross, variance = F.T @ y[:, None] / 12, np.array([y.var()])
    found = most_probable_ridge(F.T @ F / 12, cross, variance, 12)
    assert found.alpha == STRENGTHS[np.argmax(heights)]
    ridge = Ridge(alpha=found.alpha[0]).fit(F, y)
    np.testing.assert_allclose(found.coef[:, 0], ridge.coef_, atol=1e-9)
