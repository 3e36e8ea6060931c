import tracemalloc
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from conftest import hide
from missfit import PatternMoments

cells = st.one_of(st.just(np.nan), st.integers(-8, 8).map(float))


@st.composite
def tables(draw, d=3, t=1):
    n = draw(st.integers(1, 40))
    X = draw(arrays(float, (n, d), elements=cells))
    y = draw(arrays(float, (n, t), elements=st.integers(-8, 8).map(float)))
    return X, y


def assert_same_moments(a, b, tol=1e-9):
    """Equal up to rounding of sums of small integers."""
    np.testing.assert_array_equal(a.patterns, b.patterns)
    np.testing.assert_allclose(a.count, b.count, rtol=1e-12)
    np.testing.assert_allclose(a.mean, b.mean, atol=tol)
    np.testing.assert_allclose(a.scatter, b.scatter, atol=tol * 10)


@pytest.mark.parametrize("n", [5, 60, 3000])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_moments_are_numpys_mean_and_covariance_of_each_pattern(rng, n, n_targets):
    X = hide(rng, rng.standard_normal((n, 4)) + 3)
    y = rng.standard_normal((n, n_targets))
    moments = PatternMoments.from_data(X, y)
    for m, count, mean, scatter in zip(
        moments.patterns, moments.count, moments.mean, moments.scatter, strict=True
    ):
        rows = (np.isnan(X) == m).all(axis=1)
        seen = np.append(~m, np.ones(n_targets, dtype=bool))
        Z = np.hstack([X, y])[rows][:, seen]
        assert count == rows.sum()
        np.testing.assert_allclose(mean[seen], Z.mean(axis=0), rtol=1e-12)
        theirs = np.cov(Z.T, bias=True) * len(Z)  # rowvar fails on 1 row in 2.0
        np.testing.assert_allclose(scatter[np.ix_(seen, seen)], theirs, atol=1e-10)
        assert not mean[~seen].any()
        assert not scatter[~seen].any()
        assert not scatter[:, ~seen].any()


@pytest.mark.parametrize("n", [7, 3000])
def test_weights_equal_repeated_rows(rng, n):
    X, y = hide(rng, rng.standard_normal((n, 3))), rng.standard_normal(n)
    weight = rng.integers(0, 4, n)
    weight[0] = 1
    repeated = PatternMoments.from_data(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert_same_moments(PatternMoments.from_data(X, y, weight), repeated)


@pytest.mark.parametrize("n", [3, 200])
@pytest.mark.parametrize("factor", [0.25, 1e-3, 1e6])
def test_weights_scale_count_and_scatter_and_not_the_mean(rng, n, factor):
    # fractions of a row count as fractions, with and without patterns kept as rows
    X, y = hide(rng, rng.standard_normal((n, 1))), rng.standard_normal(n)
    plain = PatternMoments.from_data(X, y)
    weighted = PatternMoments.from_data(X, y, np.full(n, factor))
    for table in (weighted, weighted + PatternMoments.empty(1)):
        assert table.count.dtype == float
        np.testing.assert_allclose(table.count, factor * plain.count, rtol=1e-12)
        np.testing.assert_allclose(table.mean, plain.mean, rtol=1e-12)
        np.testing.assert_allclose(
            table.scatter, factor * plain.scatter, rtol=1e-9, atol=1e-15 * factor
        )
    np.testing.assert_allclose(
        (weighted + weighted + weighted).count, 3 * factor * plain.count, rtol=1e-12
    )


@pytest.mark.parametrize("n_chunks", [1, 2, 7, 50])
def test_moments_do_not_depend_on_how_the_rows_are_cut(rng, n_chunks):
    X, y = hide(rng, rng.standard_normal((2000, 4))), rng.standard_normal(2000)
    chunks = zip(np.array_split(X, n_chunks), np.array_split(y, n_chunks), strict=True)
    pooled = reduce(
        PatternMoments.__add__, (PatternMoments.from_data(*chunk) for chunk in chunks)
    )
    assert_same_moments(pooled, PatternMoments.from_data(X, y))


@given(tables(), tables())
def test_a_sum_of_tables_is_the_table_of_all_rows(one, two):
    both = tuple(np.concatenate(parts) for parts in zip(one, two, strict=True))
    assert_same_moments(
        PatternMoments.from_data(*one) + PatternMoments.from_data(*two),
        PatternMoments.from_data(*both),
    )


@given(tables(), tables(), tables())
def test_addition_is_associative_and_commutative_with_an_identity(one, two, three):
    a, b, c = (PatternMoments.from_data(*part) for part in (one, two, three))
    nothing = PatternMoments.empty(3)
    assert_same_moments((a + b) + c, a + (b + c))
    assert_same_moments(a + b, b + a)
    assert_same_moments(a + nothing, a, tol=0)
    assert_same_moments(nothing + a, a, tol=0)


@given(tables(), st.randoms(use_true_random=False))
def test_permuting_rows_changes_nothing(table, random):
    X, y = table
    order = random.sample(range(len(X)), len(X))
    assert_same_moments(
        PatternMoments.from_data(X[order], y[order]), PatternMoments.from_data(X, y)
    )


@given(tables(), st.permutations(range(3)))
def test_permuting_features_permutes_the_moments(table, order):
    X, y = table
    plain = PatternMoments.from_data(X, y)
    permuted = PatternMoments.from_data(X[:, order], y)
    columns = [*order, 3]
    back = np.lexsort(plain.patterns[:, order].T[::-1])
    np.testing.assert_array_equal(permuted.patterns, plain.patterns[back][:, order])
    np.testing.assert_allclose(permuted.mean, plain.mean[back][:, columns], atol=1e-9)
    np.testing.assert_allclose(
        permuted.scatter, plain.scatter[back][:, columns][:, :, columns], atol=1e-8
    )


@settings(max_examples=30)
@given(tables(t=2), st.data())
def test_taking_patterns_equals_taking_their_rows(table, data):
    X, y = table
    moments = PatternMoments.from_data(X, y)
    chosen = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(moments), max_size=len(moments)))
    )
    taken = moments.take(chosen)
    assert len(moments.take([])) == 0
    np.testing.assert_array_equal(taken.patterns, moments.patterns[chosen])
    np.testing.assert_allclose(taken.mean, moments.mean[chosen])
    np.testing.assert_allclose(taken.scatter, moments.scatter[chosen])
    complement = moments.take(np.flatnonzero(~chosen))
    assert_same_moments(taken + complement, moments)


@pytest.mark.parametrize("n", [60, 4000])
@pytest.mark.parametrize("offset", [1e8, -1e8, 1e12])
def test_means_of_1e8_lose_no_digits(rng, n, offset):
    # Multiples of 2^-8 below 8 stay exact when the offset is added, so the scatter
    # must be the same to rounding of its own size.
    base = np.round(rng.standard_normal((n, 4)) * 256) / 256
    y = np.round(rng.standard_normal(n) * 256) / 256
    mask = rng.random(base.shape) < 0.3
    plain = PatternMoments.from_data(np.where(mask, np.nan, base), y)
    # patterns with a mean of their own, too
    jump = np.where(mask[:, :1], 0.0, offset)
    moved = PatternMoments.from_data(np.where(mask, np.nan, base + jump), y + offset)
    np.testing.assert_allclose(moved.scatter, plain.scatter, rtol=1e-9, atol=1e-9)
    half = n // 2
    parts = [
        PatternMoments.from_data(
            np.where(mask, np.nan, base + jump)[rows], (y + offset)[rows]
        )
        for rows in (slice(half), slice(half, n))
    ]
    pooled = parts[0] + parts[1]
    np.testing.assert_allclose(
        pooled.scatter, plain.scatter, rtol=1e-9, atol=1e-12 * abs(offset)
    )


def test_nearly_as_many_patterns_as_rows_takes_at_most_twice_the_data(rng):
    n, d = 100_000, 50
    X, y = hide(rng, rng.standard_normal((n, d)), 0.5), rng.standard_normal(n)
    tracemalloc.start()
    moments = PatternMoments.from_data(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    data = X.nbytes + y.nbytes
    assert len(moments) == n
    assert moments.nbytes <= 2 * data
    assert peak <= 4 * data


def test_blocks_are_bounded_and_cover_all_patterns(rng):
    X, y = hide(rng, rng.standard_normal((5000, 40)), 0.5), rng.standard_normal(5000)
    moments = PatternMoments.from_data(X, y)
    blocks = list(moments.blocks())
    assert len(blocks) > 1
    assert max(block.scatter.nbytes for block in blocks) <= 2**25
    np.testing.assert_array_equal(
        np.concatenate([block.index for block in blocks]), np.arange(len(moments))
    )


def test_one_row_one_feature_and_a_row_with_nothing_observed():
    one = PatternMoments.from_data([[2.0]], [3.0])
    assert (one.count.tolist(), one.mean.tolist()) == ([1.0], [[2.0, 3.0]])
    empty_row = PatternMoments.from_data([[np.nan]], [3.0])
    assert empty_row.mean.tolist() == [[0.0, 3.0]]
    assert "1 patterns of 1 features and 1 target, count 1" in repr(one)


def test_a_distant_table_of_little_weight_costs_no_digits(rng):
    X, y = rng.standard_normal((50, 1)), rng.standard_normal(50)
    near = PatternMoments.from_data(X, y)
    far = PatternMoments.from_data(X + 1e8, y, np.full(50, 1e-14))
    between = far.count[0] * 1e16  # all that the far table adds to the scatter of X
    np.testing.assert_allclose(
        (far + near).scatter[0, 0, 0], near.scatter[0, 0, 0] + between, rtol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_other_dtypes_are_read_as_numbers(dtype):
    X = np.array([[1, 0], [0, 1]], dtype=dtype)
    moments = PatternMoments.from_data(X, np.array([1, 0], dtype=dtype))
    assert moments.mean.dtype == np.float64
    assert moments.mean.tolist() == [[0.5, 0.5, 0.5]]


def test_the_input_is_not_changed(rng):
    X, y = hide(rng, rng.standard_normal((100, 3))), rng.standard_normal(100)
    before = X.copy(), y.copy()
    PatternMoments.from_data(X, y)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        ([1.0, 2.0], [1.0, 2.0], None, r"X has shape \(2,\); it must be \(rows, feat"),
        (np.empty((0, 2)), [], None, r"X has 0 rows.*PatternMoments\.empty"),
        (np.empty((2, 0)), [1, 2], None, r"X has shape \(2, 0\).*at least one feature"),
        ([[1.0], [2.0]], [1.0], None, r"y has shape \(1,\).*the 2 rows of X"),
        (
            [[1.0], [np.inf]],
            [1.0, 2.0],
            None,
            r"X is infinite in 1 of 2 rows, first at row 1, column 0\. Use NaN",
        ),
        ([[1.0]], [np.nan], None, r"y is not finite in 1 of 1 rows.*drop the rows"),
        ([[1.0]], [np.inf], None, r"y is not finite in 1 of 1 rows"),
        ([[1.0]], [1.0], [-1.0], r"negative or non-finite values, the first -1\.0"),
        ([[1.0]], [1.0], [np.nan], r"must be finite and >= 0"),
        ([[1.0]], [1.0], [0.0], r"zero for all rows; give at least one"),
        ([[1.0]], [1.0], [1.0, 2.0], r"shape \(2,\); X has 1 rows, so it must be \(1,"),
        ([[1e200]] * 9, [1.0] * 9, None, "overflow float64"),
    ],
)
def test_bad_rows_are_refused_with_value_rule_and_way_out(X, y, weight, message):
    with pytest.raises(ValueError, match=message):
        PatternMoments.from_data(X, y, weight)


@pytest.mark.parametrize("n", [1, 9])
def test_values_whose_squares_overflow_are_refused(rng, n):
    X = rng.standard_normal((n, 1)) * 1e200
    with pytest.raises(ValueError, match=r"overflow float64.*rescale"):
        PatternMoments.from_data(X, np.ones(n))


@pytest.mark.parametrize("n", [1, 9])
def test_values_whose_squares_underflow_are_refused(rng, n):
    # they would count as constant, and be ignored without a word
    X, y = rng.standard_normal((n, 2)), rng.standard_normal(n)
    with pytest.raises(ValueError, match=r"column 1 of \(X, y\) .*underflow.*Rescale"):
        PatternMoments.from_data(X * [1.0, 1e-200], y)
    with pytest.raises(ValueError, match=r"column 2 of \(X, y\) .*underflow"):
        PatternMoments.from_data(X, y * 1e-200)
    PatternMoments.from_data(X * [1.0, 0.0], y)  # zeros are only zeros


def test_tables_of_other_columns_do_not_add_up():
    with pytest.raises(ValueError, match=r"\(2, 1\) and \(3, 1\) do not add up"):
        PatternMoments.empty(2) + PatternMoments.empty(3)
    with pytest.raises(ValueError, match="must be at least 1"):
        PatternMoments.empty(0)
    with pytest.raises(TypeError):
        PatternMoments.empty(2) + 1
