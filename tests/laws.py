"""One small law of each kind, and its Bayes predictor by brute force."""

import numpy as np
from scipy import stats

from conftest import random_cov
from missfit.moments.patterns import all_patterns
from missfit.simulate import (
    GaussianPatternMixture,
    MARGaussian,
    MCARGaussian,
    SelfMaskedGaussian,
    SelfMaskedProbit,
)

NAMES = ["mixture", "mcar", "mar", "selfmasked_gaussian", "selfmasked_probit"]


def small_law(name, d=3, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    mean, cov = rng.standard_normal(d), random_cov(rng, d)
    beta = rng.uniform(0.5, 1.5, d)
    target = {"beta0": 0.7, "noise": noise}
    if name == "mixture":  # every pattern its own Gaussian
        weights = rng.uniform(1, 2, 2**d)
        return GaussianPatternMixture(
            all_patterns(d),
            weights / weights.sum(),
            rng.standard_normal((2**d, d)),
            np.stack([random_cov(rng, d) for _ in range(2**d)]),
            beta,
            **target,
        )
    if name == "mcar":
        return MCARGaussian(mean, cov, beta, rate=rng.uniform(0.2, 0.6, d), **target)
    if name == "mar":
        return MARGaussian.with_rate(
            mean, cov, beta, observed=[0], rate=0.4, slope=2.0, **target
        )
    if name == "selfmasked_gaussian":
        return SelfMaskedGaussian(
            mean, cov, beta, centre=mean + 1, width=1.3, peak=0.8, **target
        )
    return SelfMaskedProbit.with_rate(mean, cov, beta, rate=0.4, slope=1.5, **target)


def mask_likelihood(model, X, pattern):
    """P(M = pattern | X), written out from the formula of each law."""
    if isinstance(model, MCARGaussian):
        p = np.broadcast_to(model.rate, X.shape)
    elif isinstance(model, MARGaussian):
        p = 1 / (1 + np.exp(-(model.bias + X @ model.slopes.T)))
    elif isinstance(model, SelfMaskedGaussian):
        p = model.peak * np.exp(-((X - model.centre) ** 2) / (2 * model.width**2))
    else:
        p = stats.norm.cdf(model.bias + model.slope * X)
    return np.where(pattern, p, 1 - p).prod(axis=1)


def brute_force(model, x, n_points=120):
    """E[Y | Z] and Var[Y | Z] of one row by integration over the missing features."""
    values, density = brute_force_law(model, x, n_points)
    expected = density @ values
    return expected, density @ (values - expected) ** 2 + model.noise**2


def brute_force_share(model, x, threshold, n_points=120):
    """P(Y > threshold | Z) of one row by integration over the missing features."""
    values, density = brute_force_law(model, x, n_points)
    return density @ stats.norm.sf((threshold - values) / model.noise)


def brute_force_law(model, x, n_points):
    """Values of beta0 + beta'X on a grid of the missing features, and their density.

    The trapezoidal rule over ten standard deviations: exponentially accurate for these
    smooth densities.
    """
    pattern = np.isnan(x)
    if isinstance(model, GaussianPatternMixture):
        here = (model.patterns == pattern).all(axis=1)
        k = model.component[here][0]
        mean, cov = model.means[k], model.covs[k]
    else:
        mean, cov = model.mean, model.cov
    axes = [
        mean[j] + np.sqrt(cov[j, j]) * np.linspace(-10, 10, n_points)
        for j in np.flatnonzero(pattern)
    ]
    grid = np.meshgrid(*axes, indexing="ij")
    X = np.tile(x, (grid[0].size if grid else 1, 1))
    for j, values in zip(np.flatnonzero(pattern), grid, strict=True):
        X[:, j] = values.ravel()
    log_density = stats.multivariate_normal(mean, cov).logpdf(X)
    density = np.exp(np.atleast_1d(log_density - np.max(log_density)))
    if not isinstance(model, GaussianPatternMixture):
        density = density * mask_likelihood(model, X, pattern)
    density /= density.sum()
    return model.beta0 + X @ model.beta, density
