"""Classes: the paper's law with a threshold, against integration and simulation."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from laws import NAMES, brute_force_share, small_law
from missfit.bayes import (
    BayesClassifier,
    bayes_error,
    bayes_log_loss,
    expanded_coefficients,
    factorized_coefficients,
)
from missfit.simulate import Probit, SelfMaskedProbit, published

CLOSED_FORM = NAMES[:4]


@pytest.mark.parametrize("name", NAMES)
def test_the_probability_is_that_of_integration_over_the_missing_features(name):
    law = small_law(name)
    X, _ = law.sample(40, random_state=1)
    X[0] = np.nan if name != "mar" else X[0]  # nothing is known of a row
    model = Probit(law, law.target_quantile(0.7))
    ours = BayesClassifier(model).predict_proba(X)
    # closed forms to the error of the trapezoidal rule; quasi-random points to 2e-3
    tolerance = 2e-3 if isinstance(law, SelfMaskedProbit) else 1e-6
    for row, shares in zip(X, ours, strict=True):
        expected = brute_force_share(law, row, model.threshold)
        np.testing.assert_allclose(shares, [1 - expected, expected], atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_losses_are_those_of_simulated_labels(name):
    law = small_law(name)
    model = Probit(law, law.target_quantile([0.5, 0.9][name == "mcar"]))
    X, label = model.sample(40_000, random_state=2)
    shares = BayesClassifier(model).predict_proba(X)
    rows = np.arange(len(X))
    losses = -np.log(shares[rows, label])
    wrong = shares.argmax(axis=1) != label
    for ours, drawn in [(bayes_log_loss, losses), (bayes_error, wrong)]:
        estimate = ours(model, n_draws=20_000, random_state=3)
        error = np.hypot(estimate.standard_error, drawn.std() / np.sqrt(len(X)))
        assert abs(estimate.value - drawn.mean()) < 3 * error


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_calibrated_within_each_pattern(name):
    law = small_law(name)
    model = Probit(law, law.target_quantile(0.5))
    X, label = model.sample(40_000, random_state=4)
    share = BayesClassifier(model).predict_proba(X)[:, 1]
    code = np.isnan(X) @ [4, 2, 1]
    for pattern in np.unique(code):
        here = code == pattern
        excess = (label - share)[here]
        sd = np.sqrt((share * (1 - share))[here].sum())
        assert abs(excess.sum()) < 4 * sd  # up to 8 patterns are looked at


@pytest.mark.parametrize("name", CLOSED_FORM)
def test_given_the_pattern_the_bayes_classifier_is_a_linear_probit(name):
    """Proposition 4.1 with a threshold: Phi of an affine map for each pattern."""
    law = small_law(name)
    model = Probit(law, 0.3)
    X, _ = model.sample(500, random_state=5)
    maps = expanded_coefficients(model, np.unique(np.isnan(X), axis=0))
    codes = {tuple(pattern): k for k, pattern in enumerate(maps.patterns)}
    index = np.array([codes[tuple(mask)] for mask in np.isnan(X)])
    shares = stats.norm.cdf(maps.evaluate(X, index))
    ours = BayesClassifier(model).predict_proba(X)[:, 1]
    np.testing.assert_allclose(shares, ours, atol=1e-10)


@pytest.mark.parametrize("name", CLOSED_FORM)
def test_the_factorised_form_of_the_index_equals_the_expanded_one(name):
    """Proposition 4.2 with a threshold: a polynomial in X and the mask inside Phi."""
    model = Probit(small_law(name), 0.3)
    X, _ = model.sample(500, random_state=6)
    shares = stats.norm.cdf(factorized_coefficients(model).predict(X))
    ours = BayesClassifier(model).predict_proba(X)[:, 1]
    np.testing.assert_allclose(shares, ours, atol=1e-10)


def test_a_missing_feature_pulls_the_slopes_of_the_others_towards_zero():
    """What regression does not have: noise that a missing value adds flattens the
    probit, so no imputation by constants with the complete rows' slopes is right."""
    law = small_law("mcar")
    object.__setattr__(law, "cov", np.eye(3))  # nothing is learned from the others
    maps = expanded_coefficients(Probit(law, 0.0))
    whole = maps.coef[~maps.patterns.any(axis=1)][0]
    one = maps.patterns.sum(axis=1) == 1
    for pattern, coef in zip(maps.patterns[one], maps.coef[one], strict=True):
        ratio = law.noise / np.hypot(law.noise, law.beta[pattern][0])
        np.testing.assert_allclose(coef[~pattern], ratio * whole[~pattern], rtol=1e-12)


def test_several_thresholds_make_ordered_classes():
    law = small_law("mixture")
    cuts = [law.target_quantile(share) for share in (0.3, 0.6, 0.98)]
    model = Probit(law, cuts)
    X, label = model.sample(20_000, random_state=7)
    _, y = law.sample(20_000, random_state=7)
    assert set(label) == {0, 1, 2, 3}
    np.testing.assert_array_equal(label, (y[:, None] > cuts).sum(axis=1))
    share = np.bincount(label) / len(label)
    np.testing.assert_allclose(share, [0.3, 0.3, 0.38, 0.02], atol=0.015)  # 4 errors
    ours = BayesClassifier(model).predict_proba(X)
    np.testing.assert_allclose(ours.sum(axis=1), 1, atol=1e-12)
    for k, cut in enumerate(cuts):
        two = BayesClassifier(Probit(law, cut)).predict_proba(X)[:, 1]
        np.testing.assert_allclose(ours[:, k + 1 :].sum(axis=1), two, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_quantile_of_the_target_is_that_of_many_draws(name):
    law = small_law(name)
    _, y = law.sample(100_000, random_state=8)
    for share in (0.1, 0.5, 0.9):
        below = (y < law.target_quantile(share)).mean()
        assert abs(below - share) < 4 * np.sqrt(share * (1 - share) / len(y))


def test_without_noise_a_complete_row_has_a_certain_class():
    law = published("mixture1", 4)
    object.__setattr__(law, "noise", 0.0)
    model = Probit(law, law.target_quantile(0.5))
    X, label = model.sample_complete(100, random_state=9)
    ours = BayesClassifier(model).predict_proba(X)
    np.testing.assert_array_equal(ours[:, 1], label)
    with pytest.raises(ValueError, match="the label is certain in the pattern"):
        expanded_coefficients(model)


def test_a_bayes_classifier_is_cloned_and_predicts_without_fit():
    model = BayesClassifier(Probit(small_law("mcar"), 0.0))
    again = clone(model)
    X, label = model.model.sample(200, random_state=0)
    assert again.fit(X, label).score(X, label) == model.score(X, label) > 0.6


@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        (np.nan, "give a finite number"),
        ([1.0, 0.0], "must increase"),
        ([], "give a finite number"),
    ],
)
def test_a_threshold_that_cuts_nothing_is_refused(threshold, words):
    with pytest.raises(ValueError, match=words):
        Probit(small_law("mcar"), threshold)


def test_a_law_without_classes_has_no_bayes_classifier():
    law = small_law("mcar")
    with pytest.raises(TypeError, match="give a law with classes"):
        BayesClassifier(law).predict_proba(np.zeros((1, 3)))
    with pytest.raises(TypeError, match="whose target is a number"):
        Probit(Probit(law, 0.0), 0.0)
    with pytest.raises(ValueError, match="the model has 3 classes"):
        expanded_coefficients(Probit(law, [0.0, 1.0]))
