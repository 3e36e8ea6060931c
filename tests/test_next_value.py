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


@pytest.mark.parametrize(("with_it", "without"), [(0.3, 2.0), (2.0, 0.3)])
def test_rows_that_lack_a_value_may_be_harder_or_easier_to_predict(
    rng, with_it, without
):
    # one site measures x1 and the other does not, and their noise differs
    n = 20_000
    X = rng.standard_normal((n, 2))
    lacks = rng.random(n) < 0.5
    y = X @ [1.0, 0.5] + np.where(lacks, without, with_it) * rng.standard_normal(n)
    X[lacks, 1] = np.nan

    def losses(rows, places):
        return (np.nan_to_num(rows) @ [1.0, 0.5] - y[places]) ** 2

    found = next_value(losses, X, np.arange(2), np.array([False, True]))
    assert found.now == pytest.approx(0.25 + without**2, rel=0.1)
    # the drop of rows with noise of variance 4 has a standard error of .02
    assert found.expected()[1] == pytest.approx(without**2, rel=0.1, abs=0.06)
    assert found.ranked() == [1]


def test_where_a_hidden_value_misleads_the_loss_is_that_of_rows_that_have_it(rng):
    # y = x, which is missing above 1; the model takes its mean there, and knows it else
    x = rng.standard_normal(20_000)
    X, y = np.where(x > 1, np.nan, x)[:, None], x + 0.1 * rng.standard_normal(20_000)

    def losses(rows, places):
        return (np.where(np.isnan(rows[:, 0]), 1.5, rows[:, 0]) - y[places]) ** 2

    found = next_value(losses, X, np.zeros(1, dtype=int), np.array([True]))
    assert found.now < 0.5 < found.drops[0]  # hiding a low value costs much more
    assert found.expected()[0] == pytest.approx(0.01, rel=0.1)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 5, 20])
def test_a_variable_of_noise_that_few_rows_have_is_seldom_worth_asking_for(n_rows):
    asked = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((100, 2))
        X[n_rows:, 1] = np.nan
        y = 0.1 * X[:, 1] + rng.standard_normal(100)  # y and noise: no drop on average

        def losses(rows, places, y=y):
            return (0.2 * np.nan_to_num(rows[:, 1]) - np.nan_to_num(y[places])) ** 2

        found = next_value(losses, X, np.arange(2), np.array([False, True]))
        asked += 1 in found.ranked()
    assert asked <= 300 * 0.023 + 3 * np.sqrt(300 * 0.023)


def test_rows_of_a_group_are_one_draw():
    asked = np.zeros(2)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(30), 20)
        noise, level = rng.standard_normal((2, 30))
        X = noise[group][:, None]  # of a group, as its level of y is
        y = 3 * level[group] + rng.standard_normal(len(group))

        def losses(rows, places, y=y):
            return (0.01 * np.nan_to_num(rows[:, 0]) - y[places]) ** 2

        for k, units in enumerate((None, group)):
            found = next_value(
                losses, X, np.zeros(1, dtype=int), np.array([True]), units
            )
            asked[k] += found.ranked() == [0]
    assert asked[0] > 15  # as if rows of a group were draws of their own
    assert asked[1] <= 8  # 2.3 expected, and 3.7 standard errors
