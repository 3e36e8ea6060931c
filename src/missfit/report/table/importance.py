"""The section of the report on what matters for the predictions."""

from __future__ import annotations

from functools import partial

from missfit.comparison import Comparison, Diagnosis
from missfit.report.page import Column, Html, figure, paragraph, section, table
from missfit.report.table import figures

MOST_BARS = 30  # variables that are all drawn
FIRST_BARS = 20  # variables that are drawn where there are more


def importance_section(comparison: Comparison, diagnosis: Diagnosis) -> Html:
    """Return how far scores fall if a variable is permuted, in words and a figure."""
    found = diagnosis.importance
    title = "What matters"
    if not found.n_rows:
        words = "Not found: each fold holds one row, which has none to swap with."
        return section(title, paragraph(words))
    ranked = found.ranked()
    top = ranked if len(ranked) <= MOST_BARS else ranked[:FIRST_BARS]
    names = comparison.names
    worsening = comparison.task.words.worsening
    label = f"{worsening} if the variable is permuted"
    bars = [names[j] for j in top], found.drops[top], found.errors[top], label
    parts = [
        paragraph(what_matters(comparison, diagnosis)),
        figure(
            figures.both(partial(figures.bars, *bars)),
            _caption(comparison, diagnosis, len(top)),
            name="importance",
        ),
    ]
    if len(top) < len(ranked):
        rate = comparison.mask.mean(axis=0)
        rows = [
            [names[j], float(found.drops[j]), float(found.errors[j]), float(rate[j])]
            for j in ranked
        ]
        columns = [
            Column("variable"),
            Column(worsening, ".4f"),
            Column("± standard error", ".4f"),
            Column("missing", ".1%"),
        ]
        parts.append(table(columns, rows, filtered=True, first=10))
    return section(title, *parts)


def what_matters(comparison: Comparison, diagnosis: Diagnosis) -> str:
    """Say which variable matters most, and how many can be told from nothing."""
    found, names = diagnosis.importance, comparison.names
    first = found.ranked()[0]
    clear = int((found.drops > 2 * found.errors).sum())
    drop, error = found.drops[first], found.errors[first]
    if not clear:
        return (
            "No variable matters by itself beyond two standard errors: others can "
            "stand in for it, or there is little to predict."
        )
    if clear == len(names) > 1:
        others = f"All {clear} variables matter"
    elif clear == 1:
        others = "It alone matters" if len(names) > 1 else "It matters"
    else:
        others = f"{clear} of the {len(names)} variables matter"
    words = comparison.task.words
    return (
        f"{names[first]} matters most: with its values permuted, {words.the_score} "
        f"{words.worsens} by {drop:.3f} ± {error:.3f} (standard error). {others} by "
        "more than two standard errors."
    )


def _caption(comparison: Comparison, diagnosis: Diagnosis, n_shown: int) -> str:
    found = diagnosis.importance
    limit = ""
    if n_shown < len(comparison.names):
        limit = f"The first {n_shown} of {len(comparison.names)} variables. "
    mask = (
        "A row gets the value of another row, or its being missing: both are permuted "
        "together. "
        if comparison.mask.any()
        else ""
    )
    times = "once" if found.n_repeats < 1.5 else f"{found.n_repeats:.0f} times"
    return (
        f"{limit}Permutation importance for {comparison.recommended} on "
        f"{found.n_rows:,} rows that it has not seen, each permuted {times}, with 95 % "
        f"intervals. {mask}"
        "Variables that tell the same can stand in for each other, so that each of "
        "them seems to matter less than both."
    )
