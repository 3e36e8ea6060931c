"""Figure 1: R2 against the number of training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from missfit.study.figures.methods import OTHER_COLOURS, colour_of, shown_methods
from missfit.study.figures.panels import (
    LARGEST,
    TITLES,
    add_method_key,
    draw_bayes_rate,
    figure_style,
    finished,
    main_dimension,
    mark_published,
    median_interval,
    panels,
    plain,
    published_rows,
    settings_of,
    title_of,
)

LOWEST = {"mixture1": 0.35, "mixture3": 0.05, "selfmasked": 0.6}  # R2 axis of figure 1


def learning_curves(table, *, published: bool = False):
    """Draw Figure 1: R2 against training rows at d = 10, a panel for each setting.

    Plain lines show the test R2: the median over repetitions with its 95 % bootstrap
    interval, as in the authors' script (the paper's caption says mean, which a few
    exploding runs ruin). Dotted lines show the mean training R2. The black line is the
    Bayes rate.

    Parameters
    ----------
    table : DataFrame
        Tidy results.
    published : bool
        Mark the published means.
    """
    done = finished(table)
    done = done[(done["n"] <= LARGEST) | ~done["setting"].isin(TITLES)]
    d = main_dimension(done)
    done = done[(done["d"] == d) | ~done["setting"].isin(TITLES)]
    settings = settings_of(done)
    with figure_style():
        fig, axes = panels(settings, figsize=(3.7 * len(settings), 4.3))
        for ax, setting in zip(axes[0], settings, strict=True):
            part = done[done["setting"] == setting]
            methods = shown_methods(part, setting)
            for method in methods:
                _curve(ax, part, method, colour_of(method, methods))
            if published:
                _published_curves(ax, setting, d, methods)
            draw_bayes_rate(ax, part, setting)
            low = _lowest(part, methods, LOWEST.get(setting, -np.inf))
            ax.set(xscale="log", xlabel="number of training samples", ylim=(low, 1.02))
            ax.set_title(title_of(setting, part), fontweight="bold", fontsize=10)
            add_method_key(ax)
        axes[0, 0].set_ylabel("R2")
        _split_key(axes[0, min(1, len(settings) - 1)])
        fig.suptitle(f"d = {d}", x=0.01, ha="left", fontsize=9)
    return fig


def _curve(ax, part, method: str, colour: str) -> None:
    rows = part[part["method"] == method]
    draw_medians(ax, rows[rows["split"] == "test"], "r2", method, colour)
    train = rows[rows["split"] == "train"].groupby("n")["r2"].mean()
    (line,) = ax.plot(train.index, train, color=colour, ls=":", lw=1.3)
    line.set_gid(f"series:{method}:train")


def draw_medians(ax, test, score: str, method: str, colour: str) -> None:
    """Draw the median of a score by training rows, and its interval."""
    n, median, low, high = [], [], [], []
    for size, group in test.groupby("n"):
        interval = median_interval(group[score].to_numpy())
        n.append(size)
        median.append(group[score].median())
        low.append(interval[0])
        high.append(interval[1])
    own = colour in OTHER_COLOURS  # a method beyond the paper's is drawn to stand out
    look: dict[str, Any] = {"lw": 3.0, "zorder": 3} if own else {"lw": 1.8}
    look |= {"color": colour, "label": plain(method), "marker": "o", "ms": 2.5}
    (line,) = ax.plot(n, median, **look)
    line.set_gid(f"series:{method}:test")
    band = ax.fill_between(n, low, high, color=colour, alpha=0.18, lw=0)
    band.set_gid(f"series:{method}:interval")


def _published_curves(ax, setting: str, d: int, methods: list[str]) -> None:
    means = published_rows(setting, d=d)
    means = means[(means["split"] == "test") & (means["n"] <= LARGEST)]
    for method in methods:
        theirs = means[means["method"] == method]
        mark_published(
            ax, theirs["n"], theirs["r2_mean"], colour_of(method, methods), method
        )


def _split_key(ax) -> None:
    """Add a legend that says which lines are training and test."""
    from matplotlib.lines import Line2D

    main = ax.get_legend()
    keys = [
        Line2D([], [], color="0.5", ls=":", label="Train"),
        Line2D([], [], color="0.5", ls="-", label="Test"),
    ]
    ax.legend(handles=keys, loc="upper right", fontsize=7.5)
    if main is not None:
        ax.add_artist(main)


def _lowest(part, methods, usual: float) -> float:
    """Return the lower end of the R2 axis: the paper's, or below all medians."""
    rows = part[part["method"].isin(methods)]
    medians = rows.groupby(["method", "n", "split"])["r2"].median()
    if not np.isfinite(usual):
        return max(-1.0, float(medians.min()) - 0.05)
    return usual
