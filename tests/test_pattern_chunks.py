import numpy as np
import pytest

from conftest import hide
from missfit import PatternMoments
from missfit.gaussian.pattern_chunks import GaussianData


@pytest.mark.parametrize("n", [15, 4000])  # all kept as rows, and nearly all condensed
def test_chunks_hold_every_row_once_in_standard_units(rng, n):
    X = hide(rng, rng.standard_normal((n, 3)) * [1.0, 50.0, 0.1] + 7)
    y = rng.standard_normal(n)
    moments = PatternMoments.from_data(X, y)
    data = GaussianData(moments)
    assert sum(chunk.count.sum() for chunk in data.chunks) == data.n_rows == n
    # sums of values and of squares: columns of mean 0 and variance 1 where observed
    first = sum(chunk.sum_rows(chunk.points).sum(axis=0) for chunk in data.chunks)
    second = sum((chunk.points**2).sum(axis=0) for chunk in data.chunks)
    observed = (~np.isnan(np.column_stack([X, y]))).sum(axis=0)
    np.testing.assert_allclose(first / n, 0.0, atol=1e-12)  # rounding
    np.testing.assert_allclose(second, observed, rtol=1e-10)
    np.testing.assert_array_equal(data.n_observed, observed)


def test_what_is_worked_out_by_chunks_comes_back_in_the_order_of_the_table(rng):
    X = hide(rng, rng.standard_normal((500, 4)))
    moments = PatternMoments.from_data(X, rng.standard_normal(500))
    data = GaussianData(moments)
    count = data.in_table_order([chunk.count for chunk in data.chunks])
    np.testing.assert_array_equal(count, moments.count)
    shown = data.in_table_order([~chunk.observed[:, :4] for chunk in data.chunks])
    np.testing.assert_array_equal(shown, moments.patterns)
