"""Boosting in rounds: how many are fitted, and what each loses on rows held out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from missfit.auto.objective import Objective
from missfit.auto.parts import BOOSTED_TREES, FoldModel, boosts
from missfit.auto.trees import LOSSES

# Rounds after which those so far must add something to the base.
WATCHED_STEPS = (40, 120, 500)
PATIENCE = 30  # rounds without a lower loss, after which no more are fitted
# What cannot be watched is looked at after each of these, and goes on while the last
# fifth still helps.
ROUNDS, LAST = (40, 60, 85, 120, 170, 240, 340, 500), 0.8


class Examples(NamedTuple):
    """What a candidate is fitted to, or scored on."""

    inputs: NDArray[np.float64]
    target: NDArray
    weight: NDArray[np.float64]
    objective: Objective

    def loss(self, guess: NDArray) -> float:
        """Return the weighted mean of the losses."""
        losses = self.objective.losses(self.target, guess)
        return float(np.average(losses, weights=self.weight))


class Growth:
    """A model of some rounds, and its loss on held-out rows after each of them.

    Parameters
    ----------
    fold : FoldModel
        Not yet fitted.
    seen, unseen : Examples
        What it is fitted to, and the rows held out.
    """

    def __init__(self, fold: FoldModel, seen: Examples, unseen: Examples):
        self.fold, self.seen, self.unseen = fold, seen, unseen
        self.loss = np.empty(0)
        self.is_watched = _is_watched(fold.model, seen, unseen)
        self.inputs = fold.take(seen.inputs)
        self.weights: dict[str, Any] = {}
        if not (seen.weight == 1.0).all():
            self.weights["sample_weight"] = seen.weight
        if self.is_watched:
            self.weights |= _held_out(fold, unseen)
            fold.model.set_params(early_stopping=True, scoring="loss", tol=0.0)
        if boosts(fold.model):
            fold.model.set_params(warm_start=True)

    @property
    def steps(self) -> Sequence[int]:
        """Numbers of rounds after which to look whether more are worth it."""
        if self.is_watched:
            return WATCHED_STEPS
        return ROUNDS if boosts(self.fold.model) else (1,)

    def to(self, rounds: int, patience: int | None = None) -> None:
        """Fit up to so many rounds, to the last one where patience is not given."""
        model = self.fold.model
        if boosts(model):
            model.set_params(max_iter=rounds)
        if self.is_watched:
            model.set_params(n_iter_no_change=patience or rounds)
        model.fit(self.inputs, self.seen.target, **self.weights)
        if self.is_watched:  # scikit-learn's squared error is halved
            halves = 1.0 if is_classifier(model) else 2.0
            self.loss = -halves * model.validation_score_[1:]
        else:
            stages = self.fold.stages(self.unseen.inputs)
            self.loss = np.array([self.unseen.loss(stage) for stage in stages])

    def grow(self, deadline: float, adds: Any) -> None:
        """Fit while that helps, in time, and where the best rounds add something.

        Parameters
        ----------
        deadline : float
            No rounds are begun that would end after it.
        adds : callable
            Whether a guess of the held-out rows adds something to the base.
        """
        start, most = time.perf_counter(), self.steps[-1]
        for step in self.steps:
            self.to(min(step, most), PATIENCE)
            if not self._still_falls(step):
                break
            now, done = time.perf_counter(), len(self.loss)
            if np.isfinite(deadline):
                left = (deadline - now) * done / (now - start)
                most = min(most, done + int(max(0.0, left)))
            best = self.fold.predict(self.unseen.inputs, self.best_rounds())
            if most <= done or not adds(best):
                break

    def best_rounds(self) -> int:
        """Return the number of rounds of the least loss."""
        return int(np.argmin(self.loss)) + 1

    def _still_falls(self, step: int) -> bool:
        """Whether a step was fitted to its end, and more rounds may help."""
        if self.is_watched:
            return len(self.loss) == step < self.steps[-1]
        return self.best_rounds() > LAST * step and step < self.steps[-1]


def _is_watched(model: Any, seen: Examples, unseen: Examples) -> bool:
    """Whether scikit-learn tells the held-out loss of each round while it fits.

    It does for the losses that are the objective's, and knows no class of the held-out
    rows that it has not seen.
    """
    if not isinstance(model, BOOSTED_TREES) or model.early_stopping is not False:
        return False
    known = not is_classifier(model) or np.isin(unseen.target, seen.target).all()
    return bool(model.loss in LOSSES and known)


def _held_out(fold: FoldModel, unseen: Examples) -> dict[str, Any]:
    """Return the held-out rows as scikit-learn takes them beside those to fit."""
    rows: dict[str, Any] = {"X_val": fold.take(unseen.inputs), "y_val": unseen.target}
    if not (unseen.weight == 1.0).all():
        rows["sample_weight_val"] = unseen.weight
    return rows
