"""The paper's four figures, each from the tidy table alone.

Every function takes the table of `missfit.study.read_table` and returns a matplotlib
Figure; nothing is run or saved here. Artists of a method have the gid
``series:METHOD:...`` and those of a dimension ``series:d = 10:...``, by which a report
can switch them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.files import whole_file
from missfit.study.published import bayes_rates, published_means
from missfit.theory import n_parameters

WIDTH = re.compile(r"MLP W\d+(?:\.\d+)?")  # a method of the paper
TITLES = {
    "mixture1": "Mixture 1 (MCAR)",
    "mixture3": "Mixture 3",
    "selfmasked": "Self-masked (MNAR)",
}
# Linear methods in cool and warm tones of their own, networks in one tone by width.
COLOURS = {
    "ConstantImputedLR": "#1f77b4",
    "EMLR": "#ff7f0e",
    "ExpandedLR": "#2ca02c",
    "MICELR": "#d62728",
}
NETWORK_COLOURS = ("#c9b3e6", "#9467bd", "#6a3fb0")
OTHER_COLOURS = ("#e6007e", "#8c564b", "#7f7f7f", "#bcbd22", "#17becf")
SHOWN = {  # widths of the MLP in figures 1 and 3
    "mixture1": ("MLP W0.3", "MLP W1", "MLP W4"),
    "mixture3": ("MLP W0.01", "MLP W0.1", "MLP W0.5"),
    "selfmasked": ("MLP W0.3", "MLP W1", "MLP W4"),
}
SCALED = {"mixture1": "MLP W2", "mixture3": "MLP W0.5", "selfmasked": "MLP W2"}
LOWEST = {"mixture1": 0.35, "mixture3": 0.05, "selfmasked": 0.6}  # of R2 in figure 1
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
FARTHEST = {"mixture1": 100, "mixture3": 100, "selfmasked": 30}  # rows a parameter
N_RESAMPLES = 1000


@contextmanager
def _style():
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            f"the figures need matplotlib ({error}). Install it with pip install "
            '"missfit[study]".'
        ) from error
    with matplotlib.rc_context(STYLE):
        yield


def _panels(settings: list[str], n_rows: int = 1, **options):
    from matplotlib.figure import Figure

    fig = Figure(layout="constrained", **options)
    axes: Any = fig.subplots(n_rows, len(settings), squeeze=False)
    return fig, axes


def learning_curves(table, *, published: bool = False):
    """Figure 1: R2 against training rows at d = 10, a panel for each setting.

    Test in plain lines: the median over repetitions with its 95 % bootstrap interval,
    as in the authors' script (the caption says mean, which a few exploding runs ruin);
    training in dotted lines, the mean. The Bayes rate is the black line.

    Parameters
    ----------
    table : DataFrame
        Tidy results.
    published : bool
        Mark the published means.
    """
    done = _done(table)
    done = done[(done["n"] <= LARGEST) | ~done["setting"].isin(TITLES)]
    d = main_dimension(done)
    done = done[(done["d"] == d) | ~done["setting"].isin(TITLES)]
    settings = _settings(done)
    with _style():
        fig, axes = _panels(settings, figsize=(3.7 * len(settings), 4.3))
        for ax, setting in zip(axes[0], settings, strict=True):
            part = done[done["setting"] == setting]
            methods = shown_methods(part, setting)
            for method in methods:
                _curve(ax, part, method, colour_of(method, methods))
            if published:
                _published_curves(ax, setting, d, methods)
            _bayes_line(ax, setting, d)
            low = _lowest(part, methods, LOWEST.get(setting, -np.inf))
            ax.set(xscale="log", xlabel="number of training samples", ylim=(low, 1.02))
            ax.set_title(_title(setting, part), fontweight="bold", fontsize=10)
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
        axes[0, 0].set_ylabel("R2")
        _split_key(axes[0, min(1, len(settings) - 1)])
        fig.suptitle(f"d = {d}", x=0.01, ha="left", fontsize=9)
    return fig


def _curve(ax, part, method: str, colour: str) -> None:
    rows = part[part["method"] == method]
    test = rows[rows["split"] == "test"]
    n, median, low, high = [], [], [], []
    for size, group in test.groupby("n"):
        interval = median_interval(group["r2"].to_numpy())
        n.append(size)
        median.append(group["r2"].median())
        low.append(interval[0])
        high.append(interval[1])
    own = colour in OTHER_COLOURS  # not one of the paper's: what one looks for
    look: dict[str, Any] = {"lw": 3.0, "zorder": 3} if own else {"lw": 1.8}
    look |= {"color": colour, "label": plain(method), "marker": "o", "ms": 2.5}
    (line,) = ax.plot(n, median, **look)
    line.set_gid(f"series:{method}:test")
    band = ax.fill_between(n, low, high, color=colour, alpha=0.18, lw=0)
    band.set_gid(f"series:{method}:interval")
    train = rows[rows["split"] == "train"].groupby("n")["r2"].mean()
    (line,) = ax.plot(train.index, train, color=colour, ls=":", lw=1.3)
    line.set_gid(f"series:{method}:train")


def median_interval(values: NDArray, level: float = 0.95) -> tuple[float, float]:
    """Bootstrap interval of the median, the same in every run.

    >>> median_interval(np.array([1.0]))
    (1.0, 1.0)
    """
    rng = np.random.default_rng(0)
    draws = rng.choice(values, size=(N_RESAMPLES, len(values)))
    tail = (1 - level) / 2
    low, high = np.quantile(np.median(draws, axis=1), [tail, 1 - tail])
    return float(low), float(high)


def _published_curves(ax, setting: str, d: int, methods: list[str]) -> None:
    means = _published(setting, d=d)
    means = means[(means["split"] == "test") & (means["n"] <= LARGEST)]
    for method in methods:
        theirs = means[means["method"] == method]
        _mark(ax, theirs["n"], theirs["r2_mean"], colour_of(method, methods), method)


def _mark(ax, x, y, colour: str, name: str) -> None:
    """Light marks for what is published."""
    (marks,) = ax.plot(
        x, y, ls="none", marker="D", ms=5, mfc="none", mec=colour, alpha=0.5
    )
    marks.set_gid(f"series:{name}:published")


def _split_key(ax) -> None:
    """Say which lines are training and test."""
    from matplotlib.lines import Line2D

    main = ax.get_legend()
    keys = [
        Line2D([], [], color="0.5", ls=":", label="Train"),
        Line2D([], [], color="0.5", ls="-", label="Test"),
    ]
    ax.legend(handles=keys, loc="upper right", fontsize=7.5)
    if main is not None:
        ax.add_artist(main)


def rows_per_parameter(table, *, published: bool = False):
    """Figure 2: R2 - Bayes R2 against training rows per parameter, for every d.

    The MLP (2d units, 2^d / 2 for mixture 3) and ExpandedLR; training above, test
    below; medians. The colour is d, the line style the method.
    """
    done = _done(table)
    done = done[done["setting"].isin(TITLES)]
    settings = _settings(done)
    dimensions = sorted(done["d"].unique())
    with _style():
        fig, axes = _panels(settings, 2, figsize=(3.7 * len(settings), 5.2))
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
            column[0].set_title(_title(setting), fontweight="bold", fontsize=10)
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
                color=_dimension_colour(d, dimensions),
            )
            line.set_gid(f"series:d = {d}:{method}")


def _published_scaled(ax, setting: str, split: str, dimensions, part) -> None:
    for method in ("ExpandedLR", SCALED[setting]):
        ours = part[part["method"] == method]["d"].unique()
        for d in ours:
            theirs = _published(setting, d=d)
            theirs = theirs[(theirs["split"] == split) & (theirs["method"] == method)]
            x = theirs["n"] / parameters_of(method, setting, int(d))
            gap = theirs["r2_mean"] - bayes_rates()[setting, int(d)]
            colour = _dimension_colour(d, dimensions)
            _mark(ax, x, gap, colour, f"d = {d}")


def _scaled_limits(split: str) -> tuple[float, float]:
    return (-0.12, 0.12) if split == "train" else (-0.2, 0.05)


def _scaled_key(fig, dimensions) -> None:
    from matplotlib.lines import Line2D

    keys = [
        Line2D([], [], color=_dimension_colour(d, dimensions), label=f"d = {d}")
        for d in dimensions
    ]
    keys += [
        Line2D([], [], color="0.5", ls="-", label="ExpandedLR"),
        Line2D([], [], color="0.5", ls="--", label="MLP"),
    ]
    fig.legend(
        handles=keys, loc="outside lower center", ncols=min(len(keys), 7), fontsize=8
    )


def parameters_of(method: str, setting: str, d: int) -> int:
    """Parameters of a method of the paper; the units of an MLP depend on the setting.

    >>> [parameters_of(m, "mixture1", 10) for m in ("ExpandedLR", "MLP W1")]
    [6144, 221]
    """
    if is_width(method):
        width = units_of(method, setting, d)
        return n_parameters("MLP", d, width=max(1, width))
    return n_parameters(method, d)


def units_of(method: str, setting: str, d: int) -> int:
    """Hidden units of "MLP Wx": x d, or x 2^d for mixture 3.

    >>> units_of("MLP W0.3", "mixture1", 10), units_of("MLP W0.5", "mixture3", 10)
    (3, 512)
    """
    share = float(method.removeprefix("MLP W"))
    return int(share * (2**d if setting == "mixture3" else d))


def box_plots(table, *, published: bool = False):
    """Figure 3: R2 of each method at n = 75,000 and d = 10 over the repetitions."""
    done = _done(table)
    d = main_dimension(done)
    done = done[(done["d"] == d) | ~done["setting"].isin(TITLES)]
    settings = _settings(done)
    with _style():
        fig, axes = _panels(settings, figsize=(3.9 * len(settings), 3.2))
        for ax, setting in zip(axes[0], settings, strict=True):
            part = done[done["setting"] == setting]
            n = largest_size(part)
            part = part[part["n"] == n]
            methods = shown_methods(part, setting)[::-1]
            for y, method in enumerate(methods):
                _boxes(ax, part[part["method"] == method], y, method)
                if published:
                    _published_box(ax, setting, d, n, method, y)
            _bayes_line(ax, setting, d, vertical=True)
            names = [plain(method) for method in methods]
            ax.set(yticks=range(len(methods)), yticklabels=names, xlabel="R2")
            ax.set_title(f"{_title(setting)}\nn = {n:,}", fontsize=10)
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
    theirs = _published(setting, d=d, n=n)
    theirs = theirs[(theirs["method"] == method) & (theirs["split"] == "test")]
    _mark(ax, theirs["r2_mean"].clip(lower=-1), [y - 0.18] * len(theirs), "0.2", method)


def _box_key(ax) -> None:
    from matplotlib.patches import Patch

    ax.legend(
        handles=[Patch(facecolor=BOX_COLOURS[s], label=s) for s in ("train", "test")],
        fontsize=7.5,
        loc="lower left",
    )


def widths(table, *, published: bool = False):
    """Figure 4: R2 - Bayes R2 of the MLP against its width, a line for each d.

    At the largest n (the paper: 75,000, and 375,000 for mixture 3). As in the authors'
    script, networks of fewer than 4 units are left out.
    """
    done = _done(table)
    done = done[
        done["setting"].isin(TITLES)
        & done["method"].str.fullmatch(WIDTH.pattern)
        & (done["split"] == "test")
    ]
    settings = _settings(done)
    dimensions = sorted(done["d"].unique())
    with _style():
        fig, axes = _panels(settings, figsize=(3.7 * len(settings), 3.6))
        for ax, setting in zip(axes[0], settings, strict=True):
            part = done[done["setting"] == setting]
            n = int(part["n"].max())
            for d, group in part[part["n"] == n].groupby("d"):
                _width_curve(ax, group, setting, int(d), dimensions, published)
            divisor = "2^d" if setting == "mixture3" else "d"
            ax.set_xlabel(f"hidden units / ${divisor}$")
            ax.axhline(0, color="black", lw=1)
            ax.set_title(f"{_title(setting)}\nn = {n:,}", fontsize=10)
        axes[0, 0].set_ylabel("test R2 - R2 of Bayes")
        _dimension_key(fig, dimensions)
    return fig


def _width_curve(ax, rows, setting: str, d: int, dimensions, published: bool) -> None:
    rows = rows[[units_of(m, setting, d) >= 4 for m in rows["method"]]]
    if not len(rows):
        return
    rate, colour = bayes_rates()[setting, d], _dimension_colour(d, dimensions)
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
        theirs = _published(setting, d=d, n=int(rows["n"].iloc[0]))
        theirs = theirs[
            theirs["method"].isin(rows["method"]) & (theirs["split"] == "test")
        ]
        where = theirs["method"].str.removeprefix("MLP W").astype(float)
        _mark(ax, where, theirs["r2_mean"] - rate, colour, f"d = {d}")


def _dimension_key(fig, dimensions) -> None:
    from matplotlib.lines import Line2D

    keys = [
        Line2D([], [], color=_dimension_colour(d, dimensions), label=f"d = {d}")
        for d in dimensions
    ]
    fig.legend(handles=keys, loc="outside lower center", ncols=len(keys), fontsize=8)


FIGURES: dict[int, Callable] = {
    1: learning_curves,
    2: rows_per_parameter,
    3: box_plots,
    4: widths,
}


def possible_figures(table) -> list[int]:
    """Figures that the rows of a table suffice for."""
    done = _done(table)
    paper = done[done["setting"].isin(TITLES)]
    networks = paper["method"].str.fullmatch(WIDTH.pattern).astype(bool)
    scaled = paper["method"].eq("ExpandedLR") | networks
    enough = {
        1: len(done) > 0,
        2: bool(scaled.any()),
        3: len(done) > 0,
        4: paper[networks]["method"].nunique() > 1,
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


# ---- what the figures share ----------------------------------------------------------


def _done(table):
    return table[table["status"] == "ok"]


def _settings(table) -> list[str]:
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


def shown_methods(table, setting: str) -> list[str]:
    """Methods of figures 1 and 3: the linear ones, three widths, and any others."""
    there = list(table["method"].unique())
    known = [*COLOURS, *SHOWN.get(setting, ())]
    others = [m for m in there if m not in known and not _is_other_width(m, setting)]
    return [m for m in known if m in there] + sorted(others)


def _is_other_width(method: str, setting: str) -> bool:
    return setting in SHOWN and is_width(method)


def colour_of(method: str, methods: list[str]) -> str:
    """Colour of a method among those drawn."""
    if method in COLOURS:
        return COLOURS[method]
    widths = [m for m in methods if is_width(m)]
    if method in widths:
        place = widths.index(method) + max(0, 3 - len(widths))
        return NETWORK_COLOURS[min(place, 2)]
    others = [m for m in methods if m not in COLOURS and m not in widths]
    return OTHER_COLOURS[others.index(method) % len(OTHER_COLOURS)]


def _dimension_colour(d: int, dimensions) -> str:
    import matplotlib
    from matplotlib.colors import to_hex

    place = list(dimensions).index(d) / max(1, len(dimensions) - 1)
    return to_hex(matplotlib.colormaps["viridis"](0.25 + 0.67 * (1 - place)))


def _title(setting: str, part=None) -> str:
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


def is_width(method: str) -> bool:
    """Whether a name is that of one of the paper's widths, such as "MLP W0.3".

    >>> is_width("MLP W0.3"), is_width("MLP Wide")
    (True, False)
    """
    return WIDTH.fullmatch(method) is not None


def _lowest(part, methods, usual: float) -> float:
    """Lower end of the R2 axis: the paper's, or where the medians end."""
    rows = part[part["method"].isin(methods)]
    medians = rows.groupby(["method", "n", "split"])["r2"].median()
    if not np.isfinite(usual):
        return max(-1.0, float(medians.min()) - 0.05)
    return usual


def _bayes_line(ax, setting: str, d: int, *, vertical: bool = False) -> None:
    rate = bayes_rates().get((setting, d))
    if rate is not None:
        draw = ax.axvline if vertical else ax.axhline
        draw(rate, color="black", lw=1.5, label="Bayes rate", zorder=1.5)


def _published(setting: str, **where):
    means = published_means()
    means = means[means["setting"] == setting]
    for name, value in where.items():
        means = means[means[name] == value]
    return means
