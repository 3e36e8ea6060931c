"""Many Gaussians at once, against the conditional laws of one after another."""

import numpy as np
import pytest
from scipy import stats

from conftest import hide, random_cov
from missfit import PatternMoments
from missfit.gaussian.completion import PrecisionLaw, complete, completed_sums
from missfit.gaussian.pattern_chunks import GaussianData
from missfit.gaussian.point_chunks import (
    complete_points,
    point_sums,
    points_of,
    swept_inverse,
)

N_LAWS = 3


@pytest.fixture
def laws(rng):
    mean = rng.standard_normal((N_LAWS, 4))
    return mean, np.stack([random_cov(rng, 4) for _ in range(N_LAWS)])


def data_of(rng, n):
    """Patterns of few rows are kept as rows, those of many are condensed."""
    X = hide(rng, rng.standard_normal((n, 3)), 0.4)
    y = np.nansum(X, axis=1) + rng.standard_normal(n)
    return GaussianData(PatternMoments.from_data(X, y)), np.column_stack([X, y])


@pytest.mark.parametrize("n", [12, 400])
def test_likelihoods_are_the_densities_of_the_observed_values(rng, laws, n):
    data, Z = data_of(rng, n)
    assert (n == 400) in {chunk.scatter is not None for chunk in data.chunks}
    mean, cov = laws
    law = PrecisionLaw.of_cov(cov)
    total = sum(
        complete_points(
            points_of(c), mean, law.precision, law.log_det
        ).log_likelihood.sum(axis=1)
        for c in data.chunks
    )
    Z = (Z - data.shift) / data.scale
    for k in range(N_LAWS):
        expected = 0.0
        for z in Z:
            o = ~np.isnan(z)
            density = stats.multivariate_normal(mean[k][o], cov[k][np.ix_(o, o)])
            expected += density.logpdf(z[o])
        assert total[k] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("n", [12, 400])
def test_sums_are_those_of_patterns_completed_one_by_one(rng, laws, n):
    data, _ = data_of(rng, n)
    mean, cov = laws
    law = PrecisionLaw.of_cov(cov)
    for chunk in data.chunks:
        share = rng.random((N_LAWS, len(chunk.count)))
        points = points_of(chunk)
        found = complete_points(points, mean, law.precision, law.log_det)
        ours = point_sums(points, found, share)
        theirs = completed_sums(chunk, complete(chunk, mean, law), share)
        for mine, other in zip(ours, theirs, strict=True):
            # sums of some hundred terms of order one
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("u", [1, 2, 7])
def test_sweeping_inverts_and_tells_the_determinant(rng, u):
    every = np.stack([random_cov(rng, u) for _ in range(5)])
    inverse, log_det = swept_inverse(np.moveaxis(every, 0, -1).copy())
    for k, matrix in enumerate(every):
        np.testing.assert_allclose(inverse[..., k] @ matrix, np.eye(u), atol=1e-9)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(every)[1], atol=1e-10)
