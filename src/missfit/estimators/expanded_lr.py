"""ExpandedLR: one linear model per missing pattern."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from missfit.estimators.expanded_ridge import (
    LEAST_ALPHA,
    ExpandedSolution,
    expanded_scales,
    solve_expanded,
)
from missfit.estimators.moment_splits import Split, usable_splits
from missfit.estimators.pattern_predictor import PatternPredictor
from missfit.estimators.ridge_strength import choose_alpha
from missfit.moments.column_scales import ColumnScales, column_scales
from missfit.moments.maps import AffineMaps
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.patterns import PatternGroups, find_keys, pattern_keys
from missfit.moments.ridge import check_alphas

FAR = 5.0  # standard deviations: R2 .54, .73, .50, -.02 at 0, 3, 5, 10 (6 x 700 rows)


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

    As in the paper, the origin of X matters: the penalty pulls each pattern's model
    towards the same value at x = 0, and b is that value. With features far from zero
    (years, kelvins) a strength that shrinks at all pulls all slopes down, and a pattern
    never seen is predicted far outside the range of y: a warning says so.
    ``centred=True`` measures features from their means, and does not depend on it.

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
    centred : bool
        Measure each feature from the mean of its observed values. False is the paper's
        way, which depends on the origin of X.

    Attributes
    ----------
    intercept_ : float or ndarray of shape (t,)
        b, which predicts patterns never seen.
    centre_ : ndarray of shape (d,)
        Where features are measured from: their means, or 0 as in the paper.
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
        centred: bool = False,
    ):
        self.alphas = alphas
        self.cv = cv
        self.min_rows = min_rows
        self.fallback = fallback
        self.centred = centred

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
        scales = column_scales(moments)
        means = scales.mean[: moments.n_features]
        self.centre_ = means if self.centred else np.zeros_like(means)
        kept = self._frequent(moments)
        self._warn_of_rare_patterns(kept)
        scale = expanded_scales(kept.shifted(-self.centre_))
        if self.min_rows is not None:
            splits = self._splits_of_frequent(splits, kept, moments)

        def path(train: PatternMoments):
            return [s.at for s in self._solutions(train, alphas, scale)]

        self.alpha_, self.cv_scores_ = choose_alpha(alphas, splits, path)
        if len(kept) > 1:  # the intercept of a single pattern is not penalised
            self._warn_of_origin(scales, moments.n_features)
        (solution,) = self._solutions(moments, (self.alpha_,), scale)
        self._maps_seen_ = solution.maps
        b = solution.intercept
        self.intercept_ = float(b[0]) if self._y_ndim_ == 1 else b

    def _frequent(self, moments: PatternMoments) -> PatternMoments:
        """Return the patterns with ``min_rows`` rows."""
        if self.min_rows is None:
            return moments
        kept = moments.take(moments.count >= self.min_rows)
        if not len(kept) and self.fallback is None:
            raise ValueError(
                f"no pattern has min_rows={self.min_rows} rows; the most frequent "
                f"has {moments.count.max():g}. Lower min_rows, or give a fallback."
            )
        return kept

    def _solutions(self, moments, alphas, scale) -> list[ExpandedSolution]:
        """Solve for each strength, with features measured from ``centre_``."""
        return [
            solution._replace(maps=solution.maps.shifted(self.centre_))
            for solution in solve_expanded(
                moments.shifted(-self.centre_), alphas, scale
            )
        ]

    def _splits_of_frequent(self, splits, kept, moments) -> list[Split]:
        """Leave rare patterns out of both parts: they do not help to choose.

        A pattern that is too rare to train on is not tested either: what predicts it,
        the fallback, has no strength to choose. With such patterns in the test part
        alone, the strength that made the others most alike was chosen.
        """
        table = pattern_keys(kept.patterns)
        total = moments.count.sum()
        chosen = []
        for train, test in splits:
            share = train.count.sum() / total
            frequent = train.count >= self.min_rows * share
            known = find_keys(table, pattern_keys(train.patterns)) >= 0
            trained = train.take(frequent & known)
            trained_keys = pattern_keys(trained.patterns)
            tested = find_keys(trained_keys, pattern_keys(test.patterns)) >= 0
            chosen.append(Split(trained, test.take(tested)))
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

    def _warn_of_origin(self, scales: ColumnScales, d: int) -> None:
        """Warn where features so far from zero are penalised that it is felt."""
        far = np.abs(scales.mean[:d] - self.centre_) / scales.std[:d]
        far = np.where(scales.varies[:d], far, 0.0)
        if self.alpha_ < LEAST_ALPHA or not far.max() > FAR:
            return
        j = int(far.argmax())
        warnings.warn(
            f"feature {j} lies {far[j]:.0f} standard deviations from zero: the "
            "penalty, as in the paper, depends on the origin of X and pulls the slopes "
            "down there. Give ExpandedLR(centred=True), or subtract the means.",
            UserWarning,
            stacklevel=5,
        )
