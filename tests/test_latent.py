"""EM with a latent target: its expectations, against scipy's truncated normals."""

import numpy as np
import pytest
from scipy import stats

from conftest import hide, random_cov
from missfit.gaussian.latent import LatentLaw, LatentRows, latent_sums


def expected_by_hand(law: LatentLaw, z, positive):
    """Moments of (X - mean, y*) of one row, and its log-likelihood."""
    d, o = len(z), np.flatnonzero(~np.isnan(z))
    joint = np.zeros((d + 1, d + 1))  # of X and y*, before anything is known
    joint[:d, :d] = law.cov
    joint[:d, d] = joint[d, :d] = law.cov @ law.slope
    joint[d, d] = 1 + law.slope @ law.cov @ law.slope
    centre = np.append(law.mean, law.intercept + law.slope @ law.mean)
    gain = np.linalg.solve(joint[np.ix_(o, o)], joint[o]).T
    mean = centre + gain @ (z[o] - law.mean[o])
    cov = joint - gain @ joint[o]
    sd = np.sqrt(cov[d, d])
    cut = (0.0 - mean[d]) / sd
    ends = (cut, np.inf) if positive else (-np.inf, cut)
    latent = stats.truncnorm(*ends, loc=mean[d], scale=sd)
    along = cov[:, d] / cov[d, d]
    after = mean + along * (latent.mean() - mean[d])
    left = cov - np.outer(along, along) * (cov[d, d] - latent.var())
    after[:d] -= law.mean
    height = stats.norm.logcdf((mean[d] if positive else -mean[d]) / sd)
    if len(o):
        height += stats.multivariate_normal.logpdf(
            z[o], law.mean[o], law.cov[np.ix_(o, o)]
        )
    return after, left + np.outer(after, after), height


@pytest.mark.parametrize("n", [8, 200])  # patterns of one row, and of many
def test_the_e_step_is_that_of_each_row_alone(rng, n):
    Z = hide(rng, rng.standard_normal((n, 3)), 0.4)
    label, weight = rng.random(n) < 0.4, rng.uniform(0.5, 2.0, n)
    law = LatentLaw(
        rng.standard_normal(3), random_cov(rng, 3), 0.3, rng.standard_normal(3)
    )
    found = latent_sums(LatentRows.of(Z, label, weight), law)
    first, second, height = np.zeros(4), np.zeros((4, 4)), 0.0
    for z, positive, w in zip(Z, label, weight, strict=True):
        one = expected_by_hand(law, z, positive)
        first, second = first + w * one[0], second + w * one[1]
        height += w * one[2]
    # truncnorm's variance is right to some 1e-9 in the tails
    np.testing.assert_allclose(found.first, first, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.second, second, rtol=1e-6, atol=1e-6)
    assert found.log_likelihood == pytest.approx(height, rel=1e-10)
