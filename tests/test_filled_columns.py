"""Empty columns never reach scikit-learn's boosting, and every candidate takes them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from missfit.comparison import CompareOptions, compare_table
from missfit.comparison.candidates import CANDIDATES, candidate
from missfit.estimators.filled_columns import FilledColumns
from missfit.tables.training import TrainingTable
from missfit.workflow.fit import fit_table


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((90, 4))
    y = X.sum(axis=1) + rng.standard_normal(90)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


def boosting():
    return HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5)


def test_without_empty_columns_it_is_the_estimator_itself(rows):
    X, y = rows
    there = FilledColumns(boosting()).fit(X, y).predict(X)
    np.testing.assert_array_equal(there, boosting().fit(X, y).predict(X))


def test_an_empty_column_is_left_out_at_fit_and_at_predict(rows):
    X, y = rows
    hollow = X.copy()
    hollow[:, 1] = np.nan
    model = FilledColumns(boosting()).fit(hollow, y)
    others = [0, 2, 3]
    expected = boosting().fit(X[:, others], y).predict(X[:, others])
    np.testing.assert_array_equal(model.predict(X), expected)  # it has values now
    assert model.columns_.tolist() == others


def test_a_table_of_empty_columns_is_predicted_by_the_mean(rows):
    X, y = rows
    model = FilledColumns(boosting()).fit(np.full_like(X, np.nan), y)
    np.testing.assert_allclose(model.predict(X), y.mean())


@pytest.mark.parametrize(
    "one", [c for c in CANDIDATES if c.fit_many is None], ids=lambda c: c.name
)
def test_every_candidate_takes_an_empty_column(one, rows):
    X, y = rows
    X[:, 2] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guess = one.make(0).fit(X[:60], y[:60]).predict(np.nan_to_num(X[60:]))
    assert np.isfinite(guess).all()


def test_a_column_with_one_value_is_empty_in_the_fold_that_holds_it(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcd")).assign(rare=np.nan, empty=np.nan)
    frame.loc[11, "rare"] = 5.0
    table = TrainingTable(frame, y, "y", None, [])
    names = ("HistGradientBoosting", "ConstantImputedLR", "mean + indicator ridge")
    tried = [candidate(name) for name in names]
    found = compare_table(table, tried, CompareOptions(n_folds=3))
    assert not any(trial.failure for trial in found.trials)
    for seed in range(3):  # among the rows that calibrate intervals, too
        fit_table(table, predictor="HistGradientBoosting", random_state=seed)
