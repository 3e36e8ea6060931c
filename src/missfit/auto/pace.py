"""How far boosting comes before a deadline, told by a few of its rounds."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from missfit.auto.heldout import HeldOut, Table
from missfit.auto.parts import FoldModel, boosts
from missfit.moments.blocks import n_threads

TRIED_ROUNDS = 5


class Pace(NamedTuple):
    """Seconds of a round of boosting, and when the last one must end."""

    seconds: float
    deadline: float

    def allows(self, n_rounds: float) -> bool:
        """Whether so many rounds, on all threads, would end in time."""
        taken = n_rounds * self.seconds / n_threads()
        return time.perf_counter() + taken <= self.deadline

    def end_of_first(self, n_splits: int) -> float:
        """Return when the first of so many fits must end, for all to end in time."""
        now = time.perf_counter()
        return now + (self.deadline - now) / n_splits


def pace_of(table: Table, split: HeldOut, candidates: list, deadline: float) -> Pace:
    """Return the pace of the slowest candidate; nothing is tried without a deadline."""
    kinds = {repr(c.estimator): c.estimator for c in candidates}
    boosted = [kind for kind in kinds.values() if boosts(kind)]
    if np.isinf(deadline) or time.perf_counter() > deadline:
        return Pace(0.0, deadline)
    every = [_seconds_a_round(table, split, estimator) for estimator in boosted]
    return Pace(max(every, default=0.0), deadline)


def _seconds_a_round(table: Table, split: HeldOut, estimator: Any) -> float:
    some = table.take(split.train.rows)
    start = time.perf_counter()
    fold = FoldModel.unfitted(estimator, some.X, some.y, some.weight, some.objective)
    fold.model.set_params(max_iter=TRIED_ROUNDS)
    with threadpool_limits(1, user_api="openmp"):
        fold.model.fit(fold.take(some.X), some.y)
    return (time.perf_counter() - start) / TRIED_ROUNDS
