"""Rows, streams and tables of moments end in the same affine map per pattern."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    KFold,
)

from estimator_cases import MOMENT_BASED, every, rows, splits
from missfit import (
    EMLR,
    MICELR,
    ConstantImputedLR,
    ExpandedLR,
    FactorizedLR,
    PatternMoments,
)

pytestmark = [
    # rare patterns and few iterations are the point of some of these cases
    pytest.mark.filterwarnings("ignore:.*fewer rows than coefficients:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*standard deviations from zero:UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@every([e for e in MOMENT_BASED if not isinstance(getattr(e, "cv", 0), KFold)])
def test_moments_give_the_same_fit_as_rows(estimator, rng):
    X, y = rows(rng)
    moments = PatternMoments.from_data(X[:100], y[:100])
    moments = moments + PatternMoments.from_data(X[100:], y[100:])
    from_moments = clone(estimator).fit_moments(moments)
    assert from_moments.n_features_in_ == 3
    np.testing.assert_allclose(
        from_moments.predict(X), clone(estimator).fit(X, y).predict(X), rtol=1e-7
    )


@every([e for e in MOMENT_BASED if not isinstance(getattr(e, "cv", 0), KFold)])
def test_a_stream_gives_the_same_fit_as_all_rows(estimator, rng):
    X, y = rows(rng)
    model = clone(estimator)
    for part in np.array_split(np.arange(len(X)), 7):
        model.partial_fit(X[part], y[part])
    np.testing.assert_allclose(
        model.predict(X), clone(estimator).fit(X, y).predict(X), rtol=1e-5, atol=1e-5
    )
    # fit starts anew
    model.fit(X[:150], y[:150])
    np.testing.assert_allclose(
        model.predict(X), clone(estimator).fit(X[:150], y[:150]).predict(X), rtol=1e-7
    )


@pytest.mark.parametrize("kind", [FactorizedLR, ExpandedLR])
def test_a_stream_chooses_its_strength_by_interleaved_folds(kind, rng):
    X, y = rows(rng)
    model = kind(alphas=(0.1, 10.0, 1e4), cv=3)
    for start in range(0, len(X), 11):
        model.partial_fit(X[start : start + 11], y[start : start + 11])
    dealt = splits(np.arange(len(X)) % 3)
    by_rows = kind(alphas=(0.1, 10.0, 1e4), cv=dealt).fit(X, y)
    assert model.alpha_ == by_rows.alpha_
    np.testing.assert_allclose(model.predict(X), by_rows.predict(X), rtol=1e-7)
    with pytest.raises(ValueError, match="cv must be a number of folds"):
        kind(cv=dealt).partial_fit(X, y)


@every([e for e in MOMENT_BASED if getattr(e, "fallback", None) is None])
def test_pattern_models_are_the_predictor(estimator, rng):
    X, y = rows(rng)
    model = clone(estimator).fit(X, y)
    maps = model.pattern_models_
    np.testing.assert_allclose(maps.predict(X)[:, 0], model.predict(X), rtol=1e-10)
    assert model.pattern_count_.sum() == len(X)
    assert not maps.coef[np.broadcast_to(maps.patterns[:, None], maps.coef.shape)].any()


def test_the_table_of_patterns_reads_like_the_formula(rng):
    X, y = rows(rng)
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    model = EMLR().fit(frame, y)
    table = pd.DataFrame(model.pattern_table())
    assert table["rows"].is_monotonic_decreasing
    assert table["rows"].sum() == len(X)
    line = table[table["missing"] == "age, weight"].iloc[0]
    assert np.isnan(line["age"])
    row = pd.DataFrame({"age": [np.nan], "height": [2.0], "weight": [np.nan]})
    by_hand = line["intercept"] + 2.0 * line["height"]
    np.testing.assert_allclose(model.predict(row), by_hand)
    two = pd.DataFrame(EMLR().fit(X, np.column_stack([y, -y])).pattern_table())
    assert two["target"].tolist() == [0, 1] * len(table)
    assert list(two.columns[-3:]) == ["x0", "x1", "x2"]


def test_a_table_without_rows_is_refused():
    with pytest.raises(ValueError, match="holds no rows; add some first"):
        ConstantImputedLR().fit_moments(PatternMoments.empty(2))


def learned(model):
    return {name for name in vars(model) if name.endswith("_")}


@pytest.mark.parametrize(
    "break_it",
    [
        lambda model, X, y: model.partial_fit(X, y, sample_weight=-np.ones(len(X))),
        lambda model, X, y: model.partial_fit(X[:, :2], y),
        lambda model, X, y: model.partial_fit(X, np.full(len(y), np.nan)),
        lambda model, X, y: model.set_params(min_rows="x").partial_fit(X, y[:, None]),
        lambda model, X, y: model.set_params(fallback=MICELR()).partial_fit(X, y),
        lambda model, X, y: model.fit(X, y, sample_weight=np.zeros(len(X))),
        lambda model, X, y: model.fit_moments(PatternMoments.empty(3)),
    ],
)
def test_a_failed_fit_leaves_the_model_as_it_was(break_it, rng):
    X, y = rows(rng)
    model = ExpandedLR(alphas=(1.0,), min_rows=8, fallback=ConstantImputedLR())
    model.partial_fit(X[:200], y[:200])
    before, names = model.predict(X), learned(model)
    with pytest.raises((ValueError, TypeError)):
        break_it(model, X[200:], y[200:])
    model.set_params(min_rows=8, fallback=ConstantImputedLR())
    np.testing.assert_array_equal(model.predict(X), before)
    assert learned(model) == names
    # the stream goes on as if nothing had happened
    model.partial_fit(X[200:], y[200:])
    whole = clone(model).fit(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-8)


def test_a_first_fit_that_fails_leaves_nothing(rng):
    X, y = rows(rng)
    model = EMLR(max_iter=0)
    with pytest.raises(ValueError, match="max_iter"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not learned(model)


def test_a_stream_keeps_to_its_folds(rng):
    X, y = rows(rng)
    model = FactorizedLR(alphas=(1.0,), cv=3).partial_fit(X[:100], y[:100])
    model.set_params(alphas=(0.1, 1e3)).partial_fit(X[100:], y[100:])
    dealt = splits(np.arange(len(X)) % 3)
    whole = FactorizedLR(alphas=(0.1, 1e3), cv=dealt).fit(X, y)
    assert model.cv_scores_ == pytest.approx(whole.cv_scores_)
    with pytest.raises(ValueError, match=r"cv=5, but the stream was dealt to 3 folds"):
        model.set_params(cv=5).partial_fit(X, y)
    for cv in (1, KFold(3)):
        with pytest.raises(ValueError, match="must be a number of folds >= 2"):
            FactorizedLR(cv=cv).partial_fit(X, y)


def test_a_stream_row_by_row_ends_as_one_of_chunks(rng):
    X, y = rows(rng, n=30)
    one = FactorizedLR(alphas=(0.1, 1e3), cv=3)
    for i in range(len(X)):
        one.partial_fit(X[i : i + 1], y[i : i + 1])
    two = FactorizedLR(alphas=(0.1, 1e3), cv=3).partial_fit(X, y)
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-8)
    before = one.predict(X)
    one.partial_fit(X, y, sample_weight=np.zeros(len(X)))  # no rows, in effect
    np.testing.assert_array_equal(one.predict(X), before)


def test_tables_that_do_not_fit_together_are_refused(rng):
    X, y = rows(rng)
    moments = PatternMoments.from_data(X, y)
    with pytest.raises(
        TypeError, match="fit_moments takes PatternMoments, not ndarray"
    ):
        ConstantImputedLR().fit_moments(X)
    half = PatternMoments.from_data(X[:150], y[:150])
    with pytest.raises(ValueError, match="must add up to the table"):
        ExpandedLR().fit_moments(moments, folds=[half])
    with pytest.raises(ValueError, match="two or more PatternMoments"):
        ExpandedLR().fit_moments(moments, folds=[moments])
    twice = ExpandedLR().fit_moments(half + half, folds=[half, half])
    assert len(twice.cv_scores_) == 3
