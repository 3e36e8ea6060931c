"""The report on what would become of a model if columns went missing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from missfit.evidence.stress import StressedColumn
from missfit.report.page import Column, figure, page, paragraph, section, table, tiles

MOST_DRAWN = 25  # columns in the figure: those that matter most
STYLE: dict[Any, Any] = {"font.size": 9}
COLOURS = (
    "if a column went missing: always (orange), twice as often at random (blue), as "
    "often by its own value (purple). The line is what is explained now."
)


def stress_page(
    target: str, score: str, now: float, n_rows: int, columns: Sequence[StressedColumn]
) -> str:
    """Return the page; ``score`` is what is explained, ``now`` with nothing hidden."""
    import matplotlib

    heads = stress_columns(score)
    worst = columns[0] if columns else None
    items = [(f"{score} now", f"{now:.3f}", f"on {n_rows:,} rows held out")]
    if worst is not None:
        items.append(("without " + worst.name[:30], f"{worst.gone:.3f}", "the worst"))
    with warnings.catch_warnings(), matplotlib.rc_context(STYLE):
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        drawn = figure(
            falls_figure(columns[:MOST_DRAWN], score, now),
            f"{score} {COLOURS}",
            name="stress",
        )
    return page(
        f"Predicting {target} if columns went missing",
        section("What would become of it", tiles(items), drawn),
        section("Column by column", table(heads, columns, name="columns", first=25)),
        section("How it was found", paragraph(WORDS)),
    )


WORDS = (
    "The rows that were held out at fit are predicted by the same model with more of "
    "their values hidden. A rate is doubled, at least to 20 %. Missing by its value "
    "means that large values, or small ones, are missing more often, whichever is "
    "worse. The model is not fitted again: a model that was fitted to such rows would "
    "do better where columns tell the same as others."
)


def stress_columns(score: str) -> list[Column]:
    """Return the heads of a table of stressed columns."""
    return [
        Column("column"),
        Column("missing now", ".1%"),
        *(Column(f"{score} if {what}", ".3f") for what in ("gone", "doubled")),
        Column(f"{score} if missing by its value", ".3f"),
    ]


def falls_figure(columns: Sequence[StressedColumn], score: str, now: float):
    """Return a figure of what would be explained, a line for each column."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(6.4, 0.8 + 0.24 * len(columns)))
    ax = fig.add_subplot()
    places = np.arange(len(columns))[::-1]
    ax.axvline(now, color="#8a94a0", lw=1)
    for field, colour in (
        ("gone", "#c05621"),
        ("doubled", "#2b6cb0"),
        ("by_value", "#6b46c1"),
    ):
        values = [getattr(one, field) for one in columns]
        ax.plot(values, places, "o", color=colour, ms=5)
    ax.set_yticks(places, [one.name[:30] for one in columns])
    ax.set(xlabel=score, ylim=(-0.7, max(len(places), 1)))
    ax.spines[["top", "right"]].set_visible(False)
    return fig
