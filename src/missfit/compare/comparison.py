"""What every candidate predicts on the same folds, their scores, and the best one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from missfit.compare.candidates import Candidate
from missfit.estimators import TableEncoder

DRAWS = 400  # of the bootstrap: an end of a 95 % interval rests on 10 of them


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
    """A table, its folds, and the trials of all candidates on them.

    Attributes
    ----------
    X : ndarray of shape (n, k)
        The table as numbers, by the encoder of all rows: what describes the table. The
        trials meet it as their training rows alone encode it, see `encoded`.
    y : ndarray of shape (n,)
    encoder : TableEncoder
    fold : int ndarray of shape (n,)
        The fold of each row.
    groups : ndarray of shape (n,), optional
    trials : list of Trial
    target : str
    seed : int
    notes : list of str
    frame : DataFrame, optional
        The table before it was encoded; None where it was numbers from the start.
    drawn_from : int, optional
        How many rows there were to draw these from; None where all were taken.
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

    def encoded(self, train: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return all rows as numbers, by an encoder that has seen the training rows.

        Levels, and which of them are rare, are learned from data, as in a pipeline.
        """
        if self.frame is None:
            return self.X
        encoder = clone(self.encoder).fit(self.frame.iloc[train])
        X = encoder.transform(self.frame)
        return self.X if np.array_equal(X, self.X, equal_nan=True) else X

    @cached_property
    def fold_tables(self) -> list[NDArray[np.float64]]:
        """All rows as the model meets them that is to predict each fold."""
        n_folds = int(self.fold.max()) + 1
        return [self.encoded(np.flatnonzero(self.fold != k)) for k in range(n_folds)]

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
        y = self.y - self.y.mean()  # or squares of a large mean swallow the variance
        mean = weight @ y / weight.sum(axis=1)
        spread = weight @ y**2 - weight.sum(axis=1) * mean**2
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
