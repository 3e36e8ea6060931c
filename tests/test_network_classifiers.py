"""The networks as classifiers: MLPClassifier and NeuMissClassifier."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import hide
from missfit import (
    EMLR,
    ConformalClassifier,
    MLPClassifier,
    NeuMissClassifier,
    PatternClassifier,
    TableEncoder,
)
from missfit.bayes import BayesClassifier
from missfit.networks import fit_many
from missfit.networks.job import stratified_splits
from missfit.simulate import Probit, published
from missfit.workflow.missingness import Missingness
from missfit.workflow.model_file import TableModel, load_model, save_model

pytest.importorskip(
    "missfit.networks.trainer", reason='pip install "missfit[networks]"'
)
MLP8 = MLPClassifier(width=8, weight_decay=1.0, random_state=0)
NEUMISS = NeuMissClassifier(depth=3, weight_decay=100.0, random_state=0)
BOTH = pytest.mark.parametrize("model", [MLP8, NEUMISS], ids=["MLP", "NeuMiss"])


# A program takes a second to compile, and a check runs up to six of them; the suite of
# a network is among the fast tests in test_networks.py.
@pytest.mark.slow
@parametrize_with_checks(
    [
        MLP8,
        NEUMISS,
        MLPClassifier(width=8),
        NeuMissClassifier(depth=3),
        NeuMissClassifier(head=4),
    ],
)
def test_scikit_learn_s_own_suite_on_every_network(estimator, check):
    check(estimator)


def draw(n, seed=0, shares=(0.5,), setting="mixture1"):
    law = published(setting, 4)
    model = Probit(law, [law.target_quantile(share) for share in shares])
    return model, *model.sample(n, random_state=seed)


def excess(model, truth, X):
    """Mean log-loss above that of the true probabilities, labels integrated out."""
    p, q = BayesClassifier(truth).predict_proba(X), model.predict_proba(X)
    return float((p * (np.log(np.maximum(p, 1e-300)) - np.log(q))).sum(axis=1).mean())


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("shares", [(0.5,), (0.3, 0.7)], ids=["two", "three"])
def test_they_come_near_the_bayes_classifier(model, shares):
    law, X, label = draw(1_500, shares=shares)
    _, new, _ = draw(4_000, seed=1, shares=shares)
    fitted = clone(model).fit(X, label)
    plain = LogisticRegression().fit(np.nan_to_num(X), label)
    shares = plain.predict_proba(np.nan_to_num(new))
    p = BayesClassifier(law).predict_proba(new)
    theirs = (p * (np.log(np.maximum(p, 1e-300)) - np.log(shares))).sum(axis=1).mean()
    assert excess(fitted, law, new) < 0.8 * theirs


def test_neumiss_starts_as_the_probit_of_em():
    # before any step; deep enough, the series is EM's prediction, and what is left is
    # the logistic in the place of the normal law, and noise whose log is additive
    law, X, label = draw(4_000)
    model = NeuMissClassifier(depth=200)
    (start,) = model._job(X, label).finals
    model.classes_ = np.array([0, 1])
    model._keep(start.params, [])
    closed = PatternClassifier(EMLR()).fit(X, label)
    assert excess(model, law, X) < excess(closed, law, X) + 0.005


@pytest.mark.slow
def test_neumiss_beats_its_start_where_values_mask_themselves():
    law, X, label = draw(20_000, setting="selfmasked")
    _, new, _ = draw(10_000, seed=1, setting="selfmasked")
    ours = NeuMissClassifier(random_state=0).fit(X, label)
    closed = PatternClassifier(EMLR()).fit(X, label)
    assert excess(ours, law, new) < 0.5 * excess(closed, law, new)


@pytest.mark.slow
@BOTH
def test_probabilities_scores_and_labels_agree(model):
    _, X, label = draw(300, shares=(0.3, 0.7))
    names = np.array(["high", "low", "mid"], dtype=object)[label]
    fitted = clone(model).fit(pd.DataFrame(X, columns=list("abcd")), names)
    table = pd.DataFrame(X, columns=list("abcd"))
    shares, scores = fitted.predict_proba(table), fitted.decision_function(table)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(shares.argmax(axis=1), scores.argmax(axis=1))
    np.testing.assert_array_equal(
        fitted.predict(table), fitted.classes_[shares.argmax(1)]
    )
    assert fitted.classes_.tolist() == ["high", "low", "mid"]
    two = clone(model).fit(X, label > 0)
    odds = two.decision_function(X)
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), two.predict_proba(X)[:, 1])
    restored = pickle.loads(pickle.dumps(two))
    np.testing.assert_array_equal(restored.predict_proba(X), two.predict_proba(X))


@pytest.mark.slow
@BOTH
def test_weights_are_repeated_rows_and_class_weights_are_weights(model):
    _, X, label = draw(100)  # one batch, in float64
    twice = np.r_[np.arange(100), np.flatnonzero(label == 1)]
    repeated = clone(model).fit(X[twice], label[twice]).predict_proba(X)
    weighted = clone(model).fit(X, label, 1.0 + label).predict_proba(X)
    by_class = clone(model).set_params(class_weight={0: 1, 1: 2}).fit(X, label)
    # the order of the rows differs, and rounding grows over 1,000 steps
    np.testing.assert_allclose(weighted, repeated, atol=1e-4)
    np.testing.assert_allclose(by_class.predict_proba(X), weighted, atol=1e-12)


def noise(n=60, d=8):
    rng = np.random.default_rng(0)
    return hide(rng, rng.normal(size=(n, d)), 0.2), rng.integers(0, 2, n)


@pytest.mark.slow
def test_the_scores_of_neumiss_are_those_of_scikit_learn_s_cross_validation():
    # nothing of a fold may be known to its start: 30 rows are one batch, in float64,
    # so that the two agree but for rounding
    X, label = noise()
    folds = StratifiedKFold(2)
    one = NeuMissClassifier(depth=3, random_state=0)
    model = clone(one).set_params(weight_decay=(1e2, 1e4), cv=folds).fit(X, label)
    for decay, ours in model.cv_scores_.items():
        single = clone(one).set_params(weight_decay=decay)
        theirs = cross_val_score(single, X, label, cv=folds, scoring="neg_log_loss")
        assert ours == pytest.approx(theirs.mean(), abs=1e-7)
    # a constant guess of one half has -log 2, and on noise nothing is better
    assert np.mean(list(model.cv_scores_.values())) < -np.log(2)


def test_sorted_labels_are_dealt_to_all_folds_and_a_lone_row_always_trains():
    code = np.sort(np.r_[np.zeros(40, int), np.ones(9, int), 2])
    splits = stratified_splits(3, code, np.ones(50))
    for train, test in splits:
        assert set(code[train]) == {0, 1, 2}
        assert set(code[test]) == {0, 1}
        assert np.intersect1d(train, test).size == 0
        assert len(train) + len(test) == 50
        assert (code[test] == 1).sum() == 3
    tests = np.concatenate([test for _, test in splits])
    np.testing.assert_array_equal(np.sort(tests), np.flatnonzero(code < 2))
    # rows without weight are not there, and positions are those of the others
    weight = np.r_[np.zeros(10), np.ones(40)]
    for ours, theirs in zip(
        stratified_splits(3, code, weight),
        stratified_splits(3, code[10:], np.ones(40)),
        strict=True,
    ):
        np.testing.assert_array_equal(ours[1], theirs[1])


@pytest.mark.slow
def test_a_class_of_one_row_and_one_of_two_percent_get_finite_probabilities():
    _, X, label = draw(400, shares=(0.49, 0.98))
    label[0] = 7
    model = MLPClassifier(width=4, weight_decay=(1.0, 10.0), random_state=0)
    for fitted in (model.fit(X, label), clone(NEUMISS).fit(X, label)):
        shares = fitted.predict_proba(X)
        assert fitted.classes_.tolist() == [0, 1, 2, 7]
        assert ((shares > 0) & (shares < 1)).all()
        prior = np.bincount(label)[[0, 1, 2, 7]] / 400
        assert log_loss(label, shares) < -(prior * np.log(prior)).sum()
    assert all(np.isfinite(list(model.cv_scores_.values())))


@pytest.mark.slow
@BOTH
def test_twenty_classes_are_told_better_than_by_their_shares(model):
    _, X, label = draw(2_000, shares=tuple(np.arange(1, 20) / 20))
    _, new, truth = draw(2_000, seed=1, shares=tuple(np.arange(1, 20) / 20))
    shares = clone(model).fit(X, label).predict_proba(new)
    assert shares.shape == (2_000, 20)
    assert log_loss(truth, shares) < 0.9 * np.log(20)


@pytest.mark.slow
@BOTH
def test_separated_classes_have_finite_probabilities_on_the_right_side(model, rng):
    X = rng.normal(size=(200, 2))
    label = X[:, 0] > 0
    X = hide(rng, X, 0.2)
    fitted = clone(model).fit(X, label)
    shares = fitted.predict_proba(X)
    assert ((shares > 0) & (shares < 1)).all()
    seen = abs(X[:, 0]) > 0.3
    assert (fitted.predict(X)[seen] == label[seen]).mean() > 0.97


@pytest.mark.slow
@BOTH
def test_more_passes_over_a_stream_learn_more(model):
    _, X, label = draw(1_000)
    stream = clone(model)
    halves = [slice(0, 500), slice(500, None)]
    stream.partial_fit(X[:500], label[:500], classes=[0, 1])
    first = log_loss(label, stream.predict_proba(X))
    for _ in range(10):
        for half in halves:
            stream.partial_fit(X[half], label[half])
    assert log_loss(label, stream.predict_proba(X)) < first
    assert stream.n_iter_ == 21
    with pytest.raises(ValueError, match=r"label 5, which is not among the classes"):
        stream.partial_fit(X[:2], [0, 5])


@pytest.mark.slow
@BOTH
def test_a_first_chunk_of_one_class_is_enough_where_the_classes_are_given(model):
    _, X, label = draw(400)
    stream = clone(model).partial_fit(X[label == 1], label[label == 1], classes=[0, 1])
    stream.partial_fit(X, label)
    assert stream.predict_proba(X).shape == (400, 2)
    with pytest.raises(ValueError, match="y holds only one class"):
        clone(model).partial_fit(X[label == 1], label[label == 1])


@BOTH
@pytest.mark.parametrize(
    ("label", "error", "words"),
    [
        (["a"] * 20, ValueError, "y holds only one class, .*'a'"),
        (["a", 1] * 10, TypeError, "y mixes labels of the types int and str"),
        ([0, 1, np.nan, 1] * 5, ValueError, r"y is missing \(NaN\) in 5 of 20 rows"),
        (np.linspace(0, 1, 20), ValueError, "continuous"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(model, label, error, words, rng):
    X = rng.normal(size=(20, 2))
    with pytest.raises(error, match=words):
        clone(model).fit(X, np.array(label, dtype=object))


def test_folds_that_cannot_be_dealt_are_refused(rng):
    X, label = rng.normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(ValueError, match="n_samples=20, fewer than the 30 folds"):
        MLPClassifier(cv=30).fit(X, label)
    with pytest.raises(ValueError, match="cv=1; give a number of folds >= 2"):
        MLPClassifier(cv=1).fit(X, label)
    with pytest.raises(TypeError, match="needs all rows in memory"):
        MLPClassifier().fit(iter([(X, label)]))


@pytest.mark.slow
def test_many_tables_at_once_are_as_many_fits():
    tables = [draw(n, seed=n)[1:] for n in (150, 120)]
    models = [clone(MLP8).set_params(random_state=k) for k in range(2)]
    together = [clone(model) for model in models]
    fit_many(together, tables)
    for model, other, (X, label) in zip(models, together, tables, strict=True):
        alone = model.fit(X, label).predict_proba(X)
        np.testing.assert_allclose(other.predict_proba(X), alone, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [MLP8, pytest.param(NEUMISS, marks=pytest.mark.slow)],
    ids=["MLP", "NeuMiss"],
)
def test_a_model_file_brings_them_back(model, tmp_path):
    _, X, label = draw(150)
    frame = pd.DataFrame(X, columns=list("abcd"))
    encoder = TableEncoder().fit(frame)
    X = encoder.transform(frame)
    names = np.array(["no", "yes"], dtype=object)[label]
    classifier = ConformalClassifier(model, random_state=0).fit(X, names)
    missingness = Missingness.of(encoder.mask(X))
    saved = TableModel(encoder, classifier, "network", "y", missingness)
    save_model(tmp_path / "m.skops", saved)
    again = load_model(tmp_path / "m.skops").regressor
    for name in ("predict_proba", "predict", "predict_set"):
        np.testing.assert_array_equal(
            getattr(again, name)(X), getattr(classifier, name)(X)
        )
