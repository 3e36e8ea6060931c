"""ConditionalImputedLogistic: against scikit-learn, the Bayes classifier, and laws."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import hide, random_cov
from laws import small_law
from missfit import ConditionalImputedLogistic
from missfit.bayes import BayesClassifier
from missfit.estimators.conditional_imputed_logistic import imputed
from missfit.gaussian.conditional import ScaledGaussian
from missfit.simulate import Probit, published
from test_pattern_classifier import excess


@parametrize_with_checks([ConditionalImputedLogistic()])
def test_scikit_learn_s_own_suite(estimator, check):
    check(estimator)


def test_with_complete_rows_it_is_logistic_regression_on_standard_columns(rng):
    X = rng.normal(size=(500, 3)) * [1.0, 10.0, 0.1] + 5
    label = (X - 5) @ [1.0, 0.1, 0.0] + rng.logistic(size=500) > 0
    ours = ConditionalImputedLogistic().fit(X, label)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = LogisticRegression(C=1 / ours.alpha_, tol=1e-8).fit(standard, label)
    np.testing.assert_allclose(
        ours.predict_proba(X), theirs.predict_proba(standard), atol=1e-3
    )


@pytest.mark.parametrize("d", [10, 80], ids=["by slopes", "by the precision"])
def test_rows_are_filled_by_their_conditional_expectation(d, rng):
    cov = random_cov(rng, d)
    law = ScaledGaussian(rng.normal(size=d), np.full(d, 2.0), rng.normal(size=d), cov)
    X = hide(rng, rng.normal(size=(40, d)), 0.3)
    filled, _, _ = imputed(X, law)
    z = (X - law.shift) / law.scale
    for row, found in zip(z, filled, strict=True):
        u, o = np.isnan(row), ~np.isnan(row)
        slopes = cov[np.ix_(u, o)] @ np.linalg.inv(cov[np.ix_(o, o)])
        np.testing.assert_allclose(found[o], row[o], atol=1e-12)
        expected = law.mean[u] + slopes @ (row[o] - law.mean[o])
        np.testing.assert_allclose(found[u], expected, atol=1e-8)


def test_it_is_near_the_bayes_classifier_and_kappa_helps():
    law = published("mixture1", 4)
    model = Probit(law, law.target_quantile(0.5))
    X, label = model.sample(4_000, random_state=0)
    new, _ = model.sample(5_000, random_state=1)
    truth = BayesClassifier(model)
    fitted = ConditionalImputedLogistic().fit(X, label)
    plain = LogisticRegression().fit(np.c_[np.nan_to_num(X), np.isnan(X)], label)

    class Plain:
        predict_proba = staticmethod(
            lambda X: plain.predict_proba(np.c_[np.nan_to_num(X), np.isnan(X)])
        )

    # the law has a probit and no noise, so that complete rows are separated
    assert excess(fitted, truth, new) < 0.015
    assert excess(fitted, truth, new) < 0.5 * excess(Plain, truth, new)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_does_not_depend_on_the_units_and_the_origin_of_x(n_classes):
    law = small_law("mcar")
    cuts = [law.target_quantile(k / n_classes) for k in range(1, n_classes)]
    X, label = Probit(law, cuts).sample(300, random_state=0)
    expected = ConditionalImputedLogistic().fit(X, label).predict_proba(X)
    moved = 1e4 * (X + 100)
    found = ConditionalImputedLogistic().fit(moved, label).predict_proba(moved)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)


def test_a_class_of_one_row_is_learned_without_folds(rng):
    X = rng.normal(size=(40, 2))
    label = np.where(np.arange(40) == 7, "rare", "common")
    found = ConditionalImputedLogistic().fit(X, label).predict_proba(X)
    assert found[:, 1].sum() == pytest.approx(1, abs=0.05)  # as the labels do
