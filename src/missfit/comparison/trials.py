"""Cross-validate candidates on the folds of a table; slow ones may be cut short."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold

from missfit.auto.heldout import Gain, paired_gain
from missfit.comparison.candidates import Candidate
from missfit.comparison.options import CompareOptions
from missfit.comparison.results import Comparison, Trial
from missfit.estimators import TableEncoder
from missfit.tables.training import TrainingTable

PATIENCE = 60.0  # seconds that the other folds of a candidate far behind may take
BEHIND = 3.0  # standard errors of the difference from which a candidate is far behind


def compare_table(
    table: TrainingTable,
    candidates: Sequence[Candidate],
    options: CompareOptions | None = None,
    *,
    on_start: Callable[[Comparison, Sequence[Candidate]], None] | None = None,
    on_trial: Callable[[Comparison, Trial, float], None] | None = None,
) -> Comparison:
    """Cross-validate candidates on one table.

    Everything that is learned is learned inside the folds, including the levels of
    `TableEncoder`: the predictions are those of
    ``make_pipeline(TableEncoder(), candidate)`` by scikit-learn's
    ``cross_val_predict``. A slow candidate is judged after its first folds. If it is
    behind the best candidate so far by more than 3 standard errors of their paired
    difference there, and the other folds would take longer than a minute, then the
    other folds are left out, and the trial says so.

    Parameters
    ----------
    table : TrainingTable
        Where it has groups, the rows of one group are in one fold.
    candidates : sequence of Candidate
        The candidates to try, in this order.
    options : CompareOptions, optional
        Its ``drop``, ``group`` and ``skip`` are not used here, since the table has been
        read and the candidates have been chosen.
    on_start : callable, optional
        Called with the comparison, which has no trials yet, and with the candidates,
        before the first trial.
    on_trial : callable, optional
        Called after each trial with the comparison so far, the trial, and the share of
        the work that is done.
    """
    options = options or CompareOptions()
    whole = _without_trials(table, options)
    trials = whole.trials
    if on_start:
        on_start(whole, candidates)
    work = sum(one.cost for one in candidates)
    done, start = 0.0, time.perf_counter()
    with Parallel(n_jobs=options.n_jobs) as parallel:
        for one in candidates:
            pace = (time.perf_counter() - start) / done if done else 0.0
            slow = one.cost * pace > PATIENCE and not options.all_folds
            trials.append(_trial(one, whole, parallel, options.n_jobs, slow))
            done += one.cost
            if on_trial:
                on_trial(whole, trials[-1], done / work)
    if not whole.sound:
        raise ValueError(f"no predictor could be fitted: {trials[0].failure}")
    return whole


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
    fold = _folds(len(y), groups, options.n_folds, seed)
    return Comparison(
        X, y, encoder, fold, groups, [], table.target, seed, notes, frame, drawn_from
    )


def drawn_rows(n: int, n_drawn: int, seed: int) -> NDArray[np.intp]:
    """Return the indices of rows drawn at random from n, in the order of the table.

    >>> drawn_rows(5, 3, seed=0).tolist()
    [2, 3, 4]
    """
    return np.sort(np.random.default_rng(seed).permutation(n)[:n_drawn])


def _folds(n: int, groups, n_folds: int, seed: int) -> NDArray[np.intp]:
    """Return the fold of each row; the rows of one group are in one fold."""
    if groups is None:
        splitter: Any = KFold(n_folds, shuffle=True, random_state=seed)
    else:
        n_folds = min(n_folds, len(np.unique(groups)))
        splitter = GroupKFold(n_folds, shuffle=True, random_state=seed)
    fold = np.empty(n, dtype=np.intp)
    for k, (_, test) in enumerate(splitter.split(np.empty((n, 1)), None, groups)):
        fold[test] = k
    return fold


class _Fit(NamedTuple):
    """What one candidate predicts for one fold, how long it took, and any failure."""

    predictions: NDArray[np.float64]
    seconds: float
    failure: str


def _trial(
    one: Candidate,
    whole: Comparison,
    parallel: Parallel,
    n_jobs: int,
    slow: bool,
) -> Trial:
    """Predict each fold by the candidate fitted to the other folds.

    A slow candidate has to show on the first folds that the others are worth the time.
    """
    n_folds = whole.n_folds
    first = min(n_jobs, n_folds) if slow else n_folds
    fits = _fit_folds(one, whole, parallel, range(first))
    left_out = ""
    if first < n_folds:
        seconds = sum(fit.seconds for fit in fits) / first
        rounds = n_folds - first if one.fit_many else -(-(n_folds - first) // n_jobs)
        if seconds * rounds > PATIENCE:
            left_out = _why_leave_out(whole, fits, seconds * rounds)
        if not left_out:
            fits += _fit_folds(one, whole, parallel, range(first, n_folds))
    failure = next((fit.failure for fit in fits if fit.failure), "")
    seconds = np.array([fit.seconds for fit in fits])
    return Trial(one, _joined(whole, fits), seconds, failure, left_out)


def _fit_folds(
    one: Candidate, whole: Comparison, parallel: Parallel, parts: range
) -> list[Any]:
    tables, y, fold = whole.fold_tables, whole.y, whole.fold
    if one.fit_many is not None:  # networks of all folds train as one batch
        tests = [fold == k for k in parts]
        return _fit_all(one, [tables[k] for k in parts], y, tests, whole.seed)
    tasks = (
        delayed(fit_and_predict)(one, tables[k], y, fold == k, whole.seed, whole.groups)
        for k in parts
    )
    return list(parallel(tasks) or [])


def _joined(whole: Comparison, fits: Sequence[_Fit]) -> NDArray[np.float64]:
    """Return the predictions of the first folds, and NaN for the other rows."""
    predictions = np.full(len(whole.y), np.nan)
    for k, fit in enumerate(fits):
        predictions[whole.fold == k] = fit.predictions
    return predictions


def _why_leave_out(whole: Comparison, fits: Sequence[_Fit], seconds: float) -> str:
    """Return why the folds after the first are left out, or "" if they are not."""
    if not whole.sound or any(fit.failure for fit in fits):
        return ""
    rows = whole.fold < len(fits)
    guess, y = _joined(whole, fits)[rows], whole.y[rows]
    lag = _lag(whole, guess, rows)
    if not lag.wins(BEHIND):
        return ""
    r2 = 1 - ((guess - y) ** 2).mean() / y.var()
    return (
        f"left out after {len(fits)} of {whole.n_folds} folds: R2 {r2:.4f} "
        f"there, {lag.value:.4f} ± {lag.standard_error:.4f} behind {whole.best_now()}; "
        f"the others would take about {max(1, round(seconds / 60))} min"
    )


def _lag(whole: Comparison, guess, rows) -> Gain:
    """Return how far the best trial so far is ahead in R2 on some rows."""
    y = whole.y[rows]
    best = whole.trial(whole.best_now()).predictions[rows]
    groups = None if whole.groups is None else whole.groups[rows]
    lag = paired_gain((guess - y) ** 2, (best - y) ** 2, np.ones(len(y)), groups)
    return lag.over(y.var())


def fit_and_predict(
    one: Candidate, X, y, test: NDArray[np.bool_], seed: int, groups=None
) -> _Fit:
    """Fit a candidate to the rows outside the test fold and predict the test fold."""
    start = time.perf_counter()
    options = {}
    if one.takes_groups and groups is not None:
        options["groups"] = groups[~test]
    try:
        with warnings.catch_warnings():
            # A candidate is only tried here: its warnings of slow convergence or rare
            # patterns are for those who choose it.
            warnings.simplefilter("ignore")
            model = one.make(seed).fit(X[~test], y[~test], **options)
            predictions = model.predict(X[test])
        failure = "" if np.isfinite(predictions).all() else "predictions not finite"
    except Exception as error:  # a candidate that fails is a result, not the end
        predictions = np.full(test.sum(), np.nan)
        failure = _in_one_line(error)
    return _Fit(predictions, time.perf_counter() - start, failure)


def _in_one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _fit_all(one: Candidate, tables, y, tests, seed: int) -> list[_Fit]:
    """Fit a candidate to all folds as one batch; each fold gets its share of time."""
    start = time.perf_counter()
    models = [one.make(seed) for _ in tests]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert one.fit_many is not None
            pairs = list(zip(tables, tests, strict=True))
            one.fit_many(models, [(X[~test], y[~test]) for X, test in pairs])
            predicted = [
                model.predict(X[test])
                for model, (X, test) in zip(models, pairs, strict=True)
            ]
        failure = ""
    except Exception as error:
        predicted = [np.full(test.sum(), np.nan) for test in tests]
        failure = _in_one_line(error)
    seconds = (time.perf_counter() - start) / len(tests)
    return [_Fit(predictions, seconds, failure) for predictions in predicted]
