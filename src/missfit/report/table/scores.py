"""The section of the report with the scores of all predictors."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from numpy.typing import NDArray

from missfit.comparison import Comparison, Trial
from missfit.comparison.scoreboard import regret_of
from missfit.comparison.task import Task
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


def scores_section(comparison: Comparison, bayes: NDArray | None = None) -> Html:
    """Return the scores of all predictors, as a figure and as a table.

    Where the predictions of the Bayes predictor are given, the table has the regret.
    """
    rows = [_row(comparison, trial, bayes) for trial in comparison.trials]
    rows.sort(key=lambda row: math.inf if row[BEHIND] is None else row[BEHIND])
    unit, score = _unit(comparison), comparison.task.words.score
    worse = "below" if comparison.task.higher_is_better else "above"
    return section(
        "The comparison",
        figure(
            figures.both(partial(figures.scores, comparison)),
            _caption(comparison),
            name="scores",
        ),
        table(
            _columns(comparison.task, bayes is not None),
            rows,
            caption=f"Behind: how far the {score} is {worse} the best one's on the "
            "same rows; ± behind: the standard error of this difference, by a "
            f"bootstrap of the {unit}.{_about_regret(comparison, bayes)}",
            name="comparison",
        ),
        *(
            paragraph(element("strong", trial.name), f": {_why_no_score(trial)}.")
            for trial in comparison.trials
            if trial.failure or trial.left_out
        ),
    )


BEHIND = 4  # the place of this column


REGRET = {"regret": "regret", "± regret": "regret_error", "distance": "distance"}


def _columns(task: Task, has_regret: bool) -> list[Column]:
    """Return the columns of the table: what is compared, then further scores."""
    first, *others = task.columns
    return [
        Column("predictor"),
        Column(first.title, first.format),
        Column("low", first.format),
        Column("high", first.format),
        Column("behind", first.format),
        Column("± behind", first.format),
        *(Column(title, first.format) for title in REGRET if has_regret),
        *(Column(one.title, one.format) for one in others),
        Column("s / fit", ".2f"),
        Column("what it is"),
    ]


def _about_regret(comparison: Comparison, bayes: NDArray | None) -> str:
    """Say what the columns of the regret are, where there are any."""
    if bayes is None:
        return ""
    worse = "below" if comparison.task.higher_is_better else "above"
    return (
        f" Regret: how far the {comparison.task.words.score} is {worse} that of the "
        "Bayes predictor, the best there can be, on the same rows; distance: the same "
        "without the chance in the targets."
    )


def _row(comparison: Comparison, trial: Trial, bayes: NDArray | None) -> list[Any]:
    """Return the row of a trial, which has no scores where it failed."""
    score = comparison.scores.get(trial.name)
    if score is None:
        why = "failed: see below" if trial.failure else "left out: see below"
        n_scores = len(_columns(comparison.task, bayes is not None)) - 3
        return [trial.name, *[None] * n_scores, trial.fit_seconds, why]
    used_today = " (used today)" if trial.candidate.rival else ""
    return [
        trial.name,
        score.value,
        score.low,
        score.high,
        score.behind,
        None if trial.name == comparison.best else score.behind_error,
        *_regret(comparison, trial, bayes),
        *(getattr(score, one.field) for one in comparison.task.columns[1:]),
        trial.fit_seconds,
        trial.candidate.about + used_today,
    ]


def _regret(comparison: Comparison, trial: Trial, bayes: NDArray | None) -> list[float]:
    """Return the columns of the regret, none where it is not known."""
    if bayes is None:
        return []
    found = regret_of(comparison, trial, bayes)
    return [found[name] for name in REGRET.values()]


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
    score = comparison.task.words.score
    return (
        f"{score[0].upper()}{score[1:]} of the predictions in {_folds(comparison)}, "
        f"with 95 % intervals by a bootstrap of the {_unit(comparison)}. Orange: "
        "recommended; blue: missfit; grey: used today. Intervals of two predictors "
        "may overlap although one is clearly better, since they meet the same rows: "
        "compare the columns “behind” and “± behind”."
    )


def _why_no_score(trial: Trial) -> str:
    if trial.failure:
        return trial.failure.rstrip(".")
    return trial.left_out
