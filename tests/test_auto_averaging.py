"""Few rows: the mean of linear candidates, weighted by held-out evidence."""

import pickle

import numpy as np
import pytest
from scipy.stats import norm, sem
from sklearn.base import clone

from conftest import hide
from missfit import (
    EMLR,
    AutoClassifier,
    AutoRegressor,
    ConditionalImputedLogistic,
    ConditionalImputedLR,
    ConstantImputedLR,
    PatternMoments,
    PatternProbit,
)
from missfit.auto.average import ClassAverage, LinearAverage
from missfit.auto.averaging import LEAST_WEIGHT, evidence_weights
from missfit.auto.heldout import AVERAGED_ROWS, Gain, Table
from missfit.auto.objective import SQUARED_ERROR
from missfit.auto.stacking import Unseen, share_of, stacked

EARNED = SQUARED_ERROR.earned


def table_of(rng, n, groups=None):
    X = rng.standard_normal((n, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(n)
    return Table(hide(rng, X, 0.2), y, np.ones(n), groups)


def test_a_candidate_weighs_as_much_as_chance_makes_it_look_behind(rng):
    """The density of a standard normal at z, by its density at 0."""
    table, rows = table_of(rng, 60), np.arange(60)
    shift = np.array([[0.0], [0.05], [0.1]])
    loss = (rng.standard_normal(60) + shift) ** 2
    best = loss[np.argmin(loss.sum(axis=1))]
    others = loss[loss.sum(axis=1) > best.sum()]
    z = [(one - best).mean() / sem(one - best, ddof=0) for one in others]
    expected = np.sort([norm.pdf(0), *norm.pdf(z)])
    expected /= expected.sum()
    assert expected.min() > LEAST_WEIGHT  # none is cut
    weights = evidence_weights(table, rows, loss)
    np.testing.assert_allclose(np.sort(weights), expected, rtol=1e-12)


def test_those_of_hardly_any_weight_are_cut_and_the_others_add_up_to_one(rng):
    table, rows = table_of(rng, 300), np.arange(300)
    loss = np.array([[1.0], [1.001], [3.0]]) * np.ones(300)
    weights = evidence_weights(table, rows, loss)
    assert weights[2] == 0.0
    assert weights.sum() == pytest.approx(1.0)
    perfect = evidence_weights(table, rows, np.zeros((2, 300)))
    np.testing.assert_array_equal(perfect, [0.5, 0.5])


def test_the_rows_of_a_group_count_for_one(rng):
    plain = table_of(rng, 40)
    loss = rng.uniform(1, 2, size=(2, 40)) * [[1.0], [1.05]]
    alone = evidence_weights(plain, np.arange(40), loss)
    five = plain.take(np.repeat(np.arange(40), 5))
    five = five._replace(groups=np.repeat(np.arange(40), 5))
    together = evidence_weights(five, np.arange(200), np.repeat(loss, 5, axis=1))
    np.testing.assert_allclose(together, alone)


def test_the_average_is_the_weighted_mean_of_plain_fits(rng):
    X, y, *_ = table_of(rng, 80)
    members, weights = [EMLR(), ConditionalImputedLR()], (0.7, 0.3)
    mean = LinearAverage(members, weights).fit(X, y)
    every = [clone(member).fit(X, y).predict(X) for member in members]
    expected = np.average(every, axis=0, weights=weights)
    np.testing.assert_allclose(mean.predict(X), expected, atol=1e-12)
    moments = PatternMoments.from_data(X, y)
    by_moments = LinearAverage(members, weights).fit_moments(moments)
    np.testing.assert_allclose(by_moments.predict(X), expected, atol=1e-10)
    again = pickle.loads(pickle.dumps(mean))
    np.testing.assert_array_equal(again.predict(X), mean.predict(X))


def test_few_rows_are_averaged_and_many_are_not(rng):
    # EM to its end, wherever it starts
    candidates = [EMLR(tol=1e-13), ConstantImputedLR()]
    X, y, *_ = table_of(rng, AVERAGED_ROWS + 1)
    some = slice(0, 60)
    few = AutoRegressor(candidates, random_state=0).fit(X[some], y[some])
    many = AutoRegressor(candidates, random_state=0).fit(X, y)
    assert type(many.base_) is EMLR
    # at sixty rows the constant is still worth something
    assert few.explain().choice.count("+") == 1
    every = [clone(c).fit(X[some], y[some]).predict(X) for c in few.base_.estimators]
    expected = np.average(every, axis=0, weights=few.base_.weights)
    np.testing.assert_allclose(few.predict(X), expected, atol=1e-6)
    words = str(few.explain())
    assert "60 rows are too few to pick one linear predictor" in words
    assert f"weight {few.base_.weights[0]:.2f}" in words


def test_of_an_average_the_worth_of_a_feature_is_the_mean_of_its_members(rng):
    """Both members have the law of EM, and their own slopes."""
    X, y, *_ = table_of(rng, 60)
    linear = [EMLR(tol=1e-13), ConstantImputedLR()]  # EM to its end
    few = AutoRegressor(linear, random_state=0).fit(X, y)
    members = [
        AutoRegressor([member], random_state=0).fit(X, y).explain().risk_drops
        for member in few.base_.estimators
    ]
    expected = np.average(members, axis=0, weights=few.base_.weights)
    np.testing.assert_allclose(few.explain().risk_drops, expected, rtol=1e-6)


# --- classes --------------------------------------------------------------------------

LINEAR_CLASSIFIERS = [ConditionalImputedLogistic(), PatternProbit(EMLR())]


def labelled(rng, n):
    X = rng.standard_normal((n, 2))
    label = X @ [1.0, -1.0] + rng.standard_normal(n) > 0
    return hide(rng, X, 0.2), np.where(label, "yes", "no")


def test_the_average_of_classifiers_is_the_mean_of_their_probabilities(rng):
    X, label = labelled(rng, 80)
    mean = ClassAverage(LINEAR_CLASSIFIERS, (0.7, 0.3)).fit(X, label)
    every = [clone(c).fit(X, label).predict_proba(X) for c in LINEAR_CLASSIFIERS]
    expected = np.average(every, axis=0, weights=(0.7, 0.3))
    np.testing.assert_allclose(mean.predict_proba(X), expected, atol=1e-12)
    assert mean.classes_.tolist() == ["no", "yes"]
    again = pickle.loads(pickle.dumps(mean))
    np.testing.assert_array_equal(again.predict_proba(X), mean.predict_proba(X))


def test_with_few_rows_of_classes_the_probabilities_are_averaged(rng):
    X, label = labelled(rng, 150)
    few = AutoClassifier(LINEAR_CLASSIFIERS, random_state=0).fit(X, label)
    assert isinstance(few.base_, ClassAverage)
    assert sum(few.base_.weights) == pytest.approx(1.0)
    every = [clone(c).fit(X, label).predict_proba(X) for c in few.base_.estimators]
    expected = np.average(every, axis=0, weights=few.base_.weights)
    # EM of the one candidate goes on from the fit of a fold, to its own tolerance
    np.testing.assert_allclose(few.predict_proba(X), expected, atol=1e-3)
    assert "150 rows are too few to pick one linear predictor" in str(few.explain())


# --- flexible parts -------------------------------------------------------------------


def test_weights_of_parts_are_shrunk_by_the_evidence(rng):
    """By how much less likely chance is than at the least evidence, whatever n is."""
    for n, size in ((100, 0.45), (3_000, 0.085)):
        useful = rng.standard_normal(n)
        y = size * useful + rng.standard_normal(n)
        rows = Table(np.zeros((n, 1)), y, np.ones(n), None)
        stack = stacked(Unseen(rows, np.arange(n), np.zeros(n)), [useful])
        plain = np.linalg.lstsq(useful[:, None], y)[0][0]  # between 0 and 1
        gain = y**2 - (y - plain * useful) ** 2
        errors = gain.mean() / (gain.std() / np.sqrt(n))
        chance = norm.pdf(errors) / norm.pdf(EARNED)
        assert stack.weights[0] == pytest.approx(plain * (1 - chance))
        assert 0 < stack.weights[0] < plain


def test_evidence_at_the_threshold_is_worth_nothing_and_much_of_it_everything():
    assert share_of(Gain(EARNED, 1.0), EARNED) == 0
    assert share_of(Gain(1e6, 1.0), EARNED) == 1
    assert share_of(Gain(1.0, 0.0), EARNED) == 1


def test_a_second_part_that_adds_little_does_not_take_the_first_one_away(rng):
    n = 400
    useful = rng.standard_normal(n)
    y = useful + 0.3 * rng.standard_normal(n)
    few = Table(np.zeros((n, 1)), y, np.ones(n), None)
    unseen = Unseen(few, np.arange(n), np.zeros(n))
    alone = stacked(unseen, [useful]).gain.value
    for seed in range(20):  # in some of them the second is kept by a hair
        much_the_same = useful + 0.3 * np.random.default_rng(seed).standard_normal(n)
        assert stacked(unseen, [useful, much_the_same]).gain.value > 0.98 * alone
