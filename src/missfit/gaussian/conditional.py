"""Kernels for Gaussian vectors with missing coordinates, batched over patterns.

Throughout, o are the observed and u the missing coordinates of a pattern, arrays over
patterns have the pattern as first axis, and coordinates that do not apply hold zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from missfit.moments.blocks import blocks
from missfit.moments.maps import AffineMaps
from missfit.moments.patterns import group_rows

# Features and patterns from which it pays to invert the covariance once and a block for
# each pattern, and the least eigenvalue, in standard units, that makes it exact enough.
WIDE, WORTH_INVERTING = 64, 8
LEAST_EIGENVALUE = 1e-8


def condition(
    cov: NDArray[np.float64], patterns: NDArray[np.bool_]
) -> tuple[NDArray, NDArray]:
    """Law of the missing coordinates of a Gaussian given the observed ones.

    Returns ``(slope, residual)``, each of shape (P, d, d), such that for each pattern::

        X_u | X_o ~ N(mu_u + slope_uo (X_o - mu_o), residual_uu)
        slope_uo = S_uo S_oo^-1,  residual_uu = S_uu - slope_uo S_ou

    The pair depends on the pattern alone: compute it once per pattern and apply it to
    all of the pattern's rows.

    Parameters
    ----------
    cov : ndarray of shape (d, d) or (P, d, d)
    patterns : bool ndarray of shape (P, d)
    """
    cross = np.where(patterns[:, :, None] & ~patterns[:, None, :], cov, 0.0)
    slope = np.linalg.solve(_observed_block(cov, patterns), cross.transpose(0, 2, 1))
    slope = slope.transpose(0, 2, 1)
    missing = np.where(patterns[:, :, None] & patterns[:, None, :], cov, 0.0)
    return slope, missing - slope @ cross.transpose(0, 2, 1)


def conditional_maps(
    mean: NDArray[np.float64],
    cov: NDArray[np.float64],
    beta0: float,
    beta: NDArray[np.float64],
    patterns: NDArray[np.bool_],
) -> AffineMaps:
    """Affine maps of E[beta0 + beta'X | X_o] and the variances that they leave.

    The coefficients delta of Proposition 4.1 and the T_M of Proposition 4.2::

        coef      = beta_o + S_oo^-1 S_ou beta_u
        intercept = beta0 + beta_u'mu_u - (coef - beta_o)'mu_o
        variance  = beta_u' (S_uu - S_uo S_oo^-1 S_ou) beta_u

    ``mean`` and ``cov`` are one Gaussian's or have the pattern as first axis.
    """
    beta_mis = np.where(patterns, beta, 0.0)
    pull = (cov @ beta_mis[:, :, None])[:, :, 0]  # S beta_u: its o and u parts
    pull_obs = np.where(patterns, 0.0, pull)
    gamma = np.linalg.solve(_observed_block(cov, patterns), pull_obs[:, :, None])
    gamma = np.where(patterns, 0.0, gamma[:, :, 0])
    variance = ((pull * beta_mis) - (gamma * pull_obs)).sum(axis=1)
    return _maps_about(mean, beta0, beta, gamma, patterns, np.maximum(variance, 0.0))


def _maps_about(mean, beta0, beta, gamma, patterns, variance) -> AffineMaps:
    """Return beta_o'x_o + beta_u'mu_u + gamma'(x_o - mu_o) of each pattern."""
    beta_mis = np.where(patterns, beta, 0.0)
    return AffineMaps(
        patterns,
        beta0 + ((beta_mis - gamma) * mean).sum(axis=1),
        np.where(patterns, 0.0, beta) + gamma,
        variance,
    )


class ScaledGaussian(NamedTuple):
    """The law of X = shift + scale z, with z of mean ``mean`` and covariance ``cov``.

    In standard units no feature is large, whatever the units of X.
    """

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    mean: NDArray[np.float64]
    cov: NDArray[np.float64]


def regression_maps(
    law: ScaledGaussian,
    intercept: NDArray[np.float64],
    coef: NDArray[np.float64],
    residual_variance: NDArray[np.float64],
    patterns: NDArray[np.bool_],
) -> AffineMaps:
    """`conditional_maps` of several targets, with the target as second axis.

    Parameters
    ----------
    law : ScaledGaussian
    intercept, residual_variance : ndarray of shape (t,)
        Of the regression of y on X, in the units of the data.
    coef : ndarray of shape (t, d)
    patterns : bool ndarray of shape (P, d)
    """
    t, d = coef.shape
    shape = (len(patterns), t)
    variance = np.empty(shape)
    maps = AffineMaps(patterns, np.empty(shape), np.empty((*shape, d)), variance)
    shift, scale, mean, cov = law
    maps_of = conditional_maps
    if d >= WIDE and len(patterns) >= WORTH_INVERTING and patterns.mean() < 0.5:
        maps_of = maps_by_precision
    for block in blocks(len(patterns), d * d if maps_of is conditional_maps else d):
        for k in range(t):
            offset = intercept[k] + coef[k] @ shift
            part = maps_of(mean, cov, offset, coef[k] * scale, patterns[block])
            maps.coef[block, k] = part.coef / scale
            maps.intercept[block, k] = part.intercept - maps.coef[block, k] @ shift
            variance[block, k] = part.variance + residual_variance[k]
    return maps


def maps_by_precision(
    mean: NDArray[np.float64],
    cov: NDArray[np.float64],
    beta0: float,
    beta: NDArray[np.float64],
    patterns: NDArray[np.bool_],
) -> AffineMaps:
    """`conditional_maps` of one Gaussian by its precision Omega = cov^-1.

    S_oo^-1 S_ou = -Omega_ou Omega_uu^-1 and Var(X_u | X_o) = Omega_uu^-1: each pattern
    costs the block that it misses (1,000 rows that miss a fifth of 200 features .06 s,
    not .4). A covariance too near a singular one is left to `conditional_maps`.
    """
    if np.linalg.eigvalsh(cov)[0] < LEAST_EIGENVALUE:
        return conditional_maps(mean, cov, beta0, beta, patterns)
    precision = np.linalg.inv(cov)
    gamma, variance = np.zeros(patterns.shape), np.zeros(len(patterns))
    for row, pattern in enumerate(patterns):
        mis = np.flatnonzero(pattern)
        if mis.size:
            factor = linalg.cho_factor(precision[np.ix_(mis, mis)])
            pull = linalg.cho_solve(factor, beta[mis])
            gamma[row] = -(pull @ precision[mis])
            variance[row] = beta[mis] @ pull
    gamma[patterns] = 0.0
    return _maps_about(mean, beta0, beta, gamma, patterns, variance)


def observed_log_density(
    law: ScaledGaussian,
    X: NDArray[np.float64],
    patterns: NDArray[np.bool_],
    index: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Log-density of the observed part of each row, in standard units.

    Parameters
    ----------
    law : ScaledGaussian
    X : ndarray of shape (n, d)
        NaN where missing.
    patterns : bool ndarray of shape (P, d)
    index : int ndarray of shape (n,)
        The pattern of each row.
    """
    d = X.shape[1]
    whiten = np.empty((len(patterns), d, d))
    log_det = np.empty(len(patterns))
    for block in blocks(len(patterns), d * d):
        root = np.linalg.cholesky(_observed_block(law.cov, patterns[block]))
        whiten[block] = np.linalg.inv(root)
        log_det[block] = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    log_det += (~patterns).sum(axis=1) * np.log(2 * np.pi) / 2
    square = np.empty(len(X))
    for rows in blocks(len(X), d * d):
        z = (X[rows] - law.shift) / law.scale - law.mean
        z = np.where(np.isnan(z), 0.0, z)
        square[rows] = ((whiten[index[rows]] @ z[:, :, None]) ** 2).sum(axis=(1, 2))
    return -log_det[index] - square / 2


def _observed_block(
    cov: NDArray[np.float64], patterns: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """S_oo of each pattern, with the identity at the missing coordinates.

    The padding lets one batched solve serve patterns of any number of features.
    """
    observed = ~patterns
    block = np.where(observed[:, :, None] & observed[:, None, :], cov, 0.0)
    diagonal = np.arange(patterns.shape[1])
    block[:, diagonal, diagonal] += patterns
    return block


class ProbitPart(NamedTuple):
    """Rows with u missing features, whose law is N(mean, cov) prod Phi(bias + slope x).

    All arrays have a row's u missing features along their other axes.
    """

    rows: NDArray[np.intp]
    missing: NDArray[np.intp]
    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    bias: NDArray[np.float64]
    slope: NDArray[np.float64]


def missing_given_mask(
    X: NDArray[np.float64],
    mean: NDArray[np.float64],
    cov: NDArray[np.float64],
    bias: NDArray[np.float64],
    slope: NDArray[np.float64],
) -> Iterator[ProbitPart]:
    """Law of the missing features of each row given the observed ones and the mask.

    The features are N(mean, cov) and missing with probability Phi(bias_j + slope_j x).
    The masking of observed features says nothing more once they are known, so that only
    the factors of the missing ones are left.
    """
    mask = np.isnan(X)
    groups = group_rows(mask)
    index = groups.pattern_of_row()
    maps, residual = condition(cov, groups.patterns)
    centred = np.where(mask, 0.0, X - mean)
    prior = mean + np.einsum("nij,nj->ni", maps[index], centred)
    n_missing = mask.sum(axis=1)
    for u in range(1, mask.shape[1] + 1):
        rows = np.flatnonzero(n_missing == u)
        if len(rows):
            mis = np.nonzero(mask[rows])[1].reshape(len(rows), u)
            yield ProbitPart(
                rows,
                mis,
                np.take_along_axis(prior[rows], mis, axis=1),
                residual[index[rows, None, None], mis[:, :, None], mis[:, None, :]],
                bias[mis],
                slope[mis],
            )


class ProbitPosterior(NamedTuple):
    """Gaussian approximation of the law of `probit_posterior`."""

    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    n_sweeps: int


def probit_posterior(
    mean: NDArray[np.float64],
    cov: NDArray[np.float64],
    bias: NDArray[np.float64],
    slope: NDArray[np.float64],
    *,
    tol: float = 1e-10,
    max_sweeps: int = 100,
) -> ProbitPosterior:
    """Mean and covariance of the law N(x; mean, cov) prod_j Phi(bias_j + slope_j x_j).

    Expectation propagation, batched over rows: each factor Phi is replaced by a
    Gaussian site of precision tau_j and shift nu_j. With the cavity N(mu, v) of
    coordinate j (the current law without site j)::

        r = (bias + slope mu) / sqrt(1 + slope^2 v),  rho = phi(r) / Phi(r)
        g = slope rho / sqrt(1 + slope^2 v)
        kappa = slope^2 rho (r + rho) / (1 + slope^2 v)
        tau = kappa / (1 - kappa v),  nu = mu tau + g (1 + v tau)

    followed by a rank-one update of the law. ``cov`` is never inverted, so it may be
    singular. The factors are log-concave, so that the sweeps need no damping.

    Exact for one factor. For several the mean is accurate and the variances are off in
    either direction where coordinates are strongly correlated and slopes steep, in
    standard deviations: at correlation 0.9 that of the sum of two coordinates is 8 %
    too small at slope 3, 13 % at slope 10 (a third for the sum of eight); that of
    x_1 - x_2 at correlation -0.8 is 4 % too large at slope 12.
    `gaussian.probit.probit_law` has no such error and takes longer.

    Parameters
    ----------
    mean, bias, slope : ndarray of shape (n, k)
    cov : ndarray of shape (n, k, k)
    tol : float
        Sweeps stop once no mean moves by more than ``tol`` prior standard deviations.
    max_sweeps : int
    """
    mean, cov = mean.copy(), cov.copy()
    n_rows, n_coordinates = mean.shape
    diagonal = np.arange(n_coordinates)
    scale = np.sqrt(cov[:, diagonal, diagonal]) + np.finfo(float).tiny
    tau, nu = np.zeros_like(mean), np.zeros_like(mean)
    sweep = 0
    while sweep < max_sweeps and n_rows:
        sweep += 1
        before = mean.copy()
        for j in range(n_coordinates):
            new_tau, new_nu = probit_site(
                mean[:, j], cov[:, j, j], tau[:, j], nu[:, j], bias[:, j], slope[:, j]
            )
            more_tau, more_nu = new_tau - tau[:, j], new_nu - nu[:, j]
            column = cov[:, :, j].copy()
            gain = 1.0 / (1.0 + more_tau * column[:, j])
            mean += ((more_nu - more_tau * mean[:, j]) * gain)[:, None] * column
            cov -= (more_tau * gain)[:, None, None] * (
                column[:, :, None] * column[:, None, :]
            )
            tau[:, j], nu[:, j] = new_tau, new_nu
        if (np.abs(mean - before) <= tol * scale).all():
            break
    return ProbitPosterior(mean, cov, sweep)


def probit_site(mean, variance, tau, nu, bias, slope):
    """Return the site (tau, nu) that matches the moments of a coordinate's factor."""
    rest = 1.0 - tau * variance
    v = variance / rest
    mu = (mean - nu * variance) / rest
    spread = 1.0 + slope**2 * v
    r = (bias + slope * mu) / np.sqrt(spread)
    rho = inverse_mills(r)
    # rho (r + rho) lies in (0, 1); rounding must not push it out in the far tail
    kappa = slope**2 / spread * np.clip(rho * (r + rho), 0.0, 1.0)
    new_tau = kappa / (1.0 - kappa * v)
    return new_tau, mu * new_tau + slope * rho / np.sqrt(spread) * (1.0 + v * new_tau)


def inverse_mills(r):
    """Return phi(r) / Phi(r), by the scaled erfc: right in both tails."""
    return np.sqrt(2.0 / np.pi) / special.erfcx(-r / np.sqrt(2.0))
