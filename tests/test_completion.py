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
)
from missfit.gaussian.pattern_chunks import GaussianData


@pytest.fixture
def chunk(rng):
    """Rows of one pattern, which misses two of four features."""
    X = rng.standard_normal((30, 4))
    X[:, [1, 3]] = np.nan
    data = GaussianData(PatternMoments.from_data(X, rng.standard_normal(30)))
    return data.chunks[0]


@pytest.mark.parametrize("law_of", [PrecisionLaw.of_cov, CovarianceLaw])
def test_what_is_missing_is_completed_by_regression_on_many_draws(chunk, law_of, rng):
    # slopes and spread of a regression on draws of the Gaussian itself
    mean, cov = rng.standard_normal(5), random_cov(rng, 5)
    found = complete(chunk, mean, law_of(cov))
    draws = rng.multivariate_normal(np.zeros(5), cov, size=200_000)
    o, u = [0, 2, 4], [1, 3]
    slope = np.linalg.lstsq(draws[:, o], draws[:, u])[0].T
    np.testing.assert_allclose(found.B[0][:, o], slope, atol=0.05)  # 5 standard errors
    left = np.cov((draws[:, u] - draws[:, o] @ slope.T).T)
    np.testing.assert_allclose(found.V[0], left, rtol=0.05, atol=0.02)
    gap = (chunk.points - mean)[0]
    np.testing.assert_allclose(found.filled[0, u], found.B[0][:, o] @ gap[o], rtol=1e-9)


def test_a_stack_of_laws_gives_what_each_gives_alone(rng):
    X = hide(rng, rng.standard_normal((200, 3)))
    data = GaussianData(PatternMoments.from_data(X, rng.standard_normal(200)))
    means = rng.standard_normal((2, 4))
    covs = np.stack([random_cov(rng, 4) for _ in range(2)])
    for chunk in data.chunks:
        both = complete(chunk, means, PrecisionLaw.of_cov(covs))
        share = rng.uniform(size=(2, len(chunk.count)))
        sums = completed_sums(chunk, both, share)
        for k in range(2):
            one = complete(chunk, means[k], PrecisionLaw.of_cov(covs[k]))
            alone = completed_sums(chunk, one, share[k])
            np.testing.assert_allclose(both.log_likelihood[k], one.log_likelihood)
            for a, b in zip(sums, alone, strict=True):
                np.testing.assert_allclose(a[k], b, atol=1e-10)  # rounding


def test_the_log_likelihood_is_scipys_density_of_the_observed_values(chunk, rng):
    mean, cov = rng.standard_normal(5), random_cov(rng, 5)
    found = complete(chunk, mean, PrecisionLaw.of_cov(cov)).log_likelihood
    o = [0, 2, 4]
    law = stats.multivariate_normal(mean[o], cov[np.ix_(o, o)])
    # of moments: n log N(mean) - tr(S_oo^-1 scatter) / 2
    inverse = np.linalg.inv(cov[np.ix_(o, o)])
    scatter = chunk.scatter[0][np.ix_(o, o)]
    expected = 30 * law.logpdf(chunk.points[0, o]) - np.trace(inverse @ scatter) / 2
    assert found[0] == pytest.approx(expected, rel=1e-10)
