"""What a target asks of a prediction: on which scale parts add up, what errors cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear
from sklearn.base import BaseEstimator, is_regressor

from missfit.auto.average import LinearAverage
from missfit.auto.trees import FlatTrees


class ScoreWords(NamedTuple):
    """How a score is called."""

    name: str  # "R2"
    gain: str  # "gain in R2"
    earned: str  # "add {} to its held-out R2", with the gain in the braces


class Task(NamedTuple):
    """What a flexible part learns beside a base.

    Attributes
    ----------
    words : str
        What it is fitted to.
    sees_base : bool
        Whether the base's guess is among its inputs, after the features.
    is_step : bool
        Whether it is fitted to the residuals of the base, so that it predicts the step
        from the base to the target. Otherwise it predicts the target itself.
    """

    words: str
    sees_base: bool
    is_step: bool

    @property
    def uses_base(self) -> bool:
        """Whether what it is fitted to depends on the base's guess."""
        return self.sees_base or self.is_step

    def inputs(self, X: NDArray, base: NDArray) -> NDArray[np.float64]:
        """Return the features, and the base's guess where the part sees it."""
        return np.column_stack([X, base]) if self.sees_base else X

    def target(self, y: NDArray, base: NDArray) -> NDArray:
        """Return what the part is fitted to."""
        return y - base if self.is_step else y

    def addition(self, guess: NDArray, base: NDArray) -> NDArray[np.float64]:
        """Return what the part's guess adds to that of the base."""
        return guess if self.is_step else guess - base


class Objective(ABC):
    """What a target asks of a prediction.

    A *guess* is a prediction on the scale on which the parts of a model are added up.

    Attributes
    ----------
    words : ScoreWords
        How the score is called.
    tasks : tuple of Task
        What each flexible candidate is tried on.
    kind, such_as : str
        Which candidates can be given, in words and by an example.
    earned : float
        Paired standard errors that a part must gain, for its rounds were chosen too.
    sure : float
        Paired standard errors that a part must gain on the first split beside a base
        that is dear, to be fitted to the others.
    few_rows : int
        Training rows up to which no part is given up after the first split alone.
    shrinks : bool
        Whether the weights of the parts are shrunk by the evidence for them.
    has_law_of_risk : bool
        Whether the loss of a linear model follows from its Gaussian law.
    """

    words: ClassVar[ScoreWords]
    tasks: ClassVar[tuple[Task, ...]]
    kind: ClassVar[str]
    such_as: ClassVar[str]
    earned: ClassVar[float]
    has_law_of_risk: ClassVar[bool]
    sure: ClassVar[float] = 0.0
    few_rows: ClassVar[int] = 0
    shrinks: ClassVar[bool] = False

    @abstractmethod
    def average(self, estimators: list[Any], weights: tuple[float, ...]) -> Any:
        """Return the weighted mean of some predictors, as a predictor."""

    @abstractmethod
    def takes(self, candidate: Any) -> bool:
        """Whether something is a candidate for this target."""

    @abstractmethod
    def guess(self, model: Any, X: NDArray) -> NDArray[np.float64]:
        """Return a model's guesses of rows."""

    @abstractmethod
    def stages(self, model: Any, X: NDArray) -> Iterator[NDArray[np.float64]]:
        """Yield the guesses of a boosted model after each round."""

    @abstractmethod
    def losses(self, y: NDArray, guess: NDArray) -> NDArray[np.float64]:
        """Return the loss of each row."""

    @abstractmethod
    def unit(self, y: NDArray, weight: NDArray) -> float:
        """Return the loss that a gain of one in the score stands for."""

    @abstractmethod
    def score(self, loss: float, unit: float) -> float:
        """Return the score of a mean loss."""

    @abstractmethod
    def improved(self, score: float, gain: float) -> float:
        """Return a score after a gain, or after a loss where the gain is negative."""

    @abstractmethod
    def weights(
        self, y: NDArray, base: NDArray, additions: list[NDArray], weight: NDArray
    ) -> NDArray[np.float64]:
        """Return the weights in [0, 1] of additions to a base of least mean loss."""

    def offset(self, y: NDArray, guess: NDArray, weight: NDArray) -> Any:
        """Return what held-out guesses lack on all rows alike: nothing, of numbers.

        The parts of a number are fitted to residuals and to y itself, by least squares.
        """
        return 0.0

    @abstractmethod
    def moment_targets(self, y: NDArray) -> NDArray[np.float64]:
        """Return the columns whose moments the linear predictors are fitted to."""

    @abstractmethod
    def fit_target(self, estimator: Any, y: NDArray) -> NDArray:
        """Return what an estimator is fitted to, where it is fitted to rows."""

    @abstractmethod
    def splits(
        self, splits: list, y: NDArray, groups: NDArray | None, seed: int | None
    ) -> list:
        """Return splits that suit the target, in the place of those of any target.

        Where a seed is given they are folds dealt by it, which can be dealt anew.
        """

    @abstractmethod
    def aligned_trees(self, trees: FlatTrees, classes: Sequence[int]) -> FlatTrees:
        """Return trees whose outputs are guesses, those of a model of these classes."""


class SquaredError(Objective):
    """A number is predicted, and its squared error counts."""

    words = ScoreWords("R2", "gain in R2", "add {} to its held-out R2")
    tasks = (Task("residuals", True, True), Task("y", False, False))
    kind = "regressors"
    such_as = "[EMLR(), HistGradientBoostingRegressor()]"
    earned = 1.5
    sure = 1.0
    has_law_of_risk = True
    shrinks = True

    def average(self, estimators: list[Any], weights: tuple[float, ...]) -> Any:
        """Return the weighted mean of the predictions."""
        return LinearAverage(estimators, weights)

    def takes(self, candidate: Any) -> bool:
        """Whether something is a regressor."""
        return isinstance(candidate, BaseEstimator) and is_regressor(candidate)

    def guess(self, model: Any, X: NDArray) -> NDArray[np.float64]:
        """Return the predictions."""
        return model.predict(X)

    def stages(self, model: Any, X: NDArray) -> Iterator[NDArray[np.float64]]:
        """Yield the predictions after each round."""
        return model.staged_predict(X)

    def losses(self, y: NDArray, guess: NDArray) -> NDArray[np.float64]:
        """Return the squared errors."""
        return (y - guess) ** 2

    def unit(self, y: NDArray, weight: NDArray) -> float:
        """Return the variance of y, 1 where it is zero."""
        variance = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
        return float(variance) or 1.0

    def score(self, loss: float, unit: float) -> float:
        """Return R2."""
        return 1 - loss / unit

    def improved(self, score: float, gain: float) -> float:
        """Return a higher R2 for a gain."""
        return score + gain

    def weights(
        self, y: NDArray, base: NDArray, additions: list[NDArray], weight: NDArray
    ) -> NDArray[np.float64]:
        """Return the weights of least squares."""
        residual = y - base
        if len(additions) == 1:  # exact at the bounds, which a solver comes near to
            square = float(weight @ additions[0] ** 2)
            share = float(weight @ (additions[0] * residual)) / (square or 1.0)
            return np.clip(np.array([share]), 0.0, 1.0)
        root = np.sqrt(weight)
        columns = np.column_stack(additions) * root[:, None]
        return lsq_linear(columns, residual * root, (0.0, 1.0)).x

    def moment_targets(self, y: NDArray) -> NDArray[np.float64]:
        """Return y."""
        return y

    def fit_target(self, estimator: Any, y: NDArray) -> NDArray:
        """Return y."""
        return y

    def splits(
        self, splits: list, y: NDArray, groups: NDArray | None, seed: int | None
    ) -> list:
        """Return the same splits."""
        return splits

    def aligned_trees(self, trees: FlatTrees, classes: Sequence[int]) -> FlatTrees:
        """Return the trees: they predict a number."""
        return trees


SQUARED_ERROR = SquaredError()
