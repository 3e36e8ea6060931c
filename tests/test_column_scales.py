import numpy as np
import pytest

from conftest import hide
from missfit import PatternMoments
from missfit.moments.column_scales import column_scales


@pytest.mark.parametrize("n", [30, 3000])  # kept as rows, and condensed
@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_scales_are_numpys_over_the_observed_values(rng, n, offset):
    X = hide(rng, rng.standard_normal((n, 3)) * [1.0, 10.0, 0.1] + offset)
    y = rng.standard_normal(n)
    scales = column_scales(PatternMoments.from_data(X, y))
    Z = np.column_stack([X, y])
    np.testing.assert_allclose(scales.mean, np.nanmean(Z, axis=0), rtol=1e-13)
    # at 1e7 the values themselves are rounded to 1e-9
    np.testing.assert_allclose(scales.std, np.nanstd(Z, axis=0), rtol=1e-7)
    assert scales.count.tolist() == (~np.isnan(Z)).sum(axis=0).tolist()
    assert scales.varies.all()


def test_columns_without_spread_or_values_keep_their_units():
    X = np.array([[5.0, np.nan], [5.0, np.nan], [np.nan, np.nan]])
    scales = column_scales(PatternMoments.from_data(X, [1.0, 2.0, 3.0]))
    assert scales.mean.tolist() == [5.0, 0.0, 2.0]
    assert scales.std[:2].tolist() == [1.0, 1.0]
    assert scales.varies.tolist() == [False, False, True]
