"""Settings of boosting: one of a few, chosen by a first look at some rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from missfit.auto.boosting import TRIFLING_ROWS, PartCandidate, side_by_side
from missfit.auto.heldout import HeldOut, Table

# The first is taken unless another clearly predicts better. Of nine settings tried on
# four real tables none is best on all: 15 leaves lead on nhanes_sbp by .002 of R2, 31
# on star_math3 by .0015 (and cost 1.7 times as much), 8 on math_placement by .0015.
SETTINGS: tuple[dict[str, Any], ...] = (
    {"max_leaf_nodes": 31, "learning_rate": 0.07},
    {"max_leaf_nodes": 15, "learning_rate": 0.08},
    {"max_leaf_nodes": 8, "learning_rate": 0.1, "max_features": 0.5},
)
LOOK_ROUNDS, LOOK_RATE = 40, 0.2  # as far as some 100 rounds at the rate of the fits
# Rounds that are not begun unless there is time for them: those of the look, and as
# many again for the first of what it chooses.
LOOK_WORK = 2 * LOOK_ROUNDS * len(SETTINGS)
LOOK_ROWS, MOST_LOOK_ROWS, ONE_IN = 4_000, 20_000, 5
# Paired standard errors ahead of the first setting. With 1, one of five folds of
# star_math3 takes 15 leaves, where 31 lead over all of its held-out rows.
CLEARLY = 2.0


def set_by_a_look(
    table: Table, base_estimator: Any, split: HeldOut, candidates, rng
) -> None:
    """Give the candidates that come with settings the one that suits the table.

    All settings are fitted to the target itself, on some rows of the first split, in
    few rounds at a high learning rate.
    """
    open_ones = [candidate for candidate in candidates if candidate.settings]
    if not open_ones:
        return
    chosen, seconds = open_ones[0].settings[0], 0.0
    if len(split.train.rows) >= TRIFLING_ROWS:
        chosen, seconds = _best_setting(
            table, base_estimator, split, open_ones[-1], rng
        )
    for candidate in open_ones:
        candidate.set(chosen)
        candidate.seconds += seconds / len(open_ones)


def _best_setting(table: Table, base_estimator, split: HeldOut, candidate, rng):
    """Return the setting that clearly predicts best, and the seconds of the look."""
    n_rows = int(np.clip(len(split.train.rows) // ONE_IN, LOOK_ROWS, MOST_LOOK_ROWS))
    train = rng.permutation(split.train.rows)[:n_rows]
    test = rng.permutation(split.test)[:n_rows]
    base = partial(split.train.guess, base_estimator)
    for rows in (test, train):  # once for all settings
        base(rows)
    tried = [_looking(candidate, setting) for setting in candidate.settings]
    fitted: Callable = lambda look, _: look.fit(table, base, train, test)  # noqa: E731
    losses = []
    for look, trial in zip(
        tried, side_by_side(fitted, [(look, None) for look in tried]), strict=True
    ):
        look.keep(trial)
        losses.append(table.losses(test, base(test) + look.additions()))
    gains = [table.gain(test, losses[0], loss) for loss in losses]
    ahead = [gain.value if gain.wins(CLEARLY) else 0.0 for gain in gains]
    best = candidate.settings[int(np.argmax(ahead))]
    return best, sum(look.seconds for look in tried)


def _looking(candidate: PartCandidate, setting: dict[str, Any]) -> PartCandidate:
    """Return a candidate of few rounds with a setting."""
    estimator: Any = clone(candidate.estimator)
    estimator.set_params(**setting).set_params(learning_rate=LOOK_RATE)
    return PartCandidate(estimator, candidate.name, candidate.task, rounds=LOOK_ROUNDS)
