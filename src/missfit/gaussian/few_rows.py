"""A Gaussian of (X, y) with few rows for each feature: what to pull, and how far.

Below `ENOUGH_ROWS` rows for each feature the likelihood of (X, y) alone overfits: y is
interpolated, and missing values are imputed by chance correlations. Two strengths hold
it, in pseudo-rows: that of the covariance of X in closed form (`pull_of_covariance`),
that of the slopes of y by their evidence (`most_probable_ridge`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.gaussian.completion import (
    PrecisionLaw,
    complete,
    filled_sums,
    spread_left,
)
from missfit.gaussian.covariances import at_least
from missfit.gaussian.em import (
    PRIOR_ROWS,
    GaussianFit,
    PenalisedGaussian,
    accelerated_em,
)
from missfit.gaussian.pattern_chunks import GaussianData, PatternChunk
from missfit.moments.ridge import STRENGTHS, most_probable_ridge

# Rows for each feature from which on the likelihood alone is as good. Mean R2 of both
# at d = 20 over 3 laws, 3 tables each, 20 % missing, noise / signal 2: -.37 and .20
# with 5 rows for each feature, .18 and .23 with 10, .255 and .263 with 20, .268 and
# .272 with 40; without noise .81 and .86, .83 and .84, .859 and .861, .873 and .874.
# (Measured with slopes of a leave-one-out strength, before that of most evidence.)
ENOUGH_ROWS = 20.0
# The covariance is never pulled by fewer pseudo-rows than this for each feature: where
# all correlations are large, as by 3 common factors, the closed form is 7, and the
# density of new rows is highest at 100 for 300 x 200, at 30 for 300 x 60 (one table
# each, of 7 strengths).
LEAST_PULL = 0.5
# Multiplications of a step of EM up to which it is run: about a second on one core, as
# extrapolated from .022 s for the 1e8 of 300 x 200; not timed at this size.
MOST_WORK = 4e9
# Likewise from `ENOUGH_ROWS` on, where pairs of values tell less than all rows do: ten
# seconds a step, as for 20,000 x 1,000 with a tenth missing.
MUCH_WORK = 4e10
# Multiplications in a second, of one core: of a step of EM, and of what is done once.
# EMLR takes 3.6 s at 1,600 x 1,000 (a fifth missing), 3.2 s by this.
STEP_SPEED, FILL_SPEED = 4.5e9, 3.5e10
FILLS, CUBES = 4, 60  # cubes of what a pattern misses, and of the columns, by pairs
STEPS = 25  # of EM, more or less
MOST_PULL = 0.999  # share of a correlation that is taken away at most
# Steps of EM of (X, y) where there are no more rows than features, and some target has
# so little noise that its weakest ridge is the most probable one: every step then bends
# the missing values further to it. Mean R2 of such tables (3 of 8 of 30 x 100, 1 of 8
# of 60 x 200) after 1, 20, 100 and 1,000 steps: .572 .599 .579 .426, .822 .855 .860
# .798; 1,000 take 7 and 19 s.
BENDING_STEPS = 20


class Pull(NamedTuple):
    """How the covariance of X is pulled, and the correlations that say so."""

    rows: float
    correlation: NDArray[np.float64]  # (d, d), of the pairs of observed values
    share: float  # of each correlation that is taken away


def rows_are_few(data: GaussianData, n_features: int) -> bool:
    """Whether there are fewer than `ENOUGH_ROWS` rows for each feature that varies."""
    return data.n_rows < ENOUGH_ROWS * data.varies[:n_features].sum()


def is_too_wide(data: GaussianData) -> bool:
    """Whether EM would take too long, however many rows there are."""
    return work_of_a_step(data.n_missing, data.n_columns) > MUCH_WORK


def work_of_a_step(n_missing: NDArray[np.intp], n_columns: int) -> float:
    """Multiplications of a step of EM, roughly: the blocks of what is missing."""
    return float((n_missing.astype(float) ** 3).sum() + 10.0 * n_columns**3)


def seconds_of_gaussian(n_missing: NDArray[np.intp], n_columns: int, n_rows: float):
    """Return how long a Gaussian of (X, y) takes on one core, very roughly.

    Parameters
    ----------
    n_missing : int ndarray of shape (P,)
        Features that each pattern misses.
    n_columns : int
    n_rows : float
    """
    work = work_of_a_step(n_missing, n_columns)
    if work <= (MOST_WORK if n_rows < ENOUGH_ROWS * n_columns else MUCH_WORK):
        return STEPS * work / STEP_SPEED
    return seconds_of_filling(n_missing) + CUBES * n_columns**3 / FILL_SPEED


def seconds_of_filling(n_missing: NDArray[np.intp]) -> float:
    """Return how long it takes to fill every pattern once, very roughly."""
    return FILLS * float((n_missing.astype(float) ** 3).sum()) / FILL_SPEED


def pull_of_covariance(data: GaussianData, n_features: int) -> Pull:
    """Return the pull of the correlations of least expected squared error.

    As Ledoit and Wolf (2004) and Schaefer and Strimmer (2005) do for complete rows,
    with the variance that a correlation has in a Gaussian, and n_ij the rows that
    observe both features::

        share = sum_ij (1 - r_ij^2)^2 / (n_ij - 1) / sum_ij r_ij^2

    over the pairs i != j. As many pseudo-rows as make that share of the harmonic mean
    of the n_ij have that effect, and `LEAST_PULL` for each feature at least.
    """
    d = n_features
    r, n_pairs = _pair_correlations(data, d)
    known = ~np.eye(d, dtype=bool) & (n_pairs > 2)
    known &= data.varies[:d] & data.varies[:d, None]
    least = max(PRIOR_ROWS, LEAST_PULL * data.varies[:d].sum())
    if not known.any():
        return Pull(least, np.eye(d), 1.0)
    error = ((1 - r[known] ** 2) ** 2 / (n_pairs[known] - 1)).sum()
    share = min(error / max((r[known] ** 2).sum(), error), MOST_PULL)
    typical = float(1 / np.mean(1 / n_pairs[known]))
    rows = float(max(least, typical * share / (1 - share)))
    np.fill_diagonal(r, 1.0)
    return Pull(
        rows, np.where(known | np.eye(d, dtype=bool), r, 0.0), rows / (rows + typical)
    )


def _pair_correlations(data: GaussianData, d: int):
    """Correlations of the rows that observe both features, and how many do."""
    products, n_pairs = np.zeros((d, d)), np.zeros((d, d))
    for chunk in data.chunks:
        points, observed = chunk.points[:, :d], chunk.observed[:, :d].astype(float)
        products += points.T @ points
        n_pairs += (chunk.count[:, None] * observed).T @ observed
    return np.clip(products / np.maximum(n_pairs, 1.0), -1.0, 1.0), n_pairs


class HeldFit(NamedTuple):
    """A Gaussian for (X, y), the strengths that held it, and how it ended.

    Attributes
    ----------
    fit : GaussianFit
    model : PenalisedGaussian
    by_em : bool
        Whether EM was run.
    is_cut : bool
        Whether EM ended on purpose before it converged, see `BENDING_STEPS`.
    """

    fit: GaussianFit
    model: PenalisedGaussian
    by_em: bool
    is_cut: bool = False


def few_rows_fit(
    data: GaussianData,
    n_features: int,
    floor: float,
    start: tuple[NDArray, NDArray] | None,
    ends: dict[str, Any],
) -> HeldFit:
    """Fit a Gaussian of (X, y) to few rows for each feature.

    1. The law of X alone by EM, under the pull of `pull_of_covariance`.
    2. The ridge of y on E[X | x_obs] of most evidence: its strength, and a start.
    3. EM of both from there, under the two strengths.

    Where a step of EM would take more than `MOST_WORK`, the law of X is the pulled
    correlation of the pairs of observed values instead, and 2. ends it. ``start`` is a
    mean and covariance of (X, y) near those looked for, where they are known; ``ends``
    are the arguments of `accelerated_em` that say when to stop; without a tolerance of
    the user (``noisy_tol`` tells), 3. takes few steps where y would bend X to it.
    """
    d = n_features
    pull = pull_of_covariance(data, d)
    silent = ~data.varies[:d]
    mean = np.zeros(data.n_columns)
    alone = GaussianFit(mean, _pair_covariance(pull, data.n_columns), 1, True, np.nan)
    by_em = work_of_a_step(data.n_missing, data.n_columns) <= MOST_WORK
    if by_em:
        apart = PenalisedGaussian(d, pull.rows, floor, slope_rows=np.inf, silent=silent)
        begin = (alone.mean, alone.cov) if start is None else _y_apart(*start, d)
        alone = accelerated_em(data, apart, begin, **ends)
    strength, law, log_likelihood = _with_regression(data, alone, d, floor)
    model = PenalisedGaussian(d, pull.rows, floor, slope_rows=strength, silent=silent)
    if not by_em:
        return HeldFit(GaussianFit(*law, 1, True, log_likelihood), model, by_em)
    more = max(1, ends["max_iter"] - alone.n_iter)
    bends = "noisy_tol" in ends and _is_bent(data, d, strength)
    limit = min(more, BENDING_STEPS) if bends else more
    fit = accelerated_em(data, model, law, **ends | {"max_iter": limit})
    is_cut = limit < more and not fit.converged
    steps = fit.n_iter + alone.n_iter
    done = alone.converged and (fit.converged or is_cut)
    return HeldFit(fit._replace(n_iter=steps, converged=done), model, by_em, is_cut)


def _is_bent(data: GaussianData, d: int, strength: NDArray[np.float64]) -> bool:
    """Whether any y fits these rows, and the weakest ridge is best for some target."""
    return data.n_rows <= data.varies[:d].sum() and strength.min() <= STRENGTHS[0]


def _y_apart(mean: NDArray, cov: NDArray, d: int) -> tuple[NDArray, NDArray]:
    """Return a law of (X, y) in which y has no covariances with X."""
    cov = cov.copy()
    cov[:d, d:] = cov[d:, :d] = 0.0
    return mean, cov


def _pair_covariance(pull: Pull, n_columns: int) -> NDArray[np.float64]:
    """Return the pulled correlations as a covariance in which y stands apart.

    Correlations of different rows need not be positive definite: what is negative of
    their eigenvalues is dropped before.
    """
    values, vectors = np.linalg.eigh(pull.correlation)
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
    root = np.sqrt(np.maximum(np.diag(positive), np.finfo(float).tiny))
    d, cov = len(root), np.eye(n_columns)
    cov[:d, :d] = (1 - pull.share) * positive / root / root[:, None]
    cov[np.arange(d), np.arange(d)] = 1.0
    return cov


def _with_regression(data: GaussianData, alone: GaussianFit, d: int, floor: float):
    """Return the strength of the ridge of y on E[X | x_obs], and the law with it.

    What the ridge leaves of y has the variance of y given X and, on average, b'V b of
    the missing values; the law keeps the first.
    """
    gap, design, spread, log_likelihood = _design(data, alone)
    inner, cross = design[:d, :d], design[:d, d:]
    ridge = most_probable_ridge(inner, cross, np.diag(design)[d:], data.n_rows)
    slopes, cov = ridge.coef, alone.cov.copy()
    residual = design[d:, d:] - slopes.T @ cross - slopes.T @ spread[:d, :d] @ slopes
    mean = alone.mean.copy()
    mean[d:] += gap[d:] - slopes.T @ gap[:d]
    cov[:d, d:] = cov[:d, :d] @ slopes
    cov[d:, :d] = cov[:d, d:].T
    cov[d:, d:] = at_least(residual, floor) + slopes.T @ cov[:d, d:]
    return ridge.alpha, (mean, cov), log_likelihood


def _design(data: GaussianData, alone: GaussianFit):
    """Mean and covariance of (E[X | x_obs], y), and what the missing values vary."""
    law = PrecisionLaw.of_cov(alone.cov)

    def sums(chunk: PatternChunk):
        completion = complete(chunk, alone.mean, law)
        spread = spread_left(chunk, completion)
        height = completion.log_likelihood.sum()
        return *filled_sums(chunk, completion.filled), spread, height

    first, second, spread, log_likelihood = (
        np.zeros_like(alone.mean),
        np.zeros_like(alone.cov),
        np.zeros_like(alone.cov),
        0.0,
    )
    for part in map(sums, data.chunks):
        first += part[0]
        second += part[1]
        spread += part[2]
        log_likelihood += part[3]
    gap = first / data.n_rows
    design = second / data.n_rows - np.outer(gap, gap)
    return gap, design, spread / data.n_rows, log_likelihood
