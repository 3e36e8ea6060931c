"""ConditionalImputedLR: ridge on conditional expectations and missing indicators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.emlr import EMLR
from missfit.estimators.moment_splits import Split
from missfit.estimators.pattern_predictor import PatternPredictor
from missfit.gaussian.conditional import ScaledGaussian, condition, regression_maps
from missfit.moments.blocks import blocks
from missfit.moments.maps import AffineMaps
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.ridge import pseudo_rows

# Standard deviation of a feature with 1 % of its values observed and the others imputed
# by their mean, in units of the observed ones: sqrt(0.01).
LEAST_SPREAD = 0.1
ALPHAS = np.logspace(-3, 4, 15)  # for columns of standard deviation 1


class ConditionalImputedLR(PatternPredictor):
    """Ridge regression on E[X | x_obs] and the missing indicators.

    A Gaussian of (X, y) is fitted by EM as in `EMLR`; missing values are replaced by
    their expectation given the observed features (never given y, which is not there
    at predict), and the model is::

        f(x, m) = b0 + b'E[X | x_obs] + g'm

    with the ridge strength of the least generalised cross-validation error (with fewer
    than five rows for each of its k columns, of at least k / 2 (1 - n / 5k)). Where
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
    without two different ones at fit (all missing, or constant) are ignored; a feature
    missing only at predict is imputed. Collinear or too many features are held by the
    ridge.

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

    def starts_from(self) -> EMLR:
        """Return EMLR, whose Gaussian imputes."""
        return EMLR()

    def _fit_given(self, em: EMLR, moments: PatternMoments) -> None:
        d = moments.n_features
        law = em.feature_law()
        design = _design_moments(moments, law)
        k = len(design.mean) - moments.n_targets
        spread = _spread(design, d)
        gram = design.cov[:k, :k] / spread[:k] / spread[:k, None]
        ridge = [
            _gcv_ridge(gram, cross / spread[:k], variance, design.n_rows)
            for cross, variance in zip(
                design.cov[:k, k:].T, np.diag(design.cov)[k:], strict=True
            )
        ]
        solution = np.array([r.coef for r in ridge]) / spread[:k]
        self._law_ = law
        self.mean_ = em.mean_[:d]
        self.covariance_ = em.covariance_[:d, :d]
        self._keep(solution, design, d)
        alpha = np.array([r.alpha for r in ridge])
        self.alpha_ = float(alpha[0]) if self._y_ndim_ == 1 else alpha

    def _keep(self, solution: NDArray, design: _DesignMoments, d: int) -> None:
        """Keep the coefficients, (t, k) of the design, in the units of the data."""
        k = solution.shape[1]
        centre = design.mean[k:] - solution @ design.mean[:k]
        coef = solution[:, :d] / self._law_.scale
        mask_coef = np.zeros((len(solution), d))
        mask_coef[:, design.indicators] = solution[:, d:]
        intercept = centre - coef @ self._law_.shift
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


def _spread(design: _DesignMoments, d: int) -> NDArray[np.float64]:
    """Units in which the coefficients are penalised; infinite for those left out.

    The standard deviation of a column; of an imputed feature at least a tenth of that
    of its observed values, or one with a few observed values in thousands of rows would
    get a coefficient that its imputed values hide and its next observed value shows.
    """
    spread = np.sqrt(np.maximum(np.diag(design.cov), 0.0))
    silent = spread < 1e-10
    spread[:d] = np.maximum(spread[:d], LEAST_SPREAD)
    spread[silent] = np.inf
    return spread


class _Ridge(NamedTuple):
    coef: NDArray[np.float64]
    alpha: float


def _gcv_ridge(
    gram: NDArray[np.float64], cross: NDArray[np.float64], variance: float, n: float
) -> _Ridge:
    """Ridge regression whose strength minimises n RSS / (n - df)^2.

    ``gram`` and ``cross`` are covariances of standard columns, so that the penalty of
    n rows is alpha / n; df counts the intercept. All from one eigendecomposition. With
    fewer than five rows for each column strengths below `pseudo_rows` are left out: a
    fit that goes through all rows looks perfect.
    """
    n_columns = int((np.diag(gram) > 0).sum())
    least = pseudo_rows(n, n_columns)
    alphas = ALPHAS[np.minimum(least, ALPHAS[-1]) <= ALPHAS]
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    rotated = vectors.T @ cross
    # beyond the ridge's reach rounding looks like variance; give it no coefficient
    usable = values > 1e-12 * max(values[-1], np.finfo(float).tiny)
    shrunk = usable / (values + alphas[:, None] / n)  # (alphas, k)
    explained = (rotated**2 * shrunk * (2 - values * shrunk)).sum(axis=1)
    residual = np.maximum(variance - explained, 0.0)
    freedom = n - 1 - (values * shrunk).sum(axis=1)
    error = np.full(len(alphas), np.inf)
    known = freedom > 1e-6 * n
    error[known] = residual[known] / freedom[known] ** 2
    # the strongest of equals: with no freedom left all are
    best = len(alphas) - 1 - int(np.argmin(error[::-1]))
    return _Ridge(vectors @ (shrunk[best] * rotated), float(alphas[best]))


class _DesignMoments(NamedTuple):
    """Mean and covariance of (imputed X in standard units, indicators, y)."""

    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    n_rows: float
    indicators: NDArray[np.intp]


def _design_moments(moments: PatternMoments, law: ScaledGaussian) -> _DesignMoments:
    """Pool the patterns' moments of the design.

    In pattern m the imputed features are T z + const with T = diag(obs) + slope_uo, so
    that their scatter is T S T'.
    """
    d, t = moments.n_features, moments.n_targets
    pattern, values, weight = moments.points()
    indicators = distinct_indicators(moments.patterns)
    hidden = moments.patterns[pattern]
    seen = np.where(hidden, 0.0, (values[:, :d] - law.shift))
    points = np.hstack([seen, hidden[:, indicators], values[:, d:]])
    points[:, :d] /= law.scale
    k = points.shape[1]
    inner = np.zeros((k, k))
    sides = np.ix_(*[np.r_[0:d, k - t : k]] * 2)
    order = np.argsort(pattern, kind="stable")
    for block in blocks(len(moments), d * d):
        slope, _ = condition(law.cov, moments.patterns[block])
        first, last = np.searchsorted(pattern[order], [block.start, block.stop])
        here = order[first:last]
        local = pattern[here] - block.start
        impute(points, here, local, moments.patterns[block], slope, law.mean)
        inner[sides] += _imputed_scatter(moments, law, block, slope)
    total = weight.sum()
    mean = weight @ points / total
    gap = points - mean
    cov = ((weight[:, None] * gap).T @ gap + inner) / total
    return _DesignMoments(mean, cov, float(total), indicators)


def _imputed_scatter(
    moments: PatternMoments, law: ScaledGaussian, block: slice, slope: NDArray
) -> NDArray[np.float64]:
    """Sum T S T' over the condensed patterns of a block, of (imputed X, y)."""
    d, t = moments.n_features, moments.n_targets
    condensed = moments.condensed
    c = np.flatnonzero((condensed >= block.start) & (condensed < block.stop))
    T = slope[condensed[c] - block.start]
    T[:, np.arange(d), np.arange(d)] += ~moments.patterns[condensed[c]]
    scatter = moments.condensed_scatter[c] / np.append(law.scale, np.ones(t))
    scatter[:, :d] /= law.scale[:, None]
    scatter[:, :d] = T @ scatter[:, :d]
    scatter[:, :, :d] = scatter[:, :, :d] @ T.transpose(0, 2, 1)
    return scatter.sum(axis=0)


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
