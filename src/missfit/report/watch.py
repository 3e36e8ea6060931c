"""The report on new rows: what has changed since the fit, and what it means."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from missfit.report.page import (
    Column,
    Html,
    element,
    figure,
    page,
    paragraph,
    section,
    table,
    tiles,
)

MOST_DRAWN = 25  # columns in the figure: those that have changed most
STYLE: dict[Any, Any] = {"font.size": 9}


class ColumnChange(NamedTuple):
    """How often a column is missing, at fit and now.

    Attributes
    ----------
    name : str
    then, now : float
        The shares of the rows.
    p : float
        The corrected p-value of a change, NaN where it may be chance.
    alone : float
        The loss to be expected if this had changed alone, NaN where it has not.
    """

    name: str
    then: float
    now: float
    p: float
    alone: float


def watch_page(
    *,
    target: str,
    lead: str,
    losses: tuple[str, float, float, str],
    columns: Sequence[ColumnChange],
    others: Sequence[tuple[str, float]],
) -> str:
    """Return the page.

    Parameters
    ----------
    target : str
    lead : str
        What is compared with what.
    losses : (name, then, now, words)
        The loss at fit, the one to be expected now, and both in words.
    columns : sequence of ColumnChange
    others : sequence of (words, p)
        Changes of patterns, ranges and levels.
    """
    import matplotlib

    with warnings.catch_warnings(), matplotlib.rc_context(STYLE):
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        parts = [
            _verdict(losses, columns, others),
            _missing(columns, losses[0]),
            _others(others),
            _method(),
        ]
    return page(f"New rows to predict {target}", *parts, lead=lead)


def _verdict(losses, columns, others) -> Html:
    name, then, now, words = losses
    n_changed = sum(not np.isnan(one.p) for one in columns)
    items = [
        (f"{name} at fit", f"{then:.3g}", "on rows held out"),
        (f"expected {name}", f"{now:.3g}", "by what is missing now"),
        ("columns", str(n_changed), "are missing more or less often"),
        ("other changes", str(len(others)), "patterns, ranges, levels"),
    ]
    return section(
        "What it means", tiles(items), paragraph(words[0].upper() + words[1:], ".")
    )


def _missing(columns: Sequence[ColumnChange], loss: str) -> Html:
    heads = [
        Column("column"),
        Column("missing at fit", ".1%"),
        Column("missing now", ".1%"),
        Column("p-value of a change", ".1g"),
        Column(f"expected {loss} by this alone", ".3g"),
    ]
    order = sorted(columns, key=lambda one: -abs(one.now - one.then))
    drawn = order[:MOST_DRAWN]
    return section(
        "What is missing",
        figure(
            _rates(drawn),
            "Share of the rows in which a column is missing: at fit (grey) and now "
            f"(blue, or orange where it has changed). {len(drawn)} of {len(columns)} "
            "columns are drawn, those that differ most.",
            name="rates",
        ),
        table(heads, order, name="columns", filtered=len(order) > 15, first=25),
    )


def _rates(columns: Sequence[ColumnChange]):
    from matplotlib.figure import Figure

    fig = Figure(figsize=(6.4, 0.8 + 0.24 * len(columns)))
    ax = fig.add_subplot()
    places = np.arange(len(columns))[::-1]
    for place, one in zip(places, columns, strict=True):
        colour = "#2b6cb0" if np.isnan(one.p) else "#c05621"
        ax.plot([100 * one.then, 100 * one.now], [place] * 2, color=colour, lw=1)
        ax.plot(100 * one.then, place, "o", color="#8a94a0", ms=5)
        ax.plot(100 * one.now, place, "o", color=colour, ms=5)
    ax.set_yticks(places, [one.name[:30] for one in columns])
    ax.set(xlabel="missing, % of the rows", xlim=(-2, 102), ylim=(-0.7, len(places)))
    ax.spines[["top", "right"]].set_visible(False)
    return fig


def _others(others: Sequence[tuple[str, float]]) -> Html:
    title = "Patterns, ranges and levels"
    if not others:
        return section(title, paragraph("Nothing else has changed that can be told."))
    lines = [element("li", f"{words} (p = {p:.1g})") for words, p in others]
    return section(title, element("ul", *lines))


def _method() -> Html:
    return section(
        "How it was found",
        paragraph(
            "Where nothing has changed, a page like this shows any change in at most "
            "1 % of the cases: the tests are exact if new rows are drawn as those of "
            "the fit were, and corrected for the number of columns, patterns and "
            "levels. Rows that belong together, as those of one day or patient, are "
            "alike and can raise a false alarm."
        ),
        paragraph(
            "The expected error is that of rows which were held out at fit, with "
            "values hidden as they are missing in the new rows. It counts what is "
            "missing, as if it were missing at random, and not what else may have "
            "changed: that takes targets of new rows."
        ),
    )
