"""Partial pooling: its formula, its two ends and its rule of choice."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import hide, random_cov
from laws import small_law
from missfit import (
    EMLR,
    MICELR,
    AutoRegressor,
    ConstantImputedLR,
    ExpandedLR,
    PartialPooling,
    PatternMixtureLR,
    PatternMoments,
)
from missfit.bayes import BayesPredictor
from missfit.estimators.partial_pooling import corrections

# the chained regressions of MICELR, and EM on four rows
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@parametrize_with_checks([PartialPooling(ConstantImputedLR()), PartialPooling(EMLR())])
def test_scikit_learn_s_own_suite(estimator, check):
    check(estimator)


def rows(rng, n=400, d=3):
    X = rng.multivariate_normal(np.arange(d), random_cov(rng, d), n)
    y = 1 + X.sum(axis=1) + 0.5 * rng.standard_normal(n)
    return hide(rng, X, 0.3), y


def own_laws(n, seed=0, d=4):
    """Every pattern its own Gaussian: EM is wrong, ExpandedLR right with many rows."""
    law = small_law("mixture", d=d)
    return law, *law.sample(n, random_state=seed)


def test_the_corrections_are_those_of_the_formula(rng):
    X, y = rows(rng)
    r = np.column_stack([y, y**2])
    (maps,) = corrections(PatternMoments.from_data(X, r), (3.0,))
    mean, std = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    Z = (X - mean) / std
    # second moments over the rows that observe both of a pair
    seen, zero = (~np.isnan(Z)).astype(float), np.nan_to_num(Z)
    M = np.eye(4)
    M[1:, 1:] = (zero.T @ zero) / (seen.T @ seen)
    assert np.linalg.eigvalsh(M)[0] > 1e-3  # none is raised here
    for p, pattern in enumerate(maps.patterns):
        here = (np.isnan(X) == pattern).all(axis=1)
        obs = np.flatnonzero(np.append(True, ~pattern))
        W = np.column_stack([np.ones(here.sum()), Z[here]])[:, obs]
        e = np.linalg.solve(W.T @ W + 3.0 * M[np.ix_(obs, obs)], W.T @ r[here])
        value = maps.at(maps.patterns[p : p + 1]).predict(X[here])
        np.testing.assert_allclose(value, W @ e, rtol=1e-9, atol=1e-9)


def test_no_shrinkage_is_one_least_squares_per_pattern():
    _, X, y = own_laws(3000)
    maps = corrections(PatternMoments.from_data(X, y), (1e-9, 1e12))
    pattern = np.isnan(X[0])
    here = (np.isnan(X) == pattern).all(axis=1)
    W = X[here][:, ~pattern]
    theirs = LinearRegression().fit(W, y[here]).predict(W)
    np.testing.assert_allclose(maps[0].predict(X[here])[:, 0], theirs, rtol=1e-6)
    assert np.abs(maps[1].predict(X)).max() < 1e-6  # the base alone


def test_patterns_of_their_own_are_learned_whatever_the_base():
    law, X, y = own_laws(20_000)
    new, target = law.sample(20_000, random_state=1)
    best = 1 - np.mean((target - BayesPredictor(law).predict(new)) ** 2) / target.var()
    for base in (EMLR(), ConstantImputedLR(), MICELR()):
        model = PartialPooling(base).fit(X, y)
        assert np.isfinite(model.tau_)
        assert model.gain_ > 2 * model.gain_error_
        assert model.score(new, target) > best - 0.01
        assert model.estimator_.score(new, target) < best - 0.05


def test_it_lies_above_both_of_its_ends_in_between():
    law, X, y = own_laws(600)
    new, target = law.sample(20_000, random_state=1)
    model = PartialPooling(EMLR()).fit(X, y)
    score = model.score(new, target)
    assert score > EMLR().fit(X, y).score(new, target)
    assert score > ExpandedLR(alphas=(1e-3,)).fit(X, y).score(new, target)


@pytest.mark.parametrize("seed", range(5))
def test_where_the_base_is_right_it_stays_alone(seed):
    X, y = rows(np.random.default_rng(seed), n=1000)
    model = PartialPooling(EMLR()).fit(X, y)
    assert model.tau_ == np.inf
    np.testing.assert_array_equal(model.predict(X), EMLR().fit(X, y).predict(X))
    assert len(model.corrections_.patterns) == 0


def test_patterns_never_seen_keep_the_base():
    _, X, y = own_laws(5000)
    few = ~((np.isnan(X) == [1, 1, 0, 0]).all(axis=1))
    model = PartialPooling(EMLR()).fit(X[few], y[few])
    assert np.isfinite(model.tau_)
    unseen = X[~few]
    np.testing.assert_array_equal(
        model.predict(unseen), model.estimator_.predict(unseen)
    )


def test_the_errors_of_the_folds_are_those_of_plain_refits():
    _, X, y = own_laws(900)
    cv = [(np.arange(300, 900), np.arange(300)), (np.arange(600), np.arange(600, 900))]
    model = PartialPooling(EMLR(), taus=(3.0,), cv=cv).fit(X, y)
    error = []
    for train, test in cv:
        base = EMLR().fit(X[train], y[train])
        left = y[train] - base.predict(X[train])
        (maps,) = corrections(PatternMoments.from_data(X[train], left), (3.0,))
        known = np.isin(
            np.isnan(X[test]) @ (1 << np.arange(4)),
            maps.patterns @ (1 << np.arange(4)),
        )
        value = base.predict(X[test])
        value[known] += maps.predict(X[test][known])[:, 0]
        error.append((y[test] - value) ** 2)
    mean = np.concatenate(error).mean() / y.var()
    assert model.cv_errors_[3.0] == pytest.approx(mean, rel=1e-9)


def test_weights_equal_repeated_rows_at_equal_folds(rng):
    _, X, y = own_laws(900)
    weight, fold = rng.integers(0, 4, 900), rng.integers(0, 3, 900)

    def splits(fold):
        return [
            (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)
        ]

    weighted = PartialPooling(EMLR(), cv=splits(fold)).fit(X, y, weight)
    repeated = PartialPooling(EMLR(), cv=splits(np.repeat(fold, weight)))
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.tau_ == repeated.tau_ < np.inf
    assert weighted.gain_error_ == pytest.approx(repeated.gain_error_, rel=1e-6)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


@pytest.mark.slow
def test_several_targets_and_few_rows(rng):
    _, X, y = own_laws(2000)
    both = np.column_stack([y, -y])
    model = PartialPooling(EMLR()).fit(X, both)
    prediction = model.predict(X)
    assert prediction.shape == (2000, 2)
    np.testing.assert_allclose(prediction[:, 0], -prediction[:, 1], atol=0.05 * y.std())
    for n in (1, 6):
        small = PartialPooling(PatternMixtureLR(random_state=0)).fit(X[:n], y[:n])
        assert np.isfinite(small.predict(X)).all()
    empty = PartialPooling(EMLR()).fit(np.full((20, 2), np.nan), y[:20])
    np.testing.assert_allclose(empty.predict([[np.nan, 1.0]]), y[:20].mean(), rtol=1e-6)


@pytest.mark.parametrize("taus", [(), (0.0,), (np.inf,), (-1.0, 2.0)])
def test_bad_strengths_are_refused(taus, rng):
    X, y = rows(rng)
    with pytest.raises(ValueError, match=r"taus=.*one or more finite strengths > 0"):
        PartialPooling(EMLR(), taus=taus).fit(X, y)


def test_bases_that_cannot_serve_are_refused(rng):
    X, y = rows(rng)
    with pytest.raises(TypeError, match="estimator='EMLR' has no fit and predict"):
        PartialPooling("EMLR").fit(X, y)
    with pytest.raises(TypeError, match="takes no sample_weight"):
        PartialPooling(KNeighborsRegressor()).fit(X, y, np.ones(len(X)))
    assert clone(PartialPooling(EMLR(tol=1e-3))).estimator.tol == 1e-3


def test_it_is_linear_only_if_its_base_is():
    assert PartialPooling(EMLR()).is_linear
    assert not PartialPooling(HistGradientBoostingRegressor()).is_linear
    assert PartialPooling(PartialPooling(EMLR())).is_linear


def test_the_default_takes_it_for_a_flexible_part_where_its_base_is_one(rng):
    X = rng.normal(size=(200, 2))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=200)
    X[::4, 1] = np.nan
    flexible = PartialPooling(HistGradientBoostingRegressor(max_iter=30))
    model = AutoRegressor([EMLR(), flexible], random_state=0).fit(X, y)
    assert isinstance(model.base_, EMLR)
    assert any("on residuals" in score.name for score in model.scores_)


def test_where_no_pattern_repeats_the_estimator_stays_alone(rng):
    X = hide(rng, rng.standard_normal((40, 25)), 0.4)  # 40 patterns
    y = np.nansum(X, axis=1) + rng.standard_normal(40)
    model = PartialPooling(EMLR()).fit(X, y)
    assert model.tau_ == np.inf
    np.testing.assert_array_equal(model.predict(X), EMLR().fit(X, y).predict(X))
