"""The recommended predictor outside of folds: what is fitted, and on which rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from missfit.comparison import CompareOptions, compare_table
from missfit.comparison.candidates import Candidate
from missfit.comparison.fold_models import conformal, fold_models
from missfit.tables.training import TrainingTable


class Witness(LinearRegression):
    """A linear model that remembers the rows of its fits, by their first column."""

    fits: list = []  # noqa: RUF012 (shared by all of them, to count)

    def fit(self, X, y):
        self.seen_ = set(X[:, 0].tolist())
        Witness.fits.append(self.seen_)
        return super().fit(X, y)


ONE = Candidate("witness", lambda seed: Witness(), "witness", "a test")


def compared(n):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((n, 2)), columns=["a", "b"])
    table = TrainingTable(X, X["a"].to_numpy() + rng.standard_normal(n), "y", None, [])
    return compare_table(table, [ONE], CompareOptions())


@pytest.mark.parametrize(("n", "n_new"), [(300, 4), (10_000, 0)])
def test_only_folds_too_small_to_tell_are_fitted_again(n, n_new):
    comparison = compared(n)
    intervals = conformal(comparison)
    Witness.fits.clear()
    models = fold_models(comparison, intervals)
    assert len(Witness.fits) == n_new
    assert models[0].model is intervals.estimator_
    assert sum(len(model.test) for model in models) >= min(n, 2000)


def test_no_model_has_seen_its_rows():
    comparison = compared(300)
    tests = []
    for one in fold_models(comparison, conformal(comparison)):
        rows = one.X[one.test, 0].tolist()
        assert not one.model.seen_ & set(rows)
        tests += one.test.tolist()
    assert sorted(tests) == list(range(300))  # all folds: they are small


def test_one_fold_is_enough_where_a_fit_is_slow():
    comparison = compared(300)
    comparison.trials[0].seconds[:] = 100.0
    assert len(fold_models(comparison, conformal(comparison))) == 1
