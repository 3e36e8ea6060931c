"""Draw the figure of the documentation's first page from `results/beyond`.

One panel for each setting of the paper (d = 10): the median test R2 of ten repetitions
against the number of training rows, of the default and of the paper's methods (the MLP
at its best width for each size), and the Bayes rate. Nothing is fitted: `missfit study
beyond --out results/beyond` made the rows.

    python benchmarks/landing_figure.py

Writes docs/figures/landing-SETTING.svg, whose text takes the colour of the page around
it, and docs/figures/landing.png with all three panels.
"""

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

from missfit.study.published import bayes_rates

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures"
TEXT, QUIET, OURS = "#010203", "#808487", "#d6006c"  # TEXT stands for the page's colour
TITLES = {
    "mixture1": "Missing completely at random",
    "mixture3": "Three populations, told apart by what is missing",
    "selfmasked": "High values hide themselves",
}
LOWEST = {"mixture1": 0.55, "mixture3": 0.2, "selfmasked": 0.7}
LABELS = {
    "AutoRegressor": "missfit's default",
    "ConstantImputedLR": "constants",
    "EMLR": "EM",
    "ExpandedLR": "pattern by pattern",
    "MICELR": "MICE",
    "MLP": "best network",
}
STYLE = {
    "font.family": "sans-serif",
    "font.size": 8.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "landing",
    "axes.spines.top": False,
    "axes.spines.right": False,
    **{f"{part}.color": TEXT for part in ("text", "xtick", "ytick")},
    **{f"axes.{part}": TEXT for part in ("edgecolor", "labelcolor", "titlecolor")},
}


def medians():
    """Return the median test R2 by setting, n and method; the MLP at its best width."""
    table = pd.read_parquet(ROOT / "results" / "beyond" / "results.parquet")
    table = table[table["split"] == "test"]
    found = table.groupby(["setting", "n", "method"])["r2"].median().reset_index()
    found["method"] = found["method"].str.replace(r"^MLP .*", "MLP", regex=True)
    return found.groupby(["setting", "n", "method"])["r2"].max().unstack()


def spread(heights, least):
    """Return heights at least this far from each other, in the same order.

    >>> spread(np.array([0.0, 0.1, 5.0]), 1.0).tolist()
    [-0.45, 0.55, 5.0]
    """
    order = np.argsort(heights)
    moved = heights[order].astype(float)
    for _ in range(200):
        gap = np.diff(moved)
        short = np.clip(least - gap, 0, None) / 2
        moved[:-1] -= short
        moved[1:] += short
    found = np.empty_like(moved)
    found[order] = moved
    return found.round(6)


def draw(ax, curves, setting, rate):
    """Draw the curves of a setting with their names at the right end."""
    low, high = LOWEST[setting], rate + 0.1 * (rate - LOWEST[setting])
    ax.axhline(rate, color=TEXT, lw=1.2, ls=(0, (4, 2)))
    ends = {f"Bayes rate {rate:.3f}": (rate, TEXT)}
    for method, label in LABELS.items():
        ours = method == "AutoRegressor"
        look = {"lw": 3.2, "color": OURS, "zorder": 3} if ours else {"lw": 1.2}
        ax.plot(curves.index, curves[method], **({"color": QUIET} | look))
        ends[label] = (curves[method].iloc[-1], OURS if ours else TEXT)
    places = spread(np.array([end for end, _ in ends.values()]), (high - low) / 15)
    places -= max(0, places.max() - high)
    for place, (label, (_, colour)) in zip(places, ends.items(), strict=True):
        weight = "bold" if colour == OURS else "normal"
        ax.annotate(
            label,
            (1.02, place),
            xycoords=("axes fraction", "data"),
            va="center",
            color=colour,
            weight=weight,
        )
    ax.set(xscale="log", ylim=(low, high), xlabel="training rows", ylabel="test R2")
    ax.set_xticks([1_000, 10_000, 75_000], ["1,000", "10,000", "75,000"])
    ax.minorticks_off()


def write_svg(curves, setting, rate):
    """Write a panel as SVG with the colour of the text left to the page."""
    fig, ax = plt.subplots(figsize=(3.9, 2.9), layout="constrained")
    draw(ax, curves, setting, rate)
    path = FIGURES / f"landing-{setting}.svg"
    fig.savefig(path, transparent=True, metadata={"Date": None, "Creator": None})
    plt.close(fig)
    svg = path.read_text()
    svg = svg[svg.index("<svg") :].replace(TEXT, "currentColor")
    n, ours = 7_500, "AutoRegressor"
    name = (
        f"{TITLES[setting]}: test R2 against training rows. With {n:,} rows the "
        f"default of missfit has {curves[ours][n]:.3f}; the Bayes rate is {rate:.3f}."
    )
    head = f'<svg role="img" aria-label="{name}" style="width: 100%; height: auto"'
    path.write_text(svg.replace("<svg", head, 1))


def main():
    found, rates = medians(), bayes_rates()
    with plt.rc_context(STYLE):
        for setting in TITLES:
            write_svg(found.loc[setting], setting, rates[setting, 10])
        fig, axes = plt.subplots(1, 3, figsize=(11.7, 3.2), layout="constrained")
        for ax, setting in zip(axes, TITLES, strict=True):
            draw(ax, found.loc[setting], setting, rates[setting, 10])
            ax.set_title(TITLES[setting], loc="left", weight="bold", fontsize=9)
        fig.savefig(FIGURES / "landing.png", dpi=150, metadata={"Software": None})
    print(found.round(3).to_string())


if __name__ == "__main__":
    main()
