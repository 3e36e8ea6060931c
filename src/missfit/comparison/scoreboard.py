"""The scores of a comparison as a frame, with the regret where the truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.auto.heldout import paired_gain
from missfit.comparison.own import OWN
from missfit.comparison.results import Comparison, Trial


def score_frame(comparison: Comparison, bayes: NDArray | None = None) -> Any:
    """Return one line for each predictor, the best one first, as a pandas frame.

    Parameters
    ----------
    comparison : Comparison
    bayes : ndarray of shape (n,), optional
        What the Bayes predictor predicts for the rows of the comparison.

    Returns
    -------
    DataFrame
        With the columns predictor; R2, low and high, the ends of its 95 % interval;
        behind and behind_error, how far R2 is below that of the best predictor and the
        standard error of this difference; RMSE, MAE; seconds, the time of one fit; and
        note. Where ``bayes`` is given, also regret and regret_error, how far R2 is
        below that of the Bayes predictor on the same rows and the standard error of
        this difference, and distance, the mean squared distance to the Bayes predictor
        over the variance of the target. The regret and the distance have the same
        expectation; the distance varies far less, and is never negative.
    """
    import pandas as pd

    lines = [_line(comparison, trial, bayes) for trial in comparison.trials]
    frame = pd.DataFrame(lines)
    frame["note"] = frame.pop("note")
    return frame.sort_values("R2", ascending=False, ignore_index=True)


def _line(comparison: Comparison, trial: Trial, bayes: NDArray | None) -> dict:
    """Return the line of a trial; its scores are NaN where it has none."""
    score = comparison.scores.get(trial.name)
    names = ("r2", "low", "high", "behind", "behind_error", "rmse", "mae")
    values = [np.nan if score is None else getattr(score, name) for name in names]
    shown = ("R2", "low", "high", "behind", "behind_error", "RMSE", "MAE")
    line: dict[str, Any] = {"predictor": trial.name}
    line |= dict(zip(shown, values, strict=True))
    if bayes is not None:
        line |= _regret(comparison, trial, bayes)
    line["seconds"] = float(trial.seconds.mean()) if len(trial.seconds) else np.nan
    return line | {"note": note_of(trial)}


def _regret(comparison: Comparison, trial: Trial, bayes: NDArray) -> dict[str, float]:
    """Return the regret to the Bayes predictor, its error, and the distance to it."""
    rows = np.isfinite(trial.predictions)
    if trial.name not in comparison.scores:
        return dict.fromkeys(("regret", "regret_error", "distance"), np.nan)
    y, best, guess = comparison.y[rows], bayes[rows], trial.predictions[rows]
    units = None if comparison.units is None else comparison.units[rows]
    gain = paired_gain((guess - y) ** 2, (best - y) ** 2, np.ones(len(y)), units)
    gain = gain.over(y.var())
    return {
        "regret": float(gain.value),
        "regret_error": float(gain.standard_error),
        "distance": float(((guess - best) ** 2).mean() / y.var()),
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
