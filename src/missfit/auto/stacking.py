"""How much of what flexible candidates add to a base is taken, by held-out rows."""

from __future__ import annotations

from typing import NamedTuple

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
        added = sum(w * part for w, part in zip(weights, additions, strict=True))
        return self.table.losses(self.rows, self.base + added)

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
    """Weights of the candidates kept, and how much they gain over the base."""

    kept: list[int]
    weights: NDArray[np.float64]
    gain: Gain


def stacked(unseen: Unseen, additions: list[NDArray]) -> Stack:
    """Weights in [0, 1] of additions to a base; each addition must earn its place.

    Additions are taken one by one, the most useful first, as long as each lowers the
    held-out loss by more paired standard errors than the objective asks for. Where rows
    are few, each goes only as far towards the weights of least loss as the evidence for
    it says, see `share_of`.
    """
    earned = unseen.table.objective.earned
    kept, weights, loss = [], np.empty(0), unseen.base_loss
    while len(kept) < len(additions):
        trials = []
        for k in set(range(len(additions))) - set(kept):
            trials.append((k, *unseen.weighed([additions[j] for j in [*kept, k]])))
        k, trial, new_loss = min(trials, key=lambda t: unseen.weight @ t[2])
        gain = unseen.gain(loss, new_loss)
        if not gain.wins(earned):
            break
        before = np.append(weights, 0.0)
        share = share_of(gain, earned) if unseen.table.is_averaged else 1.0
        kept, weights, loss = [*kept, k], before + share * (trial - before), new_loss
    loss = unseen.losses_with([additions[k] for k in kept], weights)
    return Stack(kept, weights, unseen.gain(unseen.base_loss, loss))


def share_of(gain: Gain, earned: float) -> float:
    """Return 1 - (earned / standard errors of the gain)^2, as James and Stein shrink.

    A gain of just as many standard errors as must be earned is taken for chance, one of
    three times as many for real: with few rows, what is kept was chosen among several
    numbers of rounds and parts by errors that are as large as the gains.
    """
    return 1 - (earned * gain.standard_error / gain.value) ** 2
