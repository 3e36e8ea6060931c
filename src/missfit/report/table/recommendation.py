"""The section of the report that recommends a predictor, in plain words."""

from __future__ import annotations

from typing import Any

from missfit.comparison import Comparison, Diagnosis
from missfit.comparison.offers import DEFAULTS
from missfit.report.page import Html, number, paragraph, section, tiles
from missfit.report.table import class_words, number_words
from missfit.report.table.rivals import rivals_by_score


def recommendation_section(comparison: Comparison, diagnosis: Diagnosis) -> Html:
    """Return what to use, how it compares with rivals, and where it is weakest."""
    notes = [against_rivals(comparison), weakest_rows(comparison, diagnosis)]
    return section(
        "What to use",
        paragraph(recommendation(comparison), class_="answer"),
        *(paragraph(note) for note in notes if note),
        tiles(_key_numbers(comparison)),
    )


def _key_numbers(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return the few numbers that a reader looks for first."""
    complete = float((~comparison.mask.any(axis=1)).mean())
    return [
        *_voice(comparison).tiles(comparison),
        ("rows", f"{len(comparison.y):,}", f"{complete:.0%} of them complete"),
        (
            "variables",
            f"{len(comparison.names):,}",
            f"{comparison.mask.mean():.1%} of the values missing",
        ),
        (
            "patterns",
            f"{len(comparison.patterns.patterns):,}",
            "combinations of missing variables",
        ),
    ]


def _voice(comparison: Comparison) -> Any:
    """Return the words for the scores of numbers, or for those of classes."""
    return number_words if comparison.task.classes is None else class_words


def recommendation(comparison: Comparison) -> str:
    """Return the recommendation in a sentence or two of plain words."""
    voice, name = _voice(comparison), comparison.recommended
    text = voice.how_good(comparison)
    if name != comparison.best:
        best = comparison.scores[comparison.best]
        text += (
            f" {comparison.best} scored {voice.written(best.value)}, which is within "
            f"one standard error; {name} is quicker."
        )
    return text + voice.doubt(comparison) + _without_the_default(comparison)


def _without_the_default(comparison: Comparison) -> str:
    """Return that the default was not compared for lack of time, or ""."""
    for trial in comparison.trials:
        if trial.name in DEFAULTS and trial.left_out and "behind" not in trial.left_out:
            return (
                f" There was no time for {trial.name}, which is the best predictor on "
                "most tables."
            )
    return ""


def against_rivals(comparison: Comparison) -> str:
    """Return how the recommended predictor does against its best rival, or ""."""
    rivals = rivals_by_score(comparison)
    if not rivals:
        return ""
    best = rivals[0]
    if comparison.recommended == best:
        return (
            "It is not a predictor of missfit: on this table what people use today "
            "is as good as every predictor that was compared."
        )
    gain, error = comparison.gain(comparison.recommended, over=best)
    is_below = (gain >= 0) == comparison.task.higher_is_better
    return (
        f"The {comparison.task.words.score} of the best of what people use today, "
        f"{best}, is {abs(gain):.3f} ± {error:.3f} (standard error) "
        f"{'below' if is_below else 'above'} that."
    )


def weakest_rows(comparison: Comparison, diagnosis: Diagnosis) -> str:
    """Return on which rows the recommended predictor errs most, or ""."""
    groups, name = diagnosis.by_count, comparison.recommended
    if len(groups) < 2:
        return ""
    worst = max(groups, key=lambda group: group.errors[name])
    return (
        f"It is weakest on the {worst.n_rows:,} rows with {worst.label} variables "
        f"missing ({comparison.task.words.error} {number(worst.errors[name])} ± "
        f"{number(worst.error, largest=worst.errors[name])})."
    )
