import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from missfit.moments.patterns import find_keys, format_pattern, group_rows, pattern_keys

masks = arrays(
    bool,
    array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=40),
    elements=st.booleans(),
)


@given(masks)
def test_groups_are_numpys_unique_rows_in_the_same_order(mask):
    groups = group_rows(mask)
    unique, inverse, counts = np.unique(
        mask, axis=0, return_inverse=True, return_counts=True
    )
    np.testing.assert_array_equal(groups.patterns, unique)
    np.testing.assert_array_equal(groups.pattern_of_row(), inverse.ravel())
    np.testing.assert_array_equal(groups.n_rows, counts)


@given(masks)
def test_every_row_is_in_one_group_and_rows_of_a_group_keep_their_order(mask):
    groups = group_rows(mask)
    assert sorted(groups.order) == list(range(len(mask)))
    for start, stop in zip(groups.starts[:-1], groups.starts[1:], strict=True):
        assert (np.diff(groups.order[start:stop]) > 0).all()


@given(masks, st.randoms(use_true_random=False))
def test_order_of_rows_changes_no_pattern(mask, random):
    shuffled = mask[random.sample(range(len(mask)), len(mask))]
    np.testing.assert_array_equal(
        group_rows(shuffled).patterns, group_rows(mask).patterns
    )


@pytest.mark.parametrize("d", [1, 7, 8, 15, 16, 17, 33, 64, 65, 200])
def test_any_number_of_features(rng, d):
    mask = rng.random((50, d)) < 0.5
    mask = mask[rng.integers(50, size=300)]
    groups = group_rows(mask)
    np.testing.assert_array_equal(groups.patterns, np.unique(mask, axis=0))
    keys = pattern_keys(groups.patterns)
    assert (keys[:-1] < keys[1:]).all()


@settings(max_examples=50)
@given(masks)
def test_keys_find_their_pattern_and_no_other(mask):
    patterns = group_rows(mask).patterns
    known, unknown = patterns[::2], patterns[1::2]
    table = pattern_keys(known)
    np.testing.assert_array_equal(
        find_keys(table, pattern_keys(known)), np.arange(len(known))
    )
    assert (find_keys(table, pattern_keys(unknown)) == -1).all()


def test_patterns_that_differ_in_the_last_bits_only_have_different_keys():
    # trailing zero bytes are what numpy strips from byte strings
    patterns = np.zeros((2, 24), dtype=bool)
    patterns[1, 8] = True
    assert len(np.unique(pattern_keys(patterns))) == 2


def test_no_rows_have_no_patterns():
    groups = group_rows(np.empty((0, 3), dtype=bool))
    assert groups.patterns.shape == (0, 3)
    assert groups.starts.tolist() == [0]


def test_a_pattern_is_written_by_its_missing_features():
    assert format_pattern(np.zeros(3, dtype=bool)) == "none of 3 features missing"
    assert format_pattern(np.ones(12, dtype=bool)).endswith("9, ... of 12 missing")
