"""The linear predictors against other implementations of the same model."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import hide, random_cov
from missfit import (
    EMLR,
    MICELR,
    ConstantImputedLR,
    ExpandedLR,
    FactorizedLR,
    PatternMoments,
)
from missfit.comparison.candidates import candidate
from missfit.moments.patterns import all_patterns

RARE = pytest.mark.filterwarnings("ignore:.*fewer rows than coefficients:UserWarning")


def rows(rng, n=400, d=3, rate=0.4):
    X = rng.multivariate_normal(np.arange(d), random_cov(rng, d), n)
    y = 1 + X.sum(axis=1) + 0.3 * rng.standard_normal(n)
    return hide(rng, X, rate), y


def zeros_and_mask(X):
    return np.hstack([np.nan_to_num(X), np.isnan(X)])


def test_constant_imputed_lr_is_least_squares_on_zeros_and_mask(rng):
    X, y = rows(rng)
    new, _ = rows(rng)
    ours = ConstantImputedLR().fit(X, y)
    theirs = LinearRegression().fit(zeros_and_mask(X), y)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(zeros_and_mask(new)))
    np.testing.assert_allclose(ours.coef_, theirs.coef_[:3])
    np.testing.assert_allclose(ours.mask_coef_, theirs.coef_[3:])
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_)


def test_imputing_the_optimal_constants_and_regressing_is_the_same_predictor(rng):
    X, y = rows(rng)
    ours = ConstantImputedLR().fit(X, y)
    imputed = np.where(np.isnan(X), ours.imputation_, X)
    theirs = LinearRegression().fit(imputed, y)
    np.testing.assert_allclose(theirs.coef_, ours.coef_, rtol=1e-8)
    np.testing.assert_allclose(theirs.predict(imputed), ours.predict(X), rtol=1e-8)


def test_a_feature_missing_only_at_predict_is_imputed_by_its_mean(rng):
    X, y = rows(rng, rate=0.0)
    for model in (ConstantImputedLR(), FactorizedLR(alphas=(0.0,))):
        model.fit(X, y)
        new = X[:5].copy()
        at_mean = new.copy()
        new[:, 1], at_mean[:, 1] = np.nan, X[:, 1].mean()
        np.testing.assert_allclose(model.predict(new), model.predict(at_mean))
    np.testing.assert_allclose(ConstantImputedLR().fit(X, y).imputation_, X.mean(0))


def expanded_design(X):
    """The 2^d blocks (1, X_obs) of Proposition 4.1, written out."""
    blocks = []
    for m in all_patterns(X.shape[1]):
        here = (np.isnan(X) == m).all(axis=1)[:, None]
        block = np.column_stack([np.ones(len(X)), X[:, ~m]])
        blocks.append(np.where(here, block, 0.0))
    return np.hstack(blocks)


@RARE
@pytest.mark.parametrize("n", [30, 400, 3000])
def test_expanded_lr_is_the_authors_dense_ridge(rng, n):
    X, y = rows(rng, n)
    new, _ = rows(rng)
    theirs = make_pipeline(StandardScaler(), RidgeCV(alphas=(1e-3, 1, 1e3), cv=3))
    theirs.fit(expanded_design(X), y)
    ours = ExpandedLR().fit(X, y)
    assert ours.alpha_ == theirs[-1].alpha_
    np.testing.assert_allclose(
        ours.predict(new), theirs.predict(expanded_design(new)), rtol=1e-7
    )


@RARE
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
def test_expanded_lr_on_one_pattern_is_ridge_on_standardised_features(rng, alpha):
    X, y = rows(rng, rate=0.0)
    theirs = make_pipeline(StandardScaler(), Ridge(alpha=alpha)).fit(X, y)
    ours = ExpandedLR(alphas=(alpha,)).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_expanded_lr_without_penalty_is_least_squares_in_each_pattern(rng):
    X, y = rows(rng, n=3000)
    ours = ExpandedLR(alphas=(0.0,)).fit(X, y).predict(X)
    for m in all_patterns(3):
        here = (np.isnan(X) == m).all(axis=1)
        design = np.column_stack([np.ones(here.sum()), X[here][:, ~m]])
        theirs = design @ np.linalg.lstsq(design, y[here], rcond=None)[0]
        np.testing.assert_allclose(ours[here], theirs, rtol=1e-9)


@RARE
def test_a_pattern_never_seen_gets_the_shared_intercept(rng):
    X, y = rows(rng)
    X = X[~np.isnan(X[:, 0])]
    y = y[: len(X)]
    model = ExpandedLR(alphas=(1.0,)).fit(X, y)
    unseen = np.array([[np.nan, 5.0, 1.0], [np.nan, -5.0, 1.0]])
    np.testing.assert_allclose(model.predict(unseen), model.intercept_)


def test_rare_patterns_are_announced_with_the_way_out(rng):
    X, y = rows(rng, n=20)
    with pytest.warns(UserWarning, match=r"of \d+ patterns have fewer rows.*min_rows="):
        ExpandedLR(alphas=(1.0,)).fit(X, y)


@pytest.mark.parametrize("fallback", [ConstantImputedLR(), EMLR(), MICELR()])
def test_a_fallback_takes_the_patterns_that_are_rare_or_never_seen(rng, fallback):
    X, y = rows(rng)
    counts = PatternMoments.from_data(X, y)
    limit = np.sort(counts.count)[3]
    model = ExpandedLR(alphas=(1.0,), min_rows=limit, fallback=fallback).fit(X, y)
    alone = type(fallback)().fit(X, y).predict(X)
    rare = counts.patterns[counts.count < limit]
    is_rare = (np.isnan(X)[:, None, :] == rare).all(axis=2).any(axis=1)
    assert 0 < is_rare.sum() < len(X)
    ours = model.predict(X)
    np.testing.assert_allclose(ours[is_rare], alone[is_rare])
    kept = ExpandedLR(alphas=(1.0,)).fit(X[~is_rare], y[~is_rare])
    np.testing.assert_allclose(ours[~is_rare], kept.predict(X[~is_rare]))


def test_a_fallback_without_moments_needs_rows(rng):
    X, y = rows(rng)
    model = ExpandedLR(alphas=(1.0,), fallback=HistGradientBoostingRegressor())
    assert np.isfinite(model.fit(X, y).predict(X)).all()
    with pytest.raises(TypeError, match=r"has no fit_moments.*call fit with rows"):
        model.fit_moments(PatternMoments.from_data(X, y))


@RARE
def test_a_fallback_keeps_small_samples_from_exploding(rng):
    # the published means of ExpandedLR are ruined by such runs
    d = 8
    X = rng.multivariate_normal(np.zeros(d), random_cov(rng, d), 4000)
    y = X.sum(axis=1)
    X = hide(rng, X, 0.5)
    plain = ExpandedLR().fit(X[:400], y[:400]).score(X[400:], y[400:])
    safe = ExpandedLR(min_rows=30, fallback=EMLR()).fit(X[:400], y[:400])
    assert safe.score(X[400:], y[400:]) > max(plain, 0.5)


# --- FactorizedLR -------------------------------------------------------------------


def factorised_design(X, order):
    """Columns of the polynomial of Proposition 4.2 cut at an order, written out."""
    M = np.isnan(X)
    x = np.nan_to_num(X)
    columns = []
    for S in all_patterns(X.shape[1]):
        switch = M[:, S].all(axis=1).astype(float)
        if 0 < S.sum() <= order + 1:
            columns.append(switch)
        if S.sum() <= order:
            columns += [switch * x[:, j] for j in np.flatnonzero(~S)]
    return np.column_stack(columns)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_factorized_lr_is_least_squares_on_the_polynomial(rng, order):
    X, y = rows(rng, n=2000)
    new, _ = rows(rng)
    theirs = LinearRegression().fit(factorised_design(X, order), y)
    ours = FactorizedLR(order, alphas=(0.0,)).fit(X, y)
    np.testing.assert_allclose(
        ours.predict(new), theirs.predict(factorised_design(new, order)), rtol=1e-6
    )


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("alpha", [0.1, 10.0, 1000.0])
def test_factorized_lr_is_ridge_on_standardised_columns(rng, order, alpha):
    # about the means of the features, where its columns have their zero
    X, y = rows(rng)
    centred = X - np.nanmean(X, axis=0)
    design = factorised_design(centred, order)
    theirs = make_pipeline(StandardScaler(), Ridge(alpha=alpha)).fit(design, y)
    ours = FactorizedLR(order, alphas=(alpha,)).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(design), rtol=1e-7)


def test_order_0_is_constant_imputed_lr_and_order_d_is_expanded_lr(rng):
    X, y = rows(rng, n=3000)
    new, _ = rows(rng)
    lowest = FactorizedLR(0, alphas=(0.0,)).fit(X, y).predict(new)
    np.testing.assert_allclose(
        lowest, ConstantImputedLR().fit(X, y).predict(new), rtol=1e-8
    )
    highest = FactorizedLR(3, alphas=(0.0,)).fit(X, y).predict(new)
    np.testing.assert_allclose(
        highest, ExpandedLR(alphas=(0.0,)).fit(X, y).predict(new), rtol=1e-6
    )


def test_zeta_is_the_polynomial(rng):
    X, y = rows(rng)
    model = FactorizedLR(1, alphas=(1.0,)).fit(X, y)
    for x in X[:5]:
        M = np.isnan(x).astype(float)
        switch = np.where(model.subsets_, M, 1.0).prod(axis=1)
        centred = np.nan_to_num(x - model.centre_)
        terms = model.zeta_intercept_[:, 0] + model.zeta_coef_[:, 0] @ centred
        np.testing.assert_allclose(switch @ terms, model.predict(x[None])[0])


def test_the_dial_has_its_best_place_between_the_ends(rng):
    # mixture-like data, a few hundred rows: order 1 beats both order 0 and order d
    from missfit.simulate import published

    model = published("selfmasked", 6)
    X, y = model.sample(750, random_state=0)
    X_test, y_test = model.sample(20_000, random_state=1)
    scores = [
        FactorizedLR(order).fit(X, y).score(X_test, y_test) for order in (0, 1, 6)
    ]
    assert scores[1] > max(scores[0], scores[2])


# --- MICELR ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_bounded_imputations_stay_within_what_was_seen(rng):
    X, y = rows(rng)
    model = MICELR().fit(X, y)
    extreme = np.array([[1e6, np.nan, np.nan], [np.nan, -1e6, 1e6]])
    imputed = model.impute(extreme)
    hidden = np.isnan(extreme)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    assert ((imputed >= low) | ~hidden).all()
    assert ((imputed <= high) | ~hidden).all()
    free = MICELR(bounded=False).fit(X, y).impute(extreme)
    assert ((free < low) | (free > high))[hidden].any()


# --- the origin of X ----------------------------------------------------------------


def sparse_patterns(rng, n=700):
    """Six features of which a third is missing: patterns of many rows and of few."""
    X = rng.multivariate_normal(np.zeros(6), 0.5 * np.eye(6) + 0.5, 2 * n)
    y = X.sum(axis=1) + 0.7 * rng.standard_normal(2 * n)
    return hide(rng, X, 0.3), y


@RARE
def test_centred_expanded_lr_does_not_depend_on_the_origin(rng):
    X, y = sparse_patterns(rng)
    model = ExpandedLR(centred=True)
    plain = model.fit(X, y).predict(X)
    for shift in (100.0, 2000.0):
        np.testing.assert_allclose(
            model.fit(X + shift, y).predict(X + shift), plain, atol=1e-6 * y.std()
        )


def test_centred_expanded_lr_is_the_paper_s_on_centred_features(rng):
    X, y = rows(rng)
    means = np.nanmean(X, axis=0)
    centred = ExpandedLR(alphas=(1.0,), centred=True).fit(X, y)
    paper = ExpandedLR(alphas=(1.0,)).fit(X - means, y)
    np.testing.assert_allclose(centred.predict(X), paper.predict(X - means), rtol=1e-9)
    assert centred.intercept_ == pytest.approx(paper.intercept_)
    np.testing.assert_allclose(centred.centre_, means)


@RARE
def test_the_paper_s_expanded_lr_says_where_its_origin_matters(rng):
    X, y = rows(rng)
    with pytest.warns(UserWarning, match=r"feature \d lies .*centred=True"):
        ExpandedLR(alphas=(1.0,)).fit(X + 2000.0, y)
    for quiet in (ExpandedLR(alphas=(0.0,)), ExpandedLR(alphas=(1.0,), centred=True)):
        quiet.fit(X + 2000.0, y)


@pytest.mark.parametrize("seed", range(3))
def test_what_compare_offers_does_not_depend_on_the_origin(seed):
    X, y = sparse_patterns(np.random.default_rng(seed))
    model = candidate("ExpandedLR").make(0)
    scores = [
        model.fit(X[:700] + shift, y[:700]).score(X[700:] + shift, y[700:])
        for shift in (0.0, 100.0, 2000.0)
    ]
    np.testing.assert_allclose(scores, scores[0], atol=1e-6)
    assert scores[0] > 0.8


@pytest.mark.filterwarnings("ignore:.*standard deviations from zero:UserWarning")
def test_patterns_too_rare_to_train_on_are_not_tested_either(rng):
    # two patterns in many rows, and one of 31 that all lie in the last fold: it is
    # frequent, but not in the rows that this fold trains on
    X = 100 + rng.standard_normal((330, 3))
    y = 10 * X[:, 0] + 0.1 * rng.standard_normal(330)
    X[:299:2, 1] = X[-31:, 2] = np.nan
    model = ExpandedLR(min_rows=30, fallback=ConstantImputedLR()).fit(X, y)
    frequent = ExpandedLR(cv=splits_of(330, 31)).fit(X[:299], y[:299])
    assert model.alpha_ == frequent.alpha_ == 1e-3
    assert model.cv_scores_ == pytest.approx(frequent.cv_scores_, abs=1e-3)


def splits_of(n, n_rare):
    """Three contiguous folds of n rows, without the rare ones at their end."""
    folds = np.array_split(np.arange(n), 3)
    kept = [fold[fold < n - n_rare] for fold in folds]
    return [
        (np.concatenate([other for other in kept if other is not fold]), fold)
        for fold in kept
    ]


def test_constant_imputed_lr_holds_on_with_few_rows_where_least_squares_would_not(rng):
    # more columns of (X, M) than rows: least squares goes through all of them
    worst = 0.0
    for _ in range(50):
        X, y = rows(rng, n=8, d=3)
        new, _ = rows(rng, n=50, d=3)
        X[:2] = rows(rng, n=2, d=3, rate=0.0)[0]
        inside = np.clip(new, np.nanmin(X, axis=0), np.nanmax(X, axis=0))
        prediction = ConstantImputedLR().fit(X, y).predict(inside)
        worst = max(worst, np.abs(prediction - y.mean()).max() / np.ptp(y))
    assert worst < 3
