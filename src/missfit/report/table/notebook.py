"""The scores of a comparison as a small table for a notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

FORMATS = {
    "R2": ".4f",
    "log-loss": ".4f",
    "behind": ".4f",
    "regret": ".4f",
    "RMSE": ".4g",
    "MAE": ".4g",
    "AUC": ".3f",
    "Brier": ".4f",
    "accuracy": ".1%",
    "seconds": ".2f",
}
BAR = 90  # pixels of an R2 of 1, or of an AUC of 1
LEFT = "text-align:left;padding:2px 10px 2px 0"
RIGHT = (
    "text-align:right;padding:2px 10px;white-space:nowrap;"
    "font-variant-numeric:tabular-nums"
)
NOTE = f"{LEFT};max-width:26em;font-weight:normal;opacity:.75"


def score_html(table: Any, recommended: str, words: Sequence[str]) -> str:
    """Return the table as HTML that looks well in light and in dark notebooks.

    Parameters
    ----------
    table : DataFrame
        See `missfit.comparison.scoreboard.score_frame`.
    recommended : str
        The name of the predictor whose line stands out.
    words : sequence of str
        The paragraphs below the table.
    """
    below = "".join(f"<p>{escape(line)}</p>" for line in words)
    names = [name for name in FORMATS if name in table.columns]
    heads = "".join(f'<th style="{RIGHT}">{name}</th>' for name in names)
    lines = "".join(_line(row, names, recommended) for row in table.to_dict("records"))
    return (
        f'<table style="border-collapse:collapse"><thead><tr><th style="{LEFT}">'
        f'predictor</th><th></th>{heads}<th style="{LEFT}"></th></tr></thead>'
        f"<tbody>{lines}</tbody></table>{below}"
    )


def _line(row: dict[str, Any], names: list[str], recommended: str) -> str:
    """Return the line of one predictor."""
    weight = "bold" if row["predictor"] == recommended else "normal"
    cells = "".join(f'<td style="{RIGHT}">{_cell(row, name)}</td>' for name in names)
    return (
        f'<tr style="font-weight:{weight}"><td style="{LEFT}">'
        f'{escape(str(row["predictor"]))}</td><td style="{LEFT}">{_bar(row)}</td>'
        f'{cells}<td style="{NOTE}">'
        f"{escape(str(row['note']))}</td></tr>"
    )


def _cell(row: dict[str, Any], name: str) -> str:
    """Return a number with its error, or "" where there is none."""
    value = row[name]
    if value is None or math.isnan(value):
        return ""
    text = format(value, FORMATS[name])
    error = row.get(f"{name}_error")
    if not error:
        return text
    return f"{text} ± {error:{FORMATS[name] if name == 'accuracy' else '.4f'}}"


def _bar(row: dict[str, Any]) -> str:
    """Return a bar as long as R2 or, for classes, as the AUC is above one half."""
    share = row["R2"] if "R2" in row else 2 * row["AUC"] - 1
    if share is None or math.isnan(share):
        return ""
    width = round(BAR * min(max(share, 0.0), 1.0))
    return (
        f'<span style="display:inline-block;width:{BAR}px;background:#8883">'
        f'<span style="display:block;width:{width}px;height:.7em;background:#3b78b5">'
        "</span></span>"
    )
