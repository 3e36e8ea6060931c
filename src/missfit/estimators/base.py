"""What all predictors share: the validation of X and y, fits that succeed or undo."""

from __future__ import annotations

import copy
import functools
from abc import ABC
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from missfit.estimators.documented import DocumentedEstimator
from missfit.estimators.streams import predict_chunks
from missfit.gaussian.conditional import ScaledGaussian
from missfit.gaussian.expected_features import ExpectedFeatures
from missfit.moments.pattern_moments import PatternMoments
from missfit.tables.arrays import (
    is_within,
    refuse_beyond,
    refuse_same_names,
    refuse_text,
    target_values,
    with_nan,
)
from missfit.tables.chunks import comes_in_chunks, named_columns


class NanEstimator(DocumentedEstimator, ABC):
    """A predictor that takes NaN in X, at fit and at predict."""

    takes_near = False  # fits take near=, a copy fitted to similar rows, to go on from
    is_linear = False  # one regression of y on complete X: can be the base of others
    has_law = False  # answers `expected_features`
    law_without_target = False  # whether a target of 0 and 1 upsets its law of X
    named_by_estimator = False  # whether the estimator inside says most of what it is
    predict: Callable[..., Any]
    n_features_in_: int
    takes_chunks = "EMLR()"  # one of the same task, for those who have chunks

    def _refuse_chunks(self, X: Any) -> None:
        """Raise where the rows come in chunks."""
        if comes_in_chunks(X):
            raise TypeError(
                f"{type(self).__name__} needs all rows in memory here, and X is of "
                f"type {type(X).__name__}, whose rows come in chunks. Read them into "
                "an array or a frame first, or use a predictor that takes chunks, such "
                f"as {self.takes_chunks}."
            )

    def _check_predict(self, X: Any) -> Any:
        """Return X as float64 with the features of the fit."""
        if self._is_plain(X):
            return X
        check_is_fitted(self)
        return self._validated(X, reset=False)

    def _is_plain(self, X: Any) -> bool:
        """Whether X is an array that the checks would return as it is.

        They take 0.3 ms, which a row that is predicted alone would spend on them twice.
        """
        if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2:
            return False
        fitted = vars(self)
        known = "feature_names_in_" not in fitted  # else scikit-learn has a warning
        known = known and X.shape[1] == fitted.get("n_features_in_") and X.size > 0
        return known and is_within(X)

    def _validated(self, X: Any, *y: Any, reset: bool, **options: Any) -> Any:
        """Return X (and y) as scikit-learn checks them, once missing values are NaN."""
        refuse_same_names(X)
        X = with_nan(X)
        # infinities of X are refused below, with the place of the first
        options |= {"dtype": np.float64, "ensure_all_finite": False}
        try:
            checked: Any = validate_data(self, X, *y, reset=reset, **options)
        except OverflowError as error:  # an integer of more than 308 digits
            raise ValueError(
                f"X holds a number beyond the range of float64 ({error}). Rescale the "
                "column, or use NaN where the value is not known."
            ) from error
        except ValueError:
            refuse_text(X)
            raise
        refuse_beyond(checked[0] if y else checked, "X")
        return checked

    def _predict_chunks(self, X: Any, **options: Any) -> Any:
        """Predict a table that comes in chunks: chunks out; Dask in, Dask out."""
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

    def _become(self, trial: Any) -> Self:
        self._forget()
        vars(self).update(vars(trial))
        return self

    def _forget(self) -> None:
        """Drop what was learned: the names that end in an underscore."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def __sklearn_tags__(self):
        """Return the tags: NaN is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _feature_names(self) -> list[str]:
        """Return the names of the features at fit, or x0, x1, ... where X had none."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{j}" for j in range(self.n_features_in_)]
        return [str(name) for name in names]

    # --- what a choice among predictors asks, with the answers of most of them ---

    @property
    def needs_rows(self) -> bool:
        """Whether the fit sees rows: there is no `fit_moments`."""
        return not hasattr(self, "fit_moments")

    @property
    def costs_by_row(self) -> bool:
        """Whether most of the cost of the fit is in proportion to the rows."""
        return self.needs_rows

    def seconds_of_fit(self, moments: PatternMoments) -> float:
        """Return how long a fit to such rows takes on one core, very roughly.

        Without what it starts from. 0 stands for a fit that is never long.
        """
        return 0.0

    def starts_from(self) -> Any:
        """Return the predictor whose fit to the same rows this one starts from.

        Where it is not None, ``fit_moments_given(fitted, moments)`` is the same as
        `fit_moments`, without the time of that other fit; so is ``fit_rows_given`` for
        a classifier, with the other fitted to the class indicators.
        """
        return None

    def made_of(self) -> list[Any]:
        """Return the predictors whose fits to the same rows this one is made of.

        Where there are some, ``of_fitted(models)`` is the same as `fit`, without the
        time of their fits.
        """
        return []

    def hinted_by(self) -> Any:
        """Return a cheap predictor that gains nothing where this one gains nothing.

        Where it does not predict held-out rows better than the first candidate of a
        choice, this one is not fitted. None: there is no such sign.
        """
        return None

    def hint_rival(self) -> Any:
        """Return what that cheap predictor must beat where rows are few.

        None is the first candidate of the choice, with few rows and with many.
        """
        return None

    def scout(self) -> Any:
        """Return a cheaper predictor of the same kind, or None.

        It is sent ahead where rows are many: what it gains on held-out rows tells
        whether this one is worth its cost. One that needs rows is given some of them.
        """
        return None

    def scout_rival(self) -> Any:
        """Return what a scout that is given some rows must beat on the same rows.

        None is the first candidate of the choice.
        """
        return None

    def with_chosen_strength(self) -> Any:
        """Return an unfitted copy with the ridge strength that this fit has chosen."""
        fitted: Any = self
        free: Any = clone(self)
        if "alphas" in free.get_params(deep=False):
            free.set_params(alphas=(fitted.alpha_,))
        return free

    def why_not(self) -> str:
        """Say why this fit has nothing to add to simpler ones; "" where it may."""
        return ""

    def self_masking_found(self) -> bool | None:
        """Whether the fit finds that values hide themselves; None if it cannot tell."""
        return None

    def laws(self) -> list[tuple[ScaledGaussian, NDArray[np.float64]]]:
        """Return the Gaussian laws of X, each with its share of each pattern at fit.

        Under them ``coef_`` is the regression of y on complete X. An empty list means
        that the model has no such law.
        """
        return []

    def expected_features(self, X: NDArray[np.float64]) -> list[ExpectedFeatures]:
        """Return the law of X given what is observed, for each component.

        In the standard units of the model; only those with ``has_law`` know it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no law of X.")

    def risk_drops(self, X: Any) -> NDArray[np.float64] | None:
        """Return the drop in the risk, over rows X, if each feature were measured.

        None where it follows from `laws`, or where the model cannot tell.
        """
        return None


class NanRegressor(RegressorMixin, NanEstimator):
    """A regressor that takes NaN in X, at fit and at predict."""

    def _check_fit(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Any]:
        """Return X and y as float64 and remember the features, or compare them."""
        self._refuse_chunks(X)
        X, y, _ = named_columns(X, y)
        y = y if y is None else target_values(y)
        several = self.__sklearn_tags__().target_tags.multi_output
        X, y = self._validated(X, y, reset=reset, multi_output=several, y_numeric=True)
        refuse_beyond(y, "y")
        self._check_target_shape(y.shape[1:], reset)
        return X, y

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

    def __sklearn_tags__(self):
        """Return the tags: several targets are welcome."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
