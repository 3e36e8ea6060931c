"""Newton steps and Fisher scoring: against scipy's optimisers."""

import numpy as np
from scipy import optimize, stats

from missfit.gaussian.expected_features import ExpectedFeatures
from missfit.gaussian.probit_regression import probable_regression
from missfit.gaussian.scoring import Place, higher, top


def test_steps_end_where_scipy_s_optimiser_does_though_the_curvature_is_wrong(rng):
    """Cauchy's likelihood is not concave, and its information not its curvature."""
    data = rng.standard_cauchy(500) + 3.0

    def look(point):
        gap = data - point[0]
        slope = np.array([(2 * gap / (1 + gap**2)).sum()])
        height = -np.log1p(gap**2).sum()
        return Place(point, height, slope, np.full((1, 1), len(data) / 2))

    loss = lambda at: np.log1p((data - at) ** 2).sum()  # noqa: E731
    expected = optimize.minimize_scalar(loss, bounds=(1, 5), method="bounded").x
    # a tenth of a standard error, sqrt(2 / 500), and less after the last step
    assert abs(top(look, np.zeros(1)).point[0] - expected) < 0.003


def test_a_step_never_ends_lower(rng):
    def look(point):  # the information promises steps ten times too long
        return Place(point, -np.cosh(point[0]), -np.sinh(point), np.full((1, 1), 0.1))

    here = look(np.array([2.0]))
    for _ in range(5):
        there, _ = higher(look, here)
        assert there.height >= here.height
        here = there
    assert abs(here.point[0]) < 0.1


def test_a_place_held_by_rows_is_that_of_the_likelihood_with_a_prior():
    place = Place(np.array([2.0]), -1.0, np.array([3.0]), np.eye(1))
    held = place.held(np.array([4.0]))
    assert held.height == -1.0 - 4.0 * 2.0**2 / 2
    assert held.slope == 3.0 - 4.0 * 2.0
    assert held.information == 1.0 + 4.0


def test_the_probit_of_many_rows_begins_with_a_few_and_ends_with_all(rng):
    n = 12_000
    X = rng.normal(size=(n, 2))
    X[:, 0] = 2.0  # of the rows that it begins with, all are like this
    X[1::2, 0] = rng.normal(size=n // 2)
    label = 0.3 * X[:, 0] - X[:, 1] + rng.normal(size=n) > 0
    part = ExpectedFeatures(
        np.arange(n), np.ones(n), X, np.zeros((1, 2, 2)), np.zeros(n, dtype=int)
    )
    found = probable_regression([part], label, np.ones(n), 0.03)

    def loss(theta):
        index = np.where(label, 1, -1) * (theta[0] + X @ theta[1:])
        return -stats.norm.logcdf(index).sum()

    expected = optimize.minimize(loss, np.zeros(3)).x
    # a tenth of their standard errors, which are .02
    np.testing.assert_allclose(np.append(*found), expected, atol=2e-3)


def test_a_way_of_the_size_of_rounding_errors_does_not_bend_the_curvature():
    """A table of four rows ended in a matrix that was not positive definite."""
    curvature = np.diag([3.0, 1e6])
    way, change = np.array([-5.6e-17, 7.1e-34]), np.array([0.0, 7.1e-28])
    place = Place(np.zeros(2), 0.0, np.array([3.0, 1e6]), curvature, way, change)
    np.testing.assert_allclose(place.step(), [1.0, 1.0])
