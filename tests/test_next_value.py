"""What a missing value would change, against the law of the data."""

import numpy as np
import pytest

from missfit.evidence.next_value import next_value

SLOPES = np.array([2.0, 1.0, 0.0])
RHO = 0.8


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        # both: b0 + rho b1 of what x0 tells, and the other way around
        ([True, True, True], [(2 + RHO) ** 2, (1 + 2 * RHO) ** 2, 0.0]),
        # what x1 leaves open: b0^2 (1 - rho^2)
        ([True, False, False], [4 * (1 - RHO**2), np.nan, np.nan]),
        ([False, True, True], [np.nan, 1 - RHO**2, 0.0]),
        ([False, False, False], [np.nan] * 3),
    ],
)
def test_the_drop_is_that_of_the_gaussian_law(rng, pattern, expected):
    cov = np.eye(3)
    cov[0, 1] = cov[1, 0] = RHO
    X = rng.multivariate_normal(np.zeros(3), cov, 4_000)
    y = X @ SLOPES + rng.normal(0, 0.1, len(X))

    def losses(rows, places):  # of E[y | x_obs]
        filled = rows.copy()
        for j, k in ((0, 1), (1, 0)):
            gone = np.isnan(filled[:, j])
            filled[gone, j] = RHO * np.nan_to_num(rows[gone, k])
        return (np.nan_to_num(filled) @ SLOPES - y[places]) ** 2

    X[rng.random(X.shape) < 0.1] = np.nan
    found = next_value(losses, X, np.arange(3), np.array(pattern))
    np.testing.assert_array_equal(np.isnan(found.drops), np.isnan(expected))
    for drop, error, truth in zip(
        found.drops, found.standard_errors, expected, strict=True
    ):
        if not np.isnan(truth):
            assert abs(drop - truth) <= 4 * error + 1e-12
    best = [j for j in np.argsort(expected)[::-1] if expected[j] > 0]
    assert found.ranked() == sorted(best, key=lambda j: -expected[j])


def test_a_variable_that_no_row_has_is_not_ranked():
    X = np.column_stack([np.arange(50.0), np.full(50, np.nan)])

    def losses(rows, places):
        return np.nan_to_num(rows[:, 0] - places) ** 2 + np.isnan(rows[:, 0])

    found = next_value(losses, X, np.arange(2), np.array([True, True]))
    assert found.ranked() == [0]
    assert np.isnan(found.drops[1])


@pytest.mark.parametrize("n_missing", [0, 1, 2])
def test_the_loss_is_that_of_rows_with_the_same_pattern_where_they_are_enough(
    rng, n_missing
):
    n = 3_000
    X = rng.standard_normal((n, 3))
    # in a row that lacks a value all else is hard to predict: no other row can tell
    lacks = rng.integers(3, size=n)
    X[np.arange(3) < lacks[:, None]] = np.nan
    error = rng.standard_normal(n) * (1 + 10 * lacks)

    def losses(rows, places):
        return error[places] ** 2

    pattern = np.arange(3) < n_missing
    found = next_value(losses, X, np.arange(3), pattern)
    expected = (error[lacks == n_missing] ** 2).mean()
    assert found.now == pytest.approx(expected, rel=1e-12)
    if n_missing:  # and once the last of them is known, that of rows that have it
        fewer = (error[lacks == n_missing - 1] ** 2).mean()
        assert found.then[n_missing - 1] == pytest.approx(fewer, rel=1e-12)
