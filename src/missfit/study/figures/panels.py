"""What the figures share: the look, the panels, and what is drawn in each."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.study.published import bayes_rate, published_means

TITLES = {
    "mixture1": "Mixture 1 (MCAR)",
    "mixture3": "Mixture 3",
    "selfmasked": "Self-masked (MNAR)",
}
LARGEST = 75_000  # training rows of figures 1, 3 and 4
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#b0b0b0",
    "grid.alpha": 0.4,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "figure.dpi": 100,
    "pdf.fonttype": 42,  # text stays text
}
N_RESAMPLES = 1000


@contextmanager
def figure_style():
    """Draw with the look of the figures, or say how to install matplotlib."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            f"the figures need matplotlib ({error}). Install it with pip install "
            '"missfit[study]".'
        ) from error
    with matplotlib.rc_context(STYLE):
        yield


def panels(settings: list[str], n_rows: int = 1, **options):
    """Return a figure and its axes, a column for each setting."""
    from matplotlib.figure import Figure

    fig = Figure(layout="constrained", **options)
    axes: Any = fig.subplots(n_rows, len(settings), squeeze=False)
    return fig, axes


def median_interval(values: NDArray, level: float = 0.95) -> tuple[float, float]:
    """Return the bootstrap interval of the median, the same in every run.

    >>> median_interval(np.array([1.0]))
    (1.0, 1.0)
    """
    rng = np.random.default_rng(0)
    draws = rng.choice(values, size=(N_RESAMPLES, len(values)))
    tail = (1 - level) / 2
    low, high = np.quantile(np.median(draws, axis=1), [tail, 1 - tail])
    return float(low), float(high)


def mark_published(ax, x, y, colour: str, name: str) -> None:
    """Draw light marks for published values."""
    (marks,) = ax.plot(
        x, y, ls="none", marker="D", ms=5, mfc="none", mec=colour, alpha=0.5
    )
    marks.set_gid(f"series:{name}:published")


def add_dimension_key(fig, dimensions) -> None:
    """Add a legend below the panels: the colour of each number of features."""
    from matplotlib.lines import Line2D

    keys = [
        Line2D([], [], color=dimension_colour(d, dimensions), label=f"d = {d}")
        for d in dimensions
    ]
    fig.legend(handles=keys, loc="outside lower center", ncols=len(keys), fontsize=8)


def add_method_key(ax) -> None:
    """Add a legend of the methods below a panel."""
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(
        handles,
        labels,
        ncols=2,
        fontsize=7.5,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
        columnspacing=1.0,
        handlelength=1.5,
    )


def finished(table):
    """Return the rows of the cells that were run without a failure, on numbers."""
    return table[(table["status"] == "ok") & ~of_classes(table)]


def finished_classes(table):
    """Return the rows of the cells that were run without a failure, on classes."""
    return table[(table["status"] == "ok") & of_classes(table)]


def of_classes(table):
    """Return which rows of a table are about classes; older tables have none."""
    if "log_loss" not in table:
        return table["status"] != table["status"]
    return table["log_loss"].notna()


def settings_of(table) -> list[str]:
    """Return the paper's settings first, in its order."""
    there = list(table["setting"].unique())
    return [s for s in TITLES if s in there] + sorted(
        s for s in there if s not in TITLES
    )


def main_dimension(table) -> int:
    """Return 10 as in the paper, or else the largest d of its settings."""
    dimensions = table[table["setting"].isin(TITLES)]["d"].unique()
    if not len(dimensions):
        return int(table["d"].max())
    return 10 if 10 in dimensions else int(max(dimensions))


def largest_size(table) -> int:
    """Return 75,000 training rows, or the most that all methods have been run on."""
    n_methods = table.groupby("n")["method"].nunique()
    sizes = n_methods.index[n_methods == n_methods.max()]
    return LARGEST if LARGEST in sizes else int(max(sizes))


def dimension_colour(d: int, dimensions) -> str:
    """Return the colour of a number of features among those drawn."""
    import matplotlib
    from matplotlib.colors import to_hex

    place = list(dimensions).index(d) / max(1, len(dimensions) - 1)
    return to_hex(matplotlib.colormaps["viridis"](0.25 + 0.67 * (1 - place)))


def title_of(setting: str, part=None) -> str:
    """Return the title of a setting's panel."""
    if setting in TITLES or part is None:
        return TITLES.get(setting, plain(setting))
    return f"{plain(setting)} (d = {int(part['d'].iloc[0])})"


def plain(name: str, most: int = 26) -> str:
    r"""Return a user's name as text for a figure: short, and no mathematics.

    >>> plain("cost in $"), plain("a" * 40)
    ('cost in \\$', 'aaaaaaaaaaaaaaaaaaaaaaaaa…')
    """
    name = " ".join(str(name).split())
    name = name if len(name) <= most else name[: most - 1] + "…"
    return name.replace("$", r"\$")


def draw_bayes_rate(ax, part, setting: str, *, vertical: bool = False) -> None:
    """Draw the Bayes rate of a panel, where it is known, as a black line."""
    rate = bayes_rate(part, setting, int(part["d"].iloc[0]))
    if rate is not None:
        draw = ax.axvline if vertical else ax.axhline
        draw(rate, color="black", lw=1.5, label="Bayes rate", zorder=1.5)


def published_rows(setting: str, **where):
    """Return the published means of a setting, restricted by column=value."""
    means = published_means()
    means = means[means["setting"] == setting]
    for name, value in where.items():
        means = means[means[name] == value]
    return means
