"""EMProbit: against the likelihood itself, the Bayes classifier, and complete rows."""

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn.utils.estimator_checks import parametrize_with_checks

from laws import small_law
from missfit import EMLR, EMProbit, PatternClassifier
from missfit.bayes import BayesClassifier
from missfit.simulate import Probit, published
from test_pattern_classifier import excess


@parametrize_with_checks([EMProbit()])
def test_scikit_learn_s_own_suite(estimator, check):
    check(estimator)


def test_with_complete_rows_it_is_probit_regression(rng):
    X = rng.normal(size=(2_000, 2))
    label = 0.5 + X @ [1.0, -0.5] + rng.normal(size=2_000) > 0

    def loss(theta):
        index = theta[0] + X @ theta[1:]
        return -stats.norm.logcdf(np.where(label, index, -index)).sum()

    theirs = optimize.minimize(loss, np.zeros(3)).x
    ours = EMProbit(tol=1e-9).fit(X, label)
    found = np.r_[ours.intercept_, ours.coef_[0]]
    # a prior of 0.3 pseudo-rows of 2,000 moves the slopes by 1e-3 at most
    np.testing.assert_allclose(found, theirs, atol=2e-3)


def test_it_ends_where_the_observed_likelihood_has_no_slope():
    """The law found, against small moves of its slopes, by integrating out X."""
    model = Probit(small_law("mcar", d=2), 0.5)
    X, label = model.sample(1_000, random_state=0)
    fitted = EMProbit(tol=1e-10).fit(X, label)
    law = fitted._laws_[0]
    mean, cov = law.shift + law.scale * law.mean, np.outer(law.scale, law.scale)
    cov = cov * law.cov

    def height(intercept, slope):
        total = 0.0
        for j in (0, 1):  # rows that miss one of the two features
            rows = np.isnan(X[:, j]) & ~np.isnan(X[:, 1 - j])
            x = X[rows, 1 - j]
            ratio = cov[0, 1] / cov[1 - j, 1 - j]
            guess = mean[j] + ratio * (x - mean[1 - j])
            left = cov[j, j] - ratio * cov[0, 1]
            index = intercept + slope[1 - j] * x + slope[j] * guess
            index /= np.sqrt(1 + slope[j] ** 2 * left)
            total += stats.norm.logcdf(np.where(label[rows], index, -index)).sum()
        rows = ~np.isnan(X).any(axis=1)
        index = intercept + X[rows] @ slope
        total += stats.norm.logcdf(np.where(label[rows], index, -index)).sum()
        rows = np.isnan(X).all(axis=1)
        index = intercept + slope @ mean
        index /= np.sqrt(1 + slope @ cov @ slope)
        sign = np.where(label[rows], 1, -1)
        return total + stats.norm.logcdf(sign * index).sum()

    b0, b = fitted.intercept_[0], fitted.coef_[0]
    here = height(b0, b)
    for j in range(3):
        move = 0.05 * np.eye(3)[j]
        for sign in (-1, 1):  # the prior pulls by 1e-3; a move of 0.05 costs 0.1
            assert height(b0 + sign * move[0], b + sign * move[1:]) < here


def test_it_is_nearer_to_the_bayes_classifier_than_least_squares():
    law = published("mixture1", 4)
    model = Probit(law, law.target_quantile(0.9))
    new, _ = model.sample(5_000, random_state=1)
    truth = BayesClassifier(model)
    ours, theirs = [], []
    for seed in range(4):
        X, label = model.sample(750, random_state=10 + seed)
        ours.append(excess(EMProbit().fit(X, label), truth, new))
        theirs.append(excess(PatternClassifier(EMLR()).fit(X, label), truth, new))
    assert np.mean(ours) < 0.8 * np.mean(theirs)
    assert np.mean(ours) < 0.01  # 15 parameters / (2 x 750 rows)


def test_a_weight_of_two_is_a_repeated_row():
    X, label = Probit(small_law("mcar"), 0.5).sample(300, random_state=0)
    weight = 1.0 + (np.arange(300) < 100)
    weighted = EMProbit(tol=1e-10).fit(X, label, weight)
    repeated = EMProbit(tol=1e-10).fit(np.r_[X, X[:100]], np.r_[label, label[:100]])
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5
    )


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_it_does_not_depend_on_the_units_and_the_origin_of_x(scale):
    X, label = Probit(small_law("mcar"), 0.5).sample(300, random_state=0)
    expected = EMProbit().fit(X, label).predict_proba(X)
    moved = scale * (X + 100)
    found = EMProbit().fit(moved, label).predict_proba(moved)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_iter": 0}, "max_iter=0; it must be a number of at least 1"),
        ({"tol": "small"}, "tol='small'; it must be a number of at least 0"),
    ],
)
def test_bad_parameters_are_refused(parameters, message, rng):
    X = rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match=message):
        EMProbit(**parameters).fit(X, X[:, 0] > 0)


def test_separated_classes_have_finite_slopes(rng):
    X = rng.normal(size=(100, 2))
    label = X[:, 0] > 0
    model = EMProbit().fit(X, label)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, label) > 0.97
