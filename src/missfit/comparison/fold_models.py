"""The recommended predictor, fitted outside of folds whose rows then question it."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.comparison.results import Comparison, Trial
from missfit.comparison.task import Task
from missfit.estimators import ConformalRegressor
from missfit.estimators.forward_split import ForwardSplit
from missfit.evidence.worth import Fold

REFIT_SECONDS = 10.0  # the most time to fit again outside of more folds than one
ENOUGH_ROWS = 2_000  # unseen rows that are enough to question a predictor with


class FoldModel(NamedTuple):
    """A fitted model, and rows that it has not seen.

    Attributes
    ----------
    model : estimator
    X : ndarray of shape (n, k)
        All rows as the model meets them.
    variables : int ndarray of shape (k,)
        The variable of each column of X.
    test : int ndarray
        The rows that the model has not seen.
    """

    model: Any
    X: NDArray[np.float64]
    variables: NDArray[np.intp]
    test: NDArray[np.intp]

    def fold(self, task: Task) -> Fold:
        """Return what `missfit.evidence.worth` asks."""
        predict = partial(task.predict, self.model)
        return Fold(predict, self.test, self.X, self.variables)


def fold_models(
    comparison: Comparison,
    intervals: ConformalRegressor | None = None,
    *,
    seconds: float = REFIT_SECONDS,
) -> list[FoldModel]:
    """Return the recommended predictor outside of folds with enough rows together.

    Its first fit is the one inside the intervals, where these are given: nothing is
    fitted again where one fold has enough rows, or where a fit is slow.

    Parameters
    ----------
    comparison : Comparison
    intervals : ConformalRegressor, optional
        Fitted to the training rows of the first of these folds, see `conformal`.
    seconds : float
        The time limit of what is fitted again; 10 seconds are never exceeded.
    """
    one = comparison.trial(comparison.recommended)
    rows_each = comparison.is_tested.sum() / comparison.n_folds
    spare = min(seconds, REFIT_SECONDS) / max(one.seconds.mean(), 1e-3)
    n_models = min(math.ceil(ENOUGH_ROWS / rows_each), 1 + int(spare))
    folds = comparison.best_trained[:n_models]
    models = [intervals.estimator_] if intervals is not None else []
    models += [_fitted(comparison, one, k) for k in folds[len(models) :]]
    return [
        FoldModel(
            model,
            comparison.fold_tables[k],
            comparison.fold_variables[k],
            np.flatnonzero(comparison.fold == k),
        )
        for k, model in zip(folds, models, strict=True)
    ]


def _fitted(comparison: Comparison, trial: Trial, k: int) -> Any:
    """Fit a candidate to the training rows of fold k, with groups if it takes them."""
    train = comparison.training(k)
    options, model = {}, trial.candidate.make(comparison.seed)
    if trial.candidate.takes_groups and comparison.fit_groups is not None:
        options["groups"] = comparison.fit_groups[train]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = comparison.fold_tables[k][train]
        return comparison.task.fit(model, X, comparison.y[train], **options)


def conformal(comparison: Comparison) -> ConformalRegressor:
    """Fit the intervals of the recommended predictor to the training rows of a fold.

    It is the first one, or the last one in time.
    """
    chosen = comparison.trial(comparison.recommended).candidate
    fold = comparison.best_trained[0]
    train, groups = comparison.training(fold), comparison.fit_groups
    model = ConformalRegressor(
        chosen.make(comparison.seed),
        cv=None if comparison.time is None else ForwardSplit(),
        random_state=comparison.seed,
    )
    X = comparison.fold_tables[fold]
    groups = None if groups is None else groups[train]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X[train], comparison.y[train], groups=groups)
