"""The section of the report on what would be left if a column went missing."""

from __future__ import annotations

from missfit.comparison import Comparison, Diagnosis
from missfit.report.page import Html, figure, paragraph, section, table
from missfit.report.stress import (
    COLOURS,
    MOST_DRAWN,
    falls_figure,
    stress_columns,
)


def stress_section(comparison: Comparison, diagnosis: Diagnosis) -> Html:
    """Return how much would be explained if each variable went missing."""
    found = diagnosis.stress
    title = "If columns went missing"
    if not found.columns or not found.now > 0:
        words = "There is nothing to lose: the predictions explain nothing."
        return section(title, paragraph(words))
    drawn = figure(
        falls_figure(found.columns[:MOST_DRAWN], found.name, found.now),
        f"{found.name} of {comparison.recommended} {COLOURS}",
        name="stress",
    )
    heads = stress_columns(found.name)
    rows = table(heads, found.columns, name="stressed columns", first=10)
    return section(title, paragraph(what_would_be_left(diagnosis)), drawn, rows)


def what_would_be_left(diagnosis: Diagnosis) -> str:
    """Say which variable would be missed most, and how this was found."""
    found = diagnosis.stress
    worst = found.columns[0]
    return (
        f"Without {worst.name}, {found.name} would be {worst.gone:.3f} in place of "
        f"{found.now:.3f}: it would be missed most. Variables were hidden from "
        f"{found.n_rows:,} rows that the predictor had not seen, which was not fitted "
        "again. A rate is doubled at least to 20 %. Missing by its value means that "
        "large values, or small ones, are missing more often, whichever is worse."
    )
