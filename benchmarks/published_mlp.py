"""The MLP against the published rows and scikit-learn, on 30 cells drawn at random.

A cell is a setting, d <= 10, n <= 18,750 and a width of the paper; each is fitted on
repetitions 0 to 4 from several seeds: in the paper's preset, by default, and with
scikit-learn's MLPRegressor as the authors used it. The published networks were trained
once, without a seed. So the difference of a cell has two standard errors: that of its
five pairs, for each seed, and that of training, from the spread of the seeds on the
same data,

    sqrt(s^2 / 5 * (1 + 1 / seeds)),   s^2: variance over seeds, mean over repetitions,

which is surer: it has 5 (seeds - 1) degrees of freedom in place of 4, and narrow
networks, which now and then get stuck, scatter more than five pairs show.

Fits are appended to a file as they end, and not made again once they are there: give
another --out and one seed of each recipe to see how long they take.
"""

import argparse
import csv
import os
import time
from itertools import product
from pathlib import Path

import jax
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import stats
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from missfit.networks import MLP, fit_many
from missfit.networks.mlp import n_units
from missfit.simulate import published_data

PUBLISHED = Path(os.environ.get("MISSFIT_PUBLISHED", "../shared/published"))
CELL = ["setting", "d", "n", "method"]
FIT = [*CELL, "repetition", "seed", "recipe"]
FIELDS = [*FIT, "r2", "device"]
RECIPES = ("preset", "default", "scikit-learn")
COMPARED = (
    ("preset", "published"),
    ("preset", "scikit-learn"),
    ("default", "preset"),
)


def published():
    """Test R2 by cell and repetition."""
    rows = pd.read_csv(PUBLISHED / "rows_repetitions_0_to_4.csv")
    rows = rows[rows.method.str.startswith("MLP") & (rows.split == "test")]
    return rows.pivot(index=CELL, columns="repetition", values="r2")


def drawn_cells(theirs, n_cells=30):
    """Cells of the paper, drawn from the sorted list of the small ones."""
    cells = sorted(cell for cell in theirs.index if cell[1] <= 10 and cell[2] <= 18_750)
    chosen = np.random.default_rng(0).choice(len(cells), n_cells, replace=False)
    return [cells[i] for i in chosen]


def width_of(setting, method):
    multiple = method.removeprefix("MLP W")
    return f"{multiple}*2^d" if setting == "mixture3" else f"{multiple}*d"


def split_data(setting, d, n, repetition):
    X, y = published_data(setting, d, repetition, n * 4 // 3)
    return train_test_split(X, y, random_state=0)


def fit_networks(left, keep):
    """Fit the networks of one recipe at once, keeping each as it ends."""
    models, tables, tests = [], [], []
    for setting, d, n, method, r, seed, recipe in left:
        X, X_test, y, y_test = split_data(setting, d, n, r)
        preset = "paper" if recipe == "preset" else None
        width = width_of(setting, method)
        models.append(MLP(width, preset=preset, random_state=5 * seed + r))
        tables.append((X, y))
        tests.append((X_test, y_test))

    def done(i):
        keep(left[i], models[i].score(*tests[i]))

    fit_many(models, tables, verbose=True, done=done)


def scikit_learn_score(setting, d, n, method, repetition, seed, _):
    """Test R2 of the authors' pipeline: each of its fits starts on its own."""
    X, X_test, y, y_test = split_data(setting, d, n, repetition)
    X, X_test = (np.hstack([np.nan_to_num(T), np.isnan(T)]) for T in (X, X_test))
    network = MLPRegressor(
        hidden_layer_sizes=n_units(width_of(setting, method), d),
        batch_size=200,
        max_iter=1000,
    )
    np.random.seed(5 * seed + repetition)  # what fits without a random_state draw from
    grid = GridSearchCV(network, {"alpha": [1e-1, 1e-2, 1e-4]}, cv=3)
    return make_pipeline(StandardScaler(), grid).fit(X, y).score(X_test, y_test)


def fit_scikit_learn(left, keep):
    """Fit MLPRegressor, one fit a core, keeping each as it ends."""
    several = Parallel(n_jobs=-1, return_as="generator_unordered")
    found = several(
        delayed(lambda fit: (fit, scikit_learn_score(*fit)))(fit) for fit in left
    )
    for fit, score in found:
        keep(fit, score)


def fit_missing(out, cells, n_seeds):
    """Fit what a file lacks of each recipe's seeds."""
    out.parent.mkdir(parents=True, exist_ok=True)
    if not out.exists():
        out.write_text(",".join(FIELDS) + "\n")
    done = set(pd.read_csv(out)[FIT].itertuples(index=False, name=None))
    for recipe in RECIPES:
        seeds = range(n_seeds[recipe])
        wanted = [
            (*cell, r, seed, recipe)
            for seed, cell, r in product(seeds, cells, range(5))
        ]
        left = [fit for fit in wanted if fit not in done]
        if left:
            fit_and_keep(recipe, left, out)


def fit_and_keep(recipe, left, out):
    """Fit, append each fit to the file as it ends, and print the time."""
    ours = recipe != "scikit-learn"
    device = jax.devices()[0].device_kind if ours else "cpu"

    def keep(fit, score):
        with out.open("a", newline="") as file:
            csv.writer(file).writerow([*fit, score, device])

    start = time.perf_counter()
    (fit_networks if ours else fit_scikit_learn)(left, keep)
    seconds = time.perf_counter() - start
    print(f"{recipe}: {len(left)} fits in {seconds:.0f} s ({device})\n")


def test_scores(rows, recipe, cells):
    """Test R2 (repetitions, seeds) of each cell: the seeds that are whole."""
    rows = rows[rows.recipe == recipe]
    wide = rows.pivot(index=[*CELL, "repetition"], columns="seed", values="r2")
    fits = [[(*cell, r) for r in range(5)] for cell in cells]
    return [wide.reindex(five).dropna(axis=1).to_numpy() for five in fits]


def difference(scores, others):
    """Mean difference in a cell and its standard error of training.

    Both are (repetitions, seeds); the spread over seeds is that of both together, since
    few seeds miss how far narrow networks scatter. NaN where one has no seeds.
    """
    n, m = scores.shape[1], others.shape[1]
    if min(n, m) == 0 or n + m == 2:
        return np.nan, np.nan
    squares = sum(
        ((T - T.mean(axis=1, keepdims=True)) ** 2).sum() for T in (scores, others)
    )
    variance = squares / (5 * (n + m - 2))
    return scores.mean() - others.mean(), np.sqrt(variance / 5 * (1 / n + 1 / m))


def chance(n_cells, bar, degrees):
    """Probability that an exact copy is within two standard errors in enough cells."""
    inside = 1 - 2 * stats.t.sf(2, degrees)
    return stats.binom.sf(bar - 1, n_cells, inside)


def inside_by_pairs(scores, theirs):
    """Cells within two standard errors of five pairs, for each seed."""
    n_seeds = min(T.shape[1] for T in scores)
    pairs = np.array([T[:, :n_seeds] - t for T, t in zip(scores, theirs, strict=True)])
    error = pairs.std(axis=1, ddof=1) / np.sqrt(5)
    return (np.abs(pairs.mean(axis=1)) <= 2 * error).sum(axis=0).tolist()


def formatted(gap, error):
    text = "" if np.isnan(gap) else f"{gap:+.4f} ± {error:.4f}"
    return f"**{text}**" if abs(gap) > 2 * error else text


def print_table(cells, theirs, columns):
    names = ["setting", "d", "n", "width", "published", *columns]
    print(f"| {' | '.join(names)} |\n{'|---' * len(names)}|")
    for k, (setting, d, n, method) in enumerate(cells):
        first = [setting, d, n, method[4:], f"{theirs[k].mean():.4f}"]
        own = [formatted(*column[k]) for column in columns.values()]
        print(f"| {' | '.join(map(str, [*first, *own]))} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for recipe, n in zip(RECIPES, (24, 12, 0), strict=True):
        parser.add_argument(f"--{recipe}", type=int, default=n, help="seeds to fit")
    default_out = Path("results/networks/published_mlp.csv")
    parser.add_argument("--out", type=Path, default=default_out)
    arguments = parser.parse_args()
    n_seeds = {
        recipe: getattr(arguments, recipe.replace("-", "_")) for recipe in RECIPES
    }
    all_theirs = published()
    cells = drawn_cells(all_theirs)
    theirs = [all_theirs.loc[cell].to_numpy()[:, None] for cell in cells]

    fit_missing(arguments.out, cells, n_seeds)
    rows = pd.read_csv(arguments.out)
    scores = {recipe: test_scores(rows, recipe, cells) for recipe in RECIPES}
    scores["published"] = theirs
    columns = {
        f"{one} - {other}": np.array(
            [difference(*T) for T in zip(scores[one], scores[other], strict=True)]
        )
        for one, other in COMPARED
    }
    if np.isnan(columns["preset - published"]).any():
        raise SystemExit("A standard error of training needs 2 seeds of the preset.")
    print_table(cells, theirs, columns)
    print("\ncells within two standard errors of training, and the mean difference:")
    for name, column in columns.items():
        gap, error = column[~np.isnan(column[:, 0])].T
        if not len(gap):
            continue
        inside = (np.abs(gap) <= 2 * error).sum()
        print(
            f"- {name}: {inside} of {len(gap)}; {gap.mean():+.4f} ± "
            f"{np.sqrt((error**2).mean() / len(gap)):.4f}, lowest {gap.min():+.4f}"
        )
    degrees = 5 * (min(T.shape[1] for T in scores["preset"]) - 1)
    print(
        f"An exact copy is within in 27 of 30 with probability "
        f"{chance(30, 27, degrees):.2f}; by the standard error of five pairs "
        f"{chance(30, 27, 4):.2f}, where the preset is within, seed by seed, in "
        f"{inside_by_pairs(scores['preset'], theirs)}."
    )


if __name__ == "__main__":
    main()
