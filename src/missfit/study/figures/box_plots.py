"""Figure 3: R2 of each method over the repetitions, at the largest size."""

from __future__ import annotations

import numpy as np

from missfit.study.figures.methods import shown_methods
from missfit.study.figures.panels import (
    TITLES,
    draw_bayes_rate,
    figure_style,
    finished,
    largest_size,
    main_dimension,
    mark_published,
    panels,
    plain,
    published_rows,
    settings_of,
    title_of,
)


def box_plots(table, *, published: bool = False):
    """Draw Figure 3: R2 of each method over the repetitions, n = 75,000 and d = 10."""
    done = finished(table)
    d = main_dimension(done)
    done = done[(done["d"] == d) | ~done["setting"].isin(TITLES)]
    settings = settings_of(done)
    with figure_style():
        fig, axes = panels(settings, figsize=(3.9 * len(settings), 3.2))
        for ax, setting in zip(axes[0], settings, strict=True):
            part = done[done["setting"] == setting]
            n = largest_size(part)
            part = part[part["n"] == n]
            methods = shown_methods(part, setting)[::-1]
            for y, method in enumerate(methods):
                _boxes(ax, part[part["method"] == method], y, method)
                if published:
                    _published_box(ax, setting, d, n, method, y)
            draw_bayes_rate(ax, part, setting, vertical=True)
            names = [plain(method) for method in methods]
            ax.set(yticks=range(len(methods)), yticklabels=names, xlabel="R2")
            ax.set_title(f"{title_of(setting)}\nn = {n:,}", fontsize=10)
        _box_key(axes[0, -1])
        fig.suptitle(f"d = {d}", x=0.01, ha="left", fontsize=9)
    return fig


BOX_COLOURS = {"train": "#e6c84c", "test": "#3b6fb6"}


def _boxes(ax, rows, y: int, method: str) -> None:
    for split, shift in (("test", -0.18), ("train", 0.18)):
        values = rows[rows["split"] == split]["r2"]
        if not len(values):
            continue
        drawn = ax.boxplot(
            [np.maximum(values, -1)],
            positions=[y + shift],
            orientation="horizontal",
            widths=0.3,
            patch_artist=True,
            showfliers=False,
            manage_ticks=False,
            boxprops={"facecolor": BOX_COLOURS[split], "edgecolor": "0.3", "lw": 0.8},
            medianprops={"color": "black", "lw": 1.2},
            whiskerprops={"color": "0.3", "lw": 0.8},
            capprops={"color": "0.3", "lw": 0.8},
        )
        for artists in drawn.values():
            for artist in artists:
                artist.set_gid(f"series:{method}:{split}")


def _published_box(ax, setting: str, d: int, n: int, method: str, y: int) -> None:
    theirs = published_rows(setting, d=d, n=n)
    theirs = theirs[(theirs["method"] == method) & (theirs["split"] == "test")]
    mark_published(
        ax, theirs["r2_mean"].clip(lower=-1), [y - 0.18] * len(theirs), "0.2", method
    )


def _box_key(ax) -> None:
    from matplotlib.patches import Patch

    ax.legend(
        handles=[Patch(facecolor=BOX_COLOURS[s], label=s) for s in ("train", "test")],
        fontsize=7.5,
        loc="lower left",
    )
