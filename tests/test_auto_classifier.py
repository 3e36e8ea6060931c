"""AutoClassifier: against scikit-learn's own fits, laws, and what goes wrong."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import hide
from missfit import (
    EMLR,
    AutoClassifier,
    AutoRegressor,
    ConditionalImputedLogistic,
    PatternMixtureLR,
    PatternProbit,
)
from missfit.bayes import BayesClassifier
from missfit.simulate import Probit, published
from test_pattern_classifier import excess

FEW = HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=7)
QUICK = [PatternProbit(EMLR()), FEW]  # no search, no strength to choose


def excess_of(model, law):
    """Mean log-loss above that of the Bayes classifier on new rows."""
    return excess(model, BayesClassifier(law), law.sample(5_000, random_state=1)[0])


# Folds of repeated rows are not the folds of weighted rows, and the bins of boosting
# do not know of weights: scikit-learn marks HistGradientBoostingClassifier alike.
NOT_EQUIVALENT = {
    "check_sample_weight_equivalence_on_dense_data": "folds and bins are of rows"
}


@parametrize_with_checks(
    [AutoClassifier(QUICK, cv=3, random_state=0)],
    expected_failed_checks=lambda _: NOT_EQUIVALENT,
)
def test_scikit_learn_s_own_suite(estimator, check):
    check(estimator)


def curved_rows(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    score = X[:, 0] + 2 * np.sin(2 * X[:, 1]) + 0.5 * rng.standard_normal(n)
    return hide(rng, X, 0.1), score


@pytest.fixture(scope="module")
def curved():
    return curved_rows(600, seed=0)


@pytest.fixture(scope="module")
def three(curved):
    """Three classes in text, and the model of them."""
    X, score = curved
    label = np.array(["low", "middle", "top"])[np.digitize(score, [-1.0, 1.0])]
    return X, label, AutoClassifier(QUICK, random_state=0).fit(X, label)


def test_the_held_out_log_loss_is_that_of_cross_validation(curved):
    X, score = curved
    label = score > 0
    linear = [PatternProbit(EMLR()), ConditionalImputedLogistic()]
    model = AutoClassifier(linear, cv=StratifiedKFold(3)).fit(X, label)
    for candidate, score in zip(linear, model.scores_[:2], strict=True):
        shares = cross_val_predict(
            candidate, X, label, cv=StratifiedKFold(3), method="predict_proba"
        )
        # moments are added up in another order; EM stops at 1e-5 of the likelihood
        assert score.score == pytest.approx(log_loss(label, shares), abs=1e-4)


def test_a_part_is_the_mean_of_the_logits_of_scikit_learn_s_fits_to_the_folds(curved):
    X, score = curved
    label = (score > 0).astype(int)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, label))
    model = AutoClassifier(QUICK, cv=folds, random_state=0).fit(X, label)
    (part,) = [p for p in model.parts_ if p.name.endswith("on X")]
    base = np.zeros(len(X))
    rounds = part.rounds
    every = []
    for train, _ in folds:
        plain = HistGradientBoostingClassifier(max_iter=rounds, max_leaf_nodes=7)
        every.append(plain.fit(X[train], label[train]).decision_function(X))
    np.testing.assert_allclose(part.predict(X, base), np.mean(every, 0), atol=1e-10)


def test_the_shares_are_those_of_the_sum_of_logits(curved):
    X, score = curved
    model = AutoClassifier(QUICK, random_state=0).fit(X, score > 0)
    shares = model.base_.predict_proba(X)
    base = np.log(shares[:, 1] / shares[:, 0])
    assert model.parts_
    logit = base + sum(p.weight * p.predict(X, base) for p in model.parts_)
    logit = logit + model._offset_
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(logit), rtol=1e-9)


def test_what_is_curved_is_boosted_and_what_is_a_probit_is_not(curved):
    X, score = curved
    model = AutoClassifier(QUICK, random_state=0).fit(X, score > 0)
    linear, boosted = model.scores_[0].score, min(s.score for s in model.scores_)
    assert model.parts_
    assert boosted < linear - 0.1
    law = Probit(published("mixture1", 4), 1.0)
    model = AutoClassifier(random_state=0).fit(*law.sample(1_500, random_state=0))
    assert excess_of(model, law) < 0.01  # .002 measured; boosting alone has .06


def test_three_classes_are_the_softmax_of_their_logits(three):
    X, label, model = three
    shares = model.predict_proba(X)
    assert model.classes_.tolist() == ["low", "middle", "top"]
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    assert model.parts_
    assert (model.predict(X) == model.classes_[shares.argmax(axis=1)]).all()
    base_loss = log_loss(label, model.base_.predict_proba(X))
    assert log_loss(label, shares) < base_loss - 0.1


def test_the_order_and_the_type_of_labels_change_nothing(three):
    X, label, model = three
    turned = {"low": 30, "middle": 20, "top": 10}
    other = AutoClassifier(QUICK, random_state=0)
    other.fit(X, np.array([turned[one] for one in label]))
    assert other.classes_.tolist() == [10, 20, 30]
    # boosting breaks ties between splits by the order of the classes' trees
    np.testing.assert_allclose(
        other.predict_proba(X)[:, ::-1].mean(axis=0),
        model.predict_proba(X).mean(axis=0),
        atol=0.01,
    )


def test_the_explanation_speaks_of_log_loss(three):
    _, _, model = three
    words = str(model.explain(["a", "b", "c"]))
    assert "held-out log-loss" in words
    assert "lower its held-out log-loss by" in words
    assert "Worth measuring: the drop in log-loss" in words
    assert "R2" not in words
    assert model.explain().ranking[0] == "x1"  # the sine has most of the variance


def test_few_rows_take_the_reference_and_one_class_is_an_error(rng):
    X = rng.standard_normal((8, 2))
    model = AutoClassifier().fit(X, np.arange(8) % 2)
    assert "too few rows" in model.explain().reason
    assert isinstance(model.base_, ConditionalImputedLogistic)
    with pytest.raises(ValueError, match="y holds only one class, 'a'"):
        AutoClassifier().fit(X, ["a"] * 8)
    with pytest.raises(TypeError, match="types int and str, which have no order"):
        AutoClassifier().fit(X, [1, "a"] * 4)
    with pytest.raises(ValueError, match="only one class, 'a'"):
        AutoClassifier().fit(X, list("aaaabbbb"), sample_weight=[1] * 4 + [0] * 4)


def test_a_class_that_a_fold_lacks_has_a_small_share_there(rng):
    X = rng.standard_normal((300, 2))
    label = np.digitize(X[:, 0], [-0.5, 0.5])
    groups = np.repeat(np.arange(6), 50)
    label[groups == 5] = 3  # one class in one group alone
    X[groups == 5] += 4
    model = AutoClassifier(QUICK, cv=GroupKFold(3)).fit(X, label, groups=groups)
    shares = model.predict_proba(X)
    assert np.isfinite(np.log(shares)).all()
    assert shares.shape == (300, 4)
    assert np.isfinite([score.score for score in model.scores_]).all()


def test_folds_of_one_class_are_left_out(rng):
    X = rng.standard_normal((60, 2))
    label = np.arange(60) < 30
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(15, 45), np.arange(15))]
    model = AutoClassifier(QUICK[:1], cv=folds).fit(X, label)
    alone = AutoClassifier(QUICK[:1], cv=folds[1:]).fit(X, label)
    assert model.scores_[0].score == alone.scores_[0].score


def test_separated_classes_and_twenty_classes_are_predicted(rng):
    X = rng.standard_normal((400, 2))
    model = AutoClassifier(QUICK, random_state=0).fit(X, X[:, 0] > 0)
    assert model.score(X, X[:, 0] > 0) > 0.97
    assert np.isfinite(np.log(model.predict_proba(X))).all()
    twenty = np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(0.05, 1, 0.05)))
    model = AutoClassifier([PatternProbit(EMLR())], random_state=0).fit(X, twenty)
    assert model.predict_proba(X).shape == (400, 20)
    assert log_loss(twenty, model.predict_proba(X)) < np.log(20) - 0.5


def test_a_rare_class_has_its_share(rng):
    X = rng.standard_normal((400, 2))
    rare = np.where(np.arange(400) < 8, 2, X[:, 0] > 0)
    model = AutoClassifier(QUICK, random_state=0).fit(X, rare)
    assert model.base_.predict_proba(X)[:, 2].mean() == pytest.approx(0.02, abs=0.002)
    assert model.parts_
    for rows in (X, rng.standard_normal((4_000, 2))):
        share = model.predict_proba(rows)[:, 2].mean()
        assert share == pytest.approx(0.02, abs=0.01)  # without the offset .010


@pytest.mark.slow
def test_balanced_weights_are_weights_of_the_rows(curved):
    X, score = curved
    label = (score > 2).astype(int)
    count = np.bincount(label)
    weight = len(label) / (2 * count[label])
    one = AutoClassifier(QUICK, class_weight="balanced", random_state=0).fit(X, label)
    other = AutoClassifier(QUICK, random_state=0).fit(X, label, sample_weight=weight)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    # calibrated for balanced classes: on new rows too their shares are one half under
    # the weights. Without the offset they are .446.
    new, score = curved_rows(20_000, seed=1)
    share, label = one.predict_proba(new)[:, 1], (score > 2).astype(int)
    weight = 1 / np.bincount(label)[label]
    assert np.average(share, weights=weight) == pytest.approx(0.5, abs=0.02)


def test_a_classifier_of_another_library_is_a_flexible_part(curved):
    X, score = curved
    forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=0)
    other = make_pipeline(SimpleImputer(), forest)
    model = AutoClassifier([PatternProbit(EMLR()), other]).fit(X, score > 0)
    assert model.parts_
    assert all(part.rounds == 1 for part in model.parts_)
    assert model.score(X, score > 0) > 0.8
    with pytest.raises(ValueError, match="give a list of classifiers, such as"):
        AutoClassifier([EMLR()]).fit(X, score > 0)
    with pytest.raises(ValueError, match="give a list of regressors, such as"):
        AutoRegressor([PatternProbit(EMLR())]).fit(X, score)


def test_the_default_candidates_suit_the_table(curved):
    X, score = curved
    names = [repr(c) for c in AutoClassifier().candidates_for(X, score > 0)]
    assert names[:2] == ["ConditionalImputedLogistic()", repr(PatternProbit(EMLR()))]
    assert repr(PatternProbit(PatternMixtureLR(random_state=0))) in names
    complete = AutoClassifier().candidates_for(np.nan_to_num(X), score > 0)
    assert len(complete) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "most"), [("mixture1", 0.01), ("mixture3", 0.02), ("selfmasked", 0.008)]
)
@pytest.mark.parametrize("cut", [0.5, 0.9])
def test_it_comes_near_the_bayes_rate_with_7500_rows(setting, most, cut):
    law = published(setting, 10)
    law = Probit(law, law.target_quantile(cut))
    model = AutoClassifier(random_state=0).fit(*law.sample(7_500, random_state=0))
    assert excess_of(model, law) < most
