"""Ridge from second moments."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from missfit.moments.ridge import MANY, ridge_path


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
