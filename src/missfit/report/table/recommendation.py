"""The section of the report that recommends a predictor, in plain words."""

from __future__ import annotations

from missfit.comparison import Comparison, Diagnosis
from missfit.report.page import Html, number, paragraph, section, tiles
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
    score, y = comparison.scores[comparison.recommended], comparison.y
    complete = float((~comparison.mask.any(axis=1)).mean())
    return [
        (
            "variance explained, R2",
            f"{score.r2:.3f}",
            f"{score.low:.3f} to {score.high:.3f}",
        ),
        (
            "typical error, RMSE",
            number(score.rmse),
            f"{number(y.std())} is the target's standard deviation",
        ),
        ("rows", f"{len(y):,}", f"{complete:.0%} of them complete"),
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


def recommendation(comparison: Comparison) -> str:
    """Return the recommendation in a sentence or two of plain words."""
    chosen = comparison.scores[comparison.recommended]
    text = (
        f"Use {comparison.recommended}: on rows that it has not seen it explains "
        f"{chosen.r2:.1%} of the variance of {comparison.target} (95 % interval "
        f"{chosen.low:.1%} to {chosen.high:.1%}), with a typical error of "
        f"{number(chosen.rmse)}."
    )
    if comparison.recommended != comparison.best:
        best = comparison.scores[comparison.best]
        text += (
            f" {comparison.best} scored {best.r2:.1%}, which is within one standard "
            f"error; {comparison.recommended} is quicker."
        )
    if chosen.low <= 0:
        text += (
            " But it may be no better than the mean of the target: with this table "
            "there is little to predict."
        )
    return text


def against_rivals(comparison: Comparison) -> str:
    """Return how the recommended predictor does against its best rival, or ""."""
    rivals = rivals_by_score(comparison)
    if not rivals:
        return ""
    best = rivals[0]
    if comparison.recommended == best:
        return (
            "It is not a predictor of missfit: on this table what people use today "
            "is as good as anything here."
        )
    gain, error = comparison.gain(comparison.recommended, over=best)
    return (
        f"The R2 of the best of what people use today, {best}, is {abs(gain):.3f} ± "
        f"{error:.3f} (standard error) {'below' if gain >= 0 else 'above'} that."
    )


def weakest_rows(comparison: Comparison, diagnosis: Diagnosis) -> str:
    """Return on which rows the recommended predictor errs most, or ""."""
    groups, name = diagnosis.by_count, comparison.recommended
    if len(groups) < 2:
        return ""
    worst = max(groups, key=lambda group: group.rmse[name])
    return (
        f"It is weakest on the {worst.n_rows:,} rows with {worst.label} variables "
        f"missing (RMSE {number(worst.rmse[name])} ± {number(worst.error)})."
    )
