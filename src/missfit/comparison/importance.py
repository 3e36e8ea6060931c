"""What matters: how far scores fall if a variable is permuted in rows not seen before.

Permuting a variable breaks its link with the target and with the other variables. Its
value and its mask go together: a row gets both from another row, so that what a
variable tells by being missing counts as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.comparison.fold_models import ENOUGH_ROWS, FoldModel
from missfit.comparison.results import Comparison
from missfit.moments.blocks import blocks

ROUND_ROWS = 250  # rows that swap values with each other, for all variables in turn
REPEATS = 5  # the most times that a row gets another value of each variable
# Rows predicted in all. 207,000 rows of 46 columns, nearly each with a pattern of its
# own, took 0.8 s by boosting and 1 s by EMLR on one core.
PREDICTED_ROWS = 200_000
FEW_ROWS = 300  # rows for each variable, however many variables there are
BLOCK_DOUBLES = 2**23  # 64 MB of rows are predicted at once


class Importance(NamedTuple):
    """How much worse the score is if a variable is permuted.

    Attributes
    ----------
    drops, errors : ndarray of shape (n_variables,)
        The fall of R2, or the rise of the log-loss of classes, and its standard error.
    n_rows : int
        The number of rows in which variables were permuted.
    n_repeats : float
        How often each variable was permuted in these rows, on average.
    """

    drops: NDArray[np.float64]
    errors: NDArray[np.float64]
    n_rows: int
    n_repeats: float

    def ranked(self) -> list[int]:
        """Return all variables, the one that matters most first."""
        return [int(j) for j in np.argsort(-self.drops, kind="stable")]


def permutation_importance(
    comparison: Comparison, models: Sequence[FoldModel], *, seconds: float = np.inf
) -> Importance:
    """Permute each variable in rows that the models have not seen.

    Rows swap values with rows of the same fold. All variables are permuted in the same
    rows, round after round of some hundred rows each, until there have been enough rows
    or the time is up; the first round is always finished.

    Parameters
    ----------
    comparison : Comparison
    models : sequence of FoldModel
        The recommended predictor, outside of folds that do not overlap.
    seconds : float
        The time limit.
    """
    start, n_variables = time.perf_counter(), len(comparison.names)
    rng = np.random.default_rng(comparison.seed)
    rounds: list[_Round] = []
    for model, rows in _rounds(models, n_variables, rng):
        if rounds and time.perf_counter() - start > seconds:
            break
        rounds.append(_round(comparison, model, rows, rng))
    if not rounds:  # folds of one row each have nothing to swap
        nothing = np.full(n_variables, np.nan)
        return Importance(nothing, nothing, 0, 0.0)
    growth = np.concatenate([one.growth for one in rounds], axis=1)
    growth /= comparison.task.unit(comparison.tested.y) or 1.0
    taker = np.concatenate([one.taker for one in rounds])
    giver = np.concatenate([one.giver for one in rounds])
    n_rows = len(np.unique(taker))
    if comparison.units is not None:
        _, unit = np.unique(comparison.units, return_inverse=True)
        taker, giver = unit[taker], unit[giver]
    errors = np.array([pair_error(line, taker, giver) for line in growth])
    return Importance(growth.mean(axis=1), errors, n_rows, growth.shape[1] / n_rows)


def _rounds(
    models: Sequence[FoldModel], n_variables: int, rng: np.random.Generator
) -> Iterator[tuple[FoldModel, NDArray[np.intp]]]:
    """Yield models and rows that these have not seen, until there were enough rows."""
    total = sum(len(model.test) for model in models)
    share = min(1.0, ENOUGH_ROWS / total)
    pools = [
        rng.permutation(m.test)[: max(2, int(share * len(m.test)))] for m in models
    ]
    most, taken = max(FEW_ROWS, PREDICTED_ROWS // n_variables), 0
    for _ in range(REPEATS):
        rounds = [
            (model, rows)
            for model, pool in zip(models, pools, strict=True)
            for rows in _parts(rng.permutation(pool))
        ]
        for k in rng.permutation(len(rounds)):  # each fold has its turn early
            if taken >= most:
                return
            yield rounds[k]
            taken += len(rounds[k][1])


def _parts(rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return rows in parts of about the same size; one row alone makes no part."""
    parts = np.array_split(rows, -(-len(rows) // ROUND_ROWS))
    return [part for part in parts if len(part) > 1]


class _Round(NamedTuple):
    """By how much the losses grow, (variables, rows), and who gave to whom."""

    growth: NDArray[np.float64]
    taker: NDArray[np.intp]
    giver: NDArray[np.intp]


def _round(
    comparison: Comparison,
    model: FoldModel,
    rows: NDArray[np.intp],
    rng: np.random.Generator,
) -> _Round:
    """Give each row every variable's value of another row, one variable at a time."""
    task, n_variables = comparison.task, len(comparison.names)
    order = rng.permutation(len(rows))
    giver = np.empty_like(order)
    giver[order] = np.roll(order, 1)  # in a circle: nobody keeps what it has
    X, target = model.X[rows], comparison.y[rows]
    loss = task.loss(target, task.predict(model.model, X))
    growth = np.empty((n_variables, len(rows)))
    for some in blocks(n_variables, X.size, size=BLOCK_DOUBLES):
        swapped = [
            np.where(model.variables == j, X[giver], X)
            for j in range(some.start, some.stop)
        ]
        guess = task.predict(model.model, np.concatenate(swapped))
        lost = task.loss(np.tile(target, len(swapped)), guess)
        growth[some] = lost.reshape(len(swapped), -1) - loss
    return _Round(growth, rows, rows[giver])


def pair_error(
    values: NDArray[np.float64], first: NDArray[np.intp], second: NDArray[np.intp]
) -> float:
    """Return the standard error of a mean over pairs that share members.

    With r the deviations from the mean and S_i the sum of those in which member i takes
    part, the variance of the sum is sum_i S_i^2 - sum r^2, where the last sum is over
    pairs of two different members: they are in the first sum twice (Fafchamps and
    Gubert 2007; Aronow, Samii and Assenova 2015). A permuted row depends on two rows;
    taken for independent, 5 permutations of the same rows would have errors of half the
    size.
    """
    r = values - values.mean()
    two = first != second
    n_members = int(max(first.max(), second.max())) + 1
    total = np.bincount(first, r, n_members)
    total += np.bincount(second[two], r[two], n_members)
    variance = (total**2).sum() - (r[two] ** 2).sum()
    return float(np.sqrt(max(variance, (r**2).sum()))) / len(r)
