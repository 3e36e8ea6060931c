import numpy as np
import pytest

from missfit.moments.rows import check_rows, check_scale, check_weight, row_counts


def test_rows_of_weight_zero_are_left_out():
    rows = check_rows([[1.0], [2.0], [3.0]], [4.0, 5.0, 6.0], [1.0, 0.0, 2.0])
    assert rows.X.tolist() == [[1.0], [3.0]]
    assert rows.y.tolist() == [[4.0], [6.0]]
    assert rows.weight.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("n", [20, 2000])
def test_weights_that_sum_to_one_are_no_counts_and_scaled_ones_are(rng, n):
    weight = rng.uniform(0.5, 1.5, n)
    weight /= weight.sum()
    with pytest.raises(ValueError, match=r"sums to 1 over .* rows; a weight counts"):
        row_counts(weight, n)
    assert row_counts(weight * n, n).sum() == pytest.approx(n)


def test_a_chunk_may_weigh_nothing_where_that_is_said():
    assert check_weight([0.0, 0.0], 2, may_be_zero=True).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="zero for all rows"):
        check_weight([0.0, 0.0], 2)


@pytest.mark.parametrize("value", [np.finfo(float).max, np.finfo(float).tiny])
def test_a_column_whose_square_float64_cannot_hold_is_refused(value):
    with np.errstate(over="ignore", under="ignore"):
        assert np.square(value) in (0.0, np.inf)
    with pytest.raises(ValueError, match="flow float64"):
        check_scale(np.array([[value]]), np.ones(1))
    check_scale(np.array([[0.0], [np.nan]]), np.ones(2))  # no values are no trouble
