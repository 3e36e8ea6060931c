"""What would become of a model if columns went missing: on rows held out at fit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.evidence.stress import Stress, StressTrial
from missfit.moments.patterns import variable_mask
from missfit.report.page import write_page
from missfit.report.stress import stress_page
from missfit.simulate.ampute import self_masking_probability
from missfit.workflow.model_file import TableModel
from missfit.workflow.model_loss import ModelLoss


def stress(model: TableModel, out: str | Path | None = None) -> Stress:
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
    """
    loss = ModelLoss(model)
    has = ~variable_mask(loss.X, loss.variables)
    now = loss.of_rows(loss.X, np.arange(len(loss.X)))
    # the model may have been fitted to these rows: only the ratio is used
    mean = float(now.mean())
    scale = float(loss.held_out().mean()) / mean if mean > 0 else 1.0
    trial = StressTrial(now, loss.of_constant(), scale)
    columns = [
        trial.column(
            name, _without(loss, now, j, has[:, j]), has[:, j], _hidden(loss, j)
        )
        for j, name in enumerate(model.columns)
        if has[:, j].any()
    ]
    columns.sort(key=lambda one: one.gone)
    name = "explained log-loss" if loss.has_classes else "R2"
    found = Stress(name, trial.explained(now), columns, len(now))
    if out is not None:
        write_page(out, stress_page(model.target, *found[:2], found.n_rows, columns))
    return found


def _without(
    loss: ModelLoss, now: NDArray[np.float64], j: int, has: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the losses of all rows without a variable."""
    gone, places = now.copy(), np.flatnonzero(has)
    hidden = np.where(loss.variables == j, np.nan, loss.X[places])
    gone[places] = loss.of_rows(hidden, places)
    return gone


def _hidden(loss: ModelLoss, j: int) -> Callable[[float, float], Any] | None:
    """Return how often values are hidden by what they are, None for categories."""
    values = loss.X[:, loss.variables == j]
    values = values[~np.isnan(values[:, 0])]
    if values.shape[1] > 1 or not np.ptp(values) > 0:
        return None
    return partial(self_masking_probability, values[:, 0])
