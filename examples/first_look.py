"""The best possible R2 in the paper's three settings, and their missing patterns.

Prints the Bayes R2 of each setting at d = 10 beside the published figures, and draws
the missing patterns of the first rows of each.
"""

import csv
from importlib import resources
from pathlib import Path

import matplotlib
import numpy as np

from missfit.bayes import bayes_r2, linear_approximation
from missfit.moments.patterns import group_rows
from missfit.simulate import published, published_data

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SETTINGS = {
    "mixture1": "mixture 1 (MCAR)",
    "mixture3": "mixture 3",
    "selfmasked": "self-masked (MNAR)",
}
D = 10
OUT = Path("out")


def published_bayes_r2(setting):
    for row in read_published("bayes_rates.csv"):
        if (row["setting"], int(row["d"])) == (setting, D):
            return float(row["r2"])
    return None  # the paper has no Bayes rate for the self-masked setting


def best_published(setting):
    rows = [
        row
        for row in read_published("means.csv")
        if (row["setting"], int(row["d"]), int(row["n"])) == (setting, D, 75_000)
        and row["split"] == "test"
    ]
    return max(rows, key=lambda row: float(row["r2_mean"]))


def read_published(name):
    path = resources.files("missfit") / "published" / name
    return list(csv.DictReader(path.read_text().splitlines()))


def print_rates():
    print(f"R2 in the paper's settings at d = {D}")
    print(
        f"{'setting':<20}{'Bayes':>9}{'+- s.e.':>10}{'published':>11}"
        f"{'linear in (X, M)':>18}   best published method, n = 75,000"
    )
    for setting, title in SETTINGS.items():
        model = published(setting, D)
        bayes = bayes_r2(model, n_draws=1_000_000)
        theirs = published_bayes_r2(setting)
        best = best_published(setting)
        print(
            f"{title:<20}{bayes.value:>9.5f}{bayes.standard_error:>10.5f}"
            f"{'none' if theirs is None else format(theirs, '.5f'):>11}"
            f"{linear_approximation(model).r2:>18.5f}"
            f"   {float(best['r2_mean']):.5f} ({best['method']})"
        )


def draw_patterns(path):
    """Draw a mark for each missing cell; rows with few missing features come first."""
    fig, axes = plt.subplots(1, 3, figsize=(11, 4.6), layout="constrained")
    for ax, (setting, title) in zip(axes, SETTINGS.items(), strict=True):
        X, _ = published_data(setting, D, repetition=0, n=1000)
        groups = group_rows(np.isnan(X))
        n_missing = groups.patterns.sum(axis=1)
        order = np.lexsort([-groups.n_rows, n_missing])
        picture = np.repeat(groups.patterns[order], groups.n_rows[order], axis=0)
        ax.imshow(
            picture,
            aspect="auto",
            cmap="Blues",
            vmin=0,
            vmax=1.4,
            interpolation="nearest",
        )
        ax.set_title(
            f"{title}\n{len(groups.patterns)} patterns in 1,000 rows\n"
            f"{np.isnan(X).mean():.0%} of the cells missing",
            fontsize=10,
        )
        ax.set(xlabel="feature", xticks=range(D))
    axes[0].set_ylabel("rows, fewest missing features first (dark: missing)")
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, dpi=120)


if __name__ == "__main__":
    print_rates()
    draw_patterns(OUT / "patterns.png")
    print(f"the missing patterns of each setting: {OUT / 'patterns.png'}")
