"""How much predictions would explain if a column went missing, from losses of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST_RATE = 0.2  # a rate is doubled, and raised at least to this
MOST_RATE = 0.95
STRENGTH = 2.0  # of masking by the value: the 16 % largest are missing mostly


class StressedColumn(NamedTuple):
    """How much is explained if a column went missing; NaN where it was not tried.

    Attributes
    ----------
    name : str
    missing : float
        The share of the rows in which it is missing now.
    gone, doubled, by_value : float
        If it were always missing; twice as often, at random; as often, by its value.
    """

    name: str
    missing: float
    gone: float
    doubled: float
    by_value: float


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


class StressTrial(NamedTuple):
    """Rows held out, and what their losses explain.

    Attributes
    ----------
    now : ndarray of shape (n,)
        Their losses as they are.
    nothing : float
        The mean loss of the best constant.
    scale : float
        What losses are multiplied by, where the model knew these rows.
    """

    now: NDArray[np.float64]
    nothing: float
    scale: float = 1.0

    def explained(self, losses: NDArray[np.float64]) -> float:
        """Return the share of the loss of a constant that losses leave out."""
        if self.nothing <= 0:
            return np.nan
        return float(1 - self.scale * losses.mean() / self.nothing)

    def column(
        self,
        name: str,
        gone: NDArray[np.float64],
        has: NDArray[np.bool_],
        hidden: Callable[[float, float], NDArray[np.float64]] | None,
    ) -> StressedColumn:
        """Return what is explained if a column went missing.

        Parameters
        ----------
        name : str
        gone : ndarray of shape (n,)
            The losses without the column.
        has : bool ndarray of shape (n,)
            Which rows have it now.
        hidden : callable, optional
            From a share of the rows that have it, and the strength of its value, to the
            probability that each of these is hidden; None where it has no large values.
        """
        missing = 1 - float(has.mean())
        more = gone - self.now
        rate = min(MOST_RATE, max(LEAST_RATE, 2 * missing))
        share = max(0.0, (rate - missing) / (1 - missing))  # of the rows that have it
        by_value = np.nan
        if hidden is not None:
            worse = []
            for strength in (STRENGTH, -STRENGTH):
                losses = self.now.copy()
                losses[has] += hidden(share, strength) * more[has]
                worse.append(self.explained(losses))
            by_value = min(worse)
        doubled = self.explained(self.now + share * more)
        return StressedColumn(name, missing, self.explained(gone), doubled, by_value)
