"""ExpandedLR: one linear model per missing pattern."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from missfit.estimators.base import (
    PatternPredictor,
    Split,
    mean_r2,
    total_moments,
)
from missfit.maps import AffineMaps
from missfit.moments import PatternMoments
from missfit.patterns import PatternGroups, find_keys, pattern_keys
from missfit.ridge import check_alphas


class ExpandedLR(PatternPredictor):
    """One linear regression per missing pattern, with a shared ridge penalty.

    The expanded predictor of Proposition 4.1 as the paper's authors fit it. With the
    features w = (1, x_obs) of pattern m switched on by the indicator of m, it minimises

        sum_m sum_{i in m} (y_i - b - w_i'delta_m)^2 + alpha sum_m,j s_mj^2 delta_mj^2

    with an unpenalised intercept b and s_mj the standard deviation of the expanded
    column over all rows. The system is block-diagonal but for b, so that it is solved
    pattern by pattern, for the patterns that occur alone.

    Consistent under Assumption 4.1. It needs about 15 rows per coefficient, of which
    there are 2^(d-1) (d + 2) where all patterns occur; patterns with fewer rows than
    coefficients can be predicted wildly wrong. ``min_rows`` and ``fallback`` guard
    against that.

    Parameters
    ----------
    alphas : sequence of float
        Ridge strengths to choose from.
    cv : int, splitter or iterable
        Cross-validation that chooses, by the mean R2 of the folds; any cv argument of
        scikit-learn. A number means contiguous folds.
    min_rows : int, optional
        Patterns with fewer rows (a sum of weights) are left out of the fit and treated
        like patterns never seen.
    fallback : estimator, optional
        A predictor that takes NaN, fitted to all rows, for patterns never seen or left
        out. By default they are predicted by the intercept b.

    Attributes
    ----------
    intercept_ : float or ndarray of shape (t,)
        b, which predicts patterns never seen.
    alpha_ : float
        The chosen strength.
    cv_scores_ : dict
        The mean R2 of each strength, where there was a choice.
    fallback_ : estimator
        The fitted fallback, where there is one.
    patterns_, pattern_count_, pattern_models_
        The patterns seen at fit, their rows and their affine maps.

    Notes
    -----
    A feature missing only at predict makes a pattern never seen; so does a row with
    nothing observed, unless there were such rows at fit. A feature all missing at fit
    is ignored in the patterns seen. With alpha = 0, constant or collinear features and
    patterns of few rows get the solution of least norm.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = X.sum(axis=1)
    >>> X[:100, 1] = np.nan
    >>> ExpandedLR(alphas=(1e-3,)).fit(X, y).predict([[1.0, 2.0]]).round(3).tolist()
    [3.0]
    """

    def __init__(
        self,
        alphas: Any = (1e-3, 1, 1e3),
        cv: Any = 3,
        *,
        min_rows: int | None = None,
        fallback: Any = None,
    ):
        self.alphas = alphas
        self.cv = cv
        self.min_rows = min_rows
        self.fallback = fallback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ExpandedLR:
        """Fit to rows; see `PatternPredictor.fit`."""
        super().fit(X, y, sample_weight)
        X, y = self._check_fit(X, y)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self._fit_fallback(lambda fallback: fallback.fit(X, y, **weights))
        return self

    def fit_moments(self, moments: PatternMoments, folds: Any = None) -> ExpandedLR:
        """Fit to a table of moments; see `PatternPredictor.fit_moments`."""
        super().fit_moments(moments, folds)
        self._fit_fallback(lambda fallback: fallback.fit_moments(moments, folds))
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> ExpandedLR:
        """Fit to all rows given so far; see `PatternPredictor.partial_fit`."""
        super().partial_fit(X, y, sample_weight)
        folds = self._stream
        total = total_moments(folds)
        self._fit_fallback(lambda fallback: fallback.fit_moments(total, folds))
        return self

    def _fit_fallback(self, fit: Callable[[Any], Any]) -> None:
        self.fallback_ = None
        if self.fallback is None:
            return
        fallback = clone(self.fallback)
        try:
            self.fallback_ = fit(fallback)
        except AttributeError as error:
            raise TypeError(
                f"fallback={self.fallback!r} cannot be fitted here ({error}). A table "
                "of moments or a stream takes a predictor of missfit with fit_moments."
            ) from error

    def _fit_moments(self, moments: PatternMoments, splits: list[Split]) -> None:
        alphas = check_alphas(self.alphas)
        kept = moments
        if self.min_rows is not None:
            kept = moments.take(moments.count >= self.min_rows)
            if not len(kept) and self.fallback is None:
                raise ValueError(
                    f"no pattern has min_rows={self.min_rows} rows; the most frequent "
                    f"has {moments.count.max():g}. Lower min_rows, or give a fallback."
                )
        self._warn_of_rare_patterns(kept)
        scale = expanded_scales(kept)
        self.cv_scores_ = {}
        self.alpha_ = alphas[0]
        if len(alphas) > 1:
            self.cv_scores_ = self._scores(splits, alphas, scale)
            self.alpha_ = max(self.cv_scores_, key=lambda a: self.cv_scores_[a])
        (solution,) = solve_expanded(moments, (self.alpha_,), scale)
        self._maps_seen = solution.maps
        b = solution.intercept
        self.intercept_ = float(b[0]) if self._y_ndim == 1 else b

    def _scores(self, splits: list[Split], alphas, scale) -> dict[float, float]:
        scores = np.zeros(len(alphas))
        for train, test in splits:
            solutions = solve_expanded(train, alphas, scale)
            scores += [mean_r2(s.at(test.patterns), test) for s in solutions]
        return dict(zip(alphas, (scores / len(splits)).tolist(), strict=True))

    def _maps(self, patterns: NDArray[np.bool_]) -> AffineMaps:
        b = np.atleast_1d(self.intercept_)
        return ExpandedSolution(b, self._maps_seen).at(patterns)

    def _predict_groups(self, X, groups: PatternGroups) -> NDArray[np.float64]:
        prediction = super()._predict_groups(X, groups)
        if self.fallback_ is not None:
            table = pattern_keys(self._maps_seen.patterns)
            unseen = find_keys(table, pattern_keys(groups.patterns)) < 0
            rows = np.flatnonzero(unseen[groups.pattern_of_row()])
            if len(rows):
                prediction[rows] = self.fallback_.predict(X[rows])
        return prediction

    def _warn_of_rare_patterns(self, moments: PatternMoments) -> None:
        n_coefficients = (~moments.patterns).sum(axis=1) + 1
        rare = moments.count < n_coefficients
        if rare.any() and self.fallback is None:
            warnings.warn(
                f"{rare.sum()} of {len(rare)} patterns have fewer rows than "
                "coefficients: their predictions can be wildly wrong. Give min_rows= "
                "and fallback=, such as ExpandedLR(min_rows=30, "
                "fallback=ConstantImputedLR()).",
                UserWarning,
                stacklevel=5,
            )


class ExpandedScales(NamedTuple):
    """Standard deviations s_mj of the expanded columns (1, x_obs) of each pattern."""

    patterns: NDArray[np.bool_]
    std: NDArray[np.float64]  # (P, 1 + d)


class ExpandedSolution(NamedTuple):
    """Shared intercept b (t,) and the maps of the patterns seen."""

    intercept: NDArray[np.float64]
    maps: AffineMaps

    def at(self, patterns: NDArray[np.bool_]) -> AffineMaps:
        """Return the maps of any patterns; the intercept alone where never seen."""
        table = pattern_keys(self.maps.patterns)
        index = find_keys(table, pattern_keys(patterns))
        if not len(table):
            shape = (len(patterns), len(self.intercept))
            constant = np.broadcast_to(self.intercept, shape).copy()
            return AffineMaps(patterns, constant, np.zeros((*shape, patterns.shape[1])))
        seen = index >= 0
        intercept = np.where(seen[:, None], self.maps.intercept[index], self.intercept)
        coef = np.where(seen[:, None, None], self.maps.coef[index], 0.0)
        return AffineMaps(patterns, intercept, coef)


def expanded_scales(moments: PatternMoments) -> ExpandedScales:
    """Return the standard deviations of the expanded columns, 1 where constant.

    A column is zero outside its pattern: its mean is n_m mean_m / N and its second
    moment (scatter_m + n_m mean_m^2) / N.
    """
    total = moments.count.sum()
    std = np.empty((len(moments), 1 + moments.n_features))
    for block in moments.blocks():
        share = (block.count / total)[:, None]
        mean = block.mean[:, : moments.n_features]
        inner = np.diagonal(block.scatter, axis1=1, axis2=2)[:, : moments.n_features]
        variance = inner / total + share * (1 - share) * mean**2
        std[block.index, 1:] = np.sqrt(variance)
        std[block.index, :1] = np.sqrt(share * (1 - share))
    return ExpandedScales(moments.patterns, np.where(std > 0, std, 1.0))


def solve_expanded(
    moments: PatternMoments, alphas: Sequence[float], scale: ExpandedScales
) -> list[ExpandedSolution]:
    """Minimise the criterion of `ExpandedLR` for each alpha.

    Patterns without scales are left out. Where none is left, b is the mean of y.
    """
    index = find_keys(pattern_keys(scale.patterns), pattern_keys(moments.patterns))
    if (index < 0).any():
        if (index < 0).all():
            mean = _target_mean(moments)
            return [ExpandedSolution(mean, _empty_maps(moments.take([])))] * len(alphas)
        moments = moments.take(index >= 0)
    std = scale.std[index[index >= 0]]
    n_columns = moments.n_features + moments.n_targets
    small = len(moments) * n_columns**2 <= 2**25
    kept = list(moments.blocks()) if small else None  # else made anew for each alpha
    solutions = []
    for alpha in alphas:
        blocks = kept or moments.blocks()
        if alpha == 0 or len(moments) == 1:
            solutions.append(_solve_apart(moments, blocks, alpha, std))
        else:
            solutions.append(_solve_together(moments, blocks, alpha, std))
    return solutions


def _solve_apart(moments, blocks, alpha: float, std) -> ExpandedSolution:
    """Solve each pattern on its own: least squares, or the ridge of a single pattern.

    Where all rows have one pattern its indicator is constant and has no coefficient, so
    that b is its intercept. Otherwise b, which nothing determines, is the mean of y.
    """
    d, t = moments.n_features, moments.n_targets
    maps = _empty_maps(moments)
    for block in blocks:
        scatter = block.scatter[:, :d, :d] / std[block.index, None, 1:]
        scatter = scatter / std[block.index, 1:, None]
        cross = block.scatter[:, :d, d:] / std[block.index, 1:, None]
        values, vectors = np.linalg.eigh(scatter)
        total = np.maximum(values, 0.0) + alpha
        noise = (d * np.finfo(float).eps) * values[:, -1:]
        inverse = np.divide(1.0, total, out=np.zeros_like(total), where=total > noise)
        rotated = inverse[:, :, None] * (vectors.transpose(0, 2, 1) @ cross)
        slopes = (vectors @ rotated) / std[block.index, 1:, None]
        maps.coef[block.index] = slopes.transpose(0, 2, 1)
        at_mean = np.einsum("pdt,pd->pt", slopes, block.mean[:, :d])
        maps.intercept[block.index] = block.mean[:, d:] - at_mean
    b = maps.intercept[0] if len(moments) == 1 else _target_mean(moments)
    return ExpandedSolution(b.reshape(t), maps)


def _solve_together(moments, blocks, alpha: float, std) -> ExpandedSolution:
    """Solve all patterns, tied by the shared intercept b.

    With w = (1, x - mean_m) the Gram matrix G of a pattern is diag(n_m, scatter_m), so
    that no digit is lost to large means. The penalty is delta'R delta with
    R = alpha (s_0^2 r r' + diag(0, s_1^2 .. s_d^2)) and r = (1, -mean_m). With
    A = G + R, h = G e_0 and g = sum w y, the derivatives vanish for

        delta = A^-1 (g - b h),   b = sum_m R_0 A^-1 g / sum_m R_0 A^-1 h

    where R_0 = e_0'R: a weighted mean over the patterns, without cancellation.
    """
    d, t = moments.n_features, moments.n_targets
    centre = _target_mean(moments)
    maps = _empty_maps(moments)
    top, bottom = np.zeros(t), 0.0
    by_h, means = np.empty((len(moments), 1 + d)), np.empty((len(moments), d))
    for block in blocks:
        n, mean = block.count, block.mean[:, :d]
        means[block.index] = mean
        s = std[block.index]
        r = np.hstack([np.ones((len(n), 1)), -mean])
        R_0 = alpha * s[:, :1] ** 2 * r
        A = R_0[:, :, None] * r[:, None, :]
        A[:, 1:, 1:] += block.scatter[:, :d, :d]
        A[:, np.arange(1, d + 1), np.arange(1, d + 1)] += alpha * s[:, 1:] ** 2
        A[:, 0, 0] += n
        rhs = np.zeros((len(n), 1 + d, t + 1))
        rhs[:, 0, :t] = n[:, None] * (block.mean[:, d:] - centre)
        rhs[:, 1:, :t] = block.scatter[:, :d, d:]
        rhs[:, 0, t] = n
        unit = 1 / np.sqrt(np.diagonal(A, axis1=1, axis2=2))
        A *= unit[:, :, None] * unit[:, None, :]
        solved = unit[:, :, None] * np.linalg.solve(A, unit[:, :, None] * rhs)
        weighted = np.einsum("pi,pit->t", R_0, solved)
        top += weighted[:t]
        bottom += weighted[t]
        maps.intercept[block.index] = solved[:, 0, :t]
        maps.coef[block.index] = solved[:, 1:, :t].transpose(0, 2, 1)
        by_h[block.index] = solved[:, :, t]
    b = top / bottom
    np.subtract(maps.coef, b[:, None] * by_h[:, None, 1:], out=maps.coef)
    np.copyto(maps.coef, 0.0, where=moments.patterns[:, None, :])
    maps.intercept[:] += centre + b - b * by_h[:, :1]
    maps.intercept[:] -= np.einsum("ptd,pd->pt", maps.coef, means)
    return ExpandedSolution(b + centre, maps)


def _empty_maps(moments: PatternMoments) -> AffineMaps:
    shape = (len(moments), moments.n_targets)
    coef = np.empty((*shape, moments.n_features))
    return AffineMaps(moments.patterns, np.empty(shape), coef)


def _target_mean(moments: PatternMoments) -> NDArray[np.float64]:
    _, values, weight = moments.points()
    return weight @ values[:, moments.n_features :] / weight.sum()
