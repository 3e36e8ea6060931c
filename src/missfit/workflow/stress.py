"""What would become of a model if columns went missing: on rows held out at fit."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.moments.patterns import variable_mask
from missfit.report.page import write_page
from missfit.report.stress import StressedColumn, stress_page
from missfit.simulate import ampute
from missfit.workflow.model_file import TableModel
from missfit.workflow.model_loss import ModelLoss

LEAST_RATE = 0.2  # a rate is doubled, and raised at least to this
MOST_RATE = 0.95
STRENGTH = 2.0  # of masking by the value: the 16 % largest are missing mostly
N_DRAWS = 20  # masks by the value; the mean of the losses has little noise after them


class Stress(NamedTuple):
    """How much a model explains now, and if single columns went missing.

    Attributes
    ----------
    name : str
        "R2", or for classes "explained log-loss": 1 minus the log-loss over that of the
        shares of the classes alone.
    now : float
        On the rows held out, as they are.
    columns : list of StressedColumn
        Those that matter most first.
    n_rows : int
        The number of rows that this was measured on.
    """

    name: str
    now: float
    columns: list[StressedColumn]
    n_rows: int

    def lines(self) -> list[str]:
        """Return a table in lines of text."""
        wide = max([6, *(len(one.name[:40]) for one in self.columns)])
        head = f"{'column':<{wide}}  missing     gone  doubled  by value"
        lines = [f"{self.name} {self.now:.3f} on {self.n_rows:,} rows held out", head]
        for one in self.columns:
            values = [_cell(value) for value in (one.gone, one.doubled, one.by_value)]
            lines.append(
                f"{one.name[:40]:<{wide}}  {one.missing:>7.1%}  {values[0]:>7}  "
                f"{values[1]:>7}  {values[2]:>8}"
            )
        return lines


def _cell(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def stress(
    model: TableModel, out: str | Path | None = None, *, seed: int = 0
) -> Stress:
    """Measure how much a model would explain if each column went missing.

    Three things may happen to a column: it is gone; it is missing twice as often as it
    was (at least in 20 % of the rows), at random; it is as often missing, and by its
    own value, the large ones or the small ones, whichever is worse (self-masking of
    `missfit.simulate.ampute`). The rows are those that calibrate the model, with more
    of their values hidden. The model is not fitted again.

    Parameters
    ----------
    model : TableModel
        The model, see `missfit.load_model`.
    out : str or Path, optional
        The HTML file to write a report to.
    seed : int
        The seed of the masks.
    """
    trial = _Trial(ModelLoss(model))
    columns = [
        trial.column(name, j, seed)
        for j, name in enumerate(model.columns)
        if trial.has[:, j].any()
    ]
    columns.sort(key=lambda one: one.gone)
    name = "explained log-loss" if trial.loss.has_classes else "R2"
    found = Stress(name, trial.explained(trial.now), columns, len(trial.now))
    if out is not None:
        write_page(out, stress_page(model.target, *found[:2], found.n_rows, columns))
    return found


class _Trial:
    """Rows held out, their losses, and what these explain."""

    def __init__(self, loss: ModelLoss):
        self.loss = loss
        self.has = ~variable_mask(loss.X, loss.variables)
        self.now = loss.of_rows(loss.X, np.arange(len(loss.X)))
        # the model may have been fitted to these rows: only the ratio is used
        mean = float(self.now.mean())
        self.scale = float(loss.held_out().mean()) / mean if mean > 0 else 1.0
        self.nothing = loss.of_constant()

    def explained(self, losses: NDArray[np.float64]) -> float:
        """Return the share of the loss of a constant that losses leave out."""
        if self.nothing <= 0:
            return np.nan
        return float(1 - self.scale * losses.mean() / self.nothing)

    def column(self, name: str, j: int, seed: int) -> StressedColumn:
        """Hide a column."""
        X, own = self.loss.X, self.loss.variables == j
        has = np.flatnonzero(self.has[:, j])
        missing = 1 - len(has) / len(X)
        gone = self.now.copy()
        gone[has] = self.loss.of_rows(np.where(own, np.nan, X[has]), has)
        rate = min(MOST_RATE, max(LEAST_RATE, 2 * missing))
        share = max(0.0, (rate - missing) / (1 - missing))  # of the rows that have it
        doubled = self.explained(self.now + share * (gone - self.now))
        by_value = np.nan
        if own.sum() == 1 and np.ptp(X[has][:, own]) > 0:
            hidden = _hidden_by_value(X[has][:, own], share, seed)
            by_value = min(self._partly(gone, has, often) for often in hidden)
        return StressedColumn(name, missing, self.explained(gone), doubled, by_value)

    def _partly(self, gone, has, often) -> float:
        """Return what is explained if rows are hidden so often."""
        losses = self.now.copy()
        losses[has] += often * (gone[has] - losses[has])
        return self.explained(losses)


def _hidden_by_value(
    values: NDArray[np.float64], share: float, seed: int
) -> list[NDArray[np.float64]]:
    """Return how often each value is hidden where large ones are, and small ones."""
    found = []
    for strength in (STRENGTH, -STRENGTH):
        rng = np.random.default_rng(seed)
        masks = [
            np.isnan(
                ampute(
                    values, "self-masking", share, strength=strength, random_state=rng
                )
            )
            for _ in range(N_DRAWS)
        ]
        found.append(np.mean(masks, axis=0)[:, 0])
    return found
