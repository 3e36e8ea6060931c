import numpy as np
import pytest
from scipy import stats

from conftest import hide, random_cov
from missfit import PatternMoments
from missfit.gaussian.completion import (
    CovarianceLaw,
    PrecisionLaw,
    complete,
    completed_sums,
    filled_sums,
    spread_left,
)
from missfit.gaussian.pattern_chunks import GaussianData

N_LAWS = 3


@pytest.fixture
def chunk(rng):
    """Rows of one pattern, which misses two of four features."""
    X = rng.standard_normal((30, 4))
    X[:, [1, 3]] = np.nan
    data = GaussianData(PatternMoments.from_data(X, rng.standard_normal(30)))
    return data.chunks[0]


@pytest.fixture
def laws(rng):
    mean = rng.standard_normal((N_LAWS, 4))
    return mean, np.stack([random_cov(rng, 4) for _ in range(N_LAWS)])


def data_of(rng, n):
    """Patterns of few rows are kept as rows, those of many are condensed."""
    X = hide(rng, rng.standard_normal((n, 3)), 0.4)
    y = np.nansum(X, axis=1) + rng.standard_normal(n)
    return GaussianData(PatternMoments.from_data(X, y)), np.column_stack([X, y])


@pytest.mark.parametrize("law_of", [PrecisionLaw.of_cov, CovarianceLaw])
def test_what_is_missing_is_completed_by_regression_on_many_draws(chunk, law_of, rng):
    # slopes and spread of a regression on draws of the Gaussian itself
    mean, cov = rng.standard_normal(5), random_cov(rng, 5)
    found = complete(chunk, mean, law_of(cov))
    draws = rng.multivariate_normal(np.zeros(5), cov, size=200_000)
    o, u = [0, 2, 4], [1, 3]
    slope = np.linalg.lstsq(draws[:, o], draws[:, u])[0].T
    left = np.cov((draws[:, u] - draws[:, o] @ slope.T).T)
    np.testing.assert_allclose(found.V[0], left, rtol=0.05, atol=0.02)
    gap = chunk.points[0] / np.sqrt(30) - mean  # of the mean of the 30 rows
    guess = found.filled[0, u] / np.sqrt(30)
    np.testing.assert_allclose(guess, slope @ gap[o], atol=0.05)  # 5 standard errors


@pytest.mark.parametrize("n", [12, 400])  # kept as rows, and condensed
def test_a_stack_of_laws_gives_what_each_gives_alone(rng, laws, n):
    data, _ = data_of(rng, n)
    means, covs = laws
    for chunk in data.chunks:
        every = complete(chunk, means, PrecisionLaw.of_cov(covs))
        share = rng.uniform(size=(N_LAWS, len(chunk.count)))
        sums = completed_sums(chunk, every, share)
        for k in range(N_LAWS):
            one = complete(chunk, means[k], PrecisionLaw.of_cov(covs[k]))
            alone = completed_sums(chunk, one, share[k])
            np.testing.assert_allclose(every.log_likelihood[k], one.log_likelihood)
            for a, b in zip(sums, alone, strict=True):
                np.testing.assert_allclose(a[k], b, atol=1e-10)  # rounding


@pytest.mark.parametrize("n", [12, 400])
def test_likelihoods_are_the_densities_of_the_observed_values(rng, laws, n):
    data, Z = data_of(rng, n)
    means, covs = laws
    law = PrecisionLaw.of_cov(covs)
    total = sum(
        complete(chunk, means, law).log_likelihood.sum(axis=1) for chunk in data.chunks
    )
    Z = (Z - data.shift) / data.scale
    for k in range(N_LAWS):
        expected = 0.0
        for z in Z:
            o = ~np.isnan(z)
            density = stats.multivariate_normal(means[k][o], covs[k][np.ix_(o, o)])
            expected += density.logpdf(z[o])
        assert total[k] == pytest.approx(expected, rel=1e-10)


def test_the_sums_are_those_of_rows_completed_one_by_one(rng, laws):
    data, Z = data_of(rng, 400)
    mean, cov = laws[0][0], laws[1][0]
    law = PrecisionLaw.of_cov(cov)
    filled, spread, first = np.zeros((4, 4)), np.zeros((4, 4)), np.zeros(4)
    for chunk in data.chunks:
        completion = complete(chunk, mean, law)
        total, squares = filled_sums(chunk, completion.filled)
        np.testing.assert_allclose(chunk.sum_rows(completion.filled).sum(axis=0), total)
        first, filled = first + total, filled + squares
        spread += spread_left(chunk, completion)
    expected, left = np.zeros((400, 4)), np.zeros((4, 4))
    for row, z in zip(expected, (Z - data.shift) / data.scale - mean, strict=True):
        o, u = np.flatnonzero(~np.isnan(z)), np.flatnonzero(np.isnan(z))
        slope = np.linalg.solve(cov[np.ix_(o, o)], cov[np.ix_(o, u)]).T
        row[o], row[u] = z[o], slope @ z[o]
        left[np.ix_(u, u)] += cov[np.ix_(u, u)] - slope @ cov[np.ix_(o, u)]
    # sums of 400 terms of order one, of moments and of rows
    np.testing.assert_allclose(first, expected.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(filled, expected.T @ expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(spread, left, rtol=1e-9, atol=1e-9)
