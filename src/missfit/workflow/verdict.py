"""What changes in missing values mean for a model: the loss that is to be expected."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from missfit.evidence.expected_loss import expected_loss, loss_with_more_missing
from missfit.moments.patterns import unpacked_patterns
from missfit.workflow.changes import Change, Seen, changes
from missfit.workflow.model_file import TableModel
from missfit.workflow.model_loss import ModelLoss

DIGITS = 3  # of a loss that is expected: it is a mean over some thousand rows


class Verdict(NamedTuple):
    """What has changed, and the loss that is to be expected of this model.

    Attributes
    ----------
    n_rows : int
    changes : list of Change
        The surest first.
    loss : str
        "RMSE" or "log-loss".
    then, now : float
        The loss at fit, on rows held out, and the one expected of rows with the missing
        values of the new ones; NaN where there are no rows.
    alone : dict of str to float
        For each column that is missing more often: the loss that is expected if nothing
        else had changed.
    """

    n_rows: int
    changes: list[Change]
    loss: str
    then: float
    now: float
    alone: dict[str, float]

    def words(self) -> str:
        """Return the loss that is expected, in words."""
        then, now = (f"{value:.{DIGITS}g}" for value in (self.then, self.now))
        if then == now:
            return (
                f"the expected {self.loss} is as at fit, {then}: what is missing in "
                "these rows does not change it"
            )
        if not self.changes:
            return (
                f"the expected {self.loss} of these rows is {now} ({then} at fit): "
                "what is missing differs by no more than chance alone explains"
            )
        what = "rises" if self.now > self.then else "falls"
        return (
            f"the expected {self.loss} {what} from {then} at fit to {now}, because of "
            "what is missing in these rows"
        )

    def lines(self) -> list[str]:
        """Return a line for each change, with what it means, and one for all."""
        said = []
        for one in self.changes:
            alone = self.alone.get(one.column) if one.kind == "missing" else None
            more = ""
            if alone is not None:
                more = f"; this alone takes the expected {self.loss} from "
                more += f"{self.then:.{DIGITS}g} to {alone:.{DIGITS}g}"
            said.append(f"{one.words}{more} (p = {one.p:.1g})")
        if not self.changes:
            said.append("nothing has changed by more than chance explains")
        return [*said, self.words()]


def verdict(model: TableModel, seen: Seen) -> Verdict:
    """Compare new rows with those of the fit, and say what it means for the model.

    The loss is measured by hiding values of the rows that calibrate the model, which
    is right where values go missing at random; what other rows are like, beside what
    they lack, is not known without their targets.

    Parameters
    ----------
    model : TableModel
        With a profile; a model file of an earlier version has none.
    seen : Seen
    """
    if model.profile is None:
        raise ValueError(
            "the model does not know the ranges and patterns of its table, since its "
            "file was written by an earlier version of missfit; fit it again."
        )
    found, loss = changes(model, seen), ModelLoss(model)
    then = float(loss.held_out().mean())
    if not seen.n_rows:
        return Verdict(0, [], loss.name, loss.shown(then), np.nan, {})
    # the model may have been fitted to these rows: only the ratio is used
    base = float(loss.of_rows(loss.X, np.arange(len(loss.X))).mean())
    scale = then / base if base > 0 else 1.0
    known = loss.of_rows, loss.X, loss.variables
    keys = sorted(seen.patterns)
    patterns = unpacked_patterns(keys, len(model.columns))
    now = expected_loss(*known, patterns, np.array([seen.patterns[k] for k in keys]))
    alone = {}
    for one in found:
        if one.kind == "missing":
            j = model.columns.index(one.column)
            before = model.missingness.count[j] / model.missingness.n_rows
            share = (seen.missing[j] / seen.n_rows - before) / (1 - before)
            if share > 0:
                mean = loss_with_more_missing(*known, j, share)
                alone[one.column] = loss.shown(scale * mean)
    shown = loss.shown(then), loss.shown(scale * now)
    return Verdict(seen.n_rows, found, loss.name, *shown, alone)
