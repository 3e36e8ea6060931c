"""What every candidate predicts on the same folds, their scores, and the best one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from missfit.auto.heldout import Gain, paired_gain
from missfit.comparison.candidates import Candidate
from missfit.comparison.number_task import NUMBER
from missfit.comparison.task import Task
from missfit.estimators import TableEncoder
from missfit.estimators.forward_split import blocks_in_time
from missfit.evidence.mechanism import Rows, rows_of
from missfit.moments.patterns import PatternGroups, group_rows
from missfit.suspicions import Suspicion
from missfit.tables.columns import shown

DRAWS = 400  # bootstrap draws: an end of a 95 % interval rests on 10 of them


@dataclass(frozen=True)
class Trial:
    """What became of one candidate.

    Attributes
    ----------
    candidate : Candidate
    predictions : ndarray of shape (n,) or (n, K)
        The prediction for each row by the model that did not see it, the probability
        of each class where the target is one; NaN where that model failed or was not
        fitted.
    seconds : ndarray of shape (n_tried,)
        The time to fit and predict each fold that was tried; there may be none.
    failure : str
        Why the candidate failed, or "".
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
        """Return the name of the candidate."""
        return self.candidate.name

    @property
    def fit_seconds(self) -> float | None:
        """Return the mean time to fit and predict a fold; None if none was tried."""
        return float(self.seconds.mean()) if len(self.seconds) else None


@dataclass(frozen=True)
class Comparison:
    """A table, its folds, and the trials of all candidates on them.

    Attributes
    ----------
    X : ndarray of shape (n, k)
        The table as numbers, encoded by all rows. It describes the table; the trials
        meet the table as their training rows alone encode it, see `encoded`.
    y : ndarray of shape (n,)
        The target; where it is a class, the place of each row's class.
    encoder : TableEncoder
    fold : int ndarray of shape (n,)
        The fold of each row; -1 for the first rows in time, which are never predicted.
    groups : ndarray of shape (n,), optional
    trials : list of Trial
    target : str
    seed : int
    notes : list of str
    frame : DataFrame, optional
        The table before it was encoded; None where it was numbers from the start.
    drawn_from : int, optional
        The number of rows that these rows were drawn from; None where all were taken.
    time : ndarray of shape (n,), optional
        The time of each row, in increasing order. Each fold is then predicted from the
        rows before it.
    suspicions : list of Suspicion
        What was odd about the table before anything was tried.
    chosen : str, optional
        The name of the recommended trial, where it was chosen by more rows than these.
    task : Task
        Whether the target is a number or a class, and what follows from that.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    encoder: TableEncoder
    fold: NDArray[np.intp]
    groups: NDArray | None
    trials: list[Trial]
    target: str
    seed: int
    notes: list[str] = field(default_factory=list)
    frame: Any = None
    drawn_from: int | None = None
    time: NDArray | None = None
    suspicions: list[Suspicion] = field(default_factory=list)
    chosen: str | None = None
    task: Task = NUMBER

    def encoded(self, train: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return all rows as numbers, by an encoder fitted to the training rows alone.

        Which levels there are, and which are rare, is learned from the training rows,
        as in a pipeline.
        """
        return self._encoding(train)[0]

    def _encoding(self, train) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return what `encoded` returns, and the variable of each of its columns."""
        if self.frame is None:
            return self.X, self.encoder.variables_
        encoder: Any = clone(self.encoder)
        encoder.fit(self.frame.iloc[train])
        X = encoder.transform(self.frame)
        same = np.array_equal(X, self.X, equal_nan=True)
        return (self.X if same else X), encoder.variables_

    @property
    def n_folds(self) -> int:
        """Return the number of folds."""
        return int(self.fold.max()) + 1

    @property
    def n_training(self) -> int:
        """Return the number of training rows of a fold, the largest in time."""
        return int(self.training(self.best_trained[0]).sum())

    @cached_property
    def _fold_encodings(self) -> list[tuple[NDArray[np.float64], NDArray[np.intp]]]:
        folds = range(self.n_folds)
        return [self._encoding(np.flatnonzero(self.training(k))) for k in folds]

    @property
    def fold_tables(self) -> list[NDArray[np.float64]]:
        """For each fold, all rows as the model meets them that predicts this fold."""
        return [X for X, _ in self._fold_encodings]

    @property
    def fold_variables(self) -> list[NDArray[np.intp]]:
        """For each fold, the variable of each column of its table."""
        return [variables for _, variables in self._fold_encodings]

    def training(self, k: int) -> NDArray[np.bool_]:
        """Return which rows train the model that predicts fold k."""
        return self.fold != k if self.time is None else self.fold < k

    @property
    def is_tested(self) -> NDArray[np.bool_]:
        """Return which rows are predicted: all but the first ones in time."""
        return self.fold >= 0

    @property
    def best_trained(self) -> list[int]:
        """Return the folds, the one whose model has seen the most rows first."""
        folds = list(range(self.n_folds))
        return folds if self.time is None else folds[::-1]

    def examples(self, k: int) -> tuple:
        """Return what `fit_and_predict` takes: training rows of fold k, and the fold.

        These are rows, targets, which of the rows are tested, the seed, groups, and the
        task.
        """
        rows = self.training(k) | (self.fold == k)
        groups = None if self.fit_groups is None else self.fit_groups[rows]
        test = (self.fold == k)[rows]
        X, y = self.fold_tables[k][rows], self.y[rows]
        return X, y, test, self.seed, groups, self.task

    @property
    def fit_groups(self) -> NDArray | None:
        """Return the groups, or times, for the candidates that take groups."""
        return self.groups if self.time is None else self.time

    @cached_property
    def units(self) -> NDArray | None:
        """Rows that count as one observation in standard errors; None for each row.

        These are the groups, or blocks of consecutive rows in time, since errors of
        neighbours are alike. With n rows tested there are about sqrt(n) blocks, which
        is longer than the n^(1/3) rows that a weak dependence asks for.
        """
        if self.time is None:
            return self.groups
        n_tested = int(self.is_tested.sum())
        return blocks_in_time(self.time, max(2, round(len(self.y) / n_tested**0.5)))

    @cached_property
    def rows(self) -> Rows:
        """The rows that the evidence on missingness is found in."""
        y, variables = self.task.evidence(self.y), self.encoder.variables_
        return rows_of(self.X, y, groups=self.groups, variables=variables)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Return the mask of the variables, one bit each."""
        return self.rows.mask

    @cached_property
    def patterns(self) -> PatternGroups:
        """The patterns of the mask, with the rows of each."""
        return group_rows(self.mask)

    @property
    def names(self) -> list[str]:
        """Return the names of the variables."""
        return [str(name) for name in self.encoder.feature_names_in_]

    @property
    def sound(self) -> list[Trial]:
        """Return the trials that were finished and did not fail."""
        return [t for t in self.trials if not (t.failure or t.left_out)]

    @cached_property
    def scores(self) -> dict[str, Any]:
        """The scores of the sound trials."""
        return self.scores_of(self.sound)

    @cached_property
    def _bootstrap(self) -> NDArray[np.float64]:
        """Weights of the rows that are tested, in each draw.

        The first draw is the table itself; the others are Poisson weights of the rows,
        or of their `units` where there are any.
        """
        rng = np.random.default_rng(self.seed)
        y = self.y[self.is_tested]
        unit = np.arange(len(y))
        if self.units is not None:
            unit = np.unique(self.units[self.is_tested], return_inverse=True)[1]
        weight = np.ones((DRAWS + 1, len(y)))
        weight[1:] = rng.poisson(1.0, (DRAWS, unit.max() + 1))[:, unit]
        usable = self.task.usable(weight, y)
        if not usable[0]:
            raise ValueError(
                f"the target {shown(self.target)} is the same in all rows that are "
                "predicted; there is nothing to score."
            )
        return weight[usable]

    def scores_of(self, sound: list[Trial]) -> dict[str, Any]:
        """Return the scores of some trials; intervals are those of a bootstrap."""
        task, rows = self.task, self.is_tested
        losses = np.array([self.losses(trial) for trial in sound])
        value = task.scores_of_draws(self._bootstrap, self.y[rows], losses)
        sign = 1 if task.higher_is_better else -1
        behind = sign * (value[:, [np.argmax(sign * value[0])]] - value) + 0.0
        ends = np.quantile(value[1:], [0.025, 0.975], axis=0)
        gap = np.quantile(behind[1:], [0.025, 0.975], axis=0)
        error = behind[1:].std(axis=0)
        columns = np.array([value[0], *ends, behind[0], *gap, error]).T.tolist()
        units = None if self.units is None else self.units[rows]
        return {
            trial.name: task.score(values, self.y[rows], trial.predictions[rows], units)
            for trial, values in zip(sound, columns, strict=True)
        }

    def losses(self, trial: Trial) -> NDArray[np.float64]:
        """Return the losses of a trial on the rows that are tested."""
        rows = self.is_tested
        return self.task.loss(self.y[rows], trial.predictions[rows])

    def best_now(self) -> str:
        """Return the name of the best trial so far."""
        loss = [self.losses(trial).mean() for trial in self.sound]
        return self.sound[int(np.argmin(loss))].name

    @cached_property
    def best(self) -> str:
        """The name of the trial with the best score."""
        return min(self.scores, key=lambda name: self.scores[name].behind)

    @cached_property
    def recommended(self) -> str:
        """The name of the quickest trial within one standard error of the best."""
        if self.chosen is not None:
            return self.chosen
        near = [
            trial
            for trial in self.sound
            if self.scores[trial.name].behind <= self.scores[trial.name].behind_error
        ]
        return min(near, key=lambda trial: trial.seconds.sum()).name

    def trial(self, name: str) -> Trial:
        """Return the trial of this name."""
        return next(trial for trial in self.trials if trial.name == name)

    def at_rows(self, rows: NDArray[np.intp]) -> Comparison:
        """Return the same comparison, seen at some of its rows.

        The recommended trial is that of all rows.
        """
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            fold=self.fold[rows],
            groups=None if self.groups is None else self.groups[rows],
            time=None if self.time is None else self.time[rows],
            trials=[replace(t, predictions=t.predictions[rows]) for t in self.trials],
            frame=None if self.frame is None else self._frame_at(rows),
            chosen=self.recommended,
        )

    def _frame_at(self, rows: NDArray[np.intp]) -> Any:
        return self.frame.iloc[rows].reset_index(drop=True)

    @cached_property
    def tested(self) -> Comparison:
        """The comparison at the rows that are tested: all but the first in time."""
        if self.is_tested.all():
            return self
        return self.at_rows(np.flatnonzero(self.is_tested))

    def gain(self, name: str, *, over: str) -> Gain:
        """Return how much better a trial scores than another, and its standard error.

        Both are scored on the same rows; a group is one observation, and so is a block
        of time.
        """
        loss, new_loss = (self.losses(self.trial(one)) for one in (over, name))
        units = None if self.units is None else self.units[self.is_tested]
        gain = paired_gain(loss, new_loss, np.ones(len(loss)), units)
        return gain.over(self.task.unit(self.y[self.is_tested]))

    def fold_rows(self) -> Iterator[dict[str, Any]]:
        """Yield one record for each candidate and fold tried: the table of results."""
        for trial in self.trials:
            for k in range(len(trial.seconds)):
                rows = self.fold == k
                yield {
                    "predictor": trial.name,
                    "fold": k,
                    "rows": int(rows.sum()),
                    **self.task.record(self.y[rows], trial.predictions[rows]),
                    "seconds": float(trial.seconds[k]),
                    "failure": trial.failure,
                    "left_out": trial.left_out,
                }
