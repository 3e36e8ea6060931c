"""The flexible parts of a model as they are kept: what predicts, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from threadpoolctl import threadpool_limits

from missfit.auto.objective import Objective, Task
from missfit.auto.telling_columns import boosted_columns
from missfit.auto.trees import FlatTrees

BOOSTED_TREES = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
MANY_ROWS = 50_000  # from here on boosting takes all threads


class Part(NamedTuple):
    """A flexible model in the sum: its fits to the folds, rounds and weight."""

    name: str
    task: Task
    model: FlatTrees | FoldModels
    rounds: int
    weight: float

    def predict(self, X: NDArray, base: NDArray) -> NDArray:
        """Return what the part adds to the base's guess, before its weight."""
        mean = self.model.predict(self.task.inputs(X, base))
        return self.task.addition(mean, base)

    def of_fold(self, k: int) -> Part:
        """Return the part with its fit to one fold alone."""
        return self._replace(model=self.model.model(k))


class FoldModel(NamedTuple):
    """A model of one fold, and the columns that it was fitted to."""

    model: Any
    columns: NDArray[np.intp]
    objective: Objective

    @classmethod
    def unfitted(
        cls,
        estimator: Any,
        inputs: NDArray,
        target: NDArray,
        weight: NDArray,
        objective: Objective,
    ) -> FoldModel:
        """Return a copy of an estimator, and the columns to fit it to.

        A column can be empty inside a fold, which boosting does not take; and trees
        need not see all of many columns.
        """
        columns = np.flatnonzero(~np.isnan(inputs).all(axis=0))
        if isinstance(estimator, BOOSTED_TREES):
            numbers = objective.moment_targets(target).reshape(len(target), -1)
            columns = boosted_columns(inputs, numbers, weight)
        return cls(clone(estimator), columns, objective)

    def take(self, inputs: NDArray) -> NDArray:
        """Return the columns; one of zeros where there are none to learn from."""
        if not len(self.columns):
            return np.zeros((len(inputs), 1))
        return inputs[:, self.columns]

    def stages(self, inputs: NDArray) -> Iterator[NDArray]:
        """Yield the guesses after each round; the one there is without rounds."""
        flat = self.flat(inputs.shape[1])
        if flat is not None:
            yield from flat.staged_predict(inputs)
        elif boosts(self.model):
            yield from self.objective.stages(self.model, self.take(inputs))
        else:
            yield self.objective.guess(self.model, self.take(inputs))

    def predict(self, inputs: NDArray, rounds: int) -> NDArray:
        """Return the guess after so many rounds."""
        flat = self.flat(inputs.shape[1], rounds)
        if flat is not None:
            return flat.predict(inputs)
        with few_threads(len(inputs)):
            return next(islice(self.stages(inputs), rounds - 1, None))

    def flat(self, n_inputs: int, rounds: int | None = None) -> FlatTrees | None:
        """Return the rounds as flat trees; None where they cannot be made so."""
        if not isinstance(self.model, BOOSTED_TREES):
            return None
        try:
            flat = FlatTrees.from_boosting(self.model, rounds, self.columns, n_inputs)
        except ValueError:  # another loss, categories, or more than 64 leaves
            return None
        return self.objective.aligned_trees(flat, getattr(self.model, "classes_", ()))


class FoldModels(NamedTuple):
    """The mean of the models of the folds, which are no trees, after some rounds."""

    models: list[FoldModel]
    rounds: int

    def predict(self, inputs: NDArray) -> NDArray:
        """Return the mean of their guesses."""
        every = [model.predict(inputs, self.rounds) for model in self.models]
        return np.mean(every, axis=0)

    @property
    def n_models(self) -> int:
        """The number of folds."""
        return len(self.models)

    def model(self, k: int) -> FoldModels:
        """Return one of them alone."""
        return self._replace(models=[self.models[k]])


def few_threads(n_rows: int):
    """Return a context in which OpenMP uses one thread where rows are not many."""
    return threadpool_limits(1 if n_rows < MANY_ROWS else None, user_api="openmp")


def boosts(estimator: Any) -> bool:
    """Whether the estimator is fitted in rounds that can be looked at one by one."""
    grows = {"max_iter", "warm_start"} <= set(estimator.get_params(deep=False))
    return grows and hasattr(estimator, "staged_predict")
