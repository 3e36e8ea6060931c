"""How fast boosting goes: fits side by side, and how far it comes before a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from missfit.auto.heldout import HeldOut, Table
from missfit.auto.parts import FoldModel, boosts
from missfit.moments.blocks import n_threads

TRIED_ROUNDS = 5
# Values to train on from which on boosting is fitted side by side in threads. A tree of
# fewer is mostly Python, which one thread at a time can run: with two threads on two
# idle cores, fits to 2,661 x 7 and 6,077 x 26 took 1.2 and 1.05 times as long as the
# processor works on them with one.
MANY_VALUES = 200_000


def fits_at_once(n_values: int) -> int:
    """Return how many fits of boosting to so many values are made side by side."""
    return n_threads() if n_values >= MANY_VALUES else 1


def side_by_side(
    fitted: Callable[..., Any], pairs: list[tuple], n_values: int
) -> list[Any]:
    """Return the fits of candidates, each on one thread, to what they come with.

    Side by side where they are boosting of many values: what is not boosting may have
    threads of its own.
    """
    boosting = all(boosts(candidate.estimator) for candidate, _ in pairs)
    with ThreadPoolExecutor(fits_at_once(n_values) if boosting else 1) as pool:
        return list(pool.map(lambda pair: fitted(*pair), pairs))


class Pace(NamedTuple):
    """Seconds of a round of one of the fits, and when the last one must end.

    Of fits side by side it is the share of a round.
    """

    seconds: float
    deadline: float

    def allows(self, n_rounds: float) -> bool:
        """Whether so many rounds would end in time."""
        return time.perf_counter() + n_rounds * self.seconds <= self.deadline

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
    at_once = fits_at_once(split.train.n_values)
    return Pace(max(every, default=0.0) / at_once, deadline)


def _seconds_a_round(table: Table, split: HeldOut, estimator: Any) -> float:
    some = table.take(split.train.rows)
    start = time.perf_counter()
    fold = FoldModel.unfitted(estimator, some.X, some.y, some.weight, some.objective)
    fold.model.set_params(max_iter=TRIED_ROUNDS)
    with threadpool_limits(1, user_api="openmp"):
        fold.model.fit(fold.take(some.X), some.y)
    return (time.perf_counter() - start) / TRIED_ROUNDS
