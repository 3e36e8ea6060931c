"""Figure 4: the distance to the Bayes rate against the width of the network."""

from __future__ import annotations

from missfit.study.figures.methods import WIDTH, units_of
from missfit.study.figures.panels import (
    TITLES,
    add_dimension_key,
    dimension_colour,
    figure_style,
    finished,
    mark_published,
    median_interval,
    panels,
    published_rows,
    settings_of,
    title_of,
)
from missfit.study.published import bayes_rates


def widths(table, *, published: bool = False):
    """Draw Figure 4: R2 - Bayes R2 of the MLP against its width, a line for each d.

    It shows the largest n (in the paper 75,000, and 375,000 for mixture 3). As in the
    authors' script, networks of fewer than 4 units are left out.
    """
    done = finished(table)
    done = done[
        done["setting"].isin(TITLES)
        & done["method"].str.fullmatch(WIDTH.pattern)
        & (done["split"] == "test")
    ]
    settings = settings_of(done)
    dimensions = sorted(done["d"].unique())
    with figure_style():
        fig, axes = panels(settings, figsize=(3.7 * len(settings), 3.6))
        for ax, setting in zip(axes[0], settings, strict=True):
            part = done[done["setting"] == setting]
            n = int(part["n"].max())
            for d, group in part[part["n"] == n].groupby("d"):
                _width_curve(ax, group, setting, int(d), dimensions, published)
            divisor = "2^d" if setting == "mixture3" else "d"
            ax.set_xlabel(f"hidden units / ${divisor}$")
            ax.axhline(0, color="black", lw=1)
            ax.set_title(f"{title_of(setting)}\nn = {n:,}", fontsize=10)
        axes[0, 0].set_ylabel("test R2 - R2 of Bayes")
        add_dimension_key(fig, dimensions)
    return fig


def _width_curve(ax, rows, setting: str, d: int, dimensions, published: bool) -> None:
    rows = rows[[units_of(m, setting, d) >= 4 for m in rows["method"]]]
    if not len(rows):
        return
    rate, colour = bayes_rates()[setting, d], dimension_colour(d, dimensions)
    share = rows["method"].str.removeprefix("MLP W").astype(float)
    values = (rows["r2"] - rate).groupby(share)
    x = sorted(values.groups)
    median = values.median()[x]
    (line,) = ax.plot(x, median, color=colour, marker="o", ms=3, lw=1.5)
    line.set_gid(f"series:d = {d}:widths")
    bounds = [median_interval(values.get_group(w).to_numpy()) for w in x]
    band = ax.fill_between(
        x, *zip(*bounds, strict=True), color=colour, alpha=0.15, lw=0
    )
    band.set_gid(f"series:d = {d}:interval")
    if published:
        theirs = published_rows(setting, d=d, n=int(rows["n"].iloc[0]))
        theirs = theirs[
            theirs["method"].isin(rows["method"]) & (theirs["split"] == "test")
        ]
        where = theirs["method"].str.removeprefix("MLP W").astype(float)
        mark_published(ax, where, theirs["r2_mean"] - rate, colour, f"d = {d}")
