"""Held-out prediction: fits by moments are fits to the rows, gains have errors."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline

from conftest import hide, random_cov
from missfit import (
    EMLR,
    AutoClassifier,
    AutoRegressor,
    ConditionalImputedLR,
    ConstantImputedLR,
    ExpandedLR,
    FactorizedLR,
    PatternMixtureLR,
    PatternProbit,
    SelfMaskedLR,
)
from missfit.auto.heldout import (
    Gain,
    Table,
    all_and_splits,
    effective_rows,
    paired_gain,
    seeded,
)
from missfit.moments.pattern_moments import PatternMoments

LINEAR = [
    EMLR(),
    ConditionalImputedLR(),
    ConstantImputedLR(),
    ExpandedLR(alphas=(1.0,)),
    FactorizedLR(alphas=(1.0,)),
    PatternMixtureLR(2, random_state=0),
    SelfMaskedLR(),
]
SPLITTERS = [
    KFold(2, shuffle=True, random_state=0),
    KFold(3, shuffle=True, random_state=0),
    ShuffleSplit(2, test_size=0.3, random_state=0),
]


def table_of(rng, n=240, d=3, *, weighted=False):
    X = rng.multivariate_normal(np.arange(d), random_cov(rng, d), n)
    y = 1 + X @ np.arange(1, d + 1) + 0.5 * rng.standard_normal(n)
    weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    return Table(hide(rng, X, 0.3), y, weight, None)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("estimator", LINEAR, ids=lambda e: type(e).__name__)
def test_a_fit_to_a_training_part_is_the_plain_fit_to_its_rows(
    estimator, weighted, rng
):
    table = table_of(rng, weighted=weighted)
    pairs = list(SPLITTERS[1].split(table.X))
    whole, splits = all_and_splits(table, pairs)
    everything, first = (whole, np.arange(len(table.X))), (splits[0].train, pairs[0][0])
    for train, rows in (everything, first):
        X, y, weight, *_ = table.take(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rare patterns
            plain = clone(estimator).fit(X, y, weight)
        # rows are added up in another order: rounding, which EM hardly enlarges
        expected = plain.predict(table.X)
        np.testing.assert_allclose(
            train.fit(estimator).predict(table.X), expected, rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("cv", SPLITTERS, ids=lambda cv: str(cv)[:16])
def test_every_training_part_has_the_patterns_and_counts_of_its_rows(cv, rng):
    table = table_of(rng, weighted=True)
    rows = list(cv.split(table.X))
    whole, splits = all_and_splits(table, rows)
    trains = [(whole, np.arange(len(table.X)))]
    trains += [
        (split.train, train) for split, (train, _) in zip(splits, rows, strict=True)
    ]
    for training, index in trains:
        expected = PatternMoments.from_data(*table.take(index)[:3])
        for moments in (training.moments, sum(training.folds[1:], training.folds[0])):
            order = np.lexsort(moments.patterns.T)
            expected_order = np.lexsort(expected.patterns.T)
            np.testing.assert_array_equal(
                moments.patterns[order], expected.patterns[expected_order]
            )
            np.testing.assert_allclose(
                moments.count[order], expected.count[expected_order]
            )
    for split, (_, test) in zip(splits, rows, strict=True):
        np.testing.assert_array_equal(split.test, test)


def test_a_fit_is_made_once_for_each_training_part(rng, monkeypatch):
    fits = []
    fit_moments = EMLR.fit_moments

    def counted(self, moments, folds=None):
        fits.append(moments)
        return fit_moments(self, moments, folds)

    monkeypatch.setattr(EMLR, "fit_moments", counted)
    table = table_of(rng)
    whole, _ = all_and_splits(table, [])
    assert whole.fit(EMLR()) is whole.fit(EMLR())
    whole.fit(ConditionalImputedLR())  # starts from the fit that is at hand
    assert len(fits) == 1


def test_some_rows_are_evenly_spaced_over_the_training_part(rng):
    seen = []

    class Listening(SelfMaskedLR):
        def fit(self, X, y, sample_weight=None):
            seen.append(y)
            return self

    table = table_of(rng)._replace(y=np.arange(240.0))
    whole, _ = all_and_splits(table, [])
    whole.fit_some(Listening(), 24)
    assert len(seen[0]) == 24
    assert set(np.diff(seen[0])) <= {10.0, 11.0}  # 239 / 23 = 10.4


def test_every_random_state_that_is_none_is_seeded():
    model = make_pipeline(ConstantImputedLR(), RandomForestRegressor())
    copy = seeded(model, 7)
    assert copy.get_params()["randomforestregressor__random_state"] == 7
    assert model.get_params()["randomforestregressor__random_state"] is None
    assert seeded(RandomForestRegressor(random_state=3), 7).random_state == 3


def test_weights_add_up_to_kish_s_effective_number_of_rows(rng):
    weight = rng.random(50)
    for unit in (1.0, 1e-200, 1e200):
        found = effective_rows(unit * weight)
        assert found.sum() == pytest.approx(weight.sum() ** 2 / np.sum(weight**2))
        np.testing.assert_allclose(found / found.sum(), weight / weight.sum())


def test_a_gain_wins_above_zero_and_above_its_standard_errors():
    assert Gain(1.1, 1.0).wins()
    assert not Gain(0.9, 1.0).wins()
    assert not Gain(-1.0, 0.0).wins()
    assert Gain(-0.5, 1.0).ahead(-1.0)
    assert Gain(2.0, 1.0).over(4.0) == (0.5, 0.25)


def test_the_paired_standard_error_is_that_of_a_mean(rng):
    loss, other = rng.random(500), rng.random(500)
    gain = paired_gain(loss, other, np.ones(500))
    gap = loss - other
    assert gain.value == pytest.approx(gap.mean())
    assert gain.standard_error == pytest.approx(gap.std() / np.sqrt(500))
    # rows of one group are one observation
    groups = np.arange(500) // 5
    sums = (gap - gap.mean()).reshape(100, 5).sum(axis=1)
    grouped = paired_gain(loss, other, np.ones(500), groups)
    assert grouped.standard_error == pytest.approx(np.sqrt(np.sum(sums**2)) / 500)


def test_the_weighted_standard_error_is_the_infinitesimal_jackknife(rng):
    """Its square is the sum of (w_i d value / d w_i)^2, here by finite differences."""
    gap, weight = rng.random(50), rng.random(50)
    step = 1e-6 * np.eye(50)
    slope = [np.average(gap, weights=weight + h) for h in step]
    slope = (np.array(slope) - np.average(gap, weights=weight)) / 1e-6
    expected = np.sqrt(np.sum((weight * slope) ** 2))
    for factor in (1.0, 1e-8, 1e8):  # the unit of weights says nothing
        gain = paired_gain(gap, np.zeros(50), factor * weight)
        assert gain.standard_error == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("make", [AutoRegressor, AutoClassifier])
def test_splits_of_the_user_count_the_rows_of_weight_zero(make, rng):
    X = rng.standard_normal((60, 2))
    y = (X.sum(axis=1) + 0.3 * rng.standard_normal(60) > 0).astype(int)
    weight = np.where(np.arange(60) % 3 == 0, 0.0, 1.0)
    left = np.flatnonzero(weight)
    of_all = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    of_left = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    linear = [PatternProbit(EMLR())] if make is AutoClassifier else [EMLR()]
    one = make(linear, cv=of_all).fit(X, y, sample_weight=weight)
    other = make(linear, cv=of_left).fit(X[left], y[left])
    assert one.scores_[0].score == pytest.approx(other.scores_[0].score, rel=1e-9)
