"""How good a predictor of classes is, in plain words and in the first numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from missfit.comparison import Comparison
from missfit.comparison.class_task import ClassTask


class Baseline(NamedTuple):
    """What can be said of a row without looking at it.

    Attributes
    ----------
    label : str
        The most frequent class, as a sentence shows it.
    accuracy : float
        Its share of the rows that are tested.
    log_loss : float
        The log-loss of the shares of the classes among these rows.
    """

    label: str
    accuracy: float
    log_loss: float


def baseline(comparison: Comparison) -> Baseline:
    """Return what the shares of the classes alone achieve."""
    code = comparison.y[comparison.is_tested].astype(np.intp)
    share = np.bincount(code) / len(code)
    k = int(share.argmax())
    known = share[share > 0]
    entropy = float(-(known * np.log(known)).sum())
    assert isinstance(comparison.task, ClassTask)
    return Baseline(comparison.task.label(k), float(share[k]), entropy)


def tiles(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return the scores that a reader looks for first."""
    score, base = comparison.scores[comparison.recommended], baseline(comparison)
    auc: tuple[str, str] = "not defined", "the rows that are tested have one class"
    if np.isfinite(score.auc):
        half = 1.96 * score.auc_error
        ends = f"{score.auc - half:.3f} to {min(score.auc + half, 1.0):.3f}"
        auc = f"{score.auc:.3f}", f"{ends}; chance has 0.5"
    return [
        (
            "log-loss",
            f"{score.log_loss:.3f}",
            f"{score.low:.3f} to {score.high:.3f}; the shares of the classes alone "
            f"have {base.log_loss:.3f}",
        ),
        ("AUC", auc[0], auc[1]),
        (
            "accuracy",
            f"{score.accuracy:.1%}",
            f"± {score.accuracy_error:.1%}; always {base.label} has "
            f"{base.accuracy:.1%}",
        ),
    ]


def how_good(comparison: Comparison) -> str:
    """Say what to use, and how good it is on rows that it has not seen."""
    chosen, base = comparison.scores[comparison.recommended], baseline(comparison)
    auc = ""
    if np.isfinite(chosen.auc):
        auc = f"its AUC is {chosen.auc:.3f} ± {chosen.auc_error:.3f} (standard error), "
    return (
        f"Use {comparison.recommended}: on rows that it has not seen its log-loss is "
        f"{chosen.log_loss:.4f} (95 % interval {chosen.low:.4f} to {chosen.high:.4f}; "
        f"the shares of the classes alone have {base.log_loss:.4f}), {auc}and its most "
        f"probable class is right in {chosen.accuracy:.1%} ± "
        f"{chosen.accuracy_error:.1%} of the rows (always saying {base.label} "
        f"is right in {base.accuracy:.1%})."
    )


def written(value: float) -> str:
    """Write the score of another predictor."""
    return f"{value:.4f}"


def doubt(comparison: Comparison) -> str:
    """Say that a predictor may be of no use, where that is so, or ""."""
    if comparison.scores[comparison.recommended].high < baseline(comparison).log_loss:
        return ""
    return (
        " But it may be no better than the shares of the classes: with this table "
        "there is little to predict."
    )
