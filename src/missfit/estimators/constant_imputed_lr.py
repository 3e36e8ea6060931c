"""ConstantImputedLR: least squares on (X with 0 for missing, M)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.moment_splits import Split
from missfit.estimators.pattern_predictor import PatternPredictor
from missfit.moments.column_scales import column_scales
from missfit.moments.maps import AffineMaps
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.rare_values import hardly_observed, held_rows, rarer_side
from missfit.moments.ridge import pseudo_rows, ridge_path

ENOUGH_ROWS = 3.0  # for each column, from which on it is least squares
ENOUGH_VALUES = 5.0  # likewise, observed values of a feature
# The slope of a feature that misses a few values is held by so much of what holds its
# indicator. Two features that are the same differ only where one of them is missing:
# without it the slope of their difference follows these rows, and one of 5,000 tables
# of 3 to 200 rows is predicted 23 ranges of y outside of its range; with it, .6.
SLOPE_SHARE = 0.1


class ConstantImputedLR(PatternPredictor):
    """Linear regression with each feature imputed by its best constant.

    Minimises sum_i (y_i - b0 - sum_j [b_j x_ij (1 - m_ij) + g_j m_ij])^2, the linear
    approximation of Definition 4.1. By Proposition 3.1 this is to impute feature j by
    c_j = g_j / b_j, the constants that minimise the squared error, and to regress.

    Cheap, and safe with few rows. It is not consistent: with more rows its risk tends
    to that of `missfit.bayes.linear_approximation`, above the Bayes risk.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (t, d)
        b_j, the slopes of the observed values.
    mask_coef_ : ndarray of shape (d,) or (t, d)
        g_j, the coefficients of the missing indicators.
    intercept_ : float or ndarray of shape (t,)
    imputation_ : ndarray of shape (d,) or (t, d)
        c_j, the optimal constants; the mean of the observed values where b_j = 0.
    patterns_, pattern_count_, pattern_models_
        The patterns seen at fit, their rows and their affine maps.

    Notes
    -----
    A pattern never seen is predicted by the same formula. A feature missing only at
    predict is imputed by its training mean, one that was all missing at fit is ignored.
    A row with nothing observed gets b0 + sum_j g_j. Constant or collinear features get
    the solution of least norm in standard units. Fewer than 3 rows for each column of
    (M, X), or than 5 observed values of a feature, are held by a ridge: least squares
    goes wild there. So is the coefficient of an indicator that rests on fewer than 20
    rows, of the feature missing or observed: by 10 pseudo-rows without an effect, fewer
    with more rows; and the slope of the feature by a tenth of them. The values of a
    feature are ignored where less than one row in ten, and fewer than 10 + d of them,
    observe it.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = X.sum(axis=1)
    >>> X[:100, 1] = np.nan
    >>> ConstantImputedLR().fit(X, y).predict([[1.0, 2.0]]).round(1).tolist()
    [3.0]
    """

    def _fit_moments(self, moments: PatternMoments, splits: list[Split]) -> None:
        scales = column_scales(moments)
        design = _design_moments(moments, scales.mean, scales.std)
        d = moments.n_features
        spread = np.sqrt(np.maximum(np.diag(design.cov), 0.0))
        spread[: 2 * d][_left_out(design, scales.count[:d])] = np.inf
        gram = design.cov[: 2 * d, : 2 * d] / spread[: 2 * d] / spread[: 2 * d, None]
        cross = design.cov[: 2 * d, 2 * d :] / spread[: 2 * d, None]
        hold = _hold(design.n_rows, scales.count[:d], spread[: 2 * d])
        (solution,) = ridge_path(gram + np.diag(hold), cross, (0.0,))
        solution = (solution / spread[: 2 * d, None]).T  # (t, 2d) in standard units
        shift, scale = scales.mean[:d], scales.std[:d]
        y_shift, y_scale = scales.mean[d:], scales.std[d:]
        coef = y_scale[:, None] * solution[:, d:] / scale
        mask_coef = y_scale[:, None] * solution[:, :d] + coef * shift
        centre = design.mean[2 * d :] - solution @ design.mean[: 2 * d]
        intercept = y_shift + y_scale * centre - coef @ shift
        imputation = np.divide(
            mask_coef, coef, out=np.tile(shift, (len(coef), 1)), where=coef != 0
        )
        one = self._y_ndim_ == 1
        self.coef_ = coef[0] if one else coef
        self.mask_coef_ = mask_coef[0] if one else mask_coef
        self.intercept_ = float(intercept[0]) if one else intercept
        self.imputation_ = imputation[0] if one else imputation

    def _maps(self, patterns: NDArray[np.bool_]) -> AffineMaps:
        coef, mask_coef = np.atleast_2d(self.coef_), np.atleast_2d(self.mask_coef_)
        return AffineMaps(
            patterns,
            np.atleast_1d(self.intercept_) + patterns @ mask_coef.T,
            np.where(patterns[:, None, :], 0.0, coef),
        )


def _left_out(design: _DesignMoments, n_observed: NDArray) -> NDArray[np.bool_]:
    """Whether columns of (M, X) never vary, or are of a feature hardly observed."""
    d = len(n_observed)
    left_out = np.diag(design.cov)[: 2 * d] < 1e-24
    left_out[d:] |= hardly_observed(n_observed, design.n_rows)
    return left_out


def _hold(n_rows: float, n_observed, spread) -> NDArray[np.float64]:
    """Ridge of each column of (M, X), where rows are too few for least squares.

    `pseudo_rows` for all below 3 rows a column, up to one more for a feature with fewer
    than 5 observed values, and `held_rows` for an indicator and, a tenth of them, for
    the slope beside it. Least squares goes through all rows there, and in 1 % of tables
    of 3 to 200 rows more than 10 ranges of y beyond between them.
    """
    n_columns = int(np.isfinite(spread).sum())
    few = np.maximum(0.0, 1 - n_observed / ENOUGH_VALUES)
    rare = held_rows(rarer_side(n_observed, n_rows))
    slopes = few + SLOPE_SHARE * np.where(n_observed < n_rows, rare, 0.0)
    hold = pseudo_rows(n_rows, n_columns, ENOUGH_ROWS)
    return (hold + np.append(rare, slopes) / spread**2) / n_rows


class _DesignMoments(NamedTuple):
    """Mean and covariance of (M, X with 0 for missing, y) in standard units."""

    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    n_rows: float


def _design_moments(
    moments: PatternMoments, shift: NDArray[np.float64], scale: NDArray[np.float64]
) -> _DesignMoments:
    """Pool the patterns' moments of the design.

    X is taken in standard units: (1 - M)(X - shift) spans with M and 1 the same space
    as (1 - M) X, and does not lose digits where means are large.
    """
    d = moments.n_features
    pattern, values, weight = moments.points()
    mask = moments.patterns[pattern]
    standard = (values - shift) / scale
    standard[:, :d][mask] = 0.0
    points = np.hstack([mask, standard])
    total = weight.sum()
    mean = weight @ points / total
    gap = points - mean
    cov = (weight[:, None] * gap).T @ gap
    cov[d:, d:] += moments.condensed_scatter.sum(axis=0) / scale / scale[:, None]
    return _DesignMoments(mean, cov / total, float(total))
