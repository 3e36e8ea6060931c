"""How much of what flexible candidates add to a base is taken, by held-out rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.auto.heldout import Gain, Table


class Unseen:
    """Held-out rows with the guesses of a base, to which additions are weighed."""

    def __init__(self, table: Table, rows: NDArray[np.intp], base: NDArray):
        self.table, self.rows, self.base = table, rows, base
        self.weight = table.weight[rows]
        self.base_loss = table.losses(rows, base)
        self.unit = table.unit(rows)

    def weighed(self, additions: list[NDArray]) -> tuple[NDArray, NDArray]:
        """Return the weights of additions of least loss, and the losses with them."""
        objective, y = self.table.objective, self.table.y[self.rows]
        weights = objective.weights(y, self.base, additions, self.weight)
        return weights, self.losses_with(additions, weights)

    def losses_with(self, additions: list[NDArray], weights) -> NDArray[np.float64]:
        """Return the losses with additions at some weights."""
        return self.table.losses(self.rows, self.guess_with(additions, weights))

    def guess_with(self, additions: list[NDArray], weights) -> NDArray[np.float64]:
        """Return the guesses with additions at some weights."""
        added = sum(w * part for w, part in zip(weights, additions, strict=True))
        return self.base + added

    def offset(self, additions: list[NDArray], weights) -> Any:
        """Return what all guesses with additions at some weights lack."""
        guess = self.guess_with(additions, weights)
        return self.table.objective.offset(self.table.y[self.rows], guess, self.weight)

    def gain(self, loss: NDArray, new_loss: NDArray) -> Gain:
        """Return how much lower the second losses are."""
        return self.table.gain(self.rows, loss, new_loss)

    def gain_of(self, additions: list[NDArray]) -> Gain:
        """Return what additions gain over the base at their best weights."""
        return self.gain(self.base_loss, self.weighed(additions)[1])

    def mean_loss(self) -> float:
        """Return the mean loss of the base."""
        return float(np.average(self.base_loss, weights=self.weight))

    def base_score(self) -> float:
        """Return the score of the base."""
        return self.table.objective.score(self.mean_loss(), self.unit)


class Stack(NamedTuple):
    """Weights of the candidates kept, and how much they gain over the base.

    The offset is added to the guesses of all rows.
    """

    kept: list[int]
    weights: NDArray[np.float64]
    gain: Gain
    offset: Any = 0.0


def stacked(unseen: Unseen, additions: list[NDArray]) -> Stack:
    """Weights in [0, 1] of additions to a base; each addition must earn its place.

    Additions are taken one by one, the most useful first, as long as each lowers the
    held-out loss by more paired standard errors than the objective asks for. The
    weights of least loss are then shrunk by the evidence for all of them, see
    `share_of`. Guesses that lack something on all rows alike are given it last.
    """
    objective = unseen.table.objective
    kept, weights, loss = [], np.empty(0), unseen.base_loss
    while len(kept) < len(additions):
        trials = []
        for k in set(range(len(additions))) - set(kept):
            trials.append((k, *unseen.weighed([additions[j] for j in [*kept, k]])))
        k, trial, new_loss = min(trials, key=lambda t: unseen.weight @ t[2])
        if not unseen.gain(loss, new_loss).wins(objective.earned):
            break
        kept, weights, loss = [*kept, k], trial, new_loss
    gain = unseen.gain(unseen.base_loss, loss)
    if not kept:
        return Stack(kept, weights, gain)
    taken = [additions[k] for k in kept]
    if objective.shrinks:
        weights = share_of(gain, objective.earned) * weights
        loss = unseen.losses_with(taken, weights)
        gain = unseen.gain(unseen.base_loss, loss)
    return Stack(kept, weights, gain, unseen.offset(taken, weights))


# Ten draws of a nonlinear law (benchmarks/robustness.py), what boosting adds to R2:
# with 100 rows .0173 by this rule, .0159 by 1 - (earned / z)^2 (James and Stein),
# and .0141 unshrunk; with 300 rows .103, .096 and .104.
def share_of(gain: Gain, earned: float) -> float:
    """Return 1 - exp((earned^2 - z^2) / 2) for a gain of z standard errors.

    A gain of just as many standard errors as must be earned is taken for chance: what
    is kept was chosen among several numbers of rounds and parts by errors that are as
    large. From there on chance becomes less likely as the density of z does, so that
    twice as many standard errors are taken for real, however few the rows are.
    """
    if not gain.standard_error:
        return 1.0
    z = gain.value / gain.standard_error
    return float(-np.expm1((earned**2 - z**2) / 2))
