"""ExpandedLR: one linear model per missing pattern."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from missfit.estimators.base import (
    PatternPredictor,
    Split,
    choose_alpha,
    usable_splits,
)
from missfit.maps import AffineMaps
from missfit.moments import PatternMoments
from missfit.patterns import PatternGroups, find_keys, pattern_keys
from missfit.ridge import check_alphas

LEAST_ALPHA = 1e-12  # a weaker ridge is lost in rounding


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
        Patterns with fewer rows (a sum of weights) are left out of the fit and of the
        choice of alpha, and treated like patterns never seen.
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
    is ignored in the patterns seen. At alpha = 0 (or below 1e-12) each pattern is
    fitted by least squares on its own, of least norm in standard units where its rows
    do not determine it, and b is the mean of y.

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

    fallback_: Any

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

    def _check_parameters(self, n_features: int) -> None:
        check_alphas(self.alphas)
        if self.min_rows is not None and not (
            isinstance(self.min_rows, Real) and self.min_rows >= 0
        ):
            raise ValueError(
                f"min_rows={self.min_rows!r}; give a number >= 0, or None."
            )

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
        if self.min_rows is not None:
            splits = self._splits_of_frequent(splits, kept, moments)

        def path(train: PatternMoments):
            return [solution.at for solution in solve_expanded(train, alphas, scale)]

        self.alpha_, self.cv_scores_ = choose_alpha(alphas, splits, path)
        (solution,) = solve_expanded(moments, (self.alpha_,), scale)
        self._maps_seen_ = solution.maps
        b = solution.intercept
        self.intercept_ = float(b[0]) if self._y_ndim_ == 1 else b

    def _splits_of_frequent(self, splits, kept, moments) -> list[Split]:
        """Leave rare patterns out of both parts: they do not help to choose."""
        table = pattern_keys(kept.patterns)
        total = moments.count.sum()
        chosen = []
        for train, test in splits:
            share = train.count.sum() / total
            frequent = train.count >= self.min_rows * share
            known = find_keys(table, pattern_keys(train.patterns)) >= 0
            tested = find_keys(table, pattern_keys(test.patterns)) >= 0
            chosen.append(Split(train.take(frequent & known), test.take(tested)))
        return usable_splits(chosen)

    def _fit_beside_rows(self, X, y, sample_weight) -> None:
        self.fallback_ = None if self.fallback is None else clone(self.fallback)
        if self.fallback_ is None:
            return
        if sample_weight is None:
            self.fallback_.fit(X, y)
        elif has_fit_parameter(self.fallback_, "sample_weight"):
            self.fallback_.fit(X, y, sample_weight=sample_weight)
        else:
            raise TypeError(
                f"fallback={self.fallback!r} takes no sample_weight. Give another "
                "fallback, such as ConstantImputedLR(), or fit without weights."
            )

    def _fit_beside_moments(self, moments, folds) -> None:
        self.fallback_ = None if self.fallback is None else clone(self.fallback)
        if self.fallback_ is None:
            return
        if not hasattr(self.fallback_, "fit_moments"):
            raise TypeError(
                f"fallback={self.fallback!r} has no fit_moments, which a table of "
                "moments or a stream takes. Give a predictor of missfit, or call fit "
                "with rows."
            )
        self.fallback_.fit_moments(moments, folds)

    def _maps(self, patterns: NDArray[np.bool_]) -> AffineMaps:
        b = np.atleast_1d(self.intercept_)
        maps = ExpandedSolution(b, self._maps_seen_).at(patterns)
        unseen = self._is_unseen(patterns)
        if self.fallback_ is not None and unseen.any():
            if isinstance(self.fallback_, PatternPredictor):
                theirs = self.fallback_._maps(patterns[unseen])
                maps.intercept[unseen], maps.coef[unseen] = (
                    theirs.intercept,
                    theirs.coef,
                )
            else:  # it has no affine maps: predictions come from its rows
                maps.intercept[unseen] = maps.coef[unseen] = np.nan
        return maps

    def _predict_groups(self, X, groups: PatternGroups) -> NDArray[np.float64]:
        prediction = super()._predict_groups(X, groups)
        if self.fallback_ is not None and not hasattr(self.fallback_, "fit_moments"):
            unseen = self._is_unseen(groups.patterns)[groups.pattern_of_row()]
            if unseen.any():
                prediction[unseen] = self.fallback_.predict(X[unseen])
        return prediction

    def _is_unseen(self, patterns: NDArray[np.bool_]) -> NDArray[np.bool_]:
        table = pattern_keys(self._maps_seen_.patterns)
        return find_keys(table, pattern_keys(patterns)) < 0

    def _warn_of_rare_patterns(self, moments: PatternMoments) -> None:
        n_coefficients = (~moments.patterns).sum(axis=1) + 1
        rare = moments.count < n_coefficients
        if rare.any():
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
    d, total = moments.n_features, moments.count.sum()
    pattern, values, weight = moments.points()
    share = (moments.count / max(total, np.finfo(float).tiny))[:, None]
    mean, inner = np.zeros((2, len(moments), d))
    np.add.at(mean, pattern, weight[:, None] * values[:, :d])
    mean /= moments.count[:, None]
    np.add.at(inner, pattern, weight[:, None] * (values[:, :d] - mean[pattern]) ** 2)
    own = np.diagonal(moments.condensed_scatter, axis1=1, axis2=2)[:, :d]
    inner[moments.condensed] += own
    variance = np.hstack(
        [
            share * (1 - share),
            inner / max(total, np.finfo(float).tiny) + share * (1 - share) * mean**2,
        ]
    )
    std = np.sqrt(np.maximum(variance, 0.0))
    return ExpandedScales(moments.patterns, np.where(std > 0, std, 1.0))


def solve_expanded(
    moments: PatternMoments, alphas: Sequence[float], scale: ExpandedScales
) -> list[ExpandedSolution]:
    """Minimise the criterion of `ExpandedLR` for each alpha.

    Patterns without scales are left out. Where none is left, b is the mean of y.
    """
    index = find_keys(pattern_keys(scale.patterns), pattern_keys(moments.patterns))
    alphas = [alpha if alpha >= LEAST_ALPHA else 0.0 for alpha in alphas]
    if (index < 0).any() or not len(moments):
        if (index < 0).all():
            mean = _target_mean(moments)
            return [ExpandedSolution(mean, _empty_maps(moments.take([])))] * len(alphas)
        moments = moments.take(index >= 0)
    std = scale.std[index[index >= 0]]
    n_columns = moments.n_features + moments.n_targets
    small = len(moments) * n_columns**2 <= 2**25
    kept = list(_groups(moments, std)) if small else None  # else anew for each alpha
    solutions = []
    for alpha in alphas:
        groups = kept or _groups(moments, std)
        apart = alpha == 0 or len(moments) == 1
        solve = _solve_apart if apart else _solve_together
        solutions.append(solve(moments, groups, alpha))
    return solutions


class _Group(NamedTuple):
    """Moments of patterns with equally many observed features, and of these alone."""

    index: NDArray[np.intp]
    observed: NDArray[np.intp]  # (b, o)
    count: NDArray[np.float64]
    mean: NDArray[np.float64]  # (b, o)
    scatter: NDArray[np.float64]  # (b, o, o)
    cross: NDArray[np.float64]  # (b, o, t)
    target: NDArray[np.float64]  # (b, t)
    std: NDArray[np.float64]  # (b, 1 + o)


def _groups(moments: PatternMoments, std) -> Iterator[_Group]:
    d = moments.n_features
    for block in moments.blocks():
        n_observed = (~block.patterns).sum(axis=1)
        for o in np.unique(n_observed):
            rows = np.flatnonzero(n_observed == o)
            obs = np.nonzero(~block.patterns[rows])[1].reshape(len(rows), o)
            at = rows[:, None, None], obs[:, :, None]
            index = block.index[rows]
            scales = np.take_along_axis(std[index, 1:], obs, axis=1)
            yield _Group(
                index,
                obs,
                block.count[rows],
                np.take_along_axis(block.mean[rows], obs, axis=1),
                block.scatter[(*at, obs[:, None, :])],
                block.scatter[(*at, d + np.arange(moments.n_targets))],
                block.mean[rows, d:],
                np.hstack([std[index, :1], scales]),
            )


def _solve_apart(moments, groups, alpha: float) -> ExpandedSolution:
    """Solve each pattern on its own: least squares, or the ridge of a single pattern.

    Where all rows have one pattern its indicator is constant and has no coefficient, so
    that b is its intercept. Otherwise b, which nothing determines, is the mean of y.
    """
    maps = _empty_maps(moments)
    for group in groups:
        unit = 1 / group.std[:, 1:]
        scatter = unit[:, :, None] * group.scatter * unit[:, None, :]
        values, vectors = np.linalg.eigh(scatter)
        total = np.maximum(values, 0.0) + alpha
        noise = moments.n_features * np.finfo(float).eps * values[:, -1:]
        usable = (total > noise) & (total > 0)
        inverse = np.divide(1.0, total, out=np.zeros_like(total), where=usable)
        rotated = vectors.transpose(0, 2, 1) @ (unit[:, :, None] * group.cross)
        slopes = unit[:, :, None] * (vectors @ (inverse[:, :, None] * rotated))
        at_mean = np.einsum("pot,po->pt", slopes, group.mean)
        maps.intercept[group.index] = group.target - at_mean
        maps.coef[group.index[:, None], :, group.observed] = slopes
    b = maps.intercept[0] if len(moments) == 1 else _target_mean(moments)
    return ExpandedSolution(b.copy(), maps)


def _solve_together(moments, groups, alpha: float) -> ExpandedSolution:
    """Solve all patterns, tied by the shared intercept b.

    With w = (1, x - mean_m) the Gram matrix G of a pattern is diag(n_m, scatter_m), so
    that no digit is lost to large means. The penalty is delta'R delta with
    R = alpha (s_0^2 r r' + diag(0, s_1^2 .. s_o^2)) and r = (1, -mean_m). With
    A = G + R, h = G e_0 and g = sum w y, the derivatives vanish for

        delta = A^-1 (g - b h),   b = sum_m R_0 A^-1 g / sum_m R_0 A^-1 h

    where R_0 = e_0'R: a weighted mean over the patterns, without cancellation.
    """
    t, centre = moments.n_targets, _target_mean(moments)
    solved, top, bottom = [], np.zeros(t), 0.0
    for group in groups:
        n, o = group.count, group.mean.shape[1]
        r = np.hstack([np.ones((len(n), 1)), -group.mean])
        R_0 = alpha * group.std[:, :1] ** 2 * r
        A = R_0[:, :, None] * r[:, None, :]
        A[:, 1:, 1:] += group.scatter
        A[:, np.arange(1, o + 1), np.arange(1, o + 1)] += alpha * group.std[:, 1:] ** 2
        A[:, 0, 0] += n
        rhs = np.zeros((len(n), 1 + o, t + 1))
        rhs[:, 0, :t] = n[:, None] * (group.target - centre)
        rhs[:, 1:, :t] = group.cross
        rhs[:, 0, t] = n
        unit = 1 / np.sqrt(np.diagonal(A, axis1=1, axis2=2))
        A *= unit[:, :, None] * unit[:, None, :]
        solution = unit[:, :, None] * np.linalg.solve(A, unit[:, :, None] * rhs)
        weighted = np.einsum("pi,pit->t", R_0, solution)
        top += weighted[:t]
        bottom += weighted[t]
        solved.append((group.index, group.observed, group.mean, solution))
    b = top / bottom
    maps = _empty_maps(moments)
    for index, observed, mean, solution in solved:
        delta = solution[:, :, :t] - b * solution[:, :, t:]
        at_mean = np.einsum("pot,po->pt", delta[:, 1:], mean)
        maps.intercept[index] = centre + b + delta[:, 0] - at_mean
        maps.coef[index[:, None], :, observed] = delta[:, 1:]
    return ExpandedSolution(b + centre, maps)


def _empty_maps(moments: PatternMoments) -> AffineMaps:
    shape = (len(moments), moments.n_targets)
    coef = np.zeros((*shape, moments.n_features))
    return AffineMaps(moments.patterns, np.zeros(shape), coef)


def _target_mean(moments: PatternMoments) -> NDArray[np.float64]:
    _, values, weight = moments.points()
    return weight @ values[:, moments.n_features :] / weight.sum()
