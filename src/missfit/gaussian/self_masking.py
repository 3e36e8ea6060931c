"""Gaussian (X, y) with probit self-masking, by expectation propagation inside EM.

P(M_j = 1 | X) = Phi(bias_j + slope_j X_j). Given what is observed, the missing features
of a row are Gaussian times one probit factor each; expectation propagation replaces
each factor by a Gaussian site of precision tau and shift nu. Unlike plain EM this works
row by row, since sites differ between the rows of a pattern.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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
    regression_slopes,
)
from missfit.gaussian.em import ExpectedMoments, PenalisedGaussian
from missfit.gaussian.probit import inverse_mills, probit_site
from missfit.moments.blocks import blocks, n_threads

# Of the site updates, all coordinates of a row at once: the value of a prototype that
# converged with many features. No other is on record.
DAMPING = 0.8
# Products of scores, beyond which the information is that of some rows: a bound on the
# time, not on the error.
MOST_WORK = 4e10
# The slopes start at 0 and need some steps to leave it: a stop before the sixth cost up
# to .24 of R2.
MIN_ITER = 6
PLAIN_ITER = 5  # the first step to be accelerated, one before a stop is possible


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
        n_workers = min(len(self.blocks), n_threads())
        self._pool = ThreadPoolExecutor(n_workers) if n_workers > 1 else None

    def expect(self, law: SelfMaskedLaw) -> SelfMaskedExpectation:
        """Return the expected sums, and move every row's sites one step."""
        precision = np.linalg.inv(law.cov)
        precision = (precision + precision.T) / 2

        def work(block: RowBlock) -> SelfMaskedExpectation:
            return _expect_block(block, law, precision, self.d)

        # numpy's linear algebra lets go of the interpreter lock
        parts = list((self._pool.map if self._pool else map)(work, self.blocks))
        return SelfMaskedExpectation(
            *(np.sum(each, axis=0) for each in zip(*parts, strict=True))
        )


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


def row_law(block: RowBlock, mean, precision) -> RowLaw:
    """Law of the missing features given the observed ones and the sites.

    With the precision Omega and r = x_o - mean (zero where missing)::

        cov = (Omega_uu + diag tau)^-1,  delta_u = cov (nu - tau mean_u - (Omega r)_u)
    """
    mis = block.missing
    filled = (block.points - mean) * block.observed
    inner = precision[mis[:, :, None], mis[:, None, :]]
    diagonal = np.arange(mis.shape[1])
    inner[:, diagonal, diagonal] += block.tau
    cov, _ = inverse_of_positive(inner)
    pull = np.take_along_axis(filled @ precision, mis, axis=1)
    shift = block.nu - block.tau * mean[mis] - pull
    guess = (cov @ shift[:, :, None])[:, :, 0]
    np.put_along_axis(filled, mis, guess, axis=1)
    return RowLaw(filled, cov)


def _expect_block(
    block: RowBlock, law: SelfMaskedLaw, precision, d: int
) -> SelfMaskedExpectation:
    k = len(law.mean)
    score, information = _observed_curves(block, law, d)
    filled, cov = row_law(block, law.mean, precision)
    weighted = block.weight[:, None] * filled
    second = weighted.T @ filled
    mis = block.missing
    if mis.shape[1]:
        place = mis[:, :, None] * k + mis[:, None, :]
        spread = block.weight[:, None, None] * cov
        second += np.bincount(place.ravel(), spread.ravel(), minlength=k * k).reshape(
            k, k
        )
        more = _missing_curves(block, law, filled, cov, d)
        score += more[0]
        information += more[1]
        _move_sites(block, law, filled, cov)
    return SelfMaskedExpectation(weighted.sum(axis=0), second, score, information)


def _observed_scores(block: RowBlock, law: SelfMaskedLaw, d: int):
    """Differentiate log Phi(-(bias + slope x)) at observed values; 0 at missing."""
    x = block.points[:, :d]
    by_bias = -block.observed[:, :d] * inverse_mills(-(law.bias + law.slope * x))
    return by_bias, by_bias * x


def _observed_curves(block: RowBlock, law: SelfMaskedLaw, d: int):
    """Score and information of sum log Phi(-(bias + slope x)) over observed values."""
    seen, x = block.observed[:, :d], block.points[:, :d]
    r = -(law.bias + law.slope * x)
    rho = inverse_mills(r)
    weight = block.weight[:, None] * seen
    g, h = -weight * rho, weight * _curvature(r, rho)
    score = np.stack([g.sum(axis=0), (g * x).sum(axis=0)], axis=1)
    cross = (h * x).sum(axis=0)
    information = np.stack([h.sum(axis=0), cross, cross, (h * x * x).sum(axis=0)])
    return score, information.T.reshape(d, 2, 2)


def _curvature(r, rho):
    """Minus the second derivative of log Phi, kept within its bounds."""
    return np.clip(rho * (r + rho), 0.0, 1.0)


class MissingFactor(NamedTuple):
    """log Phi(r) of missing values, the integral of a factor over its cavity."""

    r: NDArray[np.float64]
    rho: NDArray[np.float64]
    by_bias: NDArray[np.float64]  # derivative of r
    by_slope: NDArray[np.float64]


def _missing_factor(block: RowBlock, law: SelfMaskedLaw, filled, cov) -> MissingFactor:
    """Evaluate r = (bias + slope mu) / sqrt(1 + slope^2 v), with cavity N(mu, v)."""
    mis = block.missing
    bias, slope = law.bias[mis], law.slope[mis]
    variance = np.einsum("nii->ni", cov)
    mean = law.mean[mis] + np.take_along_axis(filled, mis, axis=1)
    rest = 1.0 - block.tau * variance
    v, mu = variance / rest, (mean - block.nu * variance) / rest
    spread = 1.0 + slope**2 * v
    root = np.sqrt(spread)
    r = (bias + slope * mu) / root
    by_slope = (mu - bias * slope * v) / (spread * root)
    return MissingFactor(r, inverse_mills(r), 1.0 / root, by_slope)


def _missing_curves(block: RowBlock, law: SelfMaskedLaw, filled, cov, d: int):
    """Score and information of the sum of log Phi(r) over missing values."""
    mis, weight = block.missing, block.weight[:, None]
    r, rho, by_bias, by_slope = _missing_factor(block, law, filled, cov)
    g, h = weight * rho, weight * _curvature(r, rho)

    def total(values):
        return np.bincount(mis.ravel(), values.ravel(), minlength=d)

    score = np.stack([total(g * by_bias), total(g * by_slope)], axis=1)
    cross = total(h * by_bias * by_slope)
    information = np.stack(
        [total(h * by_bias**2), cross, cross, total(h * by_slope**2)]
    )
    return score, information.T.reshape(d, 2, 2)


def _move_sites(block: RowBlock, law: SelfMaskedLaw, filled, cov) -> None:
    """Take one damped step of all sites at once."""
    mis = block.missing
    variance = np.einsum("nii->ni", cov)
    mean = law.mean[mis] + np.take_along_axis(filled, mis, axis=1)
    site = probit_site(
        mean, variance, block.tau, block.nu, law.bias[mis], law.slope[mis]
    )
    for old, new in zip((block.tau, block.nu), site, strict=True):
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
    while n_iter < max_iter:
        new = _m_step(law, data.expect(law), data.n_rows, model, free)
        n_iter += 1
        change = max(float(np.abs(a - b).max()) for a, b in zip(new, law, strict=True))
        if n_iter >= MIN_ITER and change <= tol:
            return SelfMaskedFit(new, n_iter, True)
        if n_iter >= PLAIN_ITER:
            law = _unpack(mixing.next(_pack(law), _pack(new)), new)
        else:
            law = new
    return SelfMaskedFit(law, n_iter, False)


def _pack(law: SelfMaskedLaw) -> NDArray[np.float64]:
    """One vector without constraints: the logarithm of the covariance."""
    parts = law._replace(cov=log_of_positive(law.cov).ravel())
    return np.concatenate(parts)


def _unpack(vector: NDArray[np.float64], like: SelfMaskedLaw) -> SelfMaskedLaw:
    ends = np.cumsum([part.size for part in like])[:-1]
    law = SelfMaskedLaw(*np.split(vector, ends))
    return law._replace(cov=power_of_e(law.cov.reshape(like.cov.shape)))


def _m_step(law, expected: SelfMaskedExpectation, n_rows: float, model, free):
    second = (expected.second + expected.second.T) / 2
    moments = ExpectedMoments(expected.first, second, np.nan)
    mean, cov = model.m_step(moments, law.mean, n_rows)
    # a standard normal prior on the slope; bias and slope of a feature move together
    score, information = expected.score.copy(), expected.information.copy()
    score[:, 1] -= law.slope
    information[:, 1, 1] += 1.0
    information[:, 0, 0] += 1e-6
    step = np.linalg.solve(information, score[:, :, None])[:, :, 0]
    step *= np.minimum(1.0, 1.0 / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
    step = np.where(free[:, None], step, 0.0)
    return SelfMaskedLaw(mean, cov, law.bias + step[:, 0], law.slope + step[:, 1])


def curve_covariance(
    data: RowData, law: SelfMaskedLaw, free: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the covariance of the estimated (bias, slope) of each feature, (d, 2, 2).

    From the information sum_i s_i s_i' of all parameters, whose scores are, by Fisher's
    identity, those of the completed rows: E[z], E[z z'] and the derivatives of log Z.
    NaN where a curve is not free or the rows are too few for the information to have
    full rank.
    """
    n_free = int(free.sum())
    out = np.full((data.d, 2, 2), np.nan)
    upper = np.triu_indices(data.n_columns)
    n_parameters = data.n_columns + len(upper[0]) + 2 * n_free
    step = max(1, int(data.n_rows * n_parameters**2 / MOST_WORK))
    some = [block.every(step) for block in data.blocks]
    weight = sum(block.weight.sum() for block in some)
    if weight < 2 * n_parameters or not n_free:
        return out
    precision = np.linalg.inv(law.cov)
    information = np.zeros((n_parameters, n_parameters))
    for block in some:
        scores = np.hstack(_row_scores(block, law, precision, upper, free))
        information += (block.weight[:, None] * scores).T @ scores
    information *= data.n_rows / weight
    scale = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
    inverse = np.linalg.pinv(information / scale / scale[:, None], 1e-12, True)
    inverse /= scale * scale[:, None]
    curves = inverse[-2 * n_free :, -2 * n_free :].reshape(2, n_free, 2, n_free)
    out[free] = np.einsum("iaja->aij", curves)
    return out


def _row_scores(block: RowBlock, law: SelfMaskedLaw, precision, upper, free):
    """Score of each row for the mean, the covariance, the biases and the slopes."""
    k, d = len(law.mean), len(law.bias)
    filled, cov = row_law(block, law.mean, precision)
    square = filled[:, upper[0]] * filled[:, upper[1]] - law.cov[upper]
    by_bias, by_slope = _observed_scores(block, law, d)
    mis = block.missing
    if mis.shape[1]:
        whole = np.zeros((len(mis), k, k))
        rows = np.arange(len(mis))[:, None, None]
        whole[rows, mis[:, :, None], mis[:, None, :]] = cov
        square += whole[:, upper[0], upper[1]]
        factor = _missing_factor(block, law, filled, cov)
        np.put_along_axis(by_bias, mis, factor.rho * factor.by_bias, axis=1)
        np.put_along_axis(by_slope, mis, factor.rho * factor.by_slope, axis=1)
    return filled, square, by_bias[:, free], by_slope[:, free]


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
