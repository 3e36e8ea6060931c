"""The score of the recommended predictor against the rows that it learns from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from missfit.auto.heldout import Gain, paired_gain
from missfit.comparison.costs import GROWTH
from missfit.comparison.fits import fit_and_predict
from missfit.comparison.results import Comparison
from missfit.processes import quiet_restarts

SHARES = (0.1, 0.25, 0.5)  # of the training rows; the score of all is known already
LEAST_ROWS = 20  # fewer training rows than these make no point of the curve
SLOW = 20.0  # seconds per fit from which the curve rests on one fold instead of two


class CurvePoint(NamedTuple):
    """A point of the learning curve.

    Attributes
    ----------
    n_rows : int
        Number of training rows.
    score, error : float
        R2 over the test rows, or the log-loss of classes, and its standard error.
    gain, gain_error : float
        How much better the score is than that of the point before on the same test
        rows, and the standard error of this difference; NaN at the first point.
    """

    n_rows: int
    score: float
    error: float
    gain: float = np.nan
    gain_error: float = np.nan


def curve_seconds(
    comparison: Comparison, *, n_jobs: int = 1, repeats: int = 2
) -> float:
    """Return about how long the learning curve will take, by the time of the fits."""
    trial = comparison.trial(comparison.recommended)
    repeats = _repeats(comparison, repeats)
    rounds = -(-repeats // n_jobs)
    return (trial.fit_seconds or 0.0) * rounds * sum(share**GROWTH for share in SHARES)


def learning_curve(
    comparison: Comparison, *, n_jobs: int = 1, repeats: int = 2
) -> list[CurvePoint]:
    """Return the score of the recommended predictor by the rows that it learns from.

    The first ``repeats`` folds (in time: the last ones) are predicted from nested parts
    of their training rows; the last point is that of the comparison itself.
    """
    if not has_curve(comparison, repeats=repeats):
        return []
    trial = comparison.trial(comparison.recommended)
    repeats = _repeats(comparison, repeats)
    known = _predicted(comparison, repeats)
    steps = [
        *_steps(comparison, trial.candidate, repeats, n_jobs),
        (float(np.mean(_n_training(comparison, repeats))), trial.predictions),
    ]
    return _points(comparison, known, steps)


def has_curve(comparison: Comparison, *, repeats: int = 2) -> bool:
    """Whether targets vary where they are predicted, so that there are scores."""
    known = _predicted(comparison, _repeats(comparison, repeats))
    return bool(np.ptp(comparison.y[known]) > 0)


def _predicted(comparison: Comparison, repeats: int) -> NDArray[np.bool_]:
    """Return which rows are in the folds that are predicted."""
    return np.isin(comparison.fold, _tested(comparison, repeats))


def _repeats(comparison: Comparison, repeats: int) -> int:
    """Return how many folds are predicted, one where fits are slow."""
    slow = comparison.trial(comparison.recommended).seconds.mean() > SLOW
    return 1 if slow else min(repeats, comparison.n_folds)


def _n_training(comparison: Comparison, repeats: int) -> list[int]:
    """Return how many rows there are to learn from, for each of the folds tested."""
    return [int(comparison.training(k).sum()) for k in _tested(comparison, repeats)]


def _tested(comparison: Comparison, repeats: int) -> list[int]:
    """Return the folds that are predicted."""
    return comparison.best_trained[:repeats]


def _steps(
    comparison: Comparison, one: Any, repeats: int, n_jobs: int
) -> list[tuple[float, NDArray]]:
    """Return the mean number of training rows of each part, and the predictions."""
    order = np.random.default_rng(comparison.seed).permutation(len(comparison.y))
    most = min(_n_training(comparison, repeats))
    sizes = sorted({max(LEAST_ROWS, int(share * most)) for share in SHARES})
    tasks = [
        (np.sort(order[comparison.training(k)[order]][:size]), k)
        for size in sizes
        if size < most
        for k in _tested(comparison, repeats)
    ]
    with quiet_restarts():
        fits: Any = Parallel(n_jobs=n_jobs)(
            delayed(fit_and_predict)(one, *_examples(comparison, train, k))
            for train, k in tasks
        )
    steps = []
    for start in range(0, len(tasks), repeats):
        guess = comparison.task.nothing(len(comparison.y))
        for i in range(start, start + repeats):
            guess[comparison.fold == tasks[i][1]] = fits[i].predictions
        steps.append((float(len(tasks[start][0])), guess))
    return steps


def _examples(comparison: Comparison, train: NDArray[np.intp], k: int) -> tuple:
    """Return what `fit_and_predict` takes: these training rows, and fold k to test."""
    rows = np.concatenate([train, np.flatnonzero(comparison.fold == k)])
    is_test = np.arange(len(rows)) >= len(train)
    groups = comparison.fit_groups
    groups = None if groups is None else groups[rows]
    X = comparison.encoded(train)[rows]
    y, seed = comparison.y[rows], comparison.seed
    return X, y, is_test, seed, groups, comparison.task


def _points(
    comparison: Comparison, known: NDArray[np.bool_], steps: list[tuple[float, NDArray]]
) -> list[CurvePoint]:
    """Return the points of the steps that could be predicted."""
    y, task = comparison.y[known], comparison.task
    units = None if comparison.units is None else comparison.units[known]

    points: list[CurvePoint] = []
    before = None
    for n_rows, guess in steps:
        if not np.isfinite(guess[known]).all():
            continue
        loss = task.loss(y, guess[known])
        step = Gain(np.nan, np.nan)
        if before is not None:
            gain = paired_gain(before, loss, np.ones(len(y)), units)
            step = gain.over(task.unit(y))
        score = task.score_with_error(y, loss, units)
        points.append(CurvePoint(round(n_rows), *score, *step))
        before = loss
    return points
