"""Maps that were computed before: the same predictions, never those of another fit."""

import gc
import pickle

import numpy as np
import pytest

from conftest import hide
from missfit import EMLR, ConditionalImputedLR, ExpandedLR, FactorizedLR
from missfit.estimators import map_memory
from missfit.moments.patterns import group_rows


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((300, 4))
    y = X @ [1.0, 2.0, -1.0, 0.5] + 0.1 * rng.standard_normal(300)
    return hide(rng, X, 0.4), y


@pytest.mark.parametrize("estimator", [EMLR(), ConditionalImputedLR(), ExpandedLR()])
def test_rows_one_by_one_are_predicted_as_by_maps_computed_for_all(estimator, rows):
    X, y = rows
    model = estimator.fit(X[:150], y[:150])
    groups = group_rows(np.isnan(X))
    maps = model._maps(groups.patterns)
    expected = maps.evaluate(X, groups.pattern_of_row())[:, 0]
    found = [model.predict(X[i : i + 1])[0] for i in range(len(X))]
    # the order of sums may depend on how many patterns are solved at once
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    again = [model.predict(X[i : i + 1])[0] for i in range(len(X))]
    np.testing.assert_array_equal(again, found)  # known by now
    np.testing.assert_array_equal(model.predict(X), expected)


def test_the_last_bit_does_not_depend_on_what_was_predicted_before(rows):
    X, y = rows
    model = FactorizedLR().fit(X, y)  # one product of matrices for all patterns
    fresh = pickle.loads(pickle.dumps(model))
    model.predict(X[::-1])
    for i in range(0, 60, 6):
        model.predict(X[i : i + 3])
    for i in range(0, 60, 3):
        some = X[i : i + 5]
        np.testing.assert_array_equal(model.predict(some), fresh.predict(some))


def test_another_fit_or_a_changed_attribute_forgets_the_maps(rows):
    X, y = rows
    model = EMLR().fit(X, y)
    first = model.predict(X)
    assert not np.allclose(model.fit(X, 2 * y).predict(X), first)
    np.testing.assert_allclose(model.fit(X, y).predict(X), first, rtol=1e-12)
    model.intercept_ = model.intercept_ + 1.0
    np.testing.assert_allclose(model.predict(X), first + 1.0, rtol=1e-9)
    more = EMLR().partial_fit(X[:100], y[:100])
    early = more.predict(X)
    more.partial_fit(X[100:], y[100:])
    assert not np.array_equal(more.predict(X), early)
    # the moments of chunks are added up in another order
    np.testing.assert_allclose(more.predict(X), first, rtol=1e-3, atol=1e-3)


def test_predicting_changes_neither_the_model_nor_its_pickle(rows):
    X, y = rows
    model = EMLR().fit(X, y)
    before, attributes = pickle.dumps(model), set(vars(model))
    model.predict(X)
    assert pickle.dumps(model) == before
    assert set(vars(model)) == attributes


def test_the_memory_is_bounded_and_ends_with_the_model(rows, monkeypatch):
    X, y = rows
    model = EMLR().fit(X, y)
    expected = model.predict(X)
    monkeypatch.setattr(map_memory, "MOST_DOUBLES", 8)  # two patterns of four features
    other = pickle.loads(pickle.dumps(model))
    found = [other.predict(X[i : i + 1])[0] for i in range(len(X))]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert len(map_memory._MEMORIES[other].maps) == 2
    gc.collect()  # models of other tests
    n_models = len(map_memory._MEMORIES)
    del other
    gc.collect()
    assert len(map_memory._MEMORIES) == n_models - 1
