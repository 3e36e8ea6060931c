"""What intervals and sets of classes share: rows that calibrate an estimator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from missfit.estimators.any_table import as_table, missing_mask
from missfit.estimators.augmentation import Augmentation
from missfit.estimators.base import NanEstimator
from missfit.estimators.calibration import (
    OF_ERRORS,
    Calibration,
    Thresholds,
    Ties,
)
from missfit.estimators.calibration_rows import (
    HeldOut,
    Learner,
    Rows,
    fitted,
    hold_out,
    hold_out_by,
    read_rows,
)
from missfit.estimators.typical_scores import TypicalScores
from missfit.moments.patterns import group_rows
from missfit.tables.arrays import refuse_same_names
from missfit.tables.chunks import comes_in_chunks


class ConformalEstimator(NanEstimator):
    """An estimator, and held-out rows that say how far its predictions can be trusted.

    A subclass says what a target is (`_targets`), what the estimator predicts
    (`_predicted`), and how badly that fits the target (`_scores`).
    """

    estimator: Any
    alpha: float
    calibration: float
    cv: Any
    random_state: Any
    method: str = "auto"  # which all but ConformalRegressor always are
    ties: Ties = OF_ERRORS
    estimator_: Any
    calibration_rows_: Any
    calibration_targets_: NDArray
    calibration_predictions_: NDArray[np.float64]
    calibration_groups_: NDArray[np.intp]
    calibration_weights_: NDArray[np.float64]
    calibration_places_: NDArray[np.float64]

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None
    ) -> Self:
        """Fit the estimator to some rows and calibrate with the others.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The features, with missing values as the estimator takes them: NaN, None,
            NA, NaT or null.
        y : array-like of shape (n,), or str
            The target, or the name of its column in X.
        sample_weight : array-like of shape (n,), or str, optional
            The weights of the rows in the fit of the estimator, which takes them in
            its own sense, and in the calibration, where only their ratios matter; or
            the name of their column. Coverage is then that of the weighted rows, and
            unequal weights leave fewer effective rows.
        groups : array-like of shape (n,), optional
            Rows of one group (a school, a patient) are fitted or held out together and
            count as one draw, so that coverage is that of new groups; passed on to an
            estimator that takes them.
        """
        self._check_parameters()
        trial = self._trial()
        rows = read_rows(X, y, sample_weight, groups, trial._targets)
        rows = rows._replace(X=trial._check_table(rows.X, reset=True))
        trial._keep(trial._held_out(rows))
        if self.method == "auto":
            trial.calibration_places_ = trial._places_of_calibration_rows()
        return self._become(trial)

    @abstractmethod
    def _targets(self, y: Any) -> NDArray:
        """Return the checked targets of all rows; remember what they can be."""

    @abstractmethod
    def _predicted(self, fitted: Any, X: Any) -> NDArray[np.float64]:
        """Return what a fitted estimator predicts, the first axis being the rows."""

    @abstractmethod
    def _scores(self, targets: NDArray, predicted: NDArray) -> NDArray[np.float64]:
        """Return how badly predictions fit the targets of their rows, >= 0."""

    def _check_parameters(self) -> None:
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha={self.alpha!r}; it must be between 0 and 1.")
        if not 0 < self.calibration < 1:
            raise ValueError(
                f"calibration={self.calibration!r}; the share of the rows must be "
                "between 0 and 1."
            )

    def _check_table(self, X: Any, *, reset: bool) -> Any:
        """Return X as it came, lists as arrays; remember its columns, or compare."""
        X = as_table(X)
        refuse_same_names(X)
        if len(X.shape) != 2:
            raise ValueError(
                f"Expected 2D array, got X of shape {X.shape}. Reshape your data: "
                "X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row."
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _held_out(self, rows: Rows) -> HeldOut:
        rng, alpha = check_random_state(self.random_state), self.alpha
        parts = (Learner(self._fitted, self._predicted, self._are_enough), rows)
        if self.cv is not None:
            return hold_out_by(self.cv, *parts, alpha=alpha, rng=rng)
        return hold_out(
            *parts,
            alpha=alpha,
            share=self.calibration,
            may_cross_fit=self.method == "auto",
            rng=rng,
        )

    def _fitted(self, rows: Rows) -> Any:
        """Return the estimator, fitted to some rows."""
        return fitted(self.estimator, rows)

    def _are_enough(self, targets: NDArray, everything: NDArray) -> bool:
        """Whether rows with some of the targets can stand for all in the fit."""
        del targets, everything
        return True

    def _keep(self, held_out: HeldOut) -> None:
        self.estimator_, rows, self.calibration_predictions_ = held_out
        self.calibration_rows_, self.calibration_targets_ = rows.X, rows.y
        self.calibration_weights_, self.calibration_groups_ = rows.weight, rows.group

    def predict(self, X: Any) -> NDArray:
        """Predict rows: what the estimator says."""
        if comes_in_chunks(X):
            return self._predict_chunks(X)
        check_is_fitted(self)
        return self.estimator_.predict(self._check_table(X, reset=False))

    def usable_rows(self, patterns: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Calibration rows that observe all that each pattern (P, d) observes."""
        return self._augmentation().usable_rows(np.asarray(patterns, dtype=bool))

    def thresholds(
        self,
        patterns: NDArray[np.bool_],
        alphas: Sequence[float],
        rng: np.random.RandomState | None = None,
    ) -> Thresholds:
        """Return the score that few rows of each pattern exceed, and its kind.

        It depends on the pattern alone, so that it can be kept for rows to come.

        Parameters
        ----------
        patterns : bool ndarray of shape (P, d)
            Distinct patterns, True where a value is missing.
        alphas : sequence of float
            The shares of rows above it.
        rng : RandomState, optional
            To draw the places of equal scores; each has the lowest by default.

        Returns
        -------
        Thresholds
            Arrays of shape (alphas, P).
        """
        for alpha in alphas:
            if not 0 < alpha < 1:
                raise ValueError(f"alpha={alpha!r}; it must be between 0 and 1.")
        rows = self._augmentation()
        calibration = Calibration(
            self._calibration_scores(),
            self._calibration_places(rng),
            rows.mask,
            self.calibration_groups_,
            self.calibration_weights_,
        )
        rare = ~calibration.has_own_rows(patterns, min(alphas))
        near = rows.near_scores(patterns[rare]).scores
        typical = self._typical(near, np.full(near.shape, True))

        def score_at(places: NDArray) -> tuple[NDArray, NDArray]:
            found, tied = np.ones((2, len(patterns)))
            found[rare] = typical.scores_at(places[rare])
            tied[rare] = typical.tied_share(found[rare], places[rare])
            return found, tied

        found = [calibration.thresholds(patterns, alpha, score_at) for alpha in alphas]
        return Thresholds(*map(np.array, zip(*found, strict=True)))

    def _typical(
        self, scores: NDArray[np.float64], known: NDArray[np.bool_]
    ) -> TypicalScores:
        """Return typical scores to divide by, also where a pattern is without doubt."""
        mean = self._calibration_scores().mean()
        least = 1e-9 * mean if mean > 0 else 1.0
        return TypicalScores.of(scores, known, least, self.ties)

    def _places_of_calibration_rows(self) -> NDArray[np.float64]:
        """Return the lowest and the highest place of each row in its pattern, (n, 2).

        Among the scores that are typical of the pattern without the row itself.
        """
        rows = self._augmentation()
        groups = group_rows(rows.mask)
        index = groups.pattern_of_row()
        near, scores = rows.near_scores(groups.patterns)
        known = near[index] != np.arange(len(index))[:, None]
        if near.shape[1] == 1:
            known[:] = True
        typical, own = self._typical(scores[index], known), self._calibration_scores()
        return np.column_stack([typical.places(own), typical.highest_places(own)])

    def _calibration_places(
        self, rng: np.random.RandomState | None
    ) -> NDArray[np.float64]:
        """Return the lowest place of each row, or one drawn up to its highest.

        Models saved before there were places do not keep them.
        """
        if not hasattr(self, "calibration_places_"):
            self.calibration_places_ = self._places_of_calibration_rows()
        low, high = self.calibration_places_.T
        return low if rng is None else rng.uniform(low, high)

    def _calibration_scores(self) -> NDArray[np.float64]:
        return self._scores(self.calibration_targets_, self.calibration_predictions_)

    def _augmentation(self) -> Augmentation:
        rows = self.calibration_rows_
        return Augmentation(
            lambda X, y: self._scores(y, self._predicted(self.estimator_, X)),
            rows,
            missing_mask(rows),
            self.calibration_targets_,
        )
