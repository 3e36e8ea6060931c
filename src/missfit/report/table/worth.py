"""The section of the report on which variable to measure more often."""

from __future__ import annotations

from functools import partial

from missfit.comparison import Comparison, Diagnosis
from missfit.report.page import Html, figure, paragraph, section
from missfit.report.table import figures

MOST_BARS = 15
TOO_SMALL = 1e-4  # share of the error below which a fall is not worth a line


def worth_section(comparison: Comparison, diagnosis: Diagnosis) -> Html:
    """Return how much the error would fall if a variable were always measured."""
    words = paragraph(worth_of_measuring(comparison, diagnosis))
    worth, risk = diagnosis.worth, diagnosis.risk
    top = worth.ranked(TOO_SMALL * risk)[:MOST_BARS]
    title = "Which variable to measure more often"
    if not top:
        return section(title, words)
    bars = (
        [comparison.names[j] for j in top],
        100 * worth.drops[top] / risk,
        100 * worth.standard_errors[top] / risk,
        f"% of the {comparison.task.words.risk} saved",
    )
    return section(
        title,
        words,
        figure(
            figures.both(partial(figures.bars, *bars)),
            f"Expected fall of the {comparison.task.words.risk} if a variable were "
            "never missing"
            + (", with 95 % intervals." if worth.standard_errors.any() else "."),
            name="worth",
        ),
    )


def worth_of_measuring(comparison: Comparison, diagnosis: Diagnosis) -> str:
    """Say which variable to measure more often, and how that was found."""
    worth = diagnosis.worth
    ranked = worth.ranked(TOO_SMALL * diagnosis.risk)
    if not ranked:
        return "None: measuring what is missing would not help, as far as can be told."
    best = ranked[0]
    unit, words = comparison.task.unit(comparison.y), comparison.task.words
    gain, error = worth.drops[best] / unit, worth.standard_errors[best] / unit
    form = ".3f" if comparison.task.higher_is_better else ".4f"
    spread = f" ± {error:{form}}" if error else ""
    also = ", by" if not comparison.task.higher_is_better else ", and R2 would rise by"
    return (
        f"If {comparison.names[best]} were always measured, the {words.risk} would "
        f"fall by about {worth.drops[best] / diagnosis.risk:.1%}{also} "
        f"{gain:{form}}{spread}. Found {worth.method}."
    )
