"""PatternClassifier: against the Bayes classifier, other fits of the same, and laws."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from laws import small_law
from missfit import (
    EMLR,
    ConditionalImputedLR,
    ConstantImputedLR,
    ExpandedLR,
    PatternClassifier,
    PatternMoments,
    SelfMaskedLR,
)
from missfit.bayes import BayesClassifier
from missfit.estimators.class_indicators import indicators
from missfit.simulate import Probit, published


def excess(model, truth, X):
    """Mean log-loss above that of the true probabilities, labels integrated out."""
    p, q = truth.predict_proba(X), model.predict_proba(X)
    return float((p * (np.log(np.maximum(p, 1e-300)) - np.log(q))).sum(axis=1).mean())


def not_equivalent(estimator):
    if isinstance(estimator.estimator, EMLR):
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": "the link's folds are of rows"
    }


@parametrize_with_checks(
    [PatternClassifier(EMLR()), PatternClassifier(ConstantImputedLR())],
    expected_failed_checks=not_equivalent,
)
def test_scikit_learn_s_own_suite(estimator, check):
    check(estimator)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_closed_form_is_near_the_bayes_classifier(share):
    law = published("mixture1", 4)
    model = Probit(law, law.target_quantile(share))
    X, label = model.sample(7_500, random_state=0)
    new, _ = model.sample(5_000, random_state=1)
    fitted = PatternClassifier(EMLR()).fit(X, label)
    # 15 parameters of a probit cost about 15 / 2n = 0.001 by maximum likelihood, and
    # least squares loses some; mean imputation and logistic regression lose 0.03
    assert excess(fitted, BayesClassifier(model), new) < 0.005


def test_the_fitted_link_serves_where_there_is_no_gaussian_law():
    law = published("mixture1", 4)
    model = Probit(law, law.target_quantile(0.7))
    X, label = model.sample(5_000, random_state=0)
    new, _ = model.sample(5_000, random_state=1)
    fitted = PatternClassifier(ConditionalImputedLR()).fit(X, label)
    plain = LogisticRegression().fit(np.nan_to_num(X), label)
    ours = excess(fitted, BayesClassifier(model), new)
    p = BayesClassifier(model).predict_proba(new)
    theirs = (
        p * (np.log(p + 1e-300) - plain.predict_log_proba(np.nan_to_num(new)))
    ).sum(axis=1)
    assert ours < 0.02
    assert ours < theirs.mean()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_moments_streams_and_weights_give_one_model(n_classes, tmp_path):
    law = small_law("mcar")
    cuts = [law.target_quantile(k / n_classes) for k in range(1, n_classes)]
    X, label = Probit(law, cuts).sample(600, random_state=0)
    whole = PatternClassifier(EMLR()).fit(X, label)
    expected = whole.predict_proba(X)
    moments = PatternMoments.from_data(X, indicators(label, n_classes))
    stream = PatternClassifier(EMLR())
    for part in np.array_split(np.arange(600), 3):
        stream.partial_fit(X[part], label[part], classes=range(n_classes))
    chunks = [(X[:250], label[:250]), (X[250:], label[250:])]
    np.savetxt(
        tmp_path / "t.csv",
        np.c_[X, label],
        delimiter=",",
        header="a,b,c,y",
        comments="",
    )
    twice = np.r_[np.arange(600), np.flatnonzero(label == 1)]
    weight = 1.0 + (label == 1)
    others = {
        "moments": PatternClassifier(EMLR()).fit_moments(moments),
        "stream": stream,
        "chunks": PatternClassifier(EMLR()).fit(lambda: iter(chunks)),
        "file": PatternClassifier(EMLR()).fit(str(tmp_path / "t.csv"), "y"),
    }
    for name, model in others.items():  # EM stops a step earlier or later by rounding
        new = pd.DataFrame(X, columns=list("abc")) if name == "file" else X
        found = model.predict_proba(new)
        np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=name)
    repeated = PatternClassifier(EMLR()).fit(X[twice], label[twice])
    weighted = PatternClassifier(EMLR()).fit(X, label, weight)
    by_class = PatternClassifier(EMLR(), class_weight={0: 1, 1: 2, 2: 1}).fit(X, label)
    expected = repeated.predict_proba(X)
    for model in (weighted, by_class):
        np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)


def test_probabilities_sum_to_one_with_rare_and_many_classes():
    law = small_law("mcar")
    for shares in ([0.49, 0.98], np.arange(1, 20) / 20):
        model = Probit(law, [law.target_quantile(share) for share in shares])
        X, label = model.sample(2_000, random_state=0)
        names = np.array([f"class {k:02d}" for k in range(model.n_classes)])
        fitted = PatternClassifier(EMLR()).fit(X, names[label])
        found = fitted.predict_proba(X)
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
        assert fitted.classes_.tolist() == names.tolist()
        assert set(fitted.predict(X)) <= set(names)
        prior = np.bincount(label) / len(label)
        entropy = -(prior * np.log(prior)).sum()
        assert log_loss(label, found, labels=range(len(names))) < entropy


def test_separated_classes_have_finite_probabilities_on_the_right_side(rng):
    X = rng.normal(size=(200, 2))
    label = X[:, 0] > 0
    X[rng.random(X.shape) < 0.2] = np.nan
    for base in (EMLR(), ConstantImputedLR()):
        model = PatternClassifier(base).fit(X, label)
        found = model.predict_proba(X)
        assert ((found > 0) & (found < 1)).all()
        seen = ~np.isnan(X[:, 0]) & (abs(X[:, 0]) > 0.3)
        np.testing.assert_array_equal(model.predict(X)[seen], label[seen])


@pytest.mark.parametrize(
    ("y", "error", "words"),
    [
        (["a"] * 20, ValueError, "y holds only one class, .*'a'"),
        (["a", 1] * 10, TypeError, "y mixes labels of the types int and str"),
        ([0, 1, np.nan, 1] * 5, ValueError, r"y is missing \(NaN\) in 5 of 20 rows"),
        ([0, 1], ValueError, "X has 20 rows and y has 2 labels"),
        (np.linspace(0, 1, 20), ValueError, "continuous"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(y, error, words, rng):
    y = np.array(y, dtype=object if 1 in y and "a" in y else None)
    with pytest.raises(error, match=words):
        PatternClassifier(EMLR()).fit(rng.normal(size=(20, 2)), y)


def test_what_is_no_linear_predictor_is_refused():
    with pytest.raises(TypeError, match="is no linear predictor of missfit"):
        PatternClassifier(LogisticRegression()).fit(np.zeros((4, 1)), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="not among the classes"):
        PatternClassifier(EMLR()).partial_fit(np.zeros((1, 1)), [7], classes=[0, 1])
    with pytest.raises(ValueError, match="Give a function that returns the iterator"):
        PatternClassifier(EMLR()).fit(iter([(np.zeros((2, 1)), [0, 1])]))


def skewed_labels(rng, n=2_000):
    """Rows with a rare class, and the same rows sorted by their label in chunks."""
    X = rng.normal(size=(n, 2))
    label = (X[:, 0] + rng.normal(size=n) > 1.8).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    order = np.argsort(label, kind="stable")
    parts = [(X[rows], label[rows]) for rows in np.array_split(order, 6)]
    return X, label, lambda: iter(parts)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 10.0}])
def test_class_weights_are_those_of_all_rows_however_the_rows_come(class_weight, rng):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    X, label, chunks = skewed_labels(rng)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(t=label)
    lazy = dd.from_pandas(frame, npartitions=4)
    model = PatternClassifier(EMLR(), class_weight=class_weight)
    expected = clone(model).fit(X, label).predict_proba(X)
    found = {
        "chunks": clone(model).fit(chunks),
        "arrays": clone(model).fit(
            da.from_array(X, chunks=(600, 2)), da.from_array(label, chunks=600)
        ),
        "values": clone(model).fit(da.from_array(X, chunks=(600, 2)), label),
        "series": clone(model).fit(lazy[["a", "b"]], lazy["t"]),
        "name": clone(model).fit(lazy, "t"),
    }
    for how, fitted in found.items():
        Z = frame[["a", "b"]] if how in ("series", "name") else X
        np.testing.assert_allclose(
            fitted.predict_proba(Z), expected, atol=1e-9, err_msg=how
        )


def test_three_classes_and_weights_from_dask_are_those_in_memory(rng):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    X, label, _ = skewed_labels(rng)
    label = np.array(["low", "mid", "top"])[label + (np.nan_to_num(X[:, 1]) > 0.5)]
    weight = rng.random(len(X)) * 5
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(t=label, w=weight)
    lazy = dd.from_pandas(frame, npartitions=3)
    model = PatternClassifier(EMLR(), class_weight="balanced")
    whole = clone(model).fit(X, label, weight)
    expected = whole.predict_proba(X)
    by_name = clone(model).fit(lazy, "t", "w")
    assert by_name.classes_.tolist() == whole.classes_.tolist()
    np.testing.assert_allclose(
        by_name.predict_proba(frame[["a", "b"]]), expected, atol=1e-9
    )
    arrays = clone(model).fit(da.from_array(X, chunks=(700, 2)), label, weight)
    np.testing.assert_allclose(arrays.predict_proba(X), expected, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "base",
    [ConstantImputedLR(), ExpandedLR(alphas=(1.0,)), ConditionalImputedLR()],
    ids=lambda base: type(base).__name__,
)
def test_a_link_to_moments_is_nearly_that_to_rows(base, n_classes):
    # with the closed form of EMLR's law in its place log-losses were up to 5.6
    law = published("mixture3", 4)
    cuts = [law.target_quantile(k / n_classes) for k in range(1, n_classes)]
    X, label = Probit(law, cuts).sample(6_000, random_state=0)
    new, truth = Probit(law, cuts).sample(6_000, random_state=1)
    rows = log_loss(truth, PatternClassifier(base).fit(X, label).predict_proba(new))
    chunks = [(X[:2000], label[:2000]), (X[2000:], label[2000:])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # folds of ridges are of chunks
        model = PatternClassifier(base).fit(lambda: iter(chunks))
    assert log_loss(truth, model.predict_proba(new)) < rows + 0.02
    folds = [
        PatternMoments.from_data(X[k::3], indicators(label, n_classes)[k::3])
        for k in range(3)
    ]
    moments = folds[0] + folds[1] + folds[2]
    model = PatternClassifier(base).fit_moments(moments, folds)
    assert log_loss(truth, model.predict_proba(new)) < rows + 0.02


def test_few_rows_of_many_patterns_in_chunks_are_no_worse_than_the_shares():
    law = published("mixture1", 8)
    law = Probit(law, law.target_quantile(0.5))
    X, label = law.sample(1_500, random_state=0)
    new, truth = law.sample(3_000, random_state=1)
    chunks = [(X[:700], label[:700]), (X[700:], label[700:])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of patterns with few rows
        model = PatternClassifier(ExpandedLR(alphas=(1.0,))).fit(lambda: iter(chunks))
    assert log_loss(truth, model.predict_proba(new)) < np.log(2) + 0.01


def test_one_class_is_refused_however_the_rows_come(rng):
    da = pytest.importorskip("dask.array")
    X, nothing = rng.normal(size=(40, 2)), np.zeros(40, dtype=int)
    model = PatternClassifier(EMLR())
    with pytest.raises(ValueError, match="y holds only one class, 0"):
        model.fit(lambda: iter([(X, nothing), (X, nothing)]))
    with pytest.raises(ValueError, match="y holds only one class, 0"):
        model.fit(da.from_array(X), da.from_array(nothing))
    with pytest.raises(ValueError, match="in the first rows; give all labels"):
        model.partial_fit(X, nothing)
    with pytest.raises(ValueError, match="which partial_fit does not know yet"):
        PatternClassifier(EMLR(), class_weight="balanced").partial_fit(X, nothing)
    with pytest.raises(TypeError, match="y mixes labels of the types int and str"):
        model.fit(lambda: iter([(X, nothing), (X, ["a"] * 40)]))


def test_two_folds_choose_a_strength_and_are_too_few_for_a_link_of_their_own(rng):
    X, label, _ = skewed_labels(rng)
    folds = [
        PatternMoments.from_data(X[k::2], label[k::2].astype(float)) for k in (0, 1)
    ]
    model = PatternClassifier(ExpandedLR()).fit_moments(folds[0] + folds[1], folds)
    share = label.mean()
    entropy = -share * np.log(share) - (1 - share) * np.log1p(-share)
    assert log_loss(label, model.predict_proba(X)) < entropy


BASES = [EMLR(), ConstantImputedLR()]


def sorted_rows(rng, n_classes=2, n=240):
    """Rows in the order of their classes, so that each chunk lacks some of them."""
    X = rng.standard_normal((n, 3))
    code = np.digitize(
        X[:, 0] + 0.5 * rng.standard_normal(n), [0.0, 0.7][: n_classes - 1]
    )
    X[rng.random(X.shape) < 0.2] = np.nan
    order = np.argsort(code, kind="stable")
    return X[order], code[order]


def chunks_of(*columns, size=40):
    """A function that returns the rows in chunks."""
    starts = range(0, len(columns[0]), size)
    return lambda: (tuple(c[i : i + size] for c in columns) for i in starts)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
def test_the_first_rows_of_a_stream_may_be_of_one_class(base, n_classes, rng):
    X, y = sorted_rows(rng, n_classes)
    model = PatternClassifier(base)
    for number, chunk in enumerate(chunks_of(X, y)()):
        model.partial_fit(*chunk, classes=np.arange(n_classes))
        shares = model.predict_proba(X)
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
        if number == 0:  # nothing else was seen
            assert (shares.argmax(axis=1) == 0).all()
    own = shares[np.arange(len(y)), y]
    frequent = np.bincount(y) / len(y)
    assert -np.log(own).mean() < -frequent @ np.log(frequent)


@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
@pytest.mark.parametrize("class_weight", [{1: 3.0}, {"b": 3.0}])
def test_a_chunk_may_lack_a_class_that_has_a_weight(base, class_weight, rng):
    X, y = sorted_rows(rng)
    y = np.array(["a", "b"])[y] if "b" in class_weight else y
    model = PatternClassifier(base, class_weight=class_weight)
    in_chunks = clone(model).fit(chunks_of(X, y))
    stream = clone(model)
    for chunk in chunks_of(X, y)():
        stream.partial_fit(*chunk, classes=np.unique(y))
    weight = np.where(y == y[-1], 3.0, 1.0)
    weighted = clone(model).set_params(class_weight=None)
    expected = weighted.fit(chunks_of(X, y, weight)).predict_proba(X)
    np.testing.assert_allclose(in_chunks.predict_proba(X), expected, rtol=1e-9)
    if isinstance(base, EMLR):  # else the link is to folds, of which a stream has one
        np.testing.assert_allclose(stream.predict_proba(X), expected, rtol=1e-9)


@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
def test_a_chunk_without_weight_is_no_chunk(base, rng):
    X, y = sorted_rows(rng)
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    weight = np.ones(len(y))
    weight[40:80] = 0
    model = PatternClassifier(base)
    stream = clone(model)
    for chunk in chunks_of(X, y, weight)():
        stream.partial_fit(*chunk[:2], classes=[0, 1], sample_weight=chunk[2])
    for found in (clone(model).fit(chunks_of(X, y, weight)), stream):
        expected = clone(model)
        for start in (0, 80):
            rows = slice(start, 40 if start == 0 else None)
            expected.partial_fit(X[rows], y[rows], classes=[0, 1])
        if isinstance(base, EMLR):  # folds of links are dealt by places of rows
            given = found.predict_proba(X), expected.predict_proba(X)
            np.testing.assert_allclose(*given, rtol=1e-9)
        assert found.score(X, y) == pytest.approx(expected.score(X, y), abs=0.05)


def test_moments_of_two_indicators_of_two_classes_are_refused(rng):
    X, y = sorted_rows(rng)
    moments = PatternMoments.from_data(X, np.column_stack([1 - y, y]).astype(float))
    with pytest.raises(
        ValueError, match=r"2 targets.*that of the second of two classes"
    ):
        PatternClassifier(EMLR()).fit_moments(moments)


def test_a_predictor_that_needs_all_rows_takes_no_chunks(rng):
    X, y = sorted_rows(rng)
    model = PatternClassifier(SelfMaskedLR())
    with pytest.raises(TypeError, match="needs all rows in memory"):
        model.fit(chunks_of(X, y))
    with pytest.raises(TypeError, match="needs all rows in memory"):
        model.partial_fit(X, y)


def test_classes_of_which_one_alone_has_weight_are_refused_in_chunks(rng):
    X, y = sorted_rows(rng)
    model = PatternClassifier(EMLR(), class_weight={0: 1.0, 1: 0.0})
    for source in ((X, y), (chunks_of(X, y),)):
        with pytest.raises(ValueError, match="only one class, 0"):
            model.fit(*source)


def test_a_source_without_rows_is_refused():
    with pytest.raises(ValueError, match="y holds no label"):
        PatternClassifier(EMLR()).fit(lambda: iter([]))


@pytest.mark.parametrize("values", [(False, True), (3, 5)])
def test_objects_that_are_truth_values_or_numbers_are_such_labels(values, rng):
    X = rng.standard_normal((60, 2))
    y = np.array(values)[(X[:, 0] > 0).astype(int)]
    model = PatternClassifier(EMLR()).fit(X, pd.Series(y, dtype=object))
    assert model.classes_.dtype == y.dtype
    assert (model.predict(X) == y).mean() > 0.9


@pytest.mark.parametrize(
    ("class_weight", "words"),
    [
        ({0: 1.0, 1: -2.0}, r"the class 1 the weight -2.0; weights must be finite"),
        ({1: np.nan}, "the class 1 the weight nan"),
        ("balancd", "class_weight='balancd'; it must be a dict"),
    ],
)
def test_weights_of_classes_that_make_no_sense_are_refused(class_weight, words, rng):
    X, y = sorted_rows(rng)
    with pytest.raises(ValueError, match=words):
        PatternClassifier(EMLR(), class_weight=class_weight).fit(X, y)
    with pytest.raises(ValueError, match=words):
        PatternClassifier(EMLR(), class_weight=class_weight).fit(chunks_of(X, y))
