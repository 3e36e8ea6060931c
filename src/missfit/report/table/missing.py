"""The section of the report that shows what is missing."""

from __future__ import annotations

from missfit.comparison import Comparison
from missfit.report.page import Html, figure, paragraph, section, side_by_side
from missfit.report.table import figures


def missing_section(comparison: Comparison) -> Html:
    """Return the missing rates, the patterns, and what is missing together."""
    if not comparison.mask.any():
        return section("What is missing", paragraph("Nothing: the table is complete."))
    upper = [_rates(comparison)]
    together = figures.co_missing(comparison)
    if together is not None:
        caption = (
            "Variables that are missing together: orange, always together; blue, one "
            f"or the other{_limit(comparison, figures.MOST_TOGETHER)}."
        )
        upper.append(figure(together, caption, name="together"))
    return section(
        "What is missing",
        paragraph(patterns_in_words(comparison)),
        side_by_side(*upper),
        _patterns(comparison) if comparison.patterns.n_rows.max() > 1 else "",
    )


def patterns_in_words(comparison: Comparison) -> str:
    """Say how many patterns there are, and how many rows stand alone with theirs."""
    n_rows = comparison.patterns.n_rows
    complete = (~comparison.mask.any(axis=1)).mean()
    single = int((n_rows == 1).sum())
    alone = f" {single:,} of them are those of one row only." if single else ""
    return (
        f"{comparison.mask.mean():.1%} of the values are missing, in {len(n_rows):,} "
        f"different patterns.{alone} {complete:.0%} of the rows are complete."
    )


def _limit(comparison: Comparison, most: int = figures.MOST_VARIABLES) -> str:
    """Say that not all variables are drawn, where that is so."""
    if len(comparison.names) <= most:
        return ""
    return f" (the {most} of {len(comparison.names)} variables most often missing)"


def _rates(comparison: Comparison) -> Html:
    return figure(
        figures.missing_rates(comparison),
        f"Share of the rows in which each variable is missing{_limit(comparison)}.",
        name="rates",
    )


def _patterns(comparison: Comparison) -> Html:
    groups = comparison.patterns
    top = figures.frequent_patterns(comparison)
    share = groups.n_rows[top].sum() / len(comparison.y)
    rounded = "more than 99%" if 0.995 <= share < 1 else f"{share:.0%}"
    return figure(
        figures.pattern_matrix(comparison),
        f"The {len(top)} most frequent of {len(groups.patterns):,} patterns hold "
        f"{rounded} of the rows. Blue: missing{_limit(comparison)}.",
        name="patterns",
    )
