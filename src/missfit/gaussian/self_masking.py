"""Gaussian (X, y) with probit self-masking, by expectation propagation inside EM.

P(M_j = 1 | X) = Phi(bias_j + slope_j X_j). Given what is observed, the missing features
of a row are Gaussian times one probit factor each; expectation propagation replaces
each factor by a Gaussian site of precision tau and shift nu. Unlike plain EM this works
row by row, since sites differ between the rows of a pattern.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.gaussian.acceleration import AndersonMixing
from missfit.gaussian.covariances import (
    at_least,
    inverse_of_positive,
    log_of_positive,
    power_of_e,
    precision_of,
    regression_slopes,
)
from missfit.gaussian.em import ExpectedMoments, PenalisedGaussian
from missfit.gaussian.probit import ProbitFactor, inverse_mills, probit_factor
from missfit.moments.blocks import blocks

# Of the site updates, all coordinates of a row at once: the value of a prototype that
# converged with many features. No other is on record.
DAMPING = 0.8
# The slopes start at 0 and need some steps to leave it: a stop before the sixth cost up
# to .24 of R2.
MIN_ITER = 6
# Standard deviations within which observed values are taken as one: sums of a smooth
# function of them are then right to 2e-6 (STEP^2 / 12), parameters to as much, and with
# 75,000 rows x 10 features 15,000 values take the place of 560,000.
STEP = 0.005
PLAIN_ITER = 5  # the first step to be accelerated, one before a stop is possible
# Steps fewer of both where slopes are known at the start, and only the sites are not:
# 11 and 9 steps instead of 15 and 13 (75,000 and 1,000 rows, selfmasked).
HEAD_START = 2


# The steepest masking curve, in standard units: from 16 to 84 % within a third of a
# standard deviation. Where all values above a threshold are missing, slopes have no
# bound but their prior: leaps took them to 15,000, from which steps of at most 1 do not
# come back. Up to 6 instead of 30 costs .0005 of R2 there at most.
STEEPEST = 6.0


# Steps after which the accelerated ones have lost their way, and plain ones go on from
# where the last step was least. Most fits end in 15; where all values above a threshold
# are missing, one in five of 5,000 rows never did, and lost up to .36 of R2 against
# ConditionalImputedLR; with both bounds it is .0006 (54 laws, 400 to 40,000 rows).
MOST_MIXED = 60


class SelfMaskedLaw(NamedTuple):
    """Gaussian of (X, y) and the masking curves, in standard units."""

    mean: NDArray[np.float64]  # (k,)
    cov: NDArray[np.float64]  # (k, k)
    bias: NDArray[np.float64]  # (d,)
    slope: NDArray[np.float64]  # (d,)


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Rows with equally many missing features, and their sites."""

    missing: NDArray[np.intp]  # (n, u)
    observed: NDArray[np.float64]  # (n, k) 1 where observed
    points: NDArray[np.float64]  # (n, k) zero where missing
    weight: NDArray[np.float64]  # (n,)
    tau: NDArray[np.float64]  # (n, u)
    nu: NDArray[np.float64]  # (n, u)

    def every(self, step: int) -> RowBlock:
        """Return one row in ``step``."""
        return RowBlock(*(getattr(self, f.name)[::step] for f in fields(self)))


class RowData:
    """Rows of (X, y) in standard units, in blocks of equally many missing features."""

    def __init__(self, points: NDArray[np.float64], weight: NDArray[np.float64], d):
        self.d, self.n_columns = d, points.shape[1]
        self.n_rows = float(weight.sum())
        self.blocks = list(_row_blocks(points, weight))
        self.observed = ObservedValues.of(points[:, :d], weight)

    def every(self, step: int) -> RowData:
        """Return one row in ``step``, in the order of the blocks."""
        some = [block.every(step) for block in self.blocks]
        points = [np.where(block.observed > 0, block.points, np.nan) for block in some]
        weight = np.concatenate([block.weight for block in some])
        return RowData(np.concatenate(points), weight, self.d)

    def take_sites(self, data: RowData, step: int) -> None:
        """Take over the sites of the rows that `every` has taken of ``data``."""
        for name in ("tau", "nu"):
            every = [getattr(block, name)[::step].ravel() for block in data.blocks]
            own = [getattr(block, name) for block in self.blocks]
            ends = np.cumsum([sites.size for sites in own])[:-1]
            for sites, new in zip(
                own, np.split(np.concatenate(every), ends), strict=True
            ):
                sites[:] = new.reshape(sites.shape)

    def expect(self, law: SelfMaskedLaw) -> SelfMaskedExpectation:
        """Return the expected sums, and move every row's sites one step."""
        precision = precision_of(law.cov)

        # one after another: with two threads on two cores, fits of 500 to 75,000 rows
        # and 10 to 60 features took 1.0 to 1.5 times as long
        parts = [_expect_block(part, law, precision, self.d) for part in self.blocks]
        first, second, *curves = (
            np.sum(each, axis=0) for each in zip(*parts, strict=True)
        )
        seen = self.observed.curves(law)
        score, information = (a + b for a, b in zip(curves, seen, strict=True))
        return SelfMaskedExpectation(first, second, score, information)


class SelfMaskedExpectation(NamedTuple):
    """Sums over rows about the mean of the law, and the step of the curves."""

    first: NDArray[np.float64]  # (k,)
    second: NDArray[np.float64]  # (k, k)
    score: NDArray[np.float64]  # (d, 2) of (bias, slope)
    information: NDArray[np.float64]  # (d, 2, 2)


def _row_blocks(points, weight) -> Iterator[RowBlock]:
    mask = np.isnan(points)
    n_missing = mask.sum(axis=1)
    k = points.shape[1]
    for u in np.unique(n_missing):
        rows = np.flatnonzero(n_missing == u)
        for part in blocks(len(rows), 4 * k + 3 * u * u):
            here = rows[part]
            missing = np.nonzero(mask[here])[1].reshape(len(here), u)
            yield RowBlock(
                missing,
                (~mask[here]).astype(float),
                np.nan_to_num(points[here], nan=0.0),
                weight[here],
                np.zeros(missing.shape),
                np.zeros(missing.shape),
            )


class RowLaw(NamedTuple):
    """Gaussian approximation of the missing features of each row."""

    filled: NDArray[np.float64]  # (n, k) about the mean, expected where missing
    cov: NDArray[np.float64]  # (n, u, u)
    place: NDArray[np.intp]  # (n, u, u) of cov in the raveled (k, k)


def row_law(block: RowBlock, mean, precision) -> RowLaw:
    """Law of the missing features given the observed ones and the sites.

    With the precision Omega and r = x_o - mean (zero where missing)::

        cov = (Omega_uu + diag tau)^-1,  delta_u = cov (nu - tau mean_u - (Omega r)_u)
    """
    mis = block.missing
    filled = (block.points - mean) * block.observed
    place = mis[:, :, None] * len(mean) + mis[:, None, :]
    inner = precision.take(place, mode="clip")  # a third of the time of two indices
    diagonal = np.arange(mis.shape[1])
    inner[:, diagonal, diagonal] += block.tau
    cov, _ = inverse_of_positive(inner)
    pull = np.take_along_axis(filled @ precision, mis, axis=1)
    shift = block.nu - block.tau * mean[mis] - pull
    guess = (cov @ shift[:, :, None])[:, :, 0]
    np.put_along_axis(filled, mis, guess, axis=1)
    return RowLaw(filled, cov, place)


def _expect_block(
    block: RowBlock, law: SelfMaskedLaw, precision, d: int
) -> SelfMaskedExpectation:
    k = len(law.mean)
    score, information = np.zeros((d, 2)), np.zeros((d, 2, 2))
    of_row = row_law(block, law.mean, precision)
    filled, cov, place = of_row
    weighted = block.weight[:, None] * filled
    second = weighted.T @ filled
    mis = block.missing
    if mis.shape[1]:
        spread = (block.weight[:, None, None] * cov).ravel()
        second += np.bincount(place.ravel(), spread, minlength=k * k).reshape(k, k)
        factor = missing_factor(block, law, of_row)
        score, information = _missing_curves(block, factor, d)
        _move_sites(block, factor.of, law.slope[mis])
    return SelfMaskedExpectation(weighted.sum(axis=0), second, score, information)


class ObservedValues(NamedTuple):
    """Observed values, those of a feature that lie within `STEP` as one, their mean."""

    feature: NDArray[np.intp]
    value: NDArray[np.float64]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, points: NDArray[np.float64], weight: NDArray) -> ObservedValues:
        """Gather the values of the columns of some rows, NaN where missing."""
        feature, value, total = [], [], []
        for j, column in enumerate(points.T):
            rows = np.flatnonzero(~np.isnan(column))
            x, w = column[rows], weight[rows]
            _, place = np.unique(np.round(x / STEP), return_inverse=True)
            total.append(np.bincount(place, w))
            value.append(np.bincount(place, w * x) / total[-1])
            feature.append(np.full(len(total[-1]), j))
        return cls(*map(np.concatenate, (feature, value, total)))

    def curves(self, law: SelfMaskedLaw):
        """Score and information of sum log Phi(-(bias + slope x)) over all values."""
        x, d = self.value, len(law.bias)
        r = -(law.bias[self.feature] + law.slope[self.feature] * x)
        rho = inverse_mills(r)
        g, h = -self.weight * rho, self.weight * _curvature(r, rho)
        return _curve_sums(self.feature, d, (g, g * x), (h, h * x, h * x * x))


def _curve_sums(feature, d: int, score, information):
    """Sum the parts of the score (2) and of the information (3) over each feature."""

    def total(values):
        sums = np.bincount(feature.ravel(), values.ravel(), minlength=d)
        return np.asarray(sums, dtype=float)

    g, g_x = map(total, score)
    h, h_x, h_xx = map(total, information)
    return np.stack([g, g_x], axis=1), np.stack([h, h_x, h_x, h_xx]).T.reshape(d, 2, 2)


def _curvature(r, rho):
    """Minus the second derivative of log Phi, kept within its bounds."""
    return np.clip(rho * (r + rho), 0.0, 1.0)


class MissingFactor(NamedTuple):
    """log Phi(r) of missing values, and the derivatives of r."""

    of: ProbitFactor
    by_bias: NDArray[np.float64]
    by_slope: NDArray[np.float64]


def missing_factor(block: RowBlock, law: SelfMaskedLaw, of_row: RowLaw):
    """Integrate the factor of each missing value over its cavity."""
    mis = block.missing
    bias, slope = law.bias[mis], law.slope[mis]
    variance = np.einsum("nii->ni", of_row.cov)
    mean = law.mean[mis] + np.take_along_axis(of_row.filled, mis, axis=1)
    factor = probit_factor(mean, variance, block.tau, block.nu, bias, slope)
    root = np.sqrt(factor.spread)
    by_slope = (factor.mu - bias * slope * factor.v) / (factor.spread * root)
    return MissingFactor(factor, 1.0 / root, by_slope)


def _missing_curves(block: RowBlock, factor: MissingFactor, d: int):
    """Score and information of the sum of log Phi(r) over missing values."""
    weight, (of, by_bias, by_slope) = block.weight[:, None], factor
    g, h = weight * of.rho, weight * _curvature(of.r, of.rho)
    information = h * by_bias**2, h * by_bias * by_slope, h * by_slope**2
    score = g * by_bias, g * by_slope
    return _curve_sums(block.missing, d, score, information)


def _move_sites(block: RowBlock, factor: ProbitFactor, slope: NDArray) -> None:
    """Take one damped step of all sites at once."""
    for old, new in zip((block.tau, block.nu), factor.site(slope), strict=True):
        old += DAMPING * (new - old)


class SelfMaskedFit(NamedTuple):
    """A fitted law, and how it was reached."""

    law: SelfMaskedLaw
    n_iter: int
    converged: bool


def fit_self_masked(
    data: RowData,
    start: SelfMaskedLaw,
    model: PenalisedGaussian,
    free: NDArray[np.bool_],
    *,
    max_iter: int,
    tol: float,
) -> SelfMaskedFit:
    """EM with one step of the sites and of the curves per iteration, accelerated.

    Parameters
    ----------
    free : bool ndarray of shape (d,)
        The features whose curve is learned: those seen and missing at fit.
    tol : float
        Stops once a step moves no parameter, in standard units, by more.
    """
    law, n_iter, mixing = start, 0, AndersonMixing()
    nearest, least = start, np.inf
    ahead = HEAD_START if start.slope.any() else 0
    while n_iter < max_iter:
        new = em_step(law, data, model, free)
        n_iter += 1
        change = largest_change(law, new)
        if n_iter >= MIN_ITER - ahead and change <= tol:
            return SelfMaskedFit(new, n_iter, True)
        if change <= least:
            nearest, least = new, change
        if n_iter == MOST_MIXED:
            law = nearest
        elif PLAIN_ITER - ahead <= n_iter < MOST_MIXED:
            law = unpack(mixing.next(pack(law), pack(new)), new)
        else:
            law = new
    return SelfMaskedFit(law, n_iter, False)


def largest_change(law: SelfMaskedLaw, new: SelfMaskedLaw) -> float:
    """Return by how much any parameter differs between two laws, at most."""
    return max(float(np.abs(a - b).max()) for a, b in zip(new, law, strict=True))


def pack(law: SelfMaskedLaw) -> NDArray[np.float64]:
    """One vector without constraints: the logarithm of the covariance."""
    parts = law._replace(cov=log_of_positive(law.cov).ravel())
    return np.concatenate(parts)


def unpack(vector: NDArray[np.float64], like: SelfMaskedLaw) -> SelfMaskedLaw:
    """Return the law that `pack` made a vector of, in the shapes of another."""
    ends = np.cumsum([part.size for part in like])[:-1]
    mean, cov, bias, slope = np.split(vector, ends)
    cov = power_of_e(cov.reshape(like.cov.shape))
    return SelfMaskedLaw(mean, cov, *_bounded(bias, slope))


def em_step(
    law: SelfMaskedLaw,
    data: RowData,
    model: PenalisedGaussian,
    free: NDArray[np.bool_],
) -> SelfMaskedLaw:
    """Return the law after a step of EM, and move the sites of the rows by one."""
    expected = data.expect(law)
    second = (expected.second + expected.second.T) / 2
    moments = ExpectedMoments(expected.first, second, np.nan)
    mean, cov = model.m_step(moments, law.mean, data.n_rows)
    # a standard normal prior on the slope; bias and slope of a feature move together
    score, information = expected.score.copy(), expected.information.copy()
    score[:, 1] -= law.slope
    information[:, 1, 1] += 1.0
    information[:, 0, 0] += 1e-6
    step = np.linalg.solve(information, score[:, :, None])[:, :, 0]
    step *= np.minimum(1.0, 1.0 / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
    step = np.where(free[:, None], step, 0.0)
    curves = _bounded(law.bias + step[:, 0], law.slope + step[:, 1])
    return SelfMaskedLaw(mean, cov, *curves)


def _bounded(bias: NDArray[np.float64], slope: NDArray[np.float64]):
    """Return curves no steeper than `STEEPEST`, which cross one half where they did."""
    flatter = STEEPEST / np.maximum(np.abs(slope), STEEPEST)
    return flatter * bias, flatter * slope


def with_complete_rows(gaussian, rows, weight, d: int, floor: float):
    """Put the regression of the complete rows into a Gaussian (mean, cov) of (X, y).

    Selection that depends on X alone leaves the regression of y on X as it is, so that
    complete rows give it without bias. Too few of them change nothing.
    """
    mean, cov = gaussian
    if weight.sum() < 2 * (d + 1) + 5:
        return mean, cov
    centre = weight @ rows / weight.sum()
    gap = rows - centre
    second = (weight[:, None] * gap).T @ gap / weight.sum()
    slopes = regression_slopes(second[:d, :d], second[:d, d:])
    residual = at_least(second[d:, d:] - slopes.T @ second[:d, d:], floor)
    cross = cov[:d, :d] @ slopes
    target = centre[d:] + (mean[:d] - centre[:d]) @ slopes
    return np.append(mean[:d], target), np.block(
        [[cov[:d, :d], cross], [cross.T, residual + slopes.T @ cross]]
    )
