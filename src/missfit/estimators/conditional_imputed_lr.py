"""ConditionalImputedLR: ridge on conditional expectations and missing indicators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from missfit.estimators.emlr import EMLR
from missfit.estimators.moment_splits import Split
from missfit.estimators.pattern_predictor import PatternPredictor
from missfit.gaussian.completion import PrecisionLaw, complete, filled_sums
from missfit.gaussian.conditional import ScaledGaussian, regression_maps
from missfit.gaussian.few_rows import FILL_SPEED, rows_are_few, seconds_of_filling
from missfit.gaussian.pattern_chunks import GaussianData, PatternChunk
from missfit.moments.blocks import blocks
from missfit.moments.maps import AffineMaps
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.rare_values import held_rows, rarer_side
from missfit.moments.ridge import ProbableRidge, most_probable_ridge

# Standard deviation of a feature with 1 % of its values observed and the others imputed
# by their mean, in units of the observed ones: sqrt(0.01).
LEAST_SPREAD = 0.1
ALPHAS = np.logspace(-3, 4, 15)  # for columns of standard deviation 1
# Multiples of the strength of the features that the indicators may have, with few rows:
# infinitely strong, they are left out.
INDICATOR_PULLS = (np.inf, 100.0, 10.0, 1.0, 0.1)
# Cubes of the columns of the design that the ridges cost: 5.7 s at 1,600 x 1,000.
CUBES = 16
PATIENCE = 2  # of these in a row that are less probable than one before: no more follow


class ConditionalImputedLR(PatternPredictor):
    """Ridge regression on E[X | x_obs] and the missing indicators.

    A Gaussian of (X, y) is fitted by EM as in `EMLR`; missing values are replaced by
    their expectation given the observed features (never given y, which is not there
    at predict), and the model is::

        f(x, m) = b0 + b'E[X | x_obs] + g'm

    with the ridge strength of the least generalised cross-validation error. With fewer
    than 20 rows for each feature it is the one of most evidence instead, and that of
    the indicators 0.1, 1, 10, 100 or infinitely many times as large, by the same. Where
    (X, y) is Gaussian and values are missing at random it is EMLR with a few more
    coefficients; where the mask says something of y, or y is not quite linear, the
    indicators and the regression after the imputation take it in. One indicator stands
    for all features that are missing in the same rows.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (t, d)
        b, the slopes of the imputed features.
    mask_coef_ : ndarray of shape (d,) or (t, d)
        g, the coefficients of the indicators.
    intercept_ : float or ndarray of shape (t,)
    alpha_ : float or ndarray of shape (t,)
        The chosen ridge strength, for columns of standard deviation 1.
    mean_ : ndarray of shape (d,)
        Mean of X under the Gaussian that imputes.
    covariance_ : ndarray of shape (d, d)
        Its covariance.
    patterns_, pattern_count_, pattern_models_
        The patterns seen at fit, their rows and their affine maps.

    Notes
    -----
    Fitted from pattern moments: in a pattern the imputed features are an affine
    function of the observed ones, and the indicators are constant. A pattern never seen
    and a row with nothing observed need no rule of their own. The values of a feature
    without two different ones at fit (all missing, or constant) are ignored, as are
    those of a feature that is hardly ever observed (see `EMLR`); a feature missing only
    at predict is imputed. Collinear or too many features are held by the ridge. The
    coefficient of an indicator that rests on fewer than 20 rows, of the feature missing
    or observed, is held by 10 pseudo-rows without an effect, fewer with more rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = X.sum(axis=1) + 0.1 * rng.normal(size=500)
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> ConditionalImputedLR().fit(X, y).predict([[1.0, 2.0]]).round(1).tolist()
    [3.0]
    """

    def _fit_moments(self, moments: PatternMoments, splits: list[Split]) -> None:
        self._fit_given(self.starts_from().fit_moments(moments), moments)

    def seconds_of_fit(self, moments: PatternMoments) -> float:
        """Return how long the regression takes after EMLR, on one core, roughly."""
        again = seconds_of_filling(moments.patterns.sum(axis=1))
        return again + CUBES * (2 * moments.n_features) ** 3 / FILL_SPEED

    def starts_from(self) -> EMLR:
        """Return EMLR, whose Gaussian imputes."""
        return EMLR()

    def _fit_given(self, start: EMLR, moments: PatternMoments, near=None) -> None:
        d, data = moments.n_features, GaussianData(moments)
        law = start.feature_law()
        design = _design_moments(data, law, distinct_indicators(moments.patterns))
        design = _with_held_rows(design, data)
        spread = _spread(design, data.varies[:d])
        solve = _probable_ridge if rows_are_few(data, d) else _gcv_ridges
        ridge = solve(design, spread, d)
        self._law_ = law
        self.mean_ = start.mean_[:d]
        self.covariance_ = start.covariance_[:d, :d]
        self._keep(ridge.coef.T, design, data)
        self.alpha_ = float(ridge.alpha[0]) if self._y_ndim_ == 1 else ridge.alpha

    def _keep(
        self, solution: NDArray, design: _DesignMoments, data: GaussianData
    ) -> None:
        """Keep the coefficients, (t, k) of the design, in the units of the data."""
        k, d = solution.shape[1], len(self._law_.mean)
        centre = design.mean[k:] - solution @ design.mean[:k]
        solution = solution * data.scale[d:, None]
        coef = solution[:, :d] / self._law_.scale
        mask_coef = np.zeros((len(solution), d))
        mask_coef[:, design.indicators] = solution[:, d:]
        intercept = data.shift[d:] + data.scale[d:] * centre - coef @ self._law_.shift
        one = self._y_ndim_ == 1
        self.coef_ = coef[0] if one else coef
        self.mask_coef_ = mask_coef[0] if one else mask_coef
        self.intercept_ = float(intercept[0]) if one else intercept

    def _maps(self, patterns: NDArray[np.bool_]) -> AffineMaps:
        coef, intercept = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        nothing = np.zeros_like(intercept)
        maps = regression_maps(self._law_, intercept, coef, nothing, patterns)
        shift = patterns @ np.atleast_2d(self.mask_coef_).T
        return AffineMaps(patterns, maps.intercept + shift, maps.coef)


def _with_held_rows(design: _DesignMoments, data: GaussianData) -> _DesignMoments:
    """Add pseudo-rows without an effect to the indicators that rest on a few rows."""
    d, k = data.n_columns - design.n_targets, len(design.cov) - design.n_targets
    rare = rarer_side(data.n_observed[design.indicators], data.n_rows)
    hold = np.zeros(len(design.cov))
    hold[d:k] = held_rows(rare) / data.n_rows
    return design._replace(cov=design.cov + np.diag(hold))


def _spread(design: _DesignMoments, varies: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Units in which the coefficients are penalised; infinite for those left out.

    The standard deviation of a column; of an imputed feature at least a tenth of that
    of its observed values, or one with a few observed values in thousands of rows would
    get a coefficient that its imputed values hide and its next observed value shows.
    """
    d = len(varies)
    spread = np.sqrt(np.maximum(np.diag(design.cov), 0.0))
    silent = spread < 1e-10
    silent[:d] |= ~varies
    spread[:d] = np.maximum(spread[:d], LEAST_SPREAD)
    spread[silent] = np.inf
    return spread


class _Ridge(NamedTuple):
    coef: NDArray[np.float64]  # (k, t) of the design
    alpha: NDArray[np.float64]  # (t,)


def _gcv_ridges(design: _DesignMoments, spread: NDArray, d: int) -> _Ridge:
    """Return the ridge of least generalised cross-validation error of each target."""
    gram, cross, variance = _in_units(design, spread)
    ridges = [
        _gcv_ridge(gram, column, v, design.n_rows)
        for column, v in zip(cross.T, variance, strict=True)
    ]
    k = len(gram)
    coef = np.stack([coef for coef, _ in ridges], axis=1) / spread[:k, None]
    return _Ridge(coef, np.array([alpha for _, alpha in ridges]))


def _probable_ridge(design: _DesignMoments, spread: NDArray, d: int) -> _Ridge:
    """Return the ridge of most evidence of each target, with few rows for each column.

    The indicators have a strength of their own, a multiple of that of the features: a
    mask at random doubles the columns and says nothing.
    """
    fits: list[ProbableRidge] = []
    surprise = np.empty((0, 0))
    for multiple in INDICATOR_PULLS:
        units = spread.copy()
        units[d:] *= np.sqrt(multiple)
        fits.append(_ridge_in_units(design, units))
        surprise = np.array([fit.surprise for fit in fits])
        if len(fits) - 1 - surprise.argmin(axis=0).max() >= PATIENCE:
            break
    targets = list(enumerate(surprise.argmin(axis=0)))
    return _Ridge(
        np.stack([fits[b].coef[:, t] for t, b in targets], axis=1),
        np.array([fits[b].alpha[t] for t, b in targets]),
    )


def _ridge_in_units(design: _DesignMoments, units: NDArray) -> ProbableRidge:
    """Return the ridge of most evidence; columns of an infinite unit get no slope."""
    gram, cross, variance = _in_units(design, units)
    here = np.flatnonzero(np.isfinite(units[: len(gram)]))
    some = gram[np.ix_(here, here)]
    ridge = most_probable_ridge(some, cross[here], variance, design.n_rows)
    coef = np.zeros_like(cross)
    coef[here] = ridge.coef / units[here, None]
    return ridge._replace(coef=coef)


def _in_units(design: _DesignMoments, spread: NDArray):
    """Covariances of the columns and with the targets, the columns in some units."""
    cov = design.cov
    k = len(cov) - design.n_targets
    gram = cov[:k, :k] / spread[:k] / spread[:k, None]
    return gram, cov[:k, k:] / spread[:k, None], np.diag(cov)[k:]


def _gcv_ridge(
    gram: NDArray[np.float64], cross: NDArray[np.float64], variance: float, n: float
) -> tuple[NDArray[np.float64], float]:
    """Ridge regression whose strength minimises n RSS / (n - df)^2.

    ``gram`` and ``cross`` are covariances of standard columns, so that the penalty of
    n rows is alpha / n; df counts the intercept. All from one eigendecomposition.
    """
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    rotated = vectors.T @ cross
    # beyond the ridge's reach rounding looks like variance; give it no coefficient
    usable = values > 1e-12 * max(values[-1], np.finfo(float).tiny)
    shrunk = usable / (values + ALPHAS[:, None] / n)  # (alphas, k)
    explained = (rotated**2 * shrunk * (2 - values * shrunk)).sum(axis=1)
    residual = np.maximum(variance - explained, 0.0)
    freedom = n - 1 - (values * shrunk).sum(axis=1)
    error = np.full(len(ALPHAS), np.inf)
    known = freedom > 1e-6 * n
    error[known] = residual[known] / freedom[known] ** 2
    # the strongest of equals: with no freedom left all are
    best = len(ALPHAS) - 1 - int(np.argmin(error[::-1]))
    return vectors @ (shrunk[best] * rotated), float(ALPHAS[best])


class _DesignMoments(NamedTuple):
    """Mean and covariance of (imputed X, indicators, y); X and y in standard units."""

    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    n_rows: float
    n_targets: int
    indicators: NDArray[np.intp]


def _design_moments(
    data: GaussianData, law: ScaledGaussian, indicators: NDArray[np.intp]
) -> _DesignMoments:
    """Pool the patterns' moments of the design.

    In pattern m the imputed features are T z + const with T = diag(obs) + slope_uo, so
    that their scatter is T S T', and the indicators are constant.
    """
    d, t = len(law.mean), data.n_columns - len(law.mean)
    mean = np.append(law.mean, np.zeros(t))
    apart = PrecisionLaw.of_cov(linalg.block_diag(law.cov, np.eye(t)))
    k = d + len(indicators)
    columns = np.r_[0:d, k : k + t]

    def sums(chunk: PatternChunk):
        filled = complete(chunk, mean, apart).filled
        hidden = 1.0 - chunk.observed[:, indicators]
        weighted = chunk.count[:, None] * hidden
        cross = chunk.sum_rows(filled).T @ hidden
        values = filled_sums(chunk, filled)
        return *values, weighted.sum(axis=0), cross, weighted.T @ hidden

    h = k - d
    shapes = (d + t, (d + t, d + t), h, (d + t, h), (h, h))
    total = [np.zeros(shape) for shape in shapes]
    for parts in map(sums, data.chunks):
        for whole, part in zip(total, parts, strict=True):
            whole += part
    first, second = np.empty(k + t), np.empty((k + t, k + t))
    first[columns], second[np.ix_(columns, columns)], first[d:k] = total[:3]
    second[columns, d:k], second[d:k, columns] = total[3], total[3].T
    second[d:k, d:k] = total[4]
    centre = first / data.n_rows
    cov = second / data.n_rows - np.outer(centre, centre)
    centre[columns] += mean
    return _DesignMoments(centre, cov, data.n_rows, t, indicators)


def impute(points, here, pattern, patterns, slope, mean) -> None:
    """Fill the missing features of the points ``here``, in standard units, in place.

    E[z_u | z_o] = mean_u + slope_uo (z_o - mean_o). ``pattern`` is each point's index
    into the patterns and slopes of the block.
    """
    d = len(mean)
    for some in blocks(len(here), d * d):
        rows, index = here[some], pattern[some]
        hidden = patterns[index]
        gap = np.where(hidden, 0.0, points[rows, :d] - mean)
        guess = mean + (slope[index] @ gap[:, :, None])[:, :, 0]
        points[rows, :d] = np.where(hidden, guess, points[rows, :d])


def distinct_indicators(patterns: NDArray[np.bool_]) -> NDArray[np.intp]:
    """One feature for each distinct column of the mask that is not constant."""
    varies = np.flatnonzero(patterns.any(axis=0) & ~patterns.all(axis=0))
    _, first = np.unique(patterns[:, varies], axis=1, return_index=True)
    return varies[np.sort(first)]
