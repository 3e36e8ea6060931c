"""PatternPredictor: what the predictors share that are one affine map per pattern."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from missfit.estimators.base import NanRegressor
from missfit.estimators.dask_tables import dask_fold_moments, dask_table
from missfit.estimators.map_memory import remembered_maps
from missfit.estimators.moment_splits import (
    Split,
    check_table,
    dealt_in_turn,
    moments_and_splits,
    splits_of_folds,
    total_moments,
    usable_splits,
)
from missfit.estimators.splits import NO_FOLDS, n_folds_in_turn, no_split
from missfit.estimators.streams import fold_moments
from missfit.moments.blas_threads import blas_threads_for
from missfit.moments.maps import AffineMaps
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.patterns import PatternGroups, group_rows
from missfit.moments.ridge import check_alphas
from missfit.moments.rows import Rows, check_weight, row_counts
from missfit.tables.chunks import comes_in_chunks, is_dask, named_columns, open_source


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

    is_linear = True
    alphas: Any  # of the predictors that choose a ridge strength
    cv: Any
    n_features_in_: int
    feature_names_in_: NDArray
    _y_ndim_: int
    _stream_: list[PatternMoments]
    _stream_rows_: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows, forgetting any fit before.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d), or a source of chunks
            The features, NaN where missing. A source is the path of a Parquet or CSV
            file or a `missfit.TableFile`, an iterator (or a function that returns one)
            of chunks (X, y) or (X, y, sample_weight) or of frames, or a Dask array or
            dataframe; it is read once, in the memory of a few chunks.
        y : array-like of shape (n,) or (n, t), str or list of str
            The target, or several. Where X has columns with names, their names: the
            features are then all other columns. None where chunks hold it.
        sample_weight : array-like of shape (n,), or str, optional
            A weight of 2 equals repeating the row, so that the sum of the weights is
            the number of rows that priors and ridges are measured against. Relative
            weights, such as those that sum to 1, are refused: multiply them by n over
            their sum. Or the name of its column.
        """
        if comes_in_chunks(X):
            return self._fit_source(X, y, sample_weight)
        X, y, sample_weight = named_columns(X, y, sample_weight)
        trial = self._trial()
        X, y = trial._check_fit(X, y)
        trial._check_parameters(X.shape[1])
        trial._y_ndim_ = y.ndim
        if sample_weight is not None:
            sample_weight = row_counts(sample_weight, len(X))
        if trial._needs_folds():
            moments, splits = moments_and_splits(X, y, sample_weight, self.cv)
        else:
            moments, splits = PatternMoments.from_data(X, y, sample_weight), []
        trial._solve(moments, splits)
        trial._fit_beside_rows(X, y, sample_weight)
        return self._become(trial)

    def _fit_source(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Fit to rows that come in chunks: only their moments are kept."""
        trial = self._trial()
        cv = self.cv if trial._needs_folds() else NO_FOLDS
        if is_dask(X):
            table = dask_table(X, y, sample_weight)
            validate_data(trial, table.like, skip_check_array=True)
            trial._check_parameters(trial.n_features_in_)
            trial._y_ndim_ = table.y_ndim
            folds = dask_fold_moments(table, cv)
        else:
            source = open_source(X, y, sample_weight)
            folds = fold_moments(source, trial._check_chunk, cv)
        moments = total_moments(folds)
        splits = usable_splits(splits_of_folds(folds))
        if cv is not NO_FOLDS and not splits:
            raise ValueError(no_split(cv))
        trial._solve(moments, splits)
        trial._fit_beside_moments(moments, folds if len(folds) > 1 else None)
        return self._become(trial)

    def _check_chunk(self, X: Any, y: Any) -> tuple[NDArray, NDArray]:
        """Return a chunk as float64; the first decides what the features are."""
        first = not hasattr(self, "n_features_in_")
        X, y = self._check_fit(X, y, reset=first)
        if first:
            self._check_parameters(X.shape[1])
            self._y_ndim_ = y.ndim
        return X, y

    def fit_moments(
        self,
        moments: PatternMoments,
        folds: list[PatternMoments] | None = None,
        *,
        near: Any = None,
    ) -> Self:
        """Fit to a table of moments, the same as `fit` on its rows.

        Parameters
        ----------
        moments : PatternMoments
        folds : list of PatternMoments, optional
            The moments of each fold of the rows, which add up to ``moments``; needed
            where a ridge strength is chosen by cross-validation.
        near : predictor, optional
            A copy of this one, fitted to similar rows: EM goes on from where it ended,
            in about half of the steps. What is solved in closed form ignores it.
        """
        trial = self._trial()
        check_table(moments, folds)
        trial._check_parameters(moments.n_features)
        if trial._needs_folds() and (not folds or len(folds) < 2):
            raise ValueError(
                f"alphas={self.alphas!r} has several strengths to choose from, which "
                "takes folds=, a list of two or more PatternMoments, one per fold. "
                "Give it, or one strength, such as alphas=(1.0,)."
            )
        trial.n_features_in_ = moments.n_features
        trial._y_ndim_ = 1 if moments.n_targets == 1 else 2
        trial._solve(moments, splits_of_folds(folds or []), near)
        trial._fit_beside_moments(moments, folds)
        return self._become(trial)

    def fit_moments_given(
        self, start: Any, moments: PatternMoments, *, near: Any = None
    ) -> Any:
        """Fit to moments as `fit_moments`, given `starts_from` fitted to the same."""
        trial = self._trial()
        trial.n_features_in_ = moments.n_features
        trial._y_ndim_ = 1 if moments.n_targets == 1 else 2
        trial._fit_given(start, moments, near)
        trial.patterns_, trial.pattern_count_ = moments.patterns, moments.count
        return self._become(trial)

    def _fit_given(self, start: Any, moments: PatternMoments, near: Any = None) -> None:
        """Learn the parameters from moments and a fit to start from."""
        raise NotImplementedError  # of those that start from no other

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to all rows given so far to `partial_fit`; `fit` starts anew.

        Keeps the moments of the rows, not the rows. Where a ridge strength is chosen,
        row i of the stream is in fold i modulo ``cv``, a number here; until two folds
        have rows the first strength is taken. If it raises, the model stays as it was.
        """
        first = not hasattr(self, "_stream_")
        trial = self._trial(keep=not first)
        X, y = trial._check_fit(X, y, reset=first)
        trial._check_parameters(X.shape[1])
        trial._y_ndim_ = y.ndim
        weight = np.ones(len(X))
        if sample_weight is not None:
            weight = check_weight(sample_weight, len(X), may_be_zero=not first)
        if not weight.any():
            return self  # no rows, in effect
        stream = trial._stream_so_far(PatternMoments.empty(X.shape[1], y[:1].size))
        n_before = getattr(trial, "_stream_rows_", 0)
        stream = dealt_in_turn(stream, n_before, Rows(X, y.reshape(len(y), -1), weight))
        moments = total_moments(stream)
        splits = splits_of_folds(stream) if trial._needs_folds() else []
        trial._solve(moments, usable_splits(splits))
        trial._fit_beside_moments(moments, stream if len(stream) > 1 else None)
        trial._stream_, trial._stream_rows_ = stream, n_before + len(X)
        return self._become(trial)

    def _stream_so_far(self, empty: PatternMoments) -> list[PatternMoments]:
        """Return the folds of the stream; one where there is no cv to deal it by."""
        n_folds = n_folds_in_turn(self.cv) if hasattr(self, "cv") else 1
        stream = getattr(self, "_stream_", [empty] * n_folds)
        if len(stream) != n_folds:
            raise ValueError(
                f"cv={self.cv!r}, but the stream was dealt to {len(stream)} folds from "
                "its first chunk on. Keep cv, or start anew with a clone."
            )
        return stream

    def folds_of_stream(self) -> list[PatternMoments]:
        """Return the moments of each fold of the rows given so far to `partial_fit`."""
        return self._stream_

    def moments_of_stream(self) -> PatternMoments:
        """Return the moments of all rows given so far to `partial_fit`."""
        return total_moments(self._stream_)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict rows, NaN where missing.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d), or a source of chunks

        Returns
        -------
        ndarray of shape (n,) or (n, t)
            An iterator of such, one for each chunk, where X is a path or an iterator; a
            Dask array or series where X is of Dask.
        """
        if comes_in_chunks(X):
            return self._predict_chunks(X)
        X = self._check_predict(X)
        groups = group_rows(np.isnan(X))
        return self._finite(self._predict_groups(X, groups))

    def _predict_groups(self, X, groups: PatternGroups) -> NDArray[np.float64]:
        maps = remembered_maps(self, groups.patterns, self._maps)
        return self._shaped(maps.evaluate(X, groups.pattern_of_row()))

    @property
    def pattern_models_(self) -> AffineMaps:
        """The affine map of each pattern seen at fit."""
        check_is_fitted(self)
        return self._maps(self.patterns_)

    def maps(self, patterns: NDArray[np.bool_]) -> AffineMaps:
        """Return the affine map of any distinct patterns, shape (P, d), seen or not.

        Its arrays have the target as second axis.
        """
        check_is_fitted(self)
        return self._maps(patterns)

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

    def _solve(
        self, moments: PatternMoments, splits: list[Split], near: Any = None
    ) -> None:
        """Fit to moments and, where a strength is chosen, the splits to choose by."""
        with blas_threads_for(moments.n_features):
            if near is None:
                self._fit_moments(moments, splits)
            else:
                self._fit_near(near, moments, splits)
        self.patterns_ = moments.patterns
        self.pattern_count_ = moments.count

    @abstractmethod
    def _fit_moments(self, moments: PatternMoments, splits: list[Split]) -> None:
        """Learn the parameters from moments."""

    def _fit_near(self, near: Any, moments: PatternMoments, splits: list[Split]):
        """Learn the parameters from moments, from where a fit to similar ones ended."""
        self._fit_moments(moments, splits)  # in closed form there is nothing to gain

    @abstractmethod
    def _maps(self, patterns: NDArray[np.bool_]) -> AffineMaps:
        """Return the maps of any patterns, with the target as second axis."""

    def _check_parameters(self, n_features: int) -> None:
        """Raise where a parameter is out of range."""

    def _needs_folds(self) -> bool:
        """Whether the fit has a ridge strength to choose."""
        return hasattr(self, "alphas") and len(check_alphas(self.alphas)) > 1

    def _fit_beside_rows(self, X, y, sample_weight) -> None:
        """Fit what a predictor has beside it, given rows."""

    def _fit_beside_moments(self, moments, folds) -> None:
        """Fit what a predictor has beside it, given moments."""

    def _shaped(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Drop the target axis where y had none."""
        return values[:, 0] if self._y_ndim_ == 1 else values
