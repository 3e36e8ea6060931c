"""Figure 2: the distance to the Bayes rate against training rows per parameter."""

from __future__ import annotations

from missfit.study.figures.methods import parameters_of
from missfit.study.figures.panels import (
    TITLES,
    dimension_colour,
    figure_style,
    finished,
    mark_published,
    panels,
    published_rows,
    settings_of,
    title_of,
)
from missfit.study.published import bayes_rates

SCALED = {"mixture1": "MLP W2", "mixture3": "MLP W0.5", "selfmasked": "MLP W2"}
FARTHEST = {"mixture1": 100, "mixture3": 100, "selfmasked": 30}  # rows per parameter


def rows_per_parameter(table, *, published: bool = False):
    """Draw Figure 2: R2 - Bayes R2 against training rows per parameter, for every d.

    It shows medians of the MLP (2d units, 2^d / 2 for mixture 3) and of ExpandedLR,
    training rows above and test rows below. The colour shows d, and the line style
    shows the method.
    """
    done = finished(table)
    done = done[done["setting"].isin(TITLES)]
    settings = settings_of(done)
    dimensions = sorted(done["d"].unique())
    with figure_style():
        fig, axes = panels(settings, 2, figsize=(3.7 * len(settings), 5.2))
        for column, setting in zip(axes.T, settings, strict=True):
            for ax, split in zip(column, ("train", "test"), strict=True):
                part = done[(done["setting"] == setting) & (done["split"] == split)]
                _scaled_curves(ax, part, setting, dimensions)
                if published:
                    _published_scaled(ax, setting, split, dimensions, part)
                ax.axhline(0, color="black", lw=1)
                ax.set(xlim=(0, FARTHEST[setting]), ylim=_scaled_limits(split))
                ax.text(
                    0.98,
                    0.04,
                    split,
                    transform=ax.transAxes,
                    ha="right",
                    fontweight="bold",
                )
            column[0].set_title(title_of(setting), fontweight="bold", fontsize=10)
            column[1].set_xlabel("training samples per parameter")
        for ax in axes[:, 0]:
            ax.set_ylabel("R2 - R2 of Bayes")
        _scaled_key(fig, dimensions)
    return fig


def _scaled_curves(ax, part, setting: str, dimensions) -> None:
    for method, style in (("ExpandedLR", "-"), (SCALED[setting], "--")):
        rows = part[part["method"] == method]
        for d, group in rows.groupby("d"):
            median = group.groupby("n")["r2"].median()
            x = median.index / parameters_of(method, setting, int(d))
            (line,) = ax.plot(
                x,
                median - bayes_rates()[setting, int(d)],
                ls=style,
                marker="o",
                ms=2.5,
                lw=1.4,
                color=dimension_colour(d, dimensions),
            )
            line.set_gid(f"series:d = {d}:{method}")


def _published_scaled(ax, setting: str, split: str, dimensions, part) -> None:
    for method in ("ExpandedLR", SCALED[setting]):
        ours = part[part["method"] == method]["d"].unique()
        for d in ours:
            theirs = published_rows(setting, d=d)
            theirs = theirs[(theirs["split"] == split) & (theirs["method"] == method)]
            x = theirs["n"] / parameters_of(method, setting, int(d))
            gap = theirs["r2_mean"] - bayes_rates()[setting, int(d)]
            colour = dimension_colour(d, dimensions)
            mark_published(ax, x, gap, colour, f"d = {d}")


def _scaled_limits(split: str) -> tuple[float, float]:
    return (-0.12, 0.12) if split == "train" else (-0.2, 0.05)


def _scaled_key(fig, dimensions) -> None:
    from matplotlib.lines import Line2D

    keys = [
        Line2D([], [], color=dimension_colour(d, dimensions), label=f"d = {d}")
        for d in dimensions
    ]
    keys += [
        Line2D([], [], color="0.5", ls="-", label="ExpandedLR"),
        Line2D([], [], color="0.5", ls="--", label="MLP"),
    ]
    fig.legend(
        handles=keys, loc="outside lower center", ncols=min(len(keys), 7), fontsize=8
    )
