"""The strength of a ridge: chosen as a grid search on the rows would choose it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    cross_val_score,
)

from estimator_cases import rows, splits
from missfit import (
    EMLR,
    ExpandedLR,
    FactorizedLR,
    PatternMoments,
)
from missfit.estimators.ridge_strength import choose_alpha, squared_error, target_spread

pytestmark = [
    # rare patterns and few iterations are the point of some of these cases
    pytest.mark.filterwarnings("ignore:.*fewer rows than coefficients:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*standard deviations from zero:UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.mark.parametrize("kind", [FactorizedLR, ExpandedLR])
def test_weights_equal_repeated_rows_where_a_strength_is_chosen(kind, rng):
    X, y = rows(rng)
    weight = rng.integers(0, 4, len(X))
    groups = rng.integers(0, 3, len(X))
    again = np.repeat(groups, weight)
    model = kind(alphas=(0.1, 10.0, 1e4))
    weighted = clone(model).set_params(cv=splits(groups)).fit(X, y, weight)
    repeated = clone(model).set_params(cv=splits(again))
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.alpha_ == repeated.alpha_
    np.testing.assert_allclose(
        list(weighted.cv_scores_.values()), list(repeated.cv_scores_.values())
    )
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-7)


@pytest.mark.parametrize("kind", [FactorizedLR, ExpandedLR])
def test_folds_of_moments_choose_as_folds_of_rows(kind, rng):
    X, y = rows(rng)
    model = kind(alphas=(0.1, 10.0, 1e4), cv=3)
    by_rows = clone(model).fit(X, y)
    folds = [
        PatternMoments.from_data(X[part], y[part])
        for part in np.array_split(np.arange(len(X)), 3)
    ]
    total = folds[0] + folds[1] + folds[2]
    by_moments = clone(model).fit_moments(total, folds=folds)
    assert by_moments.alpha_ == by_rows.alpha_
    np.testing.assert_allclose(by_moments.predict(X), by_rows.predict(X), rtol=1e-9)
    with pytest.raises(ValueError, match=r"several strengths.*folds=.*alphas=\(1"):
        clone(model).fit_moments(total)


@pytest.mark.parametrize(
    "cv", [4, KFold(3, shuffle=True, random_state=1), ShuffleSplit(5, random_state=0)]
)
@pytest.mark.parametrize("kind", [FactorizedLR, ExpandedLR])
def test_any_cv_argument_chooses_what_a_grid_search_would(kind, cv, rng):
    # Overlapping or partial test sets too: the scores are those of plain refits, up to
    # the columns' scales, which come from all rows.
    X, y = rows(rng, n=600)
    model = kind(alphas=(1e-2, 1e2, 1e5), cv=cv).fit(X, y)
    for alpha, score in model.cv_scores_.items():
        theirs = cross_val_score(kind(alphas=(alpha,)), X, y, cv=cv).mean()
        assert abs(score - theirs) < 0.02
    assert model.alpha_ == max(model.cv_scores_, key=model.cv_scores_.get)


def test_grouped_folds_are_given_as_splits(rng):
    X, y = rows(rng)
    groups = rng.integers(0, 20, len(X))
    model = ExpandedLR(cv=list(GroupKFold(3).split(X, y, groups))).fit(X, y)
    assert set(model.cv_scores_) == {1e-3, 1, 1e3}


@pytest.mark.parametrize("kind", [FactorizedLR, ExpandedLR])
def test_folds_without_rows_are_left_out(kind, rng):
    X, y = rows(rng)
    weight = np.r_[np.zeros(100), np.ones(200)]
    model = kind(alphas=(0.1, 1e3), cv=3).fit(X, y, weight)
    two = [(np.arange(100, 200), np.arange(200, 300))]
    two.append((two[0][1], two[0][0]))
    same = kind(alphas=(0.1, 1e3), cv=two).fit(X, y, weight)
    assert model.cv_scores_ == pytest.approx(same.cv_scores_)
    nothing = [(np.arange(100), np.arange(100, 300))]
    with pytest.raises(ValueError, match="leaves no split with rows"):
        kind(alphas=(0.1, 1e3), cv=nothing).fit(X, y, weight)
    with pytest.raises(ValueError, match="leaves no split with rows"):
        kind(alphas=(0.1, 1e3), cv=iter([])).fit(X, y)


@pytest.mark.parametrize("kind", [FactorizedLR, ExpandedLR])
def test_one_row_folds_choose_by_the_pooled_error(kind, rng):
    X, y = rows(rng, n=60)
    model = kind(alphas=(1e6, 1.0), cv=LeaveOneOut()).fit(X, y)
    assert model.alpha_ == 1.0  # not the first, as equal scores would give
    error = -cross_val_score(
        kind(alphas=(1.0,)), X, y, cv=LeaveOneOut(), scoring="neg_mean_squared_error"
    ).mean()
    assert model.cv_scores_[1.0] == pytest.approx(1 - error / y.var(), abs=0.02)


def test_splitters_with_more_splits_than_rows_are_fine(rng):
    X, y = rows(rng, n=40)
    cv = RepeatedKFold(n_splits=5, n_repeats=10, random_state=0)
    assert len(ExpandedLR(cv=cv).fit(X, y).cv_scores_) == 3


def test_splits_that_train_on_their_test_rows_are_taken_at_their_word(rng):
    X, y = rows(rng)
    half = np.arange(150), np.arange(150, 300)
    cv = [(half[0], half[0]), (half[1], half[1])]
    model = ExpandedLR(alphas=(1.0, 10.0), cv=cv).fit(X, y)
    apart = [ExpandedLR(alphas=(1.0,)).fit(X[h], y[h]).score(X[h], y[h]) for h in half]
    assert model.cv_scores_[1.0] == pytest.approx(np.mean(apart), abs=2e-3)


def test_rare_patterns_do_not_take_part_in_the_choice(rng):
    # with them the folds explode and the strongest ridge wins
    X, y = rows(rng, n=1000, d=6, rate=0.5)
    guarded = ExpandedLR(min_rows=20, fallback=EMLR()).fit(X[:800], y[:800])
    best = max(
        ExpandedLR(alphas=(a,), min_rows=20, fallback=EMLR())
        .fit(X[:800], y[:800])
        .score(X[800:], y[800:])
        for a in (1e-3, 1.0, 1e3)
    )
    assert guarded.score(X[800:], y[800:]) > best - 0.03


@pytest.mark.parametrize("alphas", [1.0, [1.0], np.array([1.0])])
@pytest.mark.parametrize("kind", [FactorizedLR, ExpandedLR])
def test_strengths_may_be_a_number_a_list_or_an_array(kind, alphas, rng):
    X, y = rows(rng)
    expected = kind(alphas=(1.0,)).fit(X, y).predict(X)
    np.testing.assert_array_equal(kind(alphas=alphas).fit(X, y).predict(X), expected)


def test_a_vanishing_ridge_is_least_squares(rng):
    X, y = rows(rng)
    doubled = np.column_stack([X, X[:, 0]])
    tiny = ExpandedLR(alphas=(1e-300,)).fit(doubled, y).predict(doubled)
    none = ExpandedLR(alphas=(0.0,)).fit(doubled, y).predict(doubled)
    np.testing.assert_array_equal(tiny, none)


def test_errors_and_spreads_from_moments_are_the_sums_over_rows(rng):
    X, y = rows(rng, d=7)
    Y = np.column_stack([y, 3 - 2 * y + rng.standard_normal(len(y))])
    weight = rng.integers(0, 4, len(X)).astype(float)
    moments = PatternMoments.from_data(X, Y, weight)
    assert 0 < len(moments.condensed) < len(moments)  # sums and rows are both there
    model = FactorizedLR(alphas=(1.0,)).fit_moments(moments)
    points = moments.points()
    error = squared_error(model.pattern_models_, moments, points)
    # sums of a few hundred squares in another order
    by_rows = weight @ (Y - model.predict(X)) ** 2
    np.testing.assert_allclose(error, by_rows, rtol=1e-10)
    spread = weight @ (Y - weight @ Y / weight.sum()) ** 2
    np.testing.assert_allclose(target_spread(moments, points), spread, rtol=1e-10)


def test_without_splits_the_first_strength_is_taken():
    def path(train):
        raise AssertionError("nothing to fit")

    assert choose_alpha((3.0, 1.0), [], path) == (3.0, {})
