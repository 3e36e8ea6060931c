"""The task of predicting a class: probabilities, log-loss, AUC, Brier, accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier

from missfit.auto.heldout import Gain
from missfit.comparison.class_scores import (
    are_right,
    auc_of,
    brier_losses,
    mean_with_error,
)
from missfit.comparison.number_task import NUMBER
from missfit.comparison.task import ScoreColumn, Task, Words
from missfit.estimators.classes import CERTAIN, shares_of_all
from missfit.tables.columns import shown
from missfit.tables.target import Label


class ClassScore(NamedTuple):
    """The scores of a trial whose target is a class.

    Attributes
    ----------
    log_loss, low, high : float
        The mean of -log of the probability that was given to the class of the row, and
        the ends of its 95 % interval.
    behind, behind_low, behind_high, behind_error : float
        How far the log-loss is above that of the best trial, the ends of the 95 %
        interval of this difference, and its standard error.
    auc, auc_error : float
        The area under the ROC curve (see `missfit.comparison.class_scores.auc_of`) and
        its standard error; NaN where the rows that are tested have one class.
    brier, brier_error : float
        The Brier score and its standard error.
    accuracy, accuracy_error : float
        The share of the rows whose most probable class is right, and its standard
        error.
    """

    log_loss: float
    low: float
    high: float
    behind: float
    behind_low: float
    behind_high: float
    behind_error: float
    auc: float
    auc_error: float
    brier: float
    brier_error: float
    accuracy: float
    accuracy_error: float

    @property
    def value(self) -> float:
        """Return the score that candidates are ranked by."""
        return self.log_loss


@dataclass(frozen=True)
class ClassTask(Task):
    """The target is a class, and the loss is -log of its probability.

    Targets are the places of the classes, 0, 1, 2, ..., and predictions are their
    probabilities, one column each.

    Parameters
    ----------
    labels : tuple
        Those of the classes.
    """

    labels: tuple[Label, ...]

    words = Words(
        score="log-loss",
        the_score="the log-loss",
        worsens="rises",
        worsening="rise of the log-loss",
        improved="fell",
        error="log-loss",
        whole_error="Log-loss",
        risk="log-loss",
        loss="log-loss",
    )
    columns = (
        ScoreColumn("log-loss", "log_loss", ".4f"),
        ScoreColumn("AUC", "auc", ".3f", has_error=True),
        ScoreColumn("Brier", "brier", ".4f", has_error=True),
        ScoreColumn("accuracy", "accuracy", ".1%", has_error=True),
    )
    higher_is_better = False

    @property
    def classes(self) -> tuple[Label, ...]:
        """Return the labels of the classes."""
        return self.labels

    def label(self, k: int) -> str:
        """Return the label of a class as a sentence shows it."""
        return shown(self.classes[k])

    def nothing(self, n: int) -> NDArray[np.float64]:
        """Return NaN for each row and class."""
        return np.full((n, len(self.classes)), np.nan)

    def fit_target(self, y: NDArray) -> NDArray:
        """Return the places of the classes as whole numbers."""
        return y.astype(np.intp)

    def fit(self, model: Any, X: NDArray, y: NDArray, **options: Any) -> Any:
        """Fit a classifier; where all rows are of one class there is nothing to fit."""
        if (y == y[0]).all():
            return DummyClassifier().fit(X, self.fit_target(y))
        return super().fit(model, X, y, **options)

    def predict(self, model: Any, X: NDArray) -> NDArray[np.float64]:
        """Return the probability of each class, also of those that the model never saw.

        These have a small probability rather than none, or no row of such a class
        could be scored.
        """
        seen = np.asarray(model.classes_, dtype=np.intp)
        shares = shares_of_all(model.predict_proba(X), seen, len(self.classes))
        return shares / shares.sum(axis=1, keepdims=True)

    def loss(self, y: NDArray, guess: NDArray) -> NDArray[np.float64]:
        """Return -log of the probability of each row's class."""
        given = guess[np.arange(len(y)), y.astype(np.intp)]
        return -np.log(np.clip(given, CERTAIN, 1.0))

    def unit(self, y: NDArray) -> float:
        """Return 1: a log-loss is told as it is."""
        return 1.0

    def scores_of_draws(self, weight, y, losses) -> NDArray[np.float64]:
        """Return the log-loss of each trial by each draw."""
        return (weight @ losses.T) / weight.sum(axis=1)[:, None]

    def score_with_error(self, y: NDArray, loss: NDArray, units) -> Gain:
        """Return the mean log-loss and its standard error."""
        return mean_with_error(loss, units)

    def usable(self, weight: NDArray, y: NDArray) -> NDArray[np.bool_]:
        """Return which draws have a row."""
        return weight.sum(axis=1) > 0

    def score(self, values, y, guess, units) -> ClassScore:
        """Return the log-loss and the further scores, with their standard errors."""
        code = y.astype(np.intp)
        further = [
            auc_of(code, guess, units),
            mean_with_error(brier_losses(code, guess), units),
            mean_with_error(are_right(code, guess), units),
        ]
        return ClassScore._make([*values, *(x for one in further for x in one)])

    def record(self, y: NDArray, guess: NDArray) -> dict[str, float | None]:
        """Return the scores of a fold."""
        code = y.astype(np.intp)
        auc = auc_of(code, guess).value
        return {
            "log_loss": float(self.loss(y, guess).mean()),
            "auc": None if np.isnan(auc) else auc,
            "brier": float(brier_losses(code, guess).mean()),
            "accuracy": float(are_right(code, guess).mean()),
        }

    def typical(self, mean: float, error: float = 0.0) -> tuple[float, float]:
        """Return a mean log-loss as it is."""
        return mean, error

    def distance(self, truth: NDArray, guess: NDArray) -> NDArray[np.float64]:
        """Return the Kullback-Leibler divergence from the Bayes classifier."""
        truth, guess = np.clip(truth, CERTAIN, 1.0), np.clip(guess, CERTAIN, 1.0)
        return (truth * np.log(truth / guess)).sum(axis=1)

    def evidence(self, y: NDArray) -> NDArray[np.float64]:
        """Return 1 for rows of one class: the second of two, or the most frequent."""
        return (y == self._told_apart(y)).astype(float)

    def evidence_name(self, y: NDArray, target: str) -> str:
        """Return how to call the share of that class."""
        return f"the share of {target} = {self.label(self._told_apart(y))}"

    def _told_apart(self, y: NDArray) -> int:
        if len(self.classes) == 2:
            return 1
        return int(np.bincount(y.astype(np.intp)).argmax())


def task_of(classes: tuple[Label, ...] | None) -> Task:
    """Return the task of a target with these classes, None for numbers."""
    return NUMBER if classes is None else ClassTask(classes)
