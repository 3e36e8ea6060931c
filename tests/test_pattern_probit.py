"""PatternProbit: against probit regression, the likelihood and the Bayes classifier."""

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from laws import small_law
from missfit import EMLR, ExpandedLR, PatternMixtureLR, PatternProbit, SelfMaskedLR
from missfit.bayes import BayesClassifier
from missfit.gaussian import mixture_search
from missfit.gaussian.expected_features import ExpectedFeatures
from missfit.gaussian.probit_regression import (
    LatentRegression,
    latent_regression,
    log_shares,
    probable_regression,
)
from missfit.simulate import Probit, published
from test_pattern_classifier import excess


@parametrize_with_checks([PatternProbit(EMLR())])
def test_scikit_learn_s_own_suite(estimator, check):
    check(estimator)


def test_with_complete_rows_it_is_probit_regression(rng):
    X = rng.normal(size=(2_000, 2))
    label = 0.5 + X @ [1.0, -0.5] + rng.normal(size=2_000) > 0

    def loss(theta):
        index = theta[0] + X @ theta[1:]
        return -stats.norm.logcdf(np.where(label, index, -index)).sum()

    theirs = optimize.minimize(loss, np.zeros(3)).x
    expected = stats.norm.cdf(theirs[0] + X @ theirs[1:])
    ours = PatternProbit(EMLR()).fit(X, label).predict_proba(X)[:, 1]
    # the prior that two slopes of |b|^2 = 1.25 speak for is worth 2 / 1.25 of the 2,000
    # rows: it moves slopes by some 2e-3, and shares by half of that
    np.testing.assert_allclose(ours, expected, atol=2e-3)


@pytest.mark.parametrize(
    ("setting", "law", "most"),
    [
        # measured .0018, .0162 and .0065; boosting has .05 and more
        ("mixture1", EMLR(), 0.004),
        ("mixture3", PatternMixtureLR(random_state=0), 0.03),
        ("selfmasked", SelfMaskedLR(), 0.01),
    ],
)
def test_with_the_right_law_it_comes_near_the_bayes_classifier(setting, law, most):
    model = published(setting, 4)
    model = Probit(model, model.target_quantile(0.5))
    X, label = model.sample(4_000, random_state=0)
    fitted, truth = PatternProbit(law).fit(X, label), BayesClassifier(model)
    assert excess(fitted, truth, model.sample(5_000, random_state=1)[0]) < most


def test_the_share_of_a_row_is_that_of_draws_of_what_is_missing(rng):
    model = published("selfmasked", 4)
    X, label = Probit(model, 1.0).sample(1_000, random_state=0)
    fitted = PatternProbit(SelfMaskedLR()).fit(X, label)
    row = np.array([[0.3, np.nan, -0.2, np.nan]])
    (part,) = fitted.estimator_.expected_features(row)
    drawn = rng.multivariate_normal(part.mean[0], part.cov[part.group[0]], 200_000)
    (law,) = fitted.regressions_
    expected = stats.norm.cdf(law.intercept + drawn @ law.slope)
    # three standard errors of the mean of the draws
    error = 3 * expected.std() / np.sqrt(len(expected))
    assert fitted.predict_proba(row)[0, 1] == pytest.approx(expected.mean(), abs=error)


def test_the_slopes_are_those_of_the_greatest_likelihood():
    X, label = Probit(small_law("mixture", d=2), 0.5).sample(800, random_state=0)
    fitted = PatternProbit(PatternMixtureLR(n_components=2, random_state=0))
    fitted.fit(X, label)
    parts = fitted.estimator_.expected_features(X)
    assert len(parts) == 2
    sign = np.where(label == 1, 1.0, -1.0)
    law = latent_regression(parts, label == 1, np.ones(800), 0.03)

    def height(intercept, slope):
        moved = LatentRegression(intercept, slope)
        return log_shares(parts, moved, sign).sum() - 0.015 * slope @ slope

    here = height(*law)
    for step in np.eye(3) * 0.01:
        for way in (-1, 1):
            moved = height(law.intercept + way * step[0], law.slope + way * step[1:])
            assert moved < here
    # the ridge that the labels make most probable makes them 5 % smaller here
    np.testing.assert_allclose(fitted.regressions_[0].slope, law.slope, rtol=0.1)


def test_separated_classes_and_three_classes_with_a_rare_one_give_finite_shares(rng):
    X = rng.normal(size=(400, 2))
    separated = X[:, 0] > 0
    X[rng.random(X.shape) < 0.2] = np.nan
    shares = PatternProbit(EMLR()).fit(X, separated).predict_proba(X)
    assert np.isfinite(np.log(shares)).all()
    label = np.where(np.arange(400) < 8, "rare", np.where(separated, "yes", "no"))
    shares = PatternProbit(EMLR()).fit(X, label).predict_proba(X)
    assert shares.shape == (400, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    # one probit for each class: its mean share is near that of the labels
    np.testing.assert_allclose(shares.mean(axis=0)[1], 8 / 400, atol=0.005)


def test_weights_repeat_rows(rng):
    X, label = Probit(published("mixture1", 4), 1.0).sample(300, random_state=0)
    weight = rng.integers(0, 3, 300)
    weighted = PatternProbit(EMLR()).fit(X, label, sample_weight=weight)
    again = np.repeat(np.arange(300), weight)
    repeated = PatternProbit(EMLR()).fit(X[again], label[again])
    # EM stops at 1e-5 of the likelihood
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-3
    )


def test_a_class_whose_rows_have_no_weight_leaves_the_others_as_they_are(rng):
    X = rng.standard_normal((300, 2))
    label = np.where(np.arange(300) < 30, 3, np.digitize(X[:, 0], [-0.5, 0.5]))
    X[rng.random(X.shape) < 0.2] = np.nan
    weight = np.where(label == 3, 0.0, 1.0)
    model = PatternProbit(EMLR()).fit(X, label, sample_weight=weight)
    without = PatternProbit(EMLR()).fit(X[weight > 0], label[weight > 0])
    shares = model.predict_proba(X)
    assert shares[:, 3].max() < 1e-6
    np.testing.assert_allclose(shares[:, :3], without.predict_proba(X), atol=1e-6)


def test_huge_weights_are_weights(rng):
    X, y = rng.normal(size=(200, 3)), rng.integers(2, size=200)
    X[rng.random(X.shape) < 0.2] = np.nan
    some, huge = (
        PatternProbit(EMLR()).fit(X, y, np.full(200, weight)).predict_proba(X)
        for weight in (1e9, 1e18)
    )
    np.testing.assert_allclose(some, huge, atol=1e-6)


def test_a_predictor_without_a_law_is_refused(rng):
    with pytest.raises(TypeError, match="has no law of X; give EMLR"):
        PatternProbit(ExpandedLR()).fit(rng.normal(size=(20, 2)), np.arange(20) % 2)


def test_the_slopes_are_held_as_the_evidence_for_them_says(rng):
    """Against Laplace's approximation of the evidence over a grid, complete rows."""
    n, d = 150, 8
    X = rng.normal(size=(n, d))
    label = X @ rng.normal(0, 0.3, d) + rng.normal(size=n) > 0
    sign = np.where(label, 1.0, -1.0)

    def surprise(a):
        """-log p(labels | a), slopes ~ N(0, I / a)."""

        def loss(theta):
            index = sign * (theta[0] + X @ theta[1:])
            return a / 2 * theta[1:] @ theta[1:] - stats.norm.logcdf(index).sum()

        found = optimize.minimize(loss, np.zeros(d + 1))
        share = stats.norm.cdf(found.x[0] + X @ found.x[1:])
        density = stats.norm.pdf(found.x[0] + X @ found.x[1:])
        columns = np.column_stack([np.ones(n), X])
        rate = density**2 / (share * (1 - share))
        curve = (columns * rate[:, None]).T @ columns + a * np.diag([0.0] + [1.0] * d)
        return found.fun + np.linalg.slogdet(curve)[1] / 2 - d / 2 * np.log(a)

    grid = np.exp(np.arange(-2, 7, 0.25))
    best = grid[np.argmin([surprise(a) for a in grid])]
    part = ExpectedFeatures(
        np.arange(n), np.ones(n), X, np.zeros((1, d, d)), np.zeros(n, dtype=int)
    )
    found = probable_regression([part], label, np.ones(n), 0.03)

    def pulled(theta):
        index = sign * (theta[0] + X @ theta[1:])
        return best / 2 * theta[1:] @ theta[1:] - stats.norm.logcdf(index).sum()

    expected = optimize.minimize(pulled, np.zeros(d + 1)).x
    # a step of the grid is a factor of 1.3, which moves slopes by 5 %
    np.testing.assert_allclose(found.slope, expected[1:], rtol=0.1, atol=0.01)


def test_labels_of_chance_leave_hardly_any_slope(rng):
    X, label = rng.normal(size=(200, 20)), rng.random(200) < 0.5
    shares = PatternProbit(EMLR()).fit(X, label).predict_proba(X)[:, 1]
    # least squares of 20 slopes would spread the shares by sqrt(20 / 200) / 2 = .16
    assert shares.std() < 0.05


def test_a_probit_on_a_mixture_goes_on_from_the_search_of_one_nearby(monkeypatch):
    X, label = Probit(published("mixture3", 4), 1.0).sample(1500, random_state=0)
    model = PatternProbit(PatternMixtureLR(random_state=0))
    first = clone(model).fit(X[:1000], label[:1000])
    alone = clone(model).fit(X[500:], label[500:])
    searched = []
    one_more = mixture_search.MixtureSearch.one_more
    monkeypatch.setattr(
        mixture_search.MixtureSearch,
        "one_more",
        lambda *args, **kwargs: searched.append(1) or one_more(*args, **kwargs),
    )
    near = clone(model).fit(X[500:], label[500:], near=first)
    assert not searched
    gap = near.predict_proba(X) - alone.predict_proba(X)
    assert np.sqrt(np.mean(gap**2)) < 0.01  # the same law, but for when EM ends
