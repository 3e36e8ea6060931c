"""Settings of boosting: one of a few, chosen by a first look at some rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from missfit.auto.boosting import SCREEN_ROWS, TRIFLING_ROWS, PartCandidate
from missfit.auto.heldout import Gain, HeldOut, Table
from missfit.auto.pace import side_by_side

# The first is taken unless another clearly predicts better. Of nine settings tried on
# four real tables none is best on all: 15 leaves lead on nhanes_sbp by .002 of R2, 31
# on star_math3 by .0015 (and cost 1.7 times as much), 8 on math_placement by .0015.
SETTINGS: tuple[dict[str, Any], ...] = (
    {"max_leaf_nodes": 31, "learning_rate": 0.07},
    {"max_leaf_nodes": 15, "learning_rate": 0.08},
    {"max_leaf_nodes": 8, "learning_rate": 0.1, "max_features": 0.5},
)
# Those of classes, where rows are few; with more, the last alone. Log-loss of ten
# folds with the last and with the first: pima .4725 and .4651, acath .5154 and .5144,
# chile .3753 and .3747; but 1,500 rows of five classes in clusters .747 and .790, where
# the look takes the last in most folds (.758). With more rows, five folds with the last
# and with 6 leaves: star cut at its median .4576 and .4594, a bent law of 6,000 rows
# .5613 and .5629, credit .4222 and .4216.
CLASS_SETTINGS: tuple[dict[str, Any], ...] = (
    {"max_leaf_nodes": 4, "learning_rate": 0.1, "max_features": 0.5},
    {"max_leaf_nodes": 15, "learning_rate": 0.05},
)
FEW_CLASS_ROWS = 3_000
# Where rows are neither so few that fits are no trifle nor so many that a part of them
# is looked at first, boosting learns faster, from fewer bins of the values: its fits to
# the four tables take two thirds of the time, and R2 differs by -.0003 to +.0010.
QUICK_ROWS, QUICKER, BINS = 2_000, 1.4, 64
LOOK_ROUNDS, LOOK_RATE = 40, 0.2  # as far as some 100 rounds at the rate of the fits
# Rounds that are not begun unless there is time for them: those of the look, and as
# many again for the first of what it chooses.
LOOK_WORK = 2 * LOOK_ROUNDS * len(SETTINGS)
LOOK_ROWS, MOST_LOOK_ROWS, ONE_IN = 4_000, 20_000, 5
# A setting must be ahead of the first by so many more paired standard errors than a
# part must earn: by 2 for numbers (with 1, one of five folds of star_math3 takes 15
# leaves, where 31 lead over all of its held-out rows), and by 1 for classes.
CLEARLY = 0.5


def set_by_a_look(
    table: Table, base_estimator: Any, split: HeldOut, candidates, rng
) -> None:
    """Give the candidates that come with settings the one that suits the table.

    Settings are fitted to the target itself, on some rows of the first split, in few
    rounds at a high learning rate: the first and the last, and those between them only
    where the last is ahead.
    """
    open_ones = [candidate for candidate in candidates if candidate.settings]
    if not open_ones:
        return
    chosen, seconds = open_ones[0].settings[0], 0.0
    n_train = len(split.train.rows)
    if n_train >= TRIFLING_ROWS:
        chosen, seconds = _best_setting(
            table, base_estimator, split, open_ones[-1], rng
        )
    if max(QUICK_ROWS, table.objective.few_rows) <= n_train <= SCREEN_ROWS:
        chosen = quickened(chosen)
    for candidate in open_ones:
        candidate.set(chosen)
        candidate.seconds += seconds / len(open_ones)


def quickened(setting: dict[str, Any]) -> dict[str, Any]:
    """Return a setting that learns faster, from fewer bins.

    >>> quickened({"max_leaf_nodes": 8, "learning_rate": 0.1})["max_bins"]
    64
    """
    rate = QUICKER * setting.get("learning_rate", 0.1)
    return {**setting, "learning_rate": rate, "max_bins": BINS}


def _best_setting(table: Table, base_estimator, split: HeldOut, candidate, rng):
    """Return the setting that clearly predicts best, and the seconds of the look."""
    n_rows = int(np.clip(len(split.train.rows) // ONE_IN, LOOK_ROWS, MOST_LOOK_ROWS))
    train = rng.permutation(split.train.rows)[:n_rows]
    test = split.test  # of which the race has the base's guess at hand
    if len(test) > n_rows:
        test = rng.permutation(test)[:n_rows]
    base = partial(split.train.guess, base_estimator)
    base(test)  # once for all settings, before threads
    if candidate.task.uses_base:
        base(train)
    looks = [_looking(candidate, setting) for setting in candidate.settings]
    fitted: Callable = lambda look, _: look.fit(table, base, train, test)  # noqa: E731
    gains: dict[int, Gain] = {}

    def look_at(which: Sequence[int]) -> None:
        n_values = len(train) * table.X.shape[1]
        trials = side_by_side(fitted, [(looks[k], None) for k in which], n_values)
        for k, trial in zip(which, trials, strict=True):
            looks[k].keep(trial)
        first = base(test) + looks[0].additions()
        for k in which:
            loss = table.losses(test, base(test) + looks[k].additions())
            gains[k] = table.gain(test, table.losses(test, first), loss)

    last = len(looks) - 1
    look_at(sorted({0, last}))
    if gains[last].value > 0:  # between the largest and the smallest trees
        look_at(range(1, last))
    least = table.objective.earned + CLEARLY
    clear = {k: gain.value for k, gain in gains.items() if gain.wins(least)}
    best = candidate.settings[max(clear, key=clear.__getitem__, default=0)]
    return best, sum(look.seconds for look in looks)


def _looking(candidate: PartCandidate, setting: dict[str, Any]) -> PartCandidate:
    """Return a candidate of few rounds with a setting."""
    estimator: Any = clone(candidate.estimator)
    estimator.set_params(**setting)
    estimator.set_params(learning_rate=LOOK_RATE, max_bins=BINS)
    return PartCandidate(estimator, candidate.name, candidate.task, rounds=LOOK_ROUNDS)
