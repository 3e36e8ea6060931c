"""The section of the report that shows what is missing."""

from __future__ import annotations

import numpy as np

from missfit.comparison import Comparison
from missfit.report.page import Html, figure, paragraph, section
from missfit.report.table import figures


def missing_section(comparison: Comparison) -> Html:
    """Return the missing rates, the patterns, and what is missing together."""
    if not comparison.mask.any():
        return section("What is missing", paragraph("Nothing: the table is complete."))
    parts = [_rates(comparison), _patterns(comparison)]
    together = figures.co_missing(comparison)
    if together is not None:
        caption = (
            "Variables that are missing together: red, always together; blue, one or "
            "the other."
        )
        parts.append(figure(together, caption, name="together"))
    return section("What is missing", *parts)


def _rates(comparison: Comparison) -> Html:
    most = figures.MOST_VARIABLES
    limit = f" (the {most} most often missing)" if len(comparison.names) > most else ""
    return figure(
        figures.missing_rates(comparison),
        f"Share of the rows in which each variable is missing{limit}.",
        name="rates",
    )


def _patterns(comparison: Comparison) -> Html:
    groups = comparison.patterns
    shown = min(figures.MOST_PATTERNS, len(groups.patterns))
    share = np.sort(groups.n_rows)[::-1][:shown].sum() / len(comparison.y)
    complete = (~comparison.mask.any(axis=1)).mean()
    return figure(
        figures.pattern_matrix(comparison),
        f"The {shown} most frequent of {len(groups.patterns):,} patterns hold "
        f"{share:.0%} of the rows. Orange: missing. {complete:.0%} of the rows are "
        "complete.",
        name="patterns",
    )
