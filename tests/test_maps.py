import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from conftest import hide
from missfit.moments.maps import AffineMaps, factorized_maps
from missfit.moments.patterns import all_patterns, group_rows, subsets_up_to


def test_predictions_are_those_of_one_scikit_learn_regression_per_pattern(rng):
    X = hide(rng, rng.standard_normal((400, 3)))
    y = rng.standard_normal((400, 2))
    groups = group_rows(np.isnan(X))
    shape = (len(groups.patterns), 2)
    maps = AffineMaps(groups.patterns, np.zeros(shape), np.zeros((*shape, 3)))
    expected = np.empty((400, 2))
    for p, pattern in enumerate(groups.patterns):
        here = groups.order[groups.starts[p] : groups.starts[p + 1]]
        if pattern.all():
            maps.intercept[p] = expected[here] = y[here].mean(axis=0)
            continue
        seen = X[np.ix_(here, ~pattern)]
        model = LinearRegression().fit(seen, y[here])
        maps.intercept[p] = model.intercept_
        maps.coef[p][:, ~pattern] = model.coef_
        expected[here] = model.predict(seen)
    np.testing.assert_allclose(maps.predict(X), expected, atol=1e-12)  # rounding


def test_shifted_maps_are_the_functions_of_shifted_rows(rng):
    patterns = all_patterns(3)
    coef = np.where(patterns, 0.0, rng.standard_normal((8, 3)))
    maps = AffineMaps(patterns, rng.standard_normal(8), coef)
    X = np.where(patterns, np.nan, rng.standard_normal((8, 3)))
    shift = rng.standard_normal(3)
    moved = maps.shifted(shift).predict(X + shift)
    np.testing.assert_allclose(moved, maps.predict(X), atol=1e-13)  # rounding


def test_maps_are_found_by_their_pattern_in_any_order(rng):
    patterns = all_patterns(4)
    maps = AffineMaps(patterns, np.arange(16.0), np.zeros((16, 4)), np.arange(16.0))
    some = rng.permutation(16)[:5]
    found = maps.at(patterns[some])
    assert found.intercept.tolist() == found.variance.tolist() == some.tolist()


def test_a_pattern_without_a_map_is_named():
    maps = AffineMaps(np.zeros((1, 2), dtype=bool), np.zeros(1), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="features 1 of 2 missing: the table has 1"):
        maps.predict(np.array([[1.0, np.nan]]))


def test_factorized_maps_are_the_polynomial_of_proposition_4_2(rng):
    # f(x, m) = sum_S prod_{k in S} m_k (zeta_0 + sum_j zeta_j (1 - m_j) x_j)
    d, patterns = 4, all_patterns(4)
    subsets = subsets_up_to(d, 2)
    intercept = rng.standard_normal((len(subsets), 2))
    coef = rng.standard_normal((len(subsets), 2, d))
    maps = factorized_maps(subsets, intercept, coef, patterns)
    x = rng.standard_normal(d)
    found = maps.predict(np.where(patterns, np.nan, x))
    for row, m in zip(found, patterns, strict=True):
        by_hand = np.zeros(2)
        for subset, zeta_0, zeta in zip(subsets, intercept, coef, strict=True):
            by_hand += np.prod(m[subset]) * (zeta_0 + zeta @ ((1 - m) * x))
        np.testing.assert_allclose(row, by_hand, atol=1e-12)  # rounding
