"""The scores of a comparison as a frame, with the regret where the truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.auto.heldout import paired_gain
from missfit.comparison.own import OWN
from missfit.comparison.results import Comparison, Trial
from missfit.comparison.task import Task


def score_frame(comparison: Comparison, bayes: NDArray | None = None) -> Any:
    """Return one line for each predictor, the best one first, as a pandas frame.

    Parameters
    ----------
    comparison : Comparison
    bayes : ndarray of shape (n,) or (n, K), optional
        What the Bayes predictor predicts for the rows of the comparison.

    Returns
    -------
    DataFrame
        With the columns predictor; R2, or log-loss where the target is a class, low
        and high, the ends of its 95 % interval; behind and behind_error, how much worse
        the score is than that of the best predictor and the standard error of this
        difference; RMSE and MAE, or AUC, Brier and accuracy, each of these with its
        standard error, such as AUC_error; seconds, the time of one fit; and note. Where
        ``bayes`` is given, also regret and regret_error, how much worse the score is
        than that of the Bayes predictor on the same rows and the standard error of this
        difference, and distance: the mean squared distance to the Bayes predictor over
        the variance of the target, or the mean Kullback-Leibler divergence from its
        probabilities. The regret and the distance have the same expectation; the
        distance varies far less, and is never negative.
    """
    import pandas as pd

    lines = [_line(comparison, trial, bayes) for trial in comparison.trials]
    frame = pd.DataFrame(lines)
    frame["note"] = frame.pop("note")
    return frame.sort_values("behind", kind="stable", ignore_index=True)


def _line(comparison: Comparison, trial: Trial, bayes: NDArray | None) -> dict:
    """Return the line of a trial; its scores are NaN where it has none."""
    score = comparison.scores.get(trial.name)
    line: dict[str, Any] = {"predictor": trial.name}
    for shown, field in _fields(comparison.task):
        line[shown] = np.nan if score is None else getattr(score, field)
    if bayes is not None:
        line |= regret_of(comparison, trial, bayes)
    line["seconds"] = float(trial.seconds.mean()) if len(trial.seconds) else np.nan
    return line | {"note": note_of(trial)}


def _fields(task: Task) -> Iterator[tuple[str, str]]:
    """Yield the columns of the scores, and the fields of a score that they show."""
    first, *others = task.columns
    yield first.title, first.field
    yield from ((name, name) for name in ("low", "high", "behind", "behind_error"))
    for one in others:
        yield one.title, one.field
        if one.has_error:
            yield f"{one.title}_error", f"{one.field}_error"


def regret_of(comparison: Comparison, trial: Trial, bayes: NDArray) -> dict[str, float]:
    """Return the regret to the Bayes predictor, its error, and the distance to it."""
    if trial.name not in comparison.scores:
        return dict.fromkeys(("regret", "regret_error", "distance"), np.nan)
    rows, task = comparison.is_tested, comparison.task
    y, best, guess = comparison.y[rows], bayes[rows], trial.predictions[rows]
    units = None if comparison.units is None else comparison.units[rows]
    gain = paired_gain(task.loss(y, guess), task.loss(y, best), np.ones(len(y)), units)
    gain = gain.over(task.unit(y))
    return {
        "regret": float(gain.value),
        "regret_error": float(gain.standard_error),
        "distance": float(task.distance(best, guess).mean() / task.unit(y)),
    }


def note_of(trial: Trial) -> str:
    """Return why a trial has no scores, with the way out, or what the predictor is."""
    about = trial.candidate.about
    if trial.left_out:
        return trial.left_out
    if not trial.failure:
        return about
    if about == OWN and "NaN" in trial.failure:
        return (
            f"failed: it takes no missing values ({trial.failure.split('.')[0]}); give "
            "a pipeline that fills them in, such as make_pipeline(SimpleImputer("
            f"add_indicator=True), {trial.name})"
        )
    return f"failed: {trial.failure}"
