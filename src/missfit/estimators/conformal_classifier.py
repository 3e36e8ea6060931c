"""ConformalClassifier: sets of classes calibrated for each missing pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from missfit.estimators.any_table import missing_mask
from missfit.estimators.calibration import OF_PROBABILITIES, TIED
from missfit.estimators.calibration_rows import HeldOut, Rows
from missfit.estimators.classes import (
    NanClassifier,
    classes_and_codes,
    refuse_one_class,
    shares_of_all,
)
from missfit.estimators.conformal import ConformalEstimator
from missfit.moments.patterns import group_rows


class ConformalClassifier(ConformalEstimator, NanClassifier):
    """Sets of classes around any classifier, calibrated for each missing pattern.

    Conformal prediction: some rows are held out from the fit, and the score of each is
    the probability that the classifier gave to other classes than its own, 1 - p(y).
    The set of a new row holds every class whose score is at most the 1 - alpha quantile
    of these scores (Sadinle, Lei, Wasserman 2019: no sets of this coverage hold fewer
    classes on average, if the probabilities are right). Which scores count depends on
    the missing pattern of the row, as in `missfit.ConformalRegressor`: those of the
    same pattern where there are 1/alpha - 1 or more of them, so that coverage is
    1 - alpha *given the pattern* under any mechanism; else those of other rare
    patterns with about as many missing values; `predict_set` says which.

    Parameters
    ----------
    estimator : classifier
        Anything with fit and predict_proba, such as a pipeline with text columns;
        cloned. It gets X as it comes, and must take the missing values that X has.
    alpha : float
        Share of the rows whose class may be outside: 0.1 asks for 90 % coverage.
    calibration, cv, random_state
        Which rows calibrate, as in `missfit.ConformalRegressor`. Where the rows that
        are held out have all rows of a class, all rows calibrate by cross-fitting.
    allow_empty : bool
        A classifier that is right in more than 1 - alpha of the rows exceeds what is
        asked for with its most probable class alone. By default the sets of the least
        certain rows are then empty, so that coverage is what was asked for. With False
        every set holds at least the most probable class, and coverage is higher.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    estimator_ : classifier
        Fitted to the rows that are not held out, or to all after cross-fitting.
    calibration_rows_ : array or frame
        The rows that calibrate.
    calibration_targets_ : ndarray
        The place of the class of each among ``classes_``.
    calibration_predictions_ : ndarray of shape (n, K)
        Their probabilities by a model that was not fitted to them.
    calibration_groups_, calibration_weights_ : ndarray
        As in `missfit.ConformalRegressor`.
    calibration_places_ : ndarray of shape (n, 2)
        The place of each among the scores that are typical of its pattern: the lowest
        and the highest, where several of these are equal to its own.

    Notes
    -----
    Coverage holds over the rows of a pattern together, and not for each class: a class
    that is rare and hard to tell is often left out. It is more than 1 - alpha where
    many rows have exactly the same probabilities, as those in which every feature is
    missing: their sets are all the same, unless `predict_set` draws them. What is said
    of coverage with few rows, of groups and of what breaks the promise in
    `missfit.ConformalRegressor` holds here.

    References
    ----------
    M. Sadinle, J. Lei, L. Wasserman. Least ambiguous set-valued classifiers with
    bounded error levels. JASA 2019.

    V. Vovk, A. Gammerman, G. Shafer. Algorithmic Learning in a Random World. Springer
    2005 (smoothed conformal predictors).

    Examples
    --------
    >>> from missfit import EMLR, PatternClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2))
    >>> label = np.where(X.sum(axis=1) + rng.normal(size=4000) > 0, "yes", "no")
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> base = PatternClassifier(EMLR())
    >>> model = ConformalClassifier(base, random_state=0).fit(X, label)
    >>> new = [[2.0, 2.0], [2.0, np.nan], [np.nan, np.nan]]
    >>> sets, kind = model.predict_set(new, return_kind=True)
    >>> [model.classes_[one].tolist() for one in sets]
    [['yes'], ['yes'], ['no', 'yes']]
    >>> kind.tolist()
    ['same pattern', 'same pattern', 'same pattern']
    """

    def __init__(
        self,
        estimator: Any,
        *,
        alpha: float = 0.1,
        calibration: float = 0.25,
        cv: Any = None,
        allow_empty: bool = True,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.alpha = alpha
        self.calibration = calibration
        self.cv = cv
        self.allow_empty = allow_empty
        self.random_state = random_state

    ties = OF_PROBABILITIES

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"estimator={self.estimator!r} has no predict_proba, and sets of "
                "classes are made of probabilities. Give a classifier that has it, "
                "such as PatternClassifier(EMLR()), or wrap this one in scikit-learn's "
                "CalibratedClassifierCV."
            )

    def _targets(self, y: Any) -> NDArray:
        """Return the labels of all rows; remember the classes."""
        self.classes_, code = classes_and_codes(y)
        return self.classes_[code]

    def _held_out(self, rows: Rows) -> HeldOut:
        refuse_one_class(self.classes_, self._codes(rows.y), rows.weight)
        return super()._held_out(rows)

    def _fitted(self, rows: Rows) -> Any:
        """Return the estimator; where a split learns from one class, that class."""
        if len(np.unique(rows.y)) == 1:
            return DummyClassifier().fit(rows.X, rows.y)
        return super()._fitted(rows)

    def _are_enough(self, targets: NDArray, everything: NDArray) -> bool:
        """Whether every class is among the targets."""
        return len(np.unique(targets)) == len(np.unique(everything))

    def _predicted(self, fitted: Any, X: Any) -> NDArray[np.float64]:
        """Return a probability for each class, also for those of no row of the fit."""
        shares = np.asarray(fitted.predict_proba(X), dtype=np.float64)
        return shares_of_all(shares, self._codes(fitted.classes_), len(self.classes_))

    def _scores(self, targets: NDArray, predicted: NDArray) -> NDArray[np.float64]:
        return 1 - predicted[np.arange(len(targets)), targets]

    def _keep(self, held_out: HeldOut) -> None:
        super()._keep(held_out)
        self.calibration_targets_ = self._codes(held_out.rows.y)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class: what the estimator says, (n, K)."""
        check_is_fitted(self)
        return self._predicted(self.estimator_, self._check_table(X, reset=False))

    def predict_set(
        self, X: Any, return_kind: bool = False, *, random_state: Any = None
    ) -> Any:
        """Return which classes are in the set of each row.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        return_kind : bool
            Also return which rows calibrated each set: "same pattern", "pooled
            patterns", "all rows" or "too few", where a set holds every class.
        random_state : int, RandomState instance or None
            By default a class whose score is exactly at the quantile is in the set, and
            where many rows share that score they are covered too often. With a seed it
            is in the set of as many of these rows, drawn at random, as coverage of
            1 - alpha needs: the same row then has one set here and another there.

        Returns
        -------
        sets : bool ndarray of shape (n, K)
            In the order of ``classes_``; ``classes_[sets[i]]`` are the classes in the
            set of row i.
        kind : ndarray of str, shape (n,), with ``return_kind``
        """
        sets, kind = self._sets(X, (self.alpha,), random_state)
        return (sets[0], kind[0]) if return_kind else sets[0]

    def predict_sets(self, X: Any, alphas: Sequence[float]) -> NDArray[np.bool_]:
        """Return the sets for several shares outside, of shape (alphas, n, K).

        It costs little more than one share, since the same scores serve all.
        """
        return self._sets(X, alphas)[0]

    def _sets(
        self, X: Any, alphas: Sequence[float], random_state: Any = None
    ) -> tuple[NDArray[np.bool_], NDArray[np.str_]]:
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        groups = group_rows(missing_mask(X))
        index = groups.pattern_of_row()
        rng = None if random_state is None else check_random_state(random_state)
        found = self.thresholds(groups.patterns, alphas, rng)
        shares = self._predicted(self.estimator_, X)
        sets = inside(shares, found.value[:, index])
        if rng is not None:
            at = sets & ~inside(shares, found.value[:, index] - 2 * TIED)
            draw = rng.uniform(size=len(shares))
            sets &= ~at | (draw < found.tied[:, index])[:, :, None]
        if not self.allow_empty:
            sets |= np.arange(len(self.classes_)) == shares.argmax(axis=1)[:, None]
        return sets, found.kind[:, index]


def inside(shares: NDArray, threshold: NDArray) -> NDArray[np.bool_]:
    """Whether each class is in the set of a row, given the threshold of its pattern.

    >>> inside(np.array([[0.7, 0.3], [0.7, 0.3]]), np.array([0.5, 0.7]))
    array([[ True, False],
           [ True,  True]])
    """
    return 1 - shares <= threshold[..., None] + TIED
