"""Where the predictors err: by the number of missing variables, and by pattern."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.auto.heldout import paired_gain
from missfit.comparison.results import Comparison, Trial

LEAST_ROWS = 5  # of a pattern whose error is told: of fewer it is chance
MOST_GROUPS = 12  # numbers of missing variables, or ranges of them, in a figure


class GroupError(NamedTuple):
    """The errors of the sound trials, by name, on rows with about as much missing.

    It is the RMSE, or the log-loss where the target is a class. ``error`` is the
    standard error of that of the recommended trial.
    """

    label: str
    n_rows: int
    errors: dict[str, float]
    error: float


def count_groups(
    mask: NDArray[np.bool_], least: int = 30, most: int | None = None
) -> list[tuple[str, Any]]:
    """Group rows by their number of missing variables, ``least`` rows or more each.

    Where there would be more groups than ``most``, they are made larger.
    """
    count = mask.sum(axis=1)
    groups: list[tuple[str, Any]] = []
    low = 0
    for k in range(mask.shape[1] + 1):
        rows = (count >= low) & (count <= k)
        left = (count > k).sum()
        if rows.sum() >= least and (left >= least or left == 0):
            groups.append((f"{low}" if low == k else f"{low} to {k}", rows))
            low = k + 1
    rows = count >= low
    if rows.any():
        groups.append((f"{low} or more" if low else "any", rows))
    if most is not None and len(groups) > most:
        return count_groups(mask, len(mask) // most)
    return groups


def errors_by_count(comparison: Comparison) -> list[GroupError]:
    """Return the errors by number of missing variables."""
    comparison = comparison.tested
    groups = count_groups(comparison.mask, most=MOST_GROUPS)
    return [
        GroupError(
            label, int(rows.sum()), _errors(comparison, rows), _error(comparison, rows)
        )
        for label, rows in groups
    ]


def _error(comparison: Comparison, rows: NDArray[np.bool_]) -> float:
    """Return the standard error of the error of the recommended trial on some rows."""
    trial = comparison.trial(comparison.recommended)
    loss = _losses(comparison, trial, rows)
    units = None if comparison.units is None else comparison.units[rows]
    mean = paired_gain(loss, np.zeros(len(loss)), np.ones(len(loss)), units)
    return comparison.task.typical(*mean)[1]


def _losses(comparison: Comparison, trial: Trial, rows) -> NDArray[np.float64]:
    return comparison.task.loss(comparison.y[rows], trial.predictions[rows])


def _errors(comparison: Comparison, rows) -> dict[str, float]:
    """Return the error of each sound trial on some rows."""
    task = comparison.task
    return {
        trial.name: task.typical(_losses(comparison, trial, rows).mean())[0]
        for trial in comparison.sound
    }


class PatternError(NamedTuple):
    """The errors on the rows of a pattern, or of several, and the share of all loss."""

    missing: list[str]
    n_rows: int
    errors: dict[str, float]
    share: float
    n_patterns: int = 1


def errors_by_pattern(
    comparison: Comparison, most: int = 20, least: int = LEAST_ROWS
) -> list[PatternError]:
    """Return the errors on the most frequent patterns, then on all others together.

    The share is that of the recommended predictor; it adds up to 1 over the list.

    Parameters
    ----------
    comparison : Comparison
    most : int
        The most patterns to tell apart.
    least : int
        The rows of a pattern that is told apart.
    """
    comparison = comparison.tested
    n_rows = comparison.patterns.n_rows
    order = np.argsort(-n_rows, kind="stable")
    n_told = min(most, int((n_rows >= least).sum()))
    found = [_pattern_error(comparison, order[k : k + 1]) for k in range(n_told)]
    others = order[n_told:]
    return [*found, _pattern_error(comparison, others)] if len(others) else found


def _pattern_error(comparison: Comparison, some: NDArray[np.intp]) -> PatternError:
    """Return the errors on the rows of some patterns; one is named, several are not."""
    groups = comparison.patterns
    loss = comparison.losses(comparison.trial(comparison.recommended))
    rows = np.flatnonzero(np.isin(groups.pattern_of_row(), some))
    missing = [] if len(some) > 1 else np.flatnonzero(groups.patterns[some[0]])
    return PatternError(
        [comparison.names[j] for j in missing],
        len(rows),
        _errors(comparison, rows),
        float(loss[rows].sum() / (loss.sum() or 1.0)),
        len(some),
    )
