"""Which predictor when: the R2 that each loses against the Bayes predictor.

Draws the figure of docs/predictors/index.md. Four mechanisms with 6 features, of which
the exact Bayes predictor is known, four numbers of rows, the mean of two repetitions;
a few minutes on one idle core.

    python benchmarks/which_when.py --out docs/figures/which_when.png
"""

import argparse
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Patch
from sklearn.ensemble import HistGradientBoostingRegressor

import missfit

D, N_TEST, REPETITIONS = 6, 10_000, 2
ROWS = (200, 1_000, 5_000, 20_000)
PREDICTORS = {
    "AutoRegressor": missfit.AutoRegressor(random_state=0),
    "EMLR": missfit.EMLR(),
    "ConditionalImputedLR": missfit.ConditionalImputedLR(),
    "PatternMixtureLR": missfit.PatternMixtureLR(random_state=0),
    "SelfMaskedLR": missfit.SelfMaskedLR(),
    "FactorizedLR": missfit.FactorizedLR(),
    "ExpandedLR": missfit.ExpandedLR(),
    "ConstantImputedLR": missfit.ConstantImputedLR(),
    "boosting": HistGradientBoostingRegressor(random_state=0),
}
# Losses of R2 up to these share a colour. Of two repetitions with 10,000 test rows the
# error of a loss is well below the first.
LIMITS = (0.01, 0.03, 0.1)
AS_GOOD = 0.002  # a loss that differs by less from the least one is marked as well
COLORS = ("#fde725", "#8fd0a3", "#4f8fb0", "#2d2f5e")  # light to dark, also in grey


class Curved:
    """Independent features, missing at random; y is a sum of curves and noise.

    So the Bayes predictor is the sum of the curves of what is known, and of the means
    of the others.
    """

    def sample(self, n, random_state):
        """Return X with missing values, and y."""
        rng = np.random.default_rng(random_state)
        X = rng.normal(size=(n, D))
        y = self.curves(X).sum(axis=1) + 0.5 * rng.normal(size=n)
        return np.where(rng.random(X.shape) < 0.3, np.nan, X), y

    def curves(self, X):
        """Return a curve of each feature, of mean 0."""
        bent = np.abs(X) - np.sqrt(2 / np.pi)
        return np.where(np.arange(D) % 2, X, 2 * bent)

    def predict(self, X):
        """Return the Bayes predictions."""
        return np.nan_to_num(self.curves(X)).sum(axis=1)


def settings():
    """Yield a title, a law and its Bayes predictor."""
    titles = {
        "mixture1": "missing\ncompletely\nat random",
        "mixture3": "several\npopulations",
        "selfmasked": "high values\nhide",
    }
    for name, title in titles.items():
        law = missfit.simulate.published(name, D)
        yield title, law, missfit.bayes.BayesPredictor(law)
    yield "curved\ntarget", Curved(), Curved()


def lost_r2(law, bayes, n, seed):
    """Return the mean squared distance to Bayes of each predictor, over var(y)."""
    X, y = law.sample(n, random_state=seed)
    new, truth = law.sample(N_TEST, random_state=1_000 + seed)
    best = bayes.predict(new)
    return [
        np.mean((model.fit(X, y).predict(new) - best) ** 2) / np.var(truth)
        for model in PREDICTORS.values()
    ]


def all_losses():
    """Return the titles, and losses of shape (setting, number of rows, predictor)."""
    titles, losses = [], []
    for title, law, bayes in settings():
        titles.append(title)
        seeds = range(REPETITIONS)
        runs = [[lost_r2(law, bayes, n, seed) for seed in seeds] for n in ROWS]
        losses.append(np.mean(runs, axis=1))
        print_table(title.replace("\n", " "), losses[-1])
    return titles, np.array(losses)


def print_table(title, losses):
    print(f"| {title} | " + " | ".join(f"{n:,} rows" for n in ROWS) + " |")
    print("|---" * (len(ROWS) + 1) + "|")
    for name, row in zip(PREDICTORS, losses.T, strict=True):
        print(f"| {name} | " + " | ".join(f"{loss:.3f}" for loss in row) + " |")
    print(flush=True)


def draw(titles, losses, path):
    """Draw a column of cells for each number of rows, with a mark at the best ones."""
    fig, axes = plt.subplots(
        1, len(titles), figsize=(5.6, 3.9), sharey=True, layout="constrained"
    )
    norm = BoundaryNorm([0, *LIMITS, np.inf], len(COLORS))
    for ax, title, found in zip(axes, titles, losses, strict=True):
        ax.pcolormesh(
            found.T, cmap=ListedColormap(COLORS), norm=norm, ec="white", lw=1.5
        )
        best = np.argwhere(found <= found.min(axis=1, keepdims=True) + AS_GOOD)
        ax.plot(*(best.T + 0.5), "*", color="k", mec="white", mew=0.7, ms=10)
        ax.set_title(title, fontsize=10)
        ax.set_xticks(np.arange(len(ROWS)) + 0.5, ["200", "1k", "5k", "20k"])
        ax.tick_params(length=0, labelsize=9)
        ax.spines[:].set_visible(False)
    axes[0].set_yticks(np.arange(len(PREDICTORS)) + 0.5, list(PREDICTORS))
    axes[0].invert_yaxis()
    axes[0].set_xlabel("training rows", fontsize=9)
    words = [f"up to {limit:g}" for limit in LIMITS] + [f"above {LIMITS[-1]:g}"]
    marks = [Patch(color=c, label=w) for c, w in zip(COLORS, words, strict=True)]
    star = plt.Line2D([], [], marker="*", color="k", ls="", ms=8, label="best")
    fig.legend(
        handles=[*marks, star],
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=9,
        title="R2 lost against the Bayes predictor",
        title_fontsize=9,
        columnspacing=0.8,
        handletextpad=0.4,
    )
    fig.savefig(path, dpi=160)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("which_when.png"))
    path = parser.parse_args().out
    warnings.simplefilter("ignore")  # of rare patterns, convergence
    draw(*all_losses(), path)
    print(path)


if __name__ == "__main__":
    main()
