"""The section of the report that shows where the predictors err."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from missfit.comparison import Comparison, Diagnosis
from missfit.report.page import Column, Html, figure, paragraph, section, table
from missfit.report.table import figures
from missfit.report.table.rivals import rivals_by_score

MOST_NAMES = 3  # names of variables in a pattern, so that a phone shows the table


def errors_section(comparison: Comparison, diagnosis: Diagnosis) -> Html:
    """Return the errors by the number of missing variables and by pattern."""
    chosen, rivals = comparison.recommended, rivals_by_score(comparison)[:2]
    names = list(dict.fromkeys([chosen, comparison.best, *rivals]))
    words = comparison.task.words
    draw = partial(figures.errors_by_count, comparison, diagnosis, names)
    return section(
        "Where it errs",
        figure(
            figures.both(draw),
            f"{words.whole_error} on rows by the number of variables missing, with "
            f"95 % intervals for {chosen}.",
            name="by-count",
        ),
        _pattern_table(comparison, diagnosis, names[:3])
        if diagnosis.by_pattern[0].n_patterns == 1
        else paragraph("No pattern has enough rows to tell its errors apart."),
    )


def _pattern_table(
    comparison: Comparison, diagnosis: Diagnosis, names: Sequence[str]
) -> Html:
    """Return the errors of some predictors on the most frequent patterns."""
    words = comparison.task.words
    rate = dict(zip(comparison.names, comparison.mask.mean(axis=0), strict=True))
    rows: list[list[Any]] = [
        [
            pattern_in_words(found.missing, rate)
            if found.n_patterns == 1
            else f"{found.n_patterns:,} other patterns",
            found.n_rows,
            *(found.errors[name] for name in names),
            found.share,
        ]
        for found in diagnosis.by_pattern
    ]
    return table(
        [
            Column("missing"),
            Column("rows", ",d"),
            *(Column(f"{words.error} {name}", "number") for name in names),
            Column("share of error", ".1%"),
        ],
        rows,
        caption="The most frequent patterns, and all others together. A long pattern "
        "is shown by the variables that are seldom missing, which tell it from others. "
        f"The share is that of all {words.loss} of {comparison.recommended}.",
        filtered=len(rows) > 8,
    )


def pattern_in_words(missing: Sequence[str], rate: dict[str, float]) -> str:
    """Return a pattern as a few names: those missing, or all but those observed.

    Parameters
    ----------
    missing : sequence of str
    rate : dict
        How often each variable of the table is missing; seldom ones are named first.

    Examples
    --------
    >>> rate = dict(zip("abcdefgh", range(8), strict=True))
    >>> pattern_in_words([], rate), pattern_in_words(["g", "a"], rate)
    ('none', 'a, g')
    >>> pattern_in_words("bcdefgh", rate), pattern_in_words("hgfe", rate)
    ('all but a', 'e, f, g and 1 more')
    """
    hidden = sorted(missing, key=lambda name: rate[name])
    seen = [name for name in rate if name not in set(missing)]
    if not hidden:
        return "none"
    if not seen:
        return "all"
    if len(hidden) > MOST_NAMES >= len(seen):
        return f"all but {', '.join(seen)}"
    more = len(hidden) - MOST_NAMES
    return ", ".join(hidden[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
