"""Tables of many columns: what is left out, what is said, and what comes of it."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import hide
from missfit import (
    EMLR,
    AutoRegressor,
    ConditionalImputedLR,
    ConstantImputedLR,
    PatternMoments,
    SelfMaskedLR,
)
from missfit.auto import affordable, telling_columns
from missfit.auto.reasons import systematic_sample


def moments_of(n, d, rate=0.2):
    rng = np.random.default_rng(0)
    X = hide(rng, rng.standard_normal((n, d)), rate)
    return PatternMoments.from_data(X, rng.standard_normal(n))


@pytest.fixture
def small_rows(rng):
    X = rng.standard_normal((80, 3))
    y = X.sum(axis=1) + rng.standard_normal(80)
    return hide(rng, X, 0.3), y


# --- what is left out -----------------------------------------------------------------


def test_what_a_table_of_5000_x_800_cannot_afford_is_left_out_and_a_budget_lets_it_in():
    moments = moments_of(5_000, 800)
    linear = [EMLR(), ConditionalImputedLR(), SelfMaskedLR()]
    costs = affordable.affordable(linear, moments, 4, None)
    assert costs.tried == linear[:2]
    ((model, reason),) = costs.left_out
    assert model is linear[2]
    wanted = float(reason.split("time_budget=")[1].split()[0])
    assert affordable.affordable(linear, moments, 4, wanted).left_out == []
    assert affordable.affordable(linear, moments, 4, wanted / 2).left_out != []


def test_tables_of_everyday_size_leave_nothing_out_and_say_nothing():
    for n, d in ((300, 200), (20_000, 50), (2_000, 300)):
        moments = moments_of(n, d, 0.3)
        linear = [EMLR(), ConditionalImputedLR(), SelfMaskedLR()]
        costs = affordable.affordable(linear, moments, 6, None)
        assert costs.left_out == []


def test_a_table_of_2000_x_1000_is_said_to_take_long_in_plain_numbers():
    linear = [EMLR(), ConditionalImputedLR()]
    moments = moments_of(2_000, 1_000)
    costs = affordable.affordable(linear, moments, 6, None)
    said = affordable.said_before(costs.seconds, moments)
    assert said.startswith("2,000 rows of 1,000 columns in 2,000 missing patterns")
    many = replace(moments, count=500 * moments.count)
    assert affordable.said_before(1e3, many).startswith("1,000,000 rows of 1,000")


def test_what_is_left_out_is_not_fitted_and_explain_says_why(small_rows, monkeypatch):
    monkeypatch.setattr(affordable, "AFFORDED", 1e-9)
    monkeypatch.setattr(affordable, "LONG", 0.0)
    auto = AutoRegressor(random_state=0)
    kinds = [type(c).__name__ for c in auto.candidates_for(*small_rows)]
    assert "EMLR" in kinds  # the reference, whatever it costs
    assert "SelfMaskedLR" not in kinds
    with pytest.warns(UserWarning, match=r"80 rows of 3 columns.* time_budget"):
        auto.fit(*small_rows)
    lines = {score.name: score for score in auto.scores_}
    assert lines["SelfMaskedLR"].verdict.startswith("left out: about")
    assert np.isnan(lines["SelfMaskedLR"].score)
    assert "time_budget=" in str(auto.explain())


def test_candidates_that_a_user_gives_are_tried_whatever_they_cost(
    small_rows, monkeypatch
):
    monkeypatch.setattr(affordable, "AFFORDED", 1e-9)
    auto = AutoRegressor([EMLR(), ConditionalImputedLR()], random_state=0)
    auto.fit(*small_rows)
    assert all(np.isfinite(score.score) for score in auto.scores_)


# --- the columns that boosting sees ---------------------------------------------------


def test_a_column_tells_what_the_means_of_its_quarters_explain(rng):
    X = hide(rng, rng.standard_normal((400, 6)), 0.3)
    y = np.abs(np.nan_to_num(X[:, 4])) + rng.standard_normal(400)
    explained = []
    for column in X.T:  # by pandas: sums of squares between quarters and the missing
        quarter = pd.qcut(pd.Series(column), 4, labels=False).fillna(9)
        mean = pd.Series(y).groupby(quarter).transform("mean")
        explained.append(((mean - y.mean()) ** 2).sum())
    best = np.sort(np.argsort(explained)[-3:])
    found = telling_columns.telling_columns(X, y[:, None], np.ones(400), 3)
    np.testing.assert_array_equal(found, best)
    assert 4 in found  # of no correlation with y


def test_a_weight_of_two_tells_as_much_as_two_rows(rng):
    X = hide(rng, rng.standard_normal((60, 30)), 0.3)
    y = rng.standard_normal((60, 2))
    twice = np.concatenate([np.arange(60), np.arange(0, 60, 3)])
    weight = np.bincount(twice).astype(float)
    # quarters count rows, and so may differ by one; the ranking is by the same sums
    weighted = telling_columns.telling_columns(X, y, weight, 15)
    repeated = telling_columns.telling_columns(X[twice], y[twice], np.ones(80), 15)
    assert len(np.intersect1d(weighted, repeated)) >= 12


@pytest.mark.slow
def test_boosting_on_a_wide_table_finds_the_column_that_bends_and_no_noise(rng):
    X = rng.standard_normal((1_300, 250))
    bent = np.abs(X[:, 7]) * 3 + 0.5 * rng.standard_normal(1_300)
    X = hide(rng, X, 0.1)
    boosting = HistGradientBoostingRegressor(early_stopping=False, max_leaf_nodes=5)
    auto = AutoRegressor([ConstantImputedLR(), boosting], cv=2, random_state=0)
    auto.fit(X[:300], bent[:300])
    one_half = boosting.fit(X[:150], bent[:150])  # of all columns
    least = one_half.score(X[300:], bent[300:]) - 0.02  # a standard error of 1,000 rows
    assert auto.score(X[300:], bent[300:]) > least > 0.3
    assert "100 of 250 columns" in auto.explain().reason
    noise = rng.standard_normal(1_300)
    auto.fit(X[:300], noise[:300])
    # what was chosen by the rows to learn from does not last; the mean of 300 rows has
    # -.003, the best of 100 columns chosen by all rows would have a good deal of noise
    assert auto.score(X[300:], noise[300:]) > -0.05


# --- what a feature is worth, by some of the patterns ---------------------------------


def test_a_systematic_sample_is_of_the_shares_of_the_whole(rng):
    weight = rng.uniform(0.1, 5.0, 700)
    value = np.sin(np.arange(700) / 50)
    some, share = systematic_sample(weight, 200)
    assert len(some) <= 200
    assert share.sum() == pytest.approx(1.0)
    # neighbours have like values, so that 200 points are enough for two digits
    assert share @ value[some] == pytest.approx(
        np.average(value, weights=weight), abs=0.01
    )
    every, shares = systematic_sample(weight, 700)
    np.testing.assert_array_equal(every, np.arange(700))
    np.testing.assert_allclose(shares, weight / weight.sum())


# --- 2,000 x 1,000 --------------------------------------------------------------------


def wide_table(kind, n=2_000, d=1_000):
    """Rows of three factors with dense slopes, or independent with five."""
    rng = np.random.default_rng(0)
    X, slopes = rng.standard_normal((2 * n, d)), rng.standard_normal(d)
    if kind == "factors":
        X = 0.7 * X + rng.standard_normal((2 * n, 3)) @ rng.standard_normal((3, d))
    else:
        slopes[5:] = 0.0
    signal = X @ slopes
    y = signal / signal.std() + np.sqrt(0.5) * rng.standard_normal(2 * n)
    X = hide(rng, X, 0.2)
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["factors", "sparse"])
def test_the_default_at_2000_x_1000_is_no_worse_than_a_ridge_and_than_boosting(kind):
    X, y, X_new, y_new = wide_table(kind)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        auto = AutoRegressor(random_state=0).fit(X, y)
    ridge = make_pipeline(
        SimpleImputer(add_indicator=True),
        StandardScaler(),
        RidgeCV(alphas=np.logspace(-3, 5, 17)),
    )
    boosting = HistGradientBoostingRegressor(random_state=0)
    best = max(model.fit(X, y).score(X_new, y_new) for model in (ridge, boosting))
    # of the difference of two R2 on 2,000 rows, .005 is less than a standard error
    assert auto.score(X_new, y_new) > best - 0.005
    assert any("2,000 rows of 1,000 columns" in str(w.message) for w in said)
    reason = auto.explain().reason
    assert "EM was not run" in reason
    assert "100 of 1,000 columns" in reason
