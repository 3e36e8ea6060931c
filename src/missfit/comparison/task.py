"""The kind of task: what a prediction is, what it loses, and how that is told.

A comparison asks its task, and nothing else knows whether the target is a number or a
class. Losses are per row, and their mean is what candidates are ranked by.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.auto.heldout import Gain


class Words(NamedTuple):
    """How a task speaks of its scores.

    Attributes
    ----------
    score, the_score : str
        The score that candidates are ranked by, with and without an article.
    worsens, worsening : str
        What the score does where something is taken away, as in "R2 falls", and the
        noun, as in "fall of R2".
    improved : str
        What it has done where something is added, as in "R2 rose".
    error, whole_error : str
        What the error on some rows is called, in short and in full.
    risk : str
        What the mean of all losses is called.
    loss : str
        What the losses of rows add up to.
    """

    score: str
    the_score: str
    worsens: str
    worsening: str
    improved: str
    error: str
    whole_error: str
    risk: str
    loss: str


class ScoreColumn(NamedTuple):
    """A column of a table of scores.

    Attributes
    ----------
    title, field, format : str
        Its title, the field of a score that it shows, and how a number is written.
    has_error : bool
        Whether the score has a standard error, in the field with "_error" behind.
    """

    title: str
    field: str
    format: str
    has_error: bool = False


class Task(ABC):
    """What a comparison needs to know of the kind of its target."""

    words: Words
    columns: tuple[ScoreColumn, ...]  # those after predictor; the score comes first
    higher_is_better: bool

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """Return the labels of the classes, None where the target is a number."""
        return None

    @abstractmethod
    def nothing(self, n: int) -> NDArray[np.float64]:
        """Return predictions of n rows that are not there: NaN."""

    @abstractmethod
    def fit_target(self, y: NDArray) -> NDArray:
        """Return the targets as models are given them."""

    def fit(self, model: Any, X: NDArray, y: NDArray, **options: Any) -> Any:
        """Fit a model to rows and their targets."""
        return model.fit(X, self.fit_target(y), **options)

    @abstractmethod
    def predict(self, model: Any, X: NDArray) -> NDArray[np.float64]:
        """Return the predictions of a model, one row of numbers or one number each."""

    @abstractmethod
    def loss(self, y: NDArray, guess: NDArray) -> NDArray[np.float64]:
        """Return the loss of each row."""

    @abstractmethod
    def unit(self, y: NDArray) -> float:
        """Return the mean loss that is one unit of the score."""

    @abstractmethod
    def scores_of_draws(
        self, weight: NDArray, y: NDArray, losses: NDArray
    ) -> NDArray[np.float64]:
        """Return the score of each trial by each draw of weights, (draws, trials).

        Parameters
        ----------
        weight : ndarray of shape (draws, n)
        y : ndarray of shape (n,)
        losses : ndarray of shape (trials, n)
        """

    @abstractmethod
    def score_with_error(self, y: NDArray, loss: NDArray, units) -> Gain:
        """Return the score of one trial and its standard error (the delta method)."""

    @abstractmethod
    def usable(self, weight: NDArray, y: NDArray) -> NDArray[np.bool_]:
        """Return which draws of weights have a score."""

    @abstractmethod
    def score(self, values: list[float], y: NDArray, guess: NDArray, units) -> Any:
        """Return the score of a trial.

        Parameters
        ----------
        values : list of float
            The score, the ends of its interval, and how far it is behind the best one
            with the ends and the standard error of that.
        y, guess : ndarray
            The targets and predictions of the rows that are tested.
        units : ndarray of shape (n,), optional
            Rows that count as one observation.
        """

    @abstractmethod
    def record(self, y: NDArray, guess: NDArray) -> dict[str, float | None]:
        """Return the scores of the rows of a fold, by the names of their columns."""

    @abstractmethod
    def typical(self, mean: float, error: float = 0.0) -> tuple[float, float]:
        """Return a mean loss as it is told, and its standard error."""

    @abstractmethod
    def distance(self, truth: NDArray, guess: NDArray) -> NDArray[np.float64]:
        """Return the loss that is expected beyond that of the truth, for each row."""

    @abstractmethod
    def evidence(self, y: NDArray) -> NDArray[np.float64]:
        """Return the target as one number, for the evidence on missing values."""

    @abstractmethod
    def evidence_name(self, y: NDArray, target: str) -> str:
        """Return how to call what `evidence` returns."""
