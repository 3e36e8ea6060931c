"""The flexible parts beside a base, against scikit-learn's fits and least squares."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from threadpoolctl import threadpool_limits

from conftest import hide
from missfit import EMLR, AutoRegressor
from missfit.auto.boosting import PartCandidate, fit_parts
from missfit.auto.candidates import boosting
from missfit.auto.forward import are_forward
from missfit.auto.heldout import Table, all_and_splits, seeded
from missfit.auto.objective import SQUARED_ERROR
from missfit.auto.pace import Pace
from missfit.auto.parts import boosts
from missfit.auto.stacking import Unseen, stacked

CV = KFold(3, shuffle=True, random_state=0)
ON_RESIDUALS, ON_Y = SQUARED_ERROR.tasks


def curved(rng, n=400):
    X = rng.standard_normal((n, 3))
    y = X[:, 0] + 2 * np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(n)
    return Table(hide(rng, X, 0.1), y, np.ones(n), None)


def parts_of(table, estimator, tasks=SQUARED_ERROR.tasks, deadline=np.inf):
    candidates = [PartCandidate(seeded(estimator, 0), "part", task) for task in tasks]
    _, splits = all_and_splits(table, list(CV.split(table.X)))
    return fit_parts(
        table, EMLR(), splits, candidates, np.random.default_rng(0), Pace(0, deadline)
    ), candidates


def test_a_part_on_y_is_the_mean_of_scikit_learn_s_own_fits_to_the_folds(rng):
    table = curved(rng)
    parts, _ = parts_of(table, boosting(), tasks=(ON_Y,))
    (part,) = parts.kept
    # grown in steps, looked at after each: the same trees as in one go
    plain = clone(boosting()).set_params(max_iter=part.rounds, random_state=0)
    every = [
        clone(plain).fit(table.X[train], table.y[train]).predict(table.X)
        for train, _ in CV.split(table.X)
    ]
    base = EMLR().fit(table.X, table.y).predict(table.X)
    added = part.predict(table.X, base)
    np.testing.assert_allclose(added, np.mean(every, axis=0) - base, atol=1e-10)


def test_a_part_on_residuals_sees_the_base_s_prediction_of_its_own_fold(rng):
    table = curved(rng)
    cubic = make_pipeline(SimpleImputer(), PolynomialFeatures(3), Ridge(1.0))
    parts, _ = parts_of(table, cubic, tasks=(ON_RESIDUALS,))
    (part,) = parts.kept
    whole = EMLR().fit(table.X, table.y).predict(table.X)
    expected = []
    for train, _ in CV.split(table.X):
        X, y = table.X[train], table.y[train]
        guess = EMLR().fit(X, y).predict(X)
        plain = clone(cubic).fit(np.column_stack([X, guess]), y - guess)
        expected.append(plain.predict(np.column_stack([table.X, whole])))
    # EM ends within 1e-5 of the same base, by moments of folds and by rows, and the
    # cubic is a hundred times as steep far out
    added = part.predict(table.X, whole)
    np.testing.assert_allclose(added, np.mean(expected, axis=0), rtol=1e-3, atol=1e-3)


def test_the_base_is_scored_as_by_cross_validation(rng):
    table = curved(rng)
    parts, _ = parts_of(table, boosting())
    expected = cross_val_predict(EMLR(), table.X, table.y, cv=CV)
    # moments are added up in another order; EM stops at 1e-5 of the likelihood
    assert parts.base_score == pytest.approx(r2_score(table.y, expected), abs=1e-5)


def beside_nothing(y, weight):
    """Rows of a target beside a base that predicts zero."""
    table = Table(np.empty((len(y), 0)), y, weight, None)
    return Unseen(table, np.arange(len(y)), np.zeros(len(y)))


def test_the_weights_are_those_of_least_squares_where_all_lie_inside(rng):
    additions = rng.standard_normal((2, 5000))
    residual = np.array([0.6, 0.3]) @ additions + 0.1 * rng.standard_normal(5000)
    weight = rng.random(5000)
    stack = stacked(beside_nothing(residual, weight), list(additions))
    expected = Ridge(1e-12, fit_intercept=False).fit(additions.T, residual, weight)
    assert stack.kept == [0, 1]  # the most useful first
    np.testing.assert_allclose(stack.weights, expected.coef_, rtol=1e-6)
    loss = (residual - stack.weights @ additions) ** 2
    gain = np.average(residual**2 - loss, weights=weight)
    assert stack.gain.value == pytest.approx(gain)


def test_weights_stay_between_0_and_1_and_noise_has_none(rng):
    useful, noise = rng.standard_normal((2, 2000))
    noise -= (noise @ useful / (useful @ useful) + 0.1) * useful  # leads away from it
    stack = stacked(beside_nothing(3 * useful, np.ones(2000)), [noise, useful])
    assert stack.kept == [1]
    assert stack.weights.tolist() == pytest.approx([1.0], abs=1e-6)
    nothing = stacked(beside_nothing(-useful, np.ones(2000)), [useful])
    assert nothing.kept == []
    assert nothing.gain.value == 0


def test_what_does_not_help_is_left_out_and_what_is_late_is_skipped(rng):
    table = curved(rng)
    noise = table._replace(y=rng.standard_normal(len(table.y)))
    parts, candidates = parts_of(noise, boosting())
    assert not parts.kept
    assert {c.verdict for c in candidates} == {"left out"}
    assert "No flexible part" in parts.reason()
    parts, candidates = parts_of(table, boosting(), deadline=0.0)
    assert not parts.kept
    assert {c.verdict for c in candidates} == {"skipped: out of time"}
    assert np.isnan(parts.score(candidates[0], 0.5).r2)


def test_parts_are_the_same_to_the_bit_whatever_the_number_of_threads(rng, monkeypatch):
    table = curved(rng, 200)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    alone, _ = parts_of(table, boosting())
    base = EMLR().fit(table.X, table.y).predict(table.X)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    with threadpool_limits(5, user_api="openmp"):
        beside, _ = parts_of(table, boosting())
        found = [part.predict(table.X, base) for part in beside.kept]
    assert [p[3:] for p in beside.kept] == [p[3:] for p in alone.kept]  # rounds, weight
    for part, values in zip(alone.kept, found, strict=True):
        np.testing.assert_array_equal(part.predict(table.X, base), values)


def test_what_is_no_tree_is_kept_as_it_is(rng):
    """A loss that is not kept flat: the rounds of scikit-learn's own predictor."""
    table = curved(rng, 200)
    absolute = HistGradientBoostingRegressor(
        loss="absolute_error", early_stopping=False, random_state=0
    )
    parts, _ = parts_of(table, absolute, tasks=(ON_Y,))
    (part,) = parts.kept
    plain = absolute.set_params(max_iter=part.rounds)
    expected = [
        clone(plain).fit(table.X[train], table.y[train]).predict(table.X)
        for train, _ in CV.split(table.X)
    ]
    found = part.predict(table.X, np.zeros(len(table.X)))
    np.testing.assert_allclose(found, np.mean(expected, axis=0), atol=1e-10)


def test_only_what_grows_in_rounds_boosts():
    assert boosts(HistGradientBoostingRegressor())
    assert not boosts(RandomForestRegressor())


def test_what_repeats_the_best_of_the_first_split_is_not_fitted_to_the_others(rng):
    parts, (first, again) = parts_of(curved(rng, 900), boosting(), tasks=(ON_Y, ON_Y))
    assert len(parts.kept) == 1
    assert len(first.models) == 3
    assert len(again.models) == 1
    assert again.verdict == "left out"


# --- forward splits -------------------------------------------------------------------


def test_under_forward_splits_a_part_is_scikit_learn_s_fit_to_all_rows(rng):
    table = curved(rng)
    cv = TimeSeriesSplit(3)
    model = AutoRegressor([EMLR(), boosting()], cv=cv, random_state=0)
    model.fit(table.X, table.y)
    part = model.parts_[0]
    base = model.base_.predict(table.X)
    inputs = part.task.inputs(table.X, base)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    plain = clone(boosting()).set_params(max_iter=part.rounds, random_state=seed)
    plain.fit(inputs, part.task.target(table.y, base))
    np.testing.assert_array_equal(part.model.predict(inputs), plain.predict(inputs))
    assert model.explain().risk_drops.shape == (3,)


def test_with_drift_the_newest_rows_count(rng):
    """The law is another one from the middle on: a part of early rows knows the old."""
    X = rng.standard_normal((900, 2))
    new = np.arange(900) >= 400
    y = 3 * np.where(new, np.cos(2 * X[:, 0]), np.sin(2 * X[:, 0])) + X[:, 1]
    cv = TimeSeriesSplit(3)
    model = AutoRegressor([EMLR(), boosting()], cv=cv, random_state=0)
    model.fit(X[:800], y[:800])
    assert model.parts_
    assert model.score(X[800:], y[800:]) > model.base_.score(X[800:], y[800:]) + 0.2


@pytest.mark.parametrize(
    ("cv", "forward"),
    [
        (TimeSeriesSplit(4), True),
        (TimeSeriesSplit(4, max_train_size=20), True),
        (KFold(3), False),
        (ShuffleSplit(3, random_state=0), False),
    ],
)
def test_splits_are_forward_where_none_trains_on_what_is_held_out_later(cv, forward):
    assert are_forward(list(cv.split(np.zeros((100, 1))))) is forward
