"""Features given what is observed: their expectation and covariance, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.gaussian.conditional import ScaledGaussian, condition
from missfit.gaussian.probit import missing_given_mask, probit_posterior
from missfit.moments.blocks import blocks
from missfit.moments.patterns import group_rows

EP_TOL = 1e-10  # of expectations, in standard deviations; 1e-6 is no faster


class ExpectedFeatures(NamedTuple):
    """The law of X of some rows given what is observed, under one component.

    Attributes
    ----------
    rows : int ndarray of shape (r,)
        The rows that may belong to the component.
    weight : ndarray of shape (r,)
        The probability that they do.
    mean : ndarray of shape (r, d)
        E[X | what is observed], in the units of the component's law.
    cov : ndarray of shape (g, d, d)
        Cov(X | what is observed), for each group of rows that share it.
    group : int ndarray of shape (r,)
        The group of each row.
    """

    rows: NDArray[np.intp]
    weight: NDArray[np.float64]
    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    group: NDArray[np.intp]


def expected_features(
    law: ScaledGaussian,
    X: NDArray[np.float64],
    rows: NDArray[np.intp] | None = None,
    weight: NDArray[np.float64] | None = None,
) -> ExpectedFeatures:
    """Return E[X | x_obs] and Cov(X | x_obs) of some rows (all by default)."""
    rows = np.arange(len(X)) if rows is None else rows
    weight = np.ones(len(rows)) if weight is None else weight
    values = (X[rows] - law.shift) / law.scale
    groups = group_rows(np.isnan(values))
    group = groups.pattern_of_row()
    slope, cov = condition(law.cov, groups.patterns)
    mean = np.empty_like(values)
    for some in blocks(len(rows), values.shape[1] ** 2):
        hidden = groups.patterns[group[some]]
        gap = np.where(hidden, 0.0, values[some] - law.mean)
        guess = law.mean + (slope[group[some]] @ gap[:, :, None])[:, :, 0]
        mean[some] = np.where(hidden, guess, values[some])
    return ExpectedFeatures(rows, weight, mean, cov, group)


def expected_given_mask(
    law: ScaledGaussian, bias: NDArray, slope: NDArray, X: NDArray[np.float64]
) -> ExpectedFeatures:
    """Return E[X] and Cov(X) given x_obs and the mask, where values hide themselves.

    A feature is missing with probability Phi(bias_j + slope_j x_j); expectation
    propagation as in `missfit.gaussian.probit.probit_posterior`.
    """
    values = (X - law.shift) / law.scale
    n, d = values.shape
    mask = np.isnan(values)
    mean = np.where(mask, 0.0, values)
    incomplete = mask.any(axis=1)
    group = np.where(incomplete, np.cumsum(incomplete), 0)  # the first has all values
    cov = np.zeros((incomplete.sum() + 1, d, d))
    for part in missing_given_mask(values, law.mean, law.cov, bias, slope):
        posterior = probit_posterior(
            part.mean, part.cov, part.bias, part.slope, tol=EP_TOL
        )
        mean[part.rows[:, None], part.missing] = posterior.mean
        place = group[part.rows][:, None, None]
        cov[place, part.missing[:, :, None], part.missing[:, None, :]] = posterior.cov
    return ExpectedFeatures(np.arange(n), np.ones(n), mean, cov, group)


def spread_features(found: ExpectedFeatures, columns: NDArray, d: int):
    """Return the same among ``d`` features, of which these were the columns."""
    if len(columns) == d:
        return found
    mean = np.zeros((len(found.mean), d))
    mean[:, columns] = found.mean
    cov = np.zeros((len(found.cov), d, d))
    cov[:, columns[:, None], columns] = found.cov
    return found._replace(mean=mean, cov=cov)


def in_blocks(n_rows: int, d: int) -> Iterator[slice]:
    """Yield blocks of rows whose covariances fit into memory."""
    return blocks(n_rows, d * d, size=2**22)
