import numpy as np
import pytest
from scipy import optimize, special, stats

from conftest import hide, random_cov
from missfit import PatternMoments
from missfit.gaussian.em import PenalisedGaussian
from missfit.gaussian.mixture import (
    MixtureLaw,
    PenalisedMixture,
    accelerated_mixture,
    e_step,
    stacked_laws,
)
from missfit.gaussian.pattern_chunks import GaussianData


def table(rng, n=120, d=3):
    X = hide(rng, rng.standard_normal((n, d)) @ random_cov(rng, d))
    y = np.nansum(X, axis=1) + rng.standard_normal(n)
    data = GaussianData(PatternMoments.from_data(X, y))
    Z = (np.column_stack([X, y]) - data.shift) / data.scale
    return data, Z


def some_law(rng, K=2, d=3):
    return MixtureLaw(
        np.array([0.3, 0.7]),
        rng.standard_normal((K, d)),
        np.stack([random_cov(rng, d) for _ in range(K)]),
        rng.standard_normal(1),
        rng.standard_normal((d, 1)),
        np.array([[0.4]]),
    )


def evidence_of_patterns(Z, law):
    """Sum of log N(z_o; k) over the rows of each pattern, row by row: (P, K)."""
    mean, cov = law.joint()
    masks, index = np.unique(np.isnan(Z), axis=0, return_inverse=True)
    out = np.zeros((len(masks), len(law.share)))
    for z, p in zip(Z, index.ravel(), strict=True):
        o = ~np.isnan(z)
        for k in range(len(law.share)):
            density = stats.multivariate_normal(mean[k][o], cov[k][np.ix_(o, o)])
            out[p, k] += density.logpdf(z[o])
    return out


def test_the_joint_law_is_that_of_simulated_rows(rng):
    law = some_law(rng)
    mean, cov = law.joint()
    X = rng.multivariate_normal(law.mean[1], law.cov[1], size=200_000)
    y = law.intercept + X @ law.slopes + np.sqrt(0.4) * rng.standard_normal((len(X), 1))
    Z = np.hstack([X, y])
    spread = np.sqrt(np.diag(cov[1]))
    # five standard errors of means and, with fourth moments of Gaussians, covariances
    np.testing.assert_array_less(np.abs(Z.mean(axis=0) - mean[1]) / spread, 0.012)
    error = np.abs(np.cov(Z.T) - cov[1]) / np.outer(spread, spread)
    assert error.max() < 5 * np.sqrt(2 / len(Z))


@pytest.mark.parametrize("temperature", [1.0, 0.2])
def test_responsibilities_are_bayes_rule_over_the_rows_of_a_pattern(rng, temperature):
    data, Z = table(rng)
    law = some_law(rng)
    found = e_step(data, law, temperature)
    evidence = evidence_of_patterns(Z, law)
    expected = special.softmax(temperature * evidence + np.log(law.share), axis=1)
    responsibility = data.in_table_order(found.responsibility)
    np.testing.assert_allclose(responsibility, expected, atol=1e-9)  # of sums of 100
    total = special.logsumexp(evidence + np.log(law.share), axis=1).sum()
    assert found.log_likelihood == pytest.approx(total, rel=1e-10)
    np.testing.assert_allclose(found.n_patterns, expected.sum(axis=0), atol=1e-8)


def test_the_m_step_is_the_maximum_that_a_general_optimiser_finds(rng):
    # complete rows: the posterior of one component is known in closed form to scipy
    Z = rng.standard_normal((40, 3)) @ random_cov(rng, 3)
    data = GaussianData(PatternMoments.from_data(Z[:, :2], Z[:, 2]))
    one = PenalisedGaussian(2, 0.3, 1e-9)
    model = PenalisedMixture(np.array([[1.0, 0.3], [0.3, 1.0]]), 3.0, one)
    start = MixtureLaw(
        np.ones(1),
        np.zeros((1, 2)),
        np.eye(2)[None],
        np.zeros(1),
        np.zeros((2, 1)),
        np.eye(1),
    )
    law = model.m_step(start, e_step(data, start))
    z = (Z - data.shift) / data.scale

    def minus_height(theta):
        root = np.array([[np.exp(theta[2]), 0.0], [theta[3], np.exp(theta[4])]])
        cov = root @ root.T
        fit = z[:, :2] @ theta[6:8] + theta[5]
        height = stats.multivariate_normal(theta[:2], cov).logpdf(z[:, :2]).sum()
        height += stats.norm(fit, np.exp(theta[8])).logpdf(z[:, 2]).sum()
        inverse = np.linalg.inv(cov)
        log_det = np.linalg.slogdet(cov)[1]
        return 1.5 * (log_det + np.trace(inverse @ model.prior_cov)) - height

    best = optimize.minimize(minus_height, np.zeros(9), options={"gtol": 1e-7}).x
    root = np.array([[np.exp(best[2]), 0.0], [best[3], np.exp(best[4])]])
    # the optimiser's differences are good to about the root of rounding
    np.testing.assert_allclose(law.mean[0], best[:2], atol=1e-5)
    np.testing.assert_allclose(law.cov[0], root @ root.T, atol=1e-5)
    np.testing.assert_allclose(law.slopes[:, 0], best[6:8], atol=1e-5)
    assert law.residual[0, 0] == pytest.approx(np.exp(2 * best[8]), abs=1e-5)


def test_the_accelerated_fit_is_a_fixed_point_of_the_plain_step(rng):
    data, _ = table(rng, n=400)
    one = PenalisedGaussian(3, 0.3, 5e-4)
    model = PenalisedMixture(np.eye(3), 4.0, one)
    start = some_law(rng)
    for _ in range(10):  # a leap from afar may land near another maximum
        start = model.m_step(start, e_step(data, start))
    fit = accelerated_mixture(data, start, model, max_iter=3000, tol=1e-13)
    again = model.m_step(fit.law, e_step(data, fit.law))
    for a, b in zip(fit.law, again, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)  # three steps gain 1e-13 per row
    plain = start
    for _ in range(50):
        plain = model.m_step(plain, e_step(data, plain))
    height = e_step(data, plain).log_likelihood + model.log_prior(plain)
    assert fit.log_likelihood + model.log_prior(fit.law) >= height - 1e-6


def test_a_stack_of_laws_steps_as_each_law_alone(rng):
    data, _ = table(rng)
    one = PenalisedGaussian(3, 0.3, 1e-3)
    model = PenalisedMixture(np.eye(3), 2.0, one)
    laws = [some_law(rng) for _ in range(3)]
    stack = stacked_laws(laws)
    expected = e_step(data, stack, 0.5)
    heights = model.log_prior(stack) + expected.log_likelihood
    after = model.m_step(stack, expected)
    for i, law in enumerate(laws):
        alone = e_step(data, law, 0.5)
        height = alone.log_likelihood + model.log_prior(law)
        assert heights[i] == pytest.approx(float(height), rel=1e-12)
        for together, single in zip(
            after.take(i), model.m_step(law, alone), strict=True
        ):
            # the same operations; only the order of some sums may differ
            np.testing.assert_allclose(together, single, rtol=1e-9, atol=1e-11)
