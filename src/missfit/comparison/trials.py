"""Cross-validate candidates on the folds of a table; slow ones may be cut short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from missfit.auto.heldout import Gain, paired_gain
from missfit.comparison.candidates import (
    Candidate,
    choosing_forward,
    choosing_in_order,
)
from missfit.comparison.class_task import task_of
from missfit.comparison.costs import Costs
from missfit.comparison.fits import TOO_LARGE, Fit
from missfit.comparison.fold_fits import FoldFits
from missfit.comparison.folds import folds_of
from missfit.comparison.in_order import date_of_rows, note_on_order
from missfit.comparison.offers import DEFAULTS
from missfit.comparison.options import CompareOptions
from missfit.comparison.results import Comparison, Trial
from missfit.comparison.store import FitStore
from missfit.estimators import TableEncoder
from missfit.suspicions import find_suspicions
from missfit.tables.training import TrainingTable
from missfit.terminal import duration

# A slow candidate is recommended only if it is better than a quicker one by a standard
# error. One that is behind by 2 of them on its first folds would have to gain 3.
PATIENCE = 20.0  # seconds that the other folds of a candidate far behind may take
BEHIND = 2.0  # standard errors of the difference from which a candidate is far behind
FEW = 2  # training rows for each column below which networks are left out
# Guesses were too long by up to 8 times (EMLR's pace on 300 rows of 200 columns). Where
# one is so many times too long for the time that is left, no part is fitted.
WILD = 10
FINISH = 8.0  # seconds of a budget that the report takes beside fits of the candidates
REFITS = 2  # fits for the intervals, the learning curve and the importance in a report
TOO_FEW = (
    f"left out: a network learns little from fewer than {FEW} training rows for each "
    "column, and takes long"
)


def compare_table(
    table: TrainingTable,
    candidates: Sequence[Candidate],
    options: CompareOptions | None = None,
    *,
    store: FitStore | None = None,
    on_start: Callable[[Comparison, Sequence[Candidate]], None] | None = None,
    on_trial: Callable[[Comparison, Trial, float | None], None] | None = None,
) -> Comparison:
    """Cross-validate candidates on one table, the cheap ones first.

    Everything that is learned is learned inside the folds, including the levels of
    `TableEncoder`: the predictions are those of
    ``make_pipeline(TableEncoder(), candidate)`` by scikit-learn's
    ``cross_val_predict``. A slow candidate is judged after its first folds. If it is
    behind the best candidate so far by more than 2 standard errors of their paired
    difference there, and the other folds would take longer than 20 seconds, then the
    other folds are left out, and the trial says so. Where there is a budget, a
    candidate that would break it is left out, too; its time is predicted from a fit to
    a small part of the rows.

    Parameters
    ----------
    table : TrainingTable
        Where it has groups, the rows of one group are in one fold. Where it has times,
        each fold is predicted from the rows before it, and the first rows never are.
    candidates : sequence of Candidate
        The candidates to try. The trials are in their order, although cheap ones are
        run first.
    options : CompareOptions, optional
        Its ``drop``, ``group``, ``only`` and ``skip`` are not used here, since the
        table has been read and the candidates have been chosen.
    store : FitStore, optional
        Where each finished fit is kept. Fits that it has are not made again.
    on_start : callable, optional
        Called with the comparison, which has no trials yet, and with the candidates as
        they will be run, before the first trial.
    on_trial : callable, optional
        Called after each trial with the comparison so far, the trial, and the seconds
        that the other trials may take, None where that is not known.
    """
    options = options or CompareOptions()
    whole = _without_trials(table, options)
    if whole.time is not None:
        candidates = [choosing_forward(one) for one in candidates]
    elif date_of_rows(table):
        candidates = [choosing_in_order(one) for one in candidates]
        whole.notes.extend(note_on_order(table, [one.name for one in candidates]))
    if store is not None:
        whole.notes.extend(store.begin(whole))
    queue = sorted(candidates, key=_turn)
    if on_start:
        on_start(whole, queue)
    with FoldFits(whole, options.n_jobs, store) as fits:
        runner = _Runner(fits, options)
        for i, one in enumerate(queue):
            whole.trials.append(runner.trial(one))
            if on_trial:
                left = runner.seconds_of(queue[i + 1 :])
                on_trial(whole, whole.trials[-1], left)
    order = [one.name for one in candidates]
    whole.trials.sort(key=lambda trial: order.index(trial.name))
    if not whole.sound:
        raise ValueError(_why_nothing(whole))
    return whole


def _turn(one: Candidate) -> float:
    """Return by what number candidates are sorted: their cost.

    The default counts a tenth of its cost: on most tables it is the best, so that it
    must not be what a budget leaves out.
    """
    return one.cost / 10 if one.name in DEFAULTS else one.cost


def _without_trials(table: TrainingTable, options: CompareOptions) -> Comparison:
    """Return a comparison in which nothing has been tried yet."""
    seed, max_rows = options.seed, options.max_rows
    rows, notes, drawn_from = np.arange(len(table.y)), list(table.notes), None
    if len(rows) > max_rows:
        drawn_from = len(rows)
        rows = drawn_rows(drawn_from, max_rows, seed)
        notes.append(f"{max_rows:,} of {drawn_from:,} rows drawn at random")
    named = [name for name in options.reading.categorical if name in table.X.columns]
    frame = table.X.iloc[rows].reset_index(drop=True)
    encoder = TableEncoder(categorical=named, reading=table.reading)
    X, y = encoder.fit_transform(frame), table.y[rows]
    groups = None if table.groups is None else table.groups[rows]
    when = None if table.time is None else table.time[rows]
    fold = folds_of(
        len(y),
        options.n_folds,
        seed,
        groups=groups,
        time=when,
        classes=None if table.classes is None else y,
    )
    return Comparison(
        X,
        y,
        encoder,
        fold,
        groups,
        [],
        table.target,
        seed,
        notes,
        frame,
        drawn_from,
        when,
        find_suspicions(table, categorical=named, seed=seed),
        task=task_of(table.classes),
    )


def drawn_rows(n: int, n_drawn: int, seed: int) -> NDArray[np.intp]:
    """Return the indices of rows drawn at random from n, in the order of the table.

    >>> drawn_rows(5, 3, seed=0).tolist()
    [2, 3, 4]
    """
    return np.sort(np.random.default_rng(seed).permutation(n)[:n_drawn])


class _Runner:
    """Runs trials: all folds of a candidate, or as many as are worth the time."""

    def __init__(self, fold_fits: FoldFits, options: CompareOptions):
        self.whole, self.fold_fits = fold_fits.whole, fold_fits
        self.costs = Costs(fold_fits)
        self.all_folds = options.all_folds
        self.end = inf if options.budget is None else monotonic() + options.budget

    @property
    def left(self) -> float:
        """Return the seconds of the budget that trials may take."""
        return self.end - monotonic() - FINISH

    def seconds_of(self, queue: Sequence[Candidate]) -> float | None:
        """Return about how long these candidates will take, None if that is unknown."""
        waiting = [one for one in queue if not self.fold_fits.has(one)]
        costs = self.costs
        seconds = sum(costs.folds(one, costs.guess(one)) for one in waiting)
        return min(seconds, max(0.0, self.left)) or None

    def trial(self, one: Candidate) -> Trial:
        """Predict each fold by the candidate fitted to the other folds."""
        whole = self.whole
        first, left_out = self._first_folds(one)
        fits = self.fold_fits.of(one, range(first))
        if not left_out and first < whole.n_folds:
            left_out = self._why_stop(one, fits)
            if not left_out:
                fits += self.fold_fits.of(one, range(first, whole.n_folds))
        failure = next((fit.failure for fit in fits if fit.failure), "")
        if failure.startswith(TOO_LARGE):  # a limit that it has, not a mistake
            failure, left_out = "", failure
        seconds = np.array([fit.seconds for fit in fits])
        trial = Trial(one, _joined(whole, fits), seconds, failure, left_out)
        self.costs.learn(trial)
        return trial

    def _first_folds(self, one: Candidate) -> tuple[int, str]:
        """Return how many folds to run before a look, and why none are run, or "".

        A slow candidate has to show on the first folds that the others are worth the
        time.
        """
        n_folds = self.whole.n_folds
        if self.fold_fits.has(one):
            return n_folds, ""
        if one.fit_many is not None and self._has_few_rows():
            return 0, TOO_FEW
        needed = self.costs.folds(one, self.costs.guess(one))
        if self.left <= needed / WILD:
            seconds = self.costs.guess(one)
            return 0, _over_budget(needed + REFITS * seconds, self.left)
        seconds = self.costs.of(one, enough=self.left / 10)
        needed = self.costs.folds(one, seconds)
        with_report = needed + REFITS * seconds
        first = 1 if one.fit_many else min(self.fold_fits.n_jobs, n_folds)
        if with_report > self.left:
            # a guess that was not measured may be several times too high
            may_try = self.costs.is_tried(seconds) and seconds < self.left / 2
            return (first, "") if may_try else (0, _over_budget(with_report, self.left))
        is_slow = needed > PATIENCE and not self.all_folds
        is_close = needed > self.left / 3  # the prediction may be wrong
        return (first if is_slow or is_close else n_folds), ""

    def _has_few_rows(self) -> bool:
        """Return whether networks are left out; not if there is nothing else."""
        few = self.whole.n_training < FEW * self.whole.X.shape[1]
        return few and bool(self.whole.sound) and not self.all_folds

    def _why_stop(self, one: Candidate, fits: Sequence[Fit]) -> str:
        """Return why the folds after the first are left out, or "" if they are not."""
        whole = self.whole
        seconds = sum(fit.seconds for fit in fits) / len(fits)
        needed = self.costs.folds(one, seconds, n_done=len(fits))
        if needed + REFITS * seconds > self.left:
            done = f"after {len(fits)} of {whole.n_folds} folds"
            return _over_budget(needed + REFITS * seconds, self.left, done)
        if needed > PATIENCE and not self.all_folds:
            return _why_leave_out(whole, fits, needed)
        return ""


def _over_budget(needed: float, left: float, done: str = "") -> str:
    """Return why folds are left out, given the seconds needed and left."""
    folds = "the other folds" if done else "all folds"
    return (
        f"left out{' ' if done else ''}{done}: {folds} and the report would take about "
        f"{duration(needed)}, and {duration(max(0.0, left))} are left of the time that "
        "this comparison may take"
    )


def _why_nothing(whole: Comparison) -> str:
    """Return why no candidate has a score."""
    for trial in whole.trials:
        if trial.failure:
            return f"no predictor could be fitted: {trial.failure}"
    name, why = whole.trials[0].name, whole.trials[0].left_out
    return (
        f"no predictor could be compared; {name}: {why}. Give a larger budget: "
        f"{duration(FINISH)} of it are kept for the report."
    )


def _joined(whole: Comparison, fits: Sequence[Fit]) -> NDArray[np.float64]:
    """Return the predictions of the first folds, and NaN for the other rows."""
    predictions = whole.task.nothing(len(whole.y))
    for k, fit in enumerate(fits):
        predictions[whole.fold == k] = fit.predictions
    return predictions


def _why_leave_out(whole: Comparison, fits: Sequence[Fit], seconds: float) -> str:
    """Return why the folds after the first are left out, or "" if they are not."""
    if not whole.sound or any(fit.failure for fit in fits):
        return ""
    rows, task = (whole.fold >= 0) & (whole.fold < len(fits)), whole.task
    guess, y = _joined(whole, fits)[rows], whole.y[rows]
    lag = _lag(whole, guess, rows)
    if not lag.wins(BEHIND):
        return ""
    flat = np.ones((1, len(y)))
    score = task.scores_of_draws(flat, y, task.loss(y, guess)[None])[0, 0]
    return (
        f"left out after {len(fits)} of {whole.n_folds} folds: {task.words.score} "
        f"{score:.4f} there, {lag.value:.4f} ± {lag.standard_error:.4f} behind "
        f"{whole.best_now()}; the others would take about {duration(seconds)}"
    )


def _lag(whole: Comparison, guess, rows) -> Gain:
    """Return how far the score of the best trial so far is ahead on some rows."""
    y, task = whole.y[rows], whole.task
    best = whole.trial(whole.best_now()).predictions[rows]
    units = None if whole.units is None else whole.units[rows]
    lag = paired_gain(task.loss(y, guess), task.loss(y, best), np.ones(len(y)), units)
    return lag.over(task.unit(y))
