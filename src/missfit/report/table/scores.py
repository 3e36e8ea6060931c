"""The section of the report with the scores of all predictors."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from missfit.comparison import Comparison, Trial
from missfit.report.page import (
    Column,
    Html,
    element,
    figure,
    paragraph,
    section,
    table,
)
from missfit.report.table import figures

COLUMNS = [
    Column("predictor"),
    Column("R2", ".4f"),
    Column("low", ".4f"),
    Column("high", ".4f"),
    Column("behind", ".4f"),
    Column("± behind", ".4f"),
    Column("RMSE", "number"),
    Column("MAE", "number"),
    Column("s / fit", ".2f"),
    Column("what it is"),
]


def scores_section(comparison: Comparison) -> Html:
    """Return the scores of all predictors, as a figure and as a table."""
    rows = [_row(comparison, trial) for trial in comparison.trials]
    rows.sort(key=lambda row: math.inf if row[1] is None else -row[1])
    unit = _unit(comparison)
    return section(
        "The comparison",
        figure(
            figures.both(partial(figures.scores, comparison)),
            _caption(comparison),
            name="scores",
        ),
        table(
            COLUMNS,
            rows,
            caption="Behind: how far the R2 is below the best one's on the same rows; "
            f"± behind: the standard error of this difference, by a bootstrap of the "
            f"{unit}.",
            name="comparison",
        ),
        *(
            paragraph(element("strong", trial.name), f": {_why_no_score(trial)}.")
            for trial in comparison.trials
            if trial.failure or trial.left_out
        ),
    )


def _row(comparison: Comparison, trial: Trial) -> list[Any]:
    """Return the row of a trial, which has no scores where it failed."""
    score = comparison.scores.get(trial.name)
    if score is None:
        why = "failed: see below" if trial.failure else "left out: see below"
        return [trial.name, *[None] * 7, trial.fit_seconds, why]
    used_today = " (used today)" if trial.candidate.rival else ""
    return [
        trial.name,
        score.r2,
        score.low,
        score.high,
        score.behind,
        None if trial.name == comparison.best else score.behind_error,
        score.rmse,
        score.mae,
        trial.fit_seconds,
        trial.candidate.about + used_today,
    ]


def _unit(comparison: Comparison) -> str:
    """Return what the bootstrap draws."""
    if comparison.time is not None:
        return "blocks of consecutive rows"
    return "rows" if comparison.groups is None else "groups"


def _folds(comparison: Comparison) -> str:
    """Return in which folds the rows are predicted."""
    n = comparison.n_folds
    if comparison.time is not None:
        n_first = int((~comparison.is_tested).sum())
        return (
            f"{n} parts, each predicted from all rows before it in time (the first "
            f"{n_first:,} rows are only learned from)"
        )
    kept = " that keep groups together" if comparison.groups is not None else ""
    return f"{n}-fold cross-validation{kept}"


def _caption(comparison: Comparison) -> str:
    return (
        f"R2 of the predictions in {_folds(comparison)}, "
        f"with 95 % intervals by a bootstrap of the {_unit(comparison)}. Orange: "
        "recommended; blue: missfit; grey: used today. Intervals of two predictors "
        "may overlap although one is clearly better, since they meet the same rows: "
        "compare the columns “behind” and “± behind”."
    )


def _why_no_score(trial: Trial) -> str:
    if trial.failure:
        return trial.failure.rstrip(".")
    return trial.left_out
