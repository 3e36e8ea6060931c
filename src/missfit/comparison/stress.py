"""How much the recommended predictor would explain if columns went missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.comparison.fold_models import ENOUGH_ROWS, FoldModel
from missfit.comparison.importance import BLOCK_DOUBLES, FEW_ROWS, PREDICTED_ROWS
from missfit.comparison.results import Comparison
from missfit.evidence.stress import Stress, StressTrial
from missfit.moments.blocks import blocks
from missfit.moments.patterns import variable_mask
from missfit.simulate.ampute import self_masking_probability


class _Losses:
    """The losses of rows that a model has not seen, also without each variable."""

    def __init__(self, comparison: Comparison, model: FoldModel, rows: NDArray):
        self.task, self.model = comparison.task, model
        self.X, self.y = model.X[rows], comparison.y[rows]
        self.has = ~variable_mask(self.X, model.variables)
        self.now = self._of(self.X, self.y)

    def without_each(self) -> NDArray[np.float64]:
        """Return the losses of all rows without each variable, (variables, n).

        Many variables are hidden in one call: a call of an iterative imputer of 200
        columns takes .25 s, however few rows there are.
        """
        losses = np.tile(self.now, (self.has.shape[1], 1))
        for some in blocks(len(losses), self.X.size, size=BLOCK_DOUBLES):
            column, row = np.nonzero(self.has[:, some].T)
            if len(row):
                of_column = self.model.variables == (some.start + column)[:, None]
                hidden = np.where(of_column, np.nan, self.X[row])
                losses[some.start + column, row] = self._of(hidden, self.y[row])
        return losses

    def values(self, j: int) -> NDArray[np.float64]:
        """Return the values of a variable, (n, its columns), where it has some."""
        return self.X[self.has[:, j]][:, self.model.variables == j]

    def _of(self, X: NDArray, y: NDArray) -> NDArray[np.float64]:
        return self.task.loss(y, self.task.predict(self.model.model, X))


def stress_of(comparison: Comparison, models: Sequence[FoldModel]) -> Stress:
    """Hide each variable from rows that the models have not seen.

    Parameters
    ----------
    comparison : Comparison
    models : sequence of FoldModel
        The recommended predictor, outside of folds that do not overlap.
    """
    names = comparison.names
    most = min(ENOUGH_ROWS, max(FEW_ROWS, PREDICTED_ROWS // len(names)))
    share = min(1.0, most / sum(len(model.test) for model in models))
    rng = np.random.default_rng(comparison.seed)
    folds = []
    for model in models:
        n_rows = max(1, round(share * len(model.test)))
        folds.append(_Losses(comparison, model, rng.permutation(model.test)[:n_rows]))
    y = np.concatenate([one.y for one in folds])
    now = np.concatenate([one.now for one in folds])
    trial = StressTrial(now, _loss_of_constant(comparison, y))
    has = np.concatenate([one.has for one in folds])
    gone = np.concatenate([one.without_each() for one in folds], axis=1)
    columns = [
        trial.column(
            name, gone[j], has[:, j], _hidden([one.values(j) for one in folds])
        )
        for j, name in enumerate(names)
        if has[:, j].any()
    ]
    columns.sort(key=lambda one: one.gone)
    score = "R2" if comparison.task.classes is None else "explained log-loss"
    return Stress(score, trial.explained(now), columns, len(now))


def _hidden(values: list[NDArray]) -> Callable[[float, float], Any] | None:
    """Return how often values are hidden by what they are, None for categories."""
    if any(one.shape[1] != 1 for one in values):
        return None
    whole = np.concatenate(values)[:, 0]
    return partial(self_masking_probability, whole) if np.ptp(whole) > 0 else None


def _loss_of_constant(comparison: Comparison, y: NDArray) -> float:
    """Return the mean loss of the best constant prediction of targets."""
    if comparison.task.classes is None:
        return float(np.var(y))
    _, counts = np.unique(y, return_counts=True)
    shares = counts / len(y)
    return float(-(shares * np.log(shares)).sum())
