import numpy as np

from missfit import PatternMoments
from missfit.gaussian.em import PenalisedGaussian, accelerated_em
from missfit.gaussian.mixture import PenalisedMixture, mixture_of_one
from missfit.gaussian.mixture_search import MixtureSearch
from missfit.gaussian.pattern_chunks import GaussianData
from missfit.moments.patterns import all_patterns


def test_two_laws_far_apart_are_found_with_the_patterns_of_each(rng):
    d, n = 3, 100  # rows of each pattern
    patterns = all_patterns(d)[:-1]
    component = rng.permutation(np.arange(len(patterns)) % 2)
    X = (
        rng.standard_normal((len(patterns) * n, d))
        + 6 * np.repeat(component, n)[:, None]
    )
    y = X.sum(axis=1) + 0.5 * rng.standard_normal(len(X))
    X = np.where(np.repeat(patterns, n, axis=0), np.nan, X)
    moments = PatternMoments.from_data(X, y)
    data = GaussianData(moments)
    one = PenalisedGaussian.of_data(data, d, 5e-4)
    origin = np.zeros(d + 1), np.eye(d + 1)
    fit = accelerated_em(data, one, origin, max_iter=200, tol=1e-6)
    model = PenalisedMixture(fit.cov[:d, :d], d + 1.0, one)
    search = MixtureSearch(data, data, fit, model)
    before = mixture_of_one(fit, len(moments), d).law
    found = search.one_more(before, np.random.RandomState(0), max_iter=300, tol=1e-6)
    label = found.responsibility.argmax(axis=1)
    assert (label == component).all() or (label == 1 - component).all()
    means = data.shift[:d] + data.scale[:d] * found.law.mean
    # four standard errors of means of 300 rows and more, half of them observed
    np.testing.assert_allclose(
        np.sort(means, axis=0), [[0.0] * d, [6.0] * d], atol=0.33
    )
