"""The paper's four figures and that of classes, each from the tidy table alone.

Every function takes the table of `missfit.study.read_table` and returns a matplotlib
Figure; only `save_figures` writes files. Artists of a method have the gid
``series:METHOD:...``, and artists of a dimension have ``series:d = 10:...``, by which a
report can show and hide them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from missfit.study.figures.box_plots import box_plots
from missfit.study.figures.class_curves import class_curves
from missfit.study.figures.learning_curves import learning_curves
from missfit.study.figures.methods import WIDTH
from missfit.study.figures.panels import TITLES, finished, finished_classes
from missfit.study.figures.rows_per_parameter import rows_per_parameter
from missfit.study.figures.widths import widths
from missfit.writing import whole_file

FIGURES: dict[int, Callable] = {
    1: learning_curves,
    2: rows_per_parameter,
    3: box_plots,
    4: widths,
    5: class_curves,
}


def possible_figures(table) -> list[int]:
    """Return the numbers of the figures for which a table has enough rows."""
    done = finished(table)
    paper = done[done["setting"].isin(TITLES)]
    networks = paper["method"].str.fullmatch(WIDTH.pattern).astype(bool)
    scaled = paper["method"].eq("ExpandedLR") | networks
    enough = {
        1: len(done) > 0,
        2: bool(scaled.any()),
        3: len(done) > 0,
        4: paper[networks]["method"].nunique() > 1,
        5: len(finished_classes(table)) > 0,
    }
    return [number for number, there in enough.items() if there]


def save_figures(table, numbers, folder: Path, *, published: bool = False) -> dict:
    """Draw figures, write each as PDF and PNG, and return them by number."""
    figures = {}
    for number in numbers:
        fig = FIGURES[number](table, published=published)
        for suffix in ("pdf", "png"):
            with whole_file(folder / f"figure{number}.{suffix}") as part:
                fig.savefig(part, dpi=150, bbox_inches="tight")
        figures[number] = fig
    return figures
