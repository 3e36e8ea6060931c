"""Cross-validate candidates on the folds of a table, the slow ones with patience."""

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
from missfit.compare.candidates import Candidate
from missfit.compare.comparison import Comparison, Trial
from missfit.estimators import TableEncoder
from missfit.tables.training import TrainingTable

PATIENCE = 60.0  # seconds that a candidate may still take though it is far behind
BEHIND = 3.0  # standard errors from which on it is so


def compare_table(
    table: TrainingTable,
    candidates: Sequence[Candidate],
    *,
    categorical: Sequence[str] = (),
    n_folds: int = 5,
    most_rows: int = 20_000,
    n_jobs: int = 1,
    seed: int = 0,
    all_folds: bool = False,
    on_start: Callable[[Comparison, Sequence[Candidate]], None] | None = None,
    on_trial: Callable[[Comparison, Trial, float], None] | None = None,
) -> Comparison:
    """Cross-validate candidates on one table.

    Everything that is learned is learned inside the folds, the levels of `TableEncoder`
    too: the predictions are those of ``make_pipeline(TableEncoder(), candidate)`` by
    scikit-learn's ``cross_val_predict``. A candidate that is slow is looked at after
    its first folds: if it is behind the best so far by more than 3 standard errors of
    their paired difference there, and the other folds would take longer than a minute,
    they are left out, and the trial says so.

    Parameters
    ----------
    table : TrainingTable
        Rows of one group, where it has groups, stay in one fold.
    candidates : sequence of Candidate
    categorical : sequence of str
        Columns to take as categories whatever they look like.
    n_folds : int
    most_rows : int
        Draw so many rows where there are more, by `drawn_rows`.
    n_jobs : int
        Processes.
    seed : int
    all_folds : bool
        Leave nothing out.
    on_start : callable, optional
        Called with the comparison, still without trials, once the table is read.
    on_trial : callable, optional
        Called after each trial with the comparison so far, the trial, and the share of
        the work that is done.
    """
    whole = _without_trials(table, categorical, n_folds, most_rows, seed)
    trials = whole.trials
    if on_start:
        on_start(whole, candidates)
    work = sum(one.cost for one in candidates)
    done, start = 0.0, time.perf_counter()
    with Parallel(n_jobs=n_jobs) as parallel:
        for one in candidates:
            pace = (time.perf_counter() - start) / done if done else 0.0
            slow = one.cost * pace > PATIENCE and not all_folds
            trials.append(_trial(one, whole, parallel, n_jobs, slow))
            done += one.cost
            if on_trial:
                on_trial(whole, trials[-1], done / work)
    if not whole.sound:
        raise ValueError(f"no predictor could be fitted: {trials[0].failure}")
    return whole


def _without_trials(
    table: TrainingTable, categorical, n_folds: int, most_rows: int, seed: int
) -> Comparison:
    """Return a comparison in which nothing has been tried yet."""
    rows, notes, drawn_from = np.arange(len(table.y)), list(table.notes), None
    if len(rows) > most_rows:
        drawn_from = len(rows)
        rows = drawn_rows(drawn_from, most_rows, seed)
        notes.append(f"{most_rows:,} of {drawn_from:,} rows drawn at random")
    named = [name for name in categorical if name in table.X.columns]
    frame = table.X.iloc[rows].reset_index(drop=True)
    encoder = TableEncoder(categorical=named)
    X, y = encoder.fit_transform(frame), table.y[rows]
    groups = None if table.groups is None else table.groups[rows]
    fold = _folds(len(y), groups, n_folds, seed)
    return Comparison(
        X, y, encoder, fold, groups, [], table.target, seed, notes, frame, drawn_from
    )


def drawn_rows(n: int, n_drawn: int, seed: int) -> NDArray[np.intp]:
    """Return so many of n rows, drawn at random, in the order of the table.

    >>> drawn_rows(5, 3, seed=0).tolist()
    [2, 3, 4]
    """
    return np.sort(np.random.default_rng(seed).permutation(n)[:n_drawn])


def _folds(n: int, groups, n_folds: int, seed: int) -> NDArray[np.intp]:
    """Fold of each row; rows of one group share one."""
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
    """Fit a candidate to all folds but one, each in turn.

    A slow one has to show after the first folds that it is worth the others.
    """
    n_folds = int(whole.fold.max()) + 1
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
    """Predictions of the first folds, NaN for the rows of the others."""
    predictions = np.full(len(whole.y), np.nan)
    for k, fit in enumerate(fits):
        predictions[whole.fold == k] = fit.predictions
    return predictions


def _why_leave_out(whole: Comparison, fits: Sequence[_Fit], seconds: float) -> str:
    """Say why to leave out the folds after the first, or "" to go on."""
    if not whole.sound or any(fit.failure for fit in fits):
        return ""
    rows = whole.fold < len(fits)
    guess, y = _joined(whole, fits)[rows], whole.y[rows]
    lag = _lag(whole, guess, rows)
    if not lag.wins(BEHIND):
        return ""
    r2 = 1 - ((guess - y) ** 2).mean() / y.var()
    return (
        f"left out after {len(fits)} of {whole.fold.max() + 1} folds: R2 {r2:.4f} "
        f"there, {lag.value:.4f} ± {lag.standard_error:.4f} behind {whole.best_now()}; "
        f"the others would take about {max(1, round(seconds / 60))} min"
    )


def _lag(whole: Comparison, guess, rows) -> Gain:
    """How far the best trial so far is ahead in R2 on some rows."""
    y = whole.y[rows]
    best = whole.trial(whole.best_now()).predictions[rows]
    groups = None if whole.groups is None else whole.groups[rows]
    lag = paired_gain((guess - y) ** 2, (best - y) ** 2, np.ones(len(y)), groups)
    return Gain(lag.value / y.var(), lag.standard_error / y.var())


def fit_and_predict(
    one: Candidate, X, y, test: NDArray[np.bool_], seed: int, groups=None
) -> _Fit:
    """Fit to the rows that are not of the test, and predict those that are."""
    start = time.perf_counter()
    options = {}
    if one.takes_groups and groups is not None:
        options["groups"] = groups[~test]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of convergence, rare patterns; a trial
            model = one.make(seed).fit(X[~test], y[~test], **options)
            predictions = model.predict(X[test])
        failure = "" if np.isfinite(predictions).all() else "predictions not finite"
    except Exception as error:  # a candidate that fails is a result, not the end
        predictions = np.full(test.sum(), np.nan)
        failure = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return _Fit(predictions, time.perf_counter() - start, failure)


def _fit_all(one: Candidate, tables, y, tests, seed: int) -> list[_Fit]:
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
        failure = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    seconds = (time.perf_counter() - start) / len(tests)
    return [_Fit(predictions, seconds, failure) for predictions in predicted]
