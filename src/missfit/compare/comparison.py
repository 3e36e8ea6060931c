"""Cross-validate every candidate on the same folds, and recommend one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold

from missfit.candidates import Candidate
from missfit.estimators import TableEncoder
from missfit.estimators.heldout import Gain, paired_gain
from missfit.tableio import TrainingTable

DRAWS = 400  # of the bootstrap: an end of a 95 % interval rests on 10 of them
PATIENCE = 60.0  # seconds that a candidate may still take though it is far behind
BEHIND = 3.0  # standard errors from which on it is so


@dataclass(frozen=True)
class Trial:
    """What became of one candidate.

    Attributes
    ----------
    candidate : Candidate
    predictions : ndarray of shape (n,)
        Of each row by the model that did not see it; NaN where that model failed, or
        was left out.
    seconds : ndarray of shape (n_folds,)
        To fit and predict each fold that was tried.
    failure : str
        Why it failed, or "".
    left_out : str
        Why some folds were left out, or "".
    """

    candidate: Candidate
    predictions: NDArray[np.float64]
    seconds: NDArray[np.float64]
    failure: str = ""
    left_out: str = ""

    @property
    def name(self) -> str:
        """Name of the candidate."""
        return self.candidate.name


class Score(NamedTuple):
    """R2 of a trial with its 95 % interval, and of its difference from the best."""

    r2: float
    low: float
    high: float
    behind: float
    behind_low: float
    behind_high: float
    behind_error: float
    rmse: float
    mae: float


@dataclass(frozen=True)
class Comparison:
    """A table, its folds, and the trials of all candidates on them."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    encoder: TableEncoder
    fold: NDArray[np.intp]
    groups: NDArray | None
    trials: list[Trial]
    target: str
    seed: int
    notes: list[str] = field(default_factory=list)

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """Mask of the variables, one bit each."""
        first = np.searchsorted(
            self.encoder.variables_, np.arange(self.encoder.n_features_in_)
        )
        return np.isnan(self.X[:, first])

    @property
    def names(self) -> list[str]:
        """Names of the variables."""
        return [str(name) for name in self.encoder.feature_names_in_]

    @property
    def sound(self) -> list[Trial]:
        """Return the trials that were finished and did not fail."""
        return [t for t in self.trials if not (t.failure or t.left_out)]

    @cached_property
    def scores(self) -> dict[str, Score]:
        """Scores of the sound trials."""
        return self.scores_of(self.sound)

    def scores_of(self, sound: list[Trial]) -> dict[str, Score]:
        """Scores of some trials, by a bootstrap of rows (of groups, if any)."""
        error = np.array([trial.predictions - self.y for trial in sound])
        rng = np.random.default_rng(self.seed)
        unit = np.arange(len(self.y))
        if self.groups is not None:
            unit = np.unique(self.groups, return_inverse=True)[1]
        weight = np.ones((DRAWS + 1, len(self.y)))  # the first is the table itself
        weight[1:] = rng.poisson(1.0, (DRAWS, unit.max() + 1))[:, unit]
        mean = weight @ self.y / weight.sum(axis=1)
        spread = weight @ self.y**2 - weight.sum(axis=1) * mean**2
        r2 = 1 - (weight @ (error**2).T) / spread[:, None]  # (1 + draws, trials)
        behind = r2[:, [np.argmax(r2[0])]] - r2
        ends = np.quantile(r2[1:], [0.025, 0.975], axis=0)
        gap = np.quantile(behind[1:], [0.025, 0.975], axis=0)
        return {
            trial.name: Score(
                r2=float(r2[0, k]),
                low=float(ends[0, k]),
                high=float(ends[1, k]),
                behind=float(behind[0, k]),
                behind_low=float(gap[0, k]),
                behind_high=float(gap[1, k]),
                behind_error=float(behind[1:, k].std()),
                rmse=float(np.sqrt((error[k] ** 2).mean())),
                mae=float(abs(error[k]).mean()),
            )
            for k, trial in enumerate(sound)
        }

    def best_now(self) -> str:
        """Return the best of the trials so far."""
        error = [((t.predictions - self.y) ** 2).mean() for t in self.sound]
        return self.sound[int(np.argmin(error))].name

    @cached_property
    def best(self) -> str:
        """The trial of the highest R2."""
        return max(self.scores, key=lambda name: self.scores[name].r2)

    @cached_property
    def recommended(self) -> str:
        """The quickest of those within one standard error of the best."""
        near = [
            trial
            for trial in self.sound
            if self.scores[trial.name].behind <= self.scores[trial.name].behind_error
        ]
        return min(near, key=lambda trial: trial.seconds.sum()).name

    def trial(self, name: str) -> Trial:
        """Return the trial of this name."""
        return next(trial for trial in self.trials if trial.name == name)

    def fold_rows(self) -> Iterator[dict[str, Any]]:
        """Yield one record per candidate and fold tried: the table of results."""
        for trial in self.trials:
            for k in range(len(trial.seconds)):
                rows = self.fold == k
                y, error = self.y[rows], (trial.predictions - self.y)[rows]
                spread = ((y - y.mean()) ** 2).sum()
                yield {
                    "predictor": trial.name,
                    "fold": k,
                    "rows": int(rows.sum()),
                    "r2": float(1 - (error**2).sum() / spread) if spread else None,
                    "rmse": float(np.sqrt((error**2).mean())),
                    "mae": float(abs(error).mean()),
                    "seconds": float(trial.seconds[k]),
                    "failure": trial.failure,
                    "left_out": trial.left_out,
                }


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

    The table is encoded once: `TableEncoder` does not see the target. A candidate that
    is slow is looked at after its first folds: if it is behind the best so far by more
    than 3 standard errors of their paired difference there, and the other folds would
    take longer than a minute, they are left out, and the trial says so.

    Parameters
    ----------
    table : TrainingTable
        Rows of one group, where it has groups, stay in one fold.
    candidates : sequence of Candidate
    categorical : sequence of str
        Columns to take as categories whatever they look like.
    n_folds : int
    most_rows : int
        Draw so many rows where there are more.
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
    notes = list(table.notes)
    rng = np.random.default_rng(seed)
    rows = np.arange(len(table.y))
    if len(rows) > most_rows:
        rows = np.sort(rng.permutation(len(rows))[:most_rows])
        notes.append(f"{most_rows:,} of {len(table.y):,} rows drawn at random")
    named = [name for name in categorical if name in table.X.columns]
    encoder = TableEncoder(categorical=named)
    X = encoder.fit_transform(table.X)[rows]
    y = table.y[rows]
    groups = None if table.groups is None else table.groups[rows]
    fold = _folds(len(y), groups, n_folds, seed)
    trials: list[Trial] = []
    whole = Comparison(X, y, encoder, fold, groups, trials, table.target, seed, notes)
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
    X, y, fold, seed = whole.X, whole.y, whole.fold, whole.seed
    if one.fit_many is not None:  # networks of all folds train as one batch
        return _fit_all(one, X, y, [fold == k for k in parts], seed)
    tasks = (
        delayed(fit_and_predict)(one, X, y, fold == k, seed, whole.groups)
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


def _fit_all(one: Candidate, X, y, tests, seed: int) -> list[_Fit]:
    start = time.perf_counter()
    models = [one.make(seed) for _ in tests]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert one.fit_many is not None
            one.fit_many(models, [(X[~test], y[~test]) for test in tests])
            pairs = zip(models, tests, strict=True)
            predicted = [model.predict(X[test]) for model, test in pairs]
        failure = ""
    except Exception as error:
        predicted = [np.full(test.sum(), np.nan) for test in tests]
        failure = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    seconds = (time.perf_counter() - start) / len(tests)
    return [_Fit(predictions, seconds, failure) for predictions in predicted]
