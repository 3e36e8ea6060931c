"""What matters: permuting a variable against laws that are known exactly."""

import numpy as np
import pandas as pd
import pytest

from missfit import TableEncoder
from missfit.comparison import Comparison, Trial
from missfit.comparison.candidates import Candidate
from missfit.comparison.fold_models import FoldModel
from missfit.comparison.importance import (
    ROUND_ROWS,
    pair_error,
    permutation_importance,
)

SLOPES = np.array([2.0, 1.0, 0.0])


class Known:
    """A predictor that is known, not learned: E[y | x] is a function of x."""

    def __init__(self, function):
        self.function = function

    def predict(self, X):
        return self.function(X)


def linear(X):
    return X @ SLOPES


def of_masks(X):
    return np.isnan(X) @ SLOPES


def compared(frame, y, groups=None):
    """Return a comparison of a table, in which nothing was tried."""
    encoder = TableEncoder().fit(frame)
    X = encoder.transform(frame)
    one = Candidate("known", lambda seed: None, "known", "a test")
    trials = [Trial(one, y, np.ones(2))]
    fold = np.arange(len(y)) % 2
    return Comparison(X, y, encoder, fold, groups, trials, "y", 0)


def importance_of(function, X, y, groups=None, **options):
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=list("abc"))
    found = compared(frame, y, groups)
    variables = found.encoder.variables_
    models = [
        FoldModel(Known(function), found.X, variables, np.flatnonzero(found.fold == k))
        for k in range(2)
    ]
    return permutation_importance(found, models, **options)


def test_permuting_an_independent_variable_costs_twice_its_share_of_the_variance(rng):
    # E (f(x') - y)^2 - E (f(x) - y)^2 = slope^2 E (x' - x)^2 = 2 slope^2 var(x)
    X = rng.standard_normal((3000, 3))
    y = linear(X) + rng.standard_normal(3000)
    found = importance_of(linear, X, y)
    np.testing.assert_array_less(
        abs(found.drops - 2 * SLOPES**2 / y.var()), 4 * found.errors + 1e-12
    )
    assert found.errors[0] < 0.1  # of 2,000 rows, 1.33 +- 0.04
    assert found.drops[2] == 0
    assert found.ranked() == [0, 1, 2]
    assert found.n_rows == 2000


def test_the_value_and_the_mask_of_a_variable_are_permuted_together(rng):
    # a predictor that looks at the masks alone: bits of variance p (1 - p)
    X = rng.standard_normal((3000, 3))
    X[rng.random(X.shape) < 0.3] = np.nan
    y = of_masks(X) + 0.3 * rng.standard_normal(3000)
    found = importance_of(of_masks, X, y)
    exact = 2 * SLOPES**2 * 0.21 / y.var()
    np.testing.assert_array_less(abs(found.drops - exact), 4 * found.errors + 1e-12)
    assert found.drops[1] > 5 * found.errors[1]


@pytest.mark.parametrize("grouped", [False, True])
def test_the_standard_error_is_the_spread_over_repeated_tables(rng, grouped):
    # With 200 tables the ratio of the two is known to 5 %; the bounds are 4 of these.
    # Rows of a group of 4 are the same row: there are 60 of them to learn from.
    drops, errors = [], []
    for _ in range(200):
        n, copies = (60, 4) if grouped else (240, 1)
        X = np.repeat(rng.standard_normal((n, 3)), copies, axis=0)
        y = linear(X) + np.repeat(rng.standard_normal(n), copies)
        groups = np.repeat(np.arange(n), copies) if grouped else None
        # halves of the groups, so that no group is in both folds
        order = np.argsort(np.arange(n * copies) // copies % 2, kind="stable")
        order = order.reshape(2, -1).T.ravel()
        groups = None if groups is None else groups[order]
        found = importance_of(linear, X[order], y[order], groups)
        unit = y.var()  # the errors take the variance of y for known
        drops.append(found.drops * unit)
        errors.append(found.errors * unit)
    spread = np.std(drops, axis=0)[:2]
    typical = np.sqrt(np.mean(np.square(errors), axis=0))[:2]
    np.testing.assert_allclose(typical / spread, 1.0, atol=0.2)


def test_errors_of_pairs_without_shared_members_are_those_of_a_mean(rng):
    values = rng.standard_normal(50)
    pairs = np.arange(100).reshape(50, 2)
    expected = values.std() / np.sqrt(50)
    assert pair_error(values, *pairs.T) == pytest.approx(expected)


def test_the_columns_of_a_category_are_permuted_as_one_variable(rng):
    frame = pd.DataFrame(
        {"a": rng.standard_normal(400), "colour": rng.choice(list("rgb"), 400)}
    )
    y = (frame["colour"] == "r") + 0.1 * rng.standard_normal(400)
    seen = []

    def predict(X):
        seen.append(X[:, 1:])
        return X[:, 1]

    found = importance_of(predict, frame, y.to_numpy())
    assert found.drops.shape == (2,)
    # no row is both of two colours: each has at most one 1
    assert np.concatenate(seen).sum(axis=1).max() == 1


def test_all_variables_rest_on_the_same_rows_when_the_time_is_up(rng):
    X = rng.standard_normal((3000, 3))
    y = linear(X) + rng.standard_normal(3000)
    found = importance_of(linear, X, y, seconds=0.0)
    assert 2 <= found.n_rows <= ROUND_ROWS
    assert found.n_repeats == 1
    assert np.isfinite(found.drops).all()
    whole = importance_of(linear, X, y)
    assert (found.errors[:2] > whole.errors[:2]).all()


def test_folds_of_one_row_have_nothing_to_swap(rng):
    X = rng.standard_normal((2, 3))
    found = importance_of(linear, X, linear(X))
    assert found.n_rows == 0
    assert np.isnan(found.drops).all()
