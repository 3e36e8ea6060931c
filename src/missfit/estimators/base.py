"""What all predictors share: validation, moments, maps per pattern, prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted, validate_data

from missfit.maps import AffineMaps
from missfit.moments import PatternMoments, check_weight
from missfit.patterns import PatternGroups, group_rows
from missfit.tables import with_nan


class Split(NamedTuple):
    """Moments of the training and of the test rows of one split."""

    train: PatternMoments
    test: PatternMoments


class NanRegressor(RegressorMixin, BaseEstimator, ABC):
    """A regressor that takes NaN in X, at fit and at predict."""

    def _check_fit(self, X: Any, y: Any) -> tuple[NDArray, NDArray]:
        """Return X and y as float64 and remember the features."""
        X, y = validate_data(
            self,
            with_nan(X),
            y,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            multi_output=True,
            y_numeric=True,
        )
        return X, np.asarray(y, dtype=np.float64)

    def _check_predict(self, X: Any) -> Any:
        """Return X as float64 with the features of the fit."""
        check_is_fitted(self)
        return validate_data(
            self,
            with_nan(X),
            reset=False,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
        )

    def __sklearn_tags__(self):
        """Return the tags: NaN is welcome, so are several targets."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags


class PatternPredictor(NanRegressor):
    """A regressor whose prediction is one affine map per missing pattern.

    It is fitted from `PatternMoments` alone, so that rows, streams and tables of
    moments all end in `fit_moments`.

    Attributes
    ----------
    patterns_ : bool ndarray of shape (P, d)
        The missing patterns seen at fit, True where missing.
    pattern_count_ : ndarray of shape (P,)
        Their rows, or sums of weights.
    pattern_models_ : AffineMaps
        The affine map of each of these patterns.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X had names at fit
    """

    alphas: Any  # of the predictors that choose a ridge strength
    cv: Any
    feature_names_in_: NDArray
    _stream: list[PatternMoments]
    _stream_rows: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The features, NaN where missing.
        y : array-like of shape (n,) or (n, t)
            The target, or several.
        sample_weight : array-like of shape (n,), optional
            A weight of 2 equals repeating the row.
        """
        X, y = self._check_fit(X, y)
        self._check_parameters(X.shape[1])
        self._forget_stream()
        self._y_ndim = y.ndim
        if not self._needs_folds():
            return self._solve(PatternMoments.from_data(X, y, sample_weight), [])
        return self._solve(*moments_and_splits(X, y, sample_weight, self.cv))

    def fit_moments(
        self, moments: PatternMoments, folds: list[PatternMoments] | None = None
    ) -> Any:
        """Fit to a table of moments, the same as `fit` on its rows.

        Parameters
        ----------
        moments : PatternMoments
        folds : list of PatternMoments, optional
            The moments of each fold of the rows, which add up to ``moments``; needed
            where a ridge strength is chosen by cross-validation.
        """
        self._check_parameters(moments.n_features)
        if not moments.count.sum() > 0:
            raise ValueError("the table of moments holds no rows; add some first.")
        if self._needs_folds() and not folds:
            raise ValueError(
                f"alphas={self.alphas!r} has several strengths to choose from, which "
                "takes folds=, a list of PatternMoments, one per fold. Give it, or one "
                "strength, such as alphas=(1.0,)."
            )
        self._forget_stream()
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = moments.n_features
        self._y_ndim = 1 if moments.n_targets == 1 else 2
        return self._solve(moments, splits_of_folds(folds or []))

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to all rows given so far, as they come.

        Keeps the moments of the rows, not the rows. Where a ridge strength is chosen,
        row i of the stream is in fold i modulo the number of folds.
        """
        first = not hasattr(self, "_stream")
        X, y = self._check_stream(X, y, first)
        self._check_parameters(X.shape[1])
        n_folds = self._n_stream_folds() if self._needs_folds() else 1
        seen = 0 if first else self._stream_rows
        fold = (seen + np.arange(len(X))) % n_folds
        if sample_weight is not None:
            sample_weight = check_weight(sample_weight, len(X))
        d, t = X.shape[1], 1 if y.ndim == 1 else y.shape[1]
        stream = [PatternMoments.empty(d, t)] * n_folds if first else self._stream
        stream = list(stream)
        for k in np.unique(fold):
            rows = fold == k
            weight = None if sample_weight is None else sample_weight[rows]
            if weight is None or weight.any():
                stream[k] = stream[k] + PatternMoments.from_data(
                    X[rows], y[rows], weight
                )
        splits = splits_of_folds([part for part in stream if len(part)])
        self._y_ndim = y.ndim
        self._solve(total_moments(stream), splits if self._needs_folds() else [])
        self._stream, self._stream_rows = stream, seen + len(X)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict rows, NaN where missing.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)

        Returns
        -------
        ndarray of shape (n,) or (n, t)
        """
        X = self._check_predict(X)
        groups = group_rows(np.isnan(X))
        return self._predict_groups(X, groups)

    def _predict_groups(self, X, groups: PatternGroups) -> NDArray[np.float64]:
        maps = self._maps(groups.patterns)
        return self._shaped(maps.evaluate(X, groups.pattern_of_row()))

    @property
    def pattern_models_(self) -> AffineMaps:
        """The affine map of each pattern seen at fit."""
        check_is_fitted(self)
        return self._maps(self.patterns_)

    def pattern_table(self) -> dict[str, list]:
        """Return the maps of the patterns seen at fit as columns to read.

        The columns are the missing features, the rows seen, the intercept and one slope
        per feature (NaN where it is missing), most frequent pattern first; with several
        targets, one line per pattern and target. Try
        ``print(pandas.DataFrame(model.pattern_table()))``.
        """
        maps = self.pattern_models_
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        order = np.argsort(-self.pattern_count_, kind="stable")
        n_targets = maps.intercept.shape[1]
        table: dict[str, list] = {"missing": [], "rows": []}
        for p in np.repeat(order, n_targets):
            hidden = ", ".join(str(names[j]) for j in np.flatnonzero(maps.patterns[p]))
            table["missing"].append(hidden or "none")
            table["rows"].append(float(self.pattern_count_[p]))
        if n_targets > 1:
            table["target"] = list(range(n_targets)) * len(order)
        table["intercept"] = maps.intercept[order].ravel().tolist()
        slopes = np.where(maps.patterns[:, None, :], np.nan, maps.coef)[order]
        for j, name in enumerate(names):
            table[str(name)] = slopes[:, :, j].ravel().tolist()
        return table

    def _solve(self, moments: PatternMoments, splits: list[Split]) -> Any:
        """Fit to moments and, where a strength is chosen, the splits to choose by."""
        self.patterns_ = moments.patterns
        self.pattern_count_ = moments.count
        self._fit_moments(moments, splits)
        return self

    @abstractmethod
    def _fit_moments(self, moments: PatternMoments, splits: list[Split]) -> None:
        """Learn the parameters from moments."""

    @abstractmethod
    def _maps(self, patterns: NDArray[np.bool_]) -> AffineMaps:
        """Return the maps of any patterns, with the target as second axis."""

    def _check_parameters(self, n_features: int) -> None:
        """Raise where a parameter is out of range."""

    def _needs_folds(self) -> bool:
        """Whether the fit has a ridge strength to choose."""
        return len(getattr(self, "alphas", ())) > 1

    def _n_stream_folds(self) -> int:
        n_folds = getattr(self.cv, "n_splits", self.cv)
        if not isinstance(n_folds, (int, np.integer)):
            raise ValueError(
                f"cv={self.cv!r}; partial_fit deals rows to folds as they come, so cv "
                "must be a number of folds. Give one, or a single strength in alphas."
            )
        return int(n_folds)

    def _check_stream(self, X: Any, y: Any, first: bool):
        X, y = validate_data(
            self,
            with_nan(X),
            y,
            reset=first,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            multi_output=True,
            y_numeric=True,
        )
        return X, np.asarray(y, dtype=np.float64)

    def _forget_stream(self) -> None:
        for name in ("_stream", "_stream_rows"):
            if hasattr(self, name):
                delattr(self, name)

    def _shaped(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Drop the target axis where y had none."""
        return values[:, 0] if self._y_ndim == 1 else values


def moments_and_splits(
    X: NDArray, y: NDArray, sample_weight: Any, cv: Any
) -> tuple[PatternMoments, list[Split]]:
    """Moments of all rows, and of the training and test rows of each split.

    Where the test rows of the splits are a partition, every row is read once: the
    moments of a split's training rows are the sum of the other folds'.
    """
    weight = None if sample_weight is None else check_weight(sample_weight, len(X))
    splits = _row_splits(X, y, cv)

    def part(rows) -> PatternMoments:
        chosen = None if weight is None else weight[rows]
        if len(rows) == 0 or (chosen is not None and not chosen.any()):
            return PatternMoments.empty(X.shape[1], 1 if y.ndim == 1 else y.shape[1])
        return PatternMoments.from_data(X[rows], y[rows], chosen)

    tests = np.concatenate([test for _, test in splits])
    trains = sum(len(train) for train, _ in splits)
    is_partition = len(tests) == len(X) and len(np.unique(tests)) == len(X)
    if is_partition and trains == (len(splits) - 1) * len(X):
        folds = [part(test) for _, test in splits]
        return total_moments(folds), splits_of_folds(folds)
    return (
        PatternMoments.from_data(X, y, weight),
        [Split(part(train), part(test)) for train, test in splits],
    )


def _row_splits(X, y, cv) -> list[tuple[NDArray, NDArray]]:
    splitter: Any = check_cv(cv)
    n_splits = splitter.get_n_splits(X, y)
    if len(X) < n_splits:
        raise ValueError(
            f"X has n_samples={len(X)}, fewer than the {n_splits} folds of cv={cv!r}. "
            "Give fewer folds, or one strength, such as alphas=(1.0,)."
        )
    return [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(X, y)]


def splits_of_folds(folds: list[PatternMoments]) -> list[Split]:
    """One split per fold: test on it, train on the sum of the others."""
    if len(folds) == 1:
        return []
    return [
        Split(total_moments([other for other in folds if other is not fold]), fold)
        for fold in folds
    ]


def total_moments(parts: list[PatternMoments]) -> PatternMoments:
    """Return the sum of some tables."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def mean_r2(maps: AffineMaps, moments: PatternMoments) -> float:
    """R2 of affine maps on the rows of a table of moments, the mean over targets.

    ``maps`` are those of the table's patterns. The squared error of a pattern is
    v'scatter v + count (mean'v - intercept)^2 with v = (-coef, 1).
    """
    t = moments.n_targets
    error, weight = np.zeros(t), moments.count.sum()
    total, spread = np.zeros(t), np.zeros(t)
    means = []
    for block in moments.blocks():
        coef, intercept = maps.coef[block.index], maps.intercept[block.index]
        v = np.concatenate([-coef, np.broadcast_to(np.eye(t), (*coef.shape[:2], t))], 2)
        gap = np.einsum("ptk,pk->pt", v, block.mean) - intercept
        scatter = np.einsum("ptk,ptk->pt", v @ block.scatter, v)
        error += scatter.sum(axis=0) + block.count @ gap**2
        y_mean = block.mean[:, -t:]
        means.append(y_mean)
        total += block.count @ y_mean
        spread += np.diagonal(block.scatter, axis1=1, axis2=2)[:, -t:].sum(axis=0)
    spread += moments.count @ (np.concatenate(means) - total / weight) ** 2
    # as scikit-learn: a constant target is either met or not
    constant = spread <= 0
    ratio = np.divide(error, spread, out=(error > 0).astype(float), where=~constant)
    return float(np.mean(1 - ratio))
