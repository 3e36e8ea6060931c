"""What all predictors share: validation, moments, maps per pattern, prediction."""

from __future__ import annotations

import copy
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted, validate_data

from missfit.moments.maps import AffineMaps
from missfit.moments.pattern_moments import PatternMoments, Points
from missfit.moments.patterns import PatternGroups, group_rows
from missfit.moments.ridge import check_alphas
from missfit.moments.rows import check_weight, row_counts
from missfit.tables.arrays import (
    refuse_beyond,
    refuse_same_names,
    target_values,
    with_nan,
)
from missfit.tables.chunks import comes_in_chunks, is_dask, named_columns, open_source

_NO_SPLIT = (
    "cv={!r} leaves no split with rows (of weight > 0) in both parts. Give another cv, "
    "or one strength, such as alphas=(1.0,)."
)


class Split(NamedTuple):
    """Moments of the training and of the test rows of one split."""

    train: PatternMoments
    test: PatternMoments


class NanRegressor(RegressorMixin, BaseEstimator, ABC):
    """A regressor that takes NaN in X, at fit and at predict."""

    is_linear = False  # one regression of y on complete X: can be the base of others
    predict: Callable[..., Any]
    n_features_in_: int

    def _check_fit(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Any]:
        """Return X and y as float64 and remember the features, or compare them."""
        if comes_in_chunks(X):
            raise TypeError(
                f"X is {type(X).__name__}, a source of chunks, but here "
                f"{type(self).__name__} needs the rows in memory. Read them first, or "
                "call fit of a predictor that has fit_moments, such as EMLR."
            )
        X, y, _ = named_columns(X, y)
        y = y if y is None else target_values(y)
        several = self.__sklearn_tags__().target_tags.multi_output
        X, y = self._validated(X, y, reset=reset, multi_output=several, y_numeric=True)
        refuse_beyond(y, "y")
        self._check_target_shape(y.shape[1:], reset)
        return X, y

    def _check_predict(self, X: Any) -> Any:
        """Return X as float64 with the features of the fit."""
        check_is_fitted(self)
        return self._validated(X, reset=False)

    def _validated(self, X: Any, *y: Any, reset: bool, **options: Any) -> Any:
        """Return X (and y) as scikit-learn checks them, once missing values are NaN."""
        refuse_same_names(X)
        X = with_nan(X)
        options |= {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        try:
            checked = validate_data(self, X, *y, reset=reset, **options)
        except OverflowError as error:  # an integer of more than 308 digits
            raise ValueError(
                f"X holds a number beyond the range of float64 ({error}). Rescale the "
                "column, or use NaN where the value is not known."
            ) from error
        refuse_beyond(checked[0] if y else checked, "X")
        return checked

    def _check_target_shape(self, shape: tuple[int, ...], reset: bool) -> None:
        """Remember the shape of a row's target, or compare it with that of before."""
        if reset or not hasattr(self, "_target_shape_"):
            self._target_shape_ = shape
        if shape != self._target_shape_:
            raise ValueError(
                f"y has shape {('n', *shape)} where the rows seen before had "
                f"{('n', *self._target_shape_)}; give the same targets in every chunk, "
                "or start anew with a clone."
            )

    def _finite(self, prediction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return predictions, or say which one leaves the range of float64."""
        finite = np.isfinite(prediction).reshape(len(prediction), -1).all(axis=1)
        if not finite.all():
            raise ValueError(
                f"the prediction of row {np.argmin(finite)} overflows float64: its "
                "values in X are too far from those of the fit. Correct them, or use "
                "NaN where they are not known."
            )
        return prediction

    def _predict_chunks(self, X: Any, **options: Any) -> Any:
        """Predict a table that comes in chunks: chunks out; Dask in, Dask out."""
        from missfit.estimators.streams import (
            predict_chunks,  # on use: it sees chunks alone
        )

        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        predict = functools.partial(self.predict, **options)
        return predict_chunks(predict, X, names, self.n_features_in_)

    def _trial(self, *, keep: bool = False) -> Any:
        """Return a copy to fit, so that a failure leaves the model as it was."""
        trial = copy.copy(self)
        if not keep:
            trial._forget()
        return trial

    def _become(self, trial: Any) -> Any:
        self._forget()
        vars(self).update(vars(trial))
        return self

    def _forget(self) -> None:
        """Drop what was learned: the names that end in an underscore."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

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

    is_linear = True
    alphas: Any  # of the predictors that choose a ridge strength
    cv: Any
    n_features_in_: int
    feature_names_in_: NDArray
    _y_ndim_: int
    _stream_: list[PatternMoments]
    _stream_rows_: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
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
        from missfit.estimators import (
            streams as engine,  # on use: most tables are in memory
        )

        trial = self._trial()
        cv = self.cv if trial._needs_folds() else 1
        if is_dask(X):
            table = engine.dask_table(X, y, sample_weight)
            validate_data(trial, table.like, skip_check_array=True)
            trial._check_parameters(trial.n_features_in_)
            trial._y_ndim_ = table.y_ndim
            folds = engine.dask_fold_moments(table, cv)
        else:
            source = open_source(X, y, sample_weight)
            folds = engine.fold_moments(source, trial._check_chunk, cv)
        moments = total_moments(folds)
        splits = usable_splits(splits_of_folds(folds))
        if cv != 1 and not splits:
            raise ValueError(_NO_SPLIT.format(cv))
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
        trial = self._trial()
        _check_table(moments, folds)
        trial._check_parameters(moments.n_features)
        if trial._needs_folds() and (not folds or len(folds) < 2):
            raise ValueError(
                f"alphas={self.alphas!r} has several strengths to choose from, which "
                "takes folds=, a list of two or more PatternMoments, one per fold. "
                "Give it, or one strength, such as alphas=(1.0,)."
            )
        trial.n_features_in_ = moments.n_features
        trial._y_ndim_ = 1 if moments.n_targets == 1 else 2
        trial._solve(moments, splits_of_folds(folds or []))
        trial._fit_beside_moments(moments, folds)
        return self._become(trial)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
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
        stream, seen = trial._deal(X, y, weight)
        moments = total_moments(stream)
        splits = splits_of_folds(stream) if trial._needs_folds() else []
        trial._solve(moments, usable_splits(splits))
        trial._fit_beside_moments(moments, stream if len(stream) > 1 else None)
        trial._stream_, trial._stream_rows_ = stream, seen
        return self._become(trial)

    def _deal(self, X, y, weight) -> tuple[list[PatternMoments], int]:
        """Add the rows of a chunk to the folds of the stream, one after the other."""
        n_folds = self._n_stream_folds()
        stream, seen = (
            getattr(self, "_stream_", None),
            getattr(self, "_stream_rows_", 0),
        )
        if stream is None:
            t = 1 if y.ndim == 1 else y.shape[1]
            stream = [PatternMoments.empty(X.shape[1], t)] * n_folds
        if len(stream) != n_folds:
            raise ValueError(
                f"cv={self.cv!r}, but the stream was dealt to {len(stream)} folds from "
                "its first chunk on. Keep cv, or start anew with a clone."
            )
        fold = (seen + np.arange(len(X))) % n_folds
        stream = list(stream)
        for k in range(n_folds):
            rows = (fold == k) & (weight > 0)
            if rows.any():
                chunk = PatternMoments.from_data(X[rows], y[rows], weight[rows])
                stream[k] = stream[k] + chunk
        return stream, seen + len(X)

    def _n_stream_folds(self) -> int:
        """Folds that a stream is dealt to: those of cv, one without cv."""
        if not hasattr(self, "cv"):
            return 1
        n_folds = 5 if self.cv is None else self.cv
        if not isinstance(n_folds, (int, np.integer)) or n_folds < 2:
            raise ValueError(
                f"cv={self.cv!r}; partial_fit deals rows to folds as they come, so "
                "that cv must be a number of folds >= 2."
            )
        return int(n_folds)

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

    def _solve(self, moments: PatternMoments, splits: list[Split]) -> None:
        """Fit to moments and, where a strength is chosen, the splits to choose by."""
        self._fit_moments(moments, splits)
        self.patterns_ = moments.patterns
        self.pattern_count_ = moments.count

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
        return hasattr(self, "alphas") and len(check_alphas(self.alphas)) > 1

    def _fit_beside_rows(self, X, y, sample_weight) -> None:
        """Fit what a predictor has beside it, given rows."""

    def _fit_beside_moments(self, moments, folds) -> None:
        """Fit what a predictor has beside it, given moments."""

    def _shaped(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Drop the target axis where y had none."""
        return values[:, 0] if self._y_ndim_ == 1 else values


def moments_and_splits(
    X: NDArray, y: NDArray, sample_weight: Any, cv: Any
) -> tuple[PatternMoments, list[Split]]:
    """Moments of all rows, and of the training and test rows of each split.

    Where the test rows of the splits are a partition and training takes all others,
    every row is read once: a split's training moments are the sum of the other folds'.
    """
    weight = None if sample_weight is None else check_weight(sample_weight, len(X))
    splits = _row_splits(X, y, cv)

    def part(rows) -> PatternMoments:
        chosen = None if weight is None else weight[rows]
        if len(rows) == 0 or (chosen is not None and not chosen.any()):
            return PatternMoments.empty(X.shape[1], 1 if y.ndim == 1 else y.shape[1])
        return PatternMoments.from_data(X[rows], y[rows], chosen)

    if are_folds(splits, len(X)):
        folds = [part(test) for _, test in splits]
        moments, pairs = total_moments(folds), splits_of_folds(folds)
    else:
        moments = PatternMoments.from_data(X, y, weight)
        pairs = [Split(part(train), part(test)) for train, test in splits]
    pairs = usable_splits(pairs)
    if not pairs:
        raise ValueError(_NO_SPLIT.format(cv))
    return moments, pairs


def _row_splits(X, y, cv: Any) -> list[tuple[NDArray, NDArray]]:
    if isinstance(cv, (int, np.integer)) and len(X) < cv:
        raise ValueError(
            f"X has n_samples={len(X)}, fewer than the {cv} folds of cv={cv!r}. "
            "Give fewer folds, or one strength, such as alphas=(1.0,)."
        )
    chosen: Any = cv
    splitter: Any = check_cv(chosen)
    return [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(X, y)]


def are_folds(splits: list[tuple[NDArray, NDArray]], n: int) -> bool:
    """Whether the test rows are a partition and training takes all others."""
    if not splits:
        return False
    tests = np.concatenate([test for _, test in splits])
    return (
        len(tests) == n
        and len(np.unique(tests)) == n
        and all(
            len(train) + len(test) == n and len(np.union1d(train, test)) == n
            for train, test in splits
        )
    )


def splits_of_folds(folds: list[PatternMoments]) -> list[Split]:
    """One split per fold: test on it, train on the sum of the others."""
    if len(folds) < 2:
        return []
    others = [[f for j, f in enumerate(folds) if j != k] for k in range(len(folds))]
    return [
        Split(total_moments(rest), fold)
        for rest, fold in zip(others, folds, strict=True)
    ]


def usable_splits(splits: list[Split]) -> list[Split]:
    """Return the splits with rows in both parts."""
    return [split for split in splits if len(split.train) and len(split.test)]


def _check_table(moments: Any, folds: Any) -> None:
    if not isinstance(moments, PatternMoments):
        raise TypeError(
            f"fit_moments takes PatternMoments, not {type(moments).__name__}; build "
            "them with PatternMoments.from_data(X, y), or call fit(X, y)."
        )
    if not moments.count.sum() > 0:
        raise ValueError("the table of moments holds no rows; add some first.")
    if folds and not np.isclose(
        sum(fold.count.sum() for fold in folds), moments.count.sum()
    ):
        raise ValueError(
            f"the folds hold {sum(fold.count.sum() for fold in folds):g} rows and the "
            f"table {moments.count.sum():g}; the folds must add up to the table."
        )


def total_moments(parts: list[PatternMoments]) -> PatternMoments:
    """Return the sum of some tables."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


class Choice(NamedTuple):
    """A ridge strength, and the cross-validated R2 of each (empty without splits)."""

    alpha: float
    scores: dict[float, float]


def choose_alpha(
    alphas: tuple[float, ...],
    splits: list[Split],
    path: Callable[[PatternMoments], Iterable[Callable[[NDArray], AffineMaps]]],
) -> Choice:
    """Choose the strength of the best mean R2 over the splits.

    ``path(train)`` yields, for each strength, a function from patterns to maps. Where a
    test part has no spread of its own, as a single row, the squared errors of all parts
    are pooled instead. Without splits the first strength is taken.
    """
    if len(alphas) == 1 or not splits:
        return Choice(alphas[0], {})
    errors, spreads = [], []
    for train, test in splits:
        points = test.points()
        maps = (model(test.patterns) for model in path(train))
        errors.append([squared_error(m, test, points) for m in maps])
        spreads.append(target_spread(test, points))
    error, spread = np.array(errors), np.array(spreads)[:, None, :]  # (s, a, t)
    if (spread > 0).all():
        score = (1 - error / spread).mean(axis=(0, 2))
    else:
        pooled = total_moments([split.test for split in splits])
        whole = target_spread(pooled, pooled.points())
        met = np.where(whole > 0, whole, 1.0)
        score = (1 - error.sum(axis=0) / met).mean(axis=1)
    scores = dict(zip(alphas, score.tolist(), strict=True))
    return Choice(max(scores, key=lambda alpha: scores[alpha]), scores)


def squared_error(
    maps: AffineMaps, moments: PatternMoments, points: Points
) -> NDArray[np.float64]:
    """Sum of squared errors of maps on the rows of a table of moments, per target.

    ``maps`` are those of the table's patterns. A pattern kept as moments adds
    count (mean'v - intercept)^2 + v'scatter v with v = (-coef, 1), a row its square.
    """
    d, t = moments.n_features, moments.n_targets
    pattern, values, weight = points
    predicted = maps.intercept[pattern] + np.einsum(
        "ptd,pd->pt", maps.coef[pattern], values[:, :d]
    )
    error = weight @ (values[:, d:] - predicted) ** 2
    coef = maps.coef[moments.condensed]
    v = np.concatenate(
        [-coef, np.broadcast_to(np.eye(t), (*coef.shape[:2], t))], axis=2
    )
    return error + np.einsum("ptk,ptk->t", v @ moments.condensed_scatter, v)


def target_spread(moments: PatternMoments, points: Points) -> NDArray[np.float64]:
    """Sum of squares of each target about its mean."""
    _, values, weight = points
    y = values[:, moments.n_features :]
    gap = y - weight @ y / weight.sum()
    inner = np.diagonal(moments.condensed_scatter, axis1=1, axis2=2).sum(axis=0)
    return weight @ gap**2 + inner[moments.n_features :]
