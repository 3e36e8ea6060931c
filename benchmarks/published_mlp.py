"""The MLP against the published rows, on 30 cells drawn at random.

A cell is a setting, d <= 10, n <= 18,750 and a width of the paper; each is fitted on
repetitions 0 to 4, in the paper's preset and by default, all networks of each at once
(`fit_many`). Prints the paired differences of test R2 to the published rows, which were
trained without a seed, and the seconds. With the table of a study (results.parquet) as
its argument, takes from it the preset's rows that it has.
"""

import csv
import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from missfit.networks import MLP, fit_many
from missfit.simulate import published_data

PUBLISHED = Path(os.environ.get("MISSFIT_PUBLISHED", "../shared/published"))


def published():
    rows = {}
    with (PUBLISHED / "rows_repetitions_0_to_4.csv").open() as file:
        for row in csv.DictReader(file):
            if row["method"].startswith("MLP") and row["split"] == "test":
                cell = row["setting"], int(row["d"]), int(row["n"]), row["method"]
                rows.setdefault(cell, {})[int(row["repetition"])] = float(row["r2"])
    return rows


def drawn_cells(rows, n_cells=30):
    cells = sorted(cell for cell in rows if cell[1] <= 10 and cell[2] <= 18_750)
    chosen = np.random.default_rng(0).choice(len(cells), n_cells, replace=False)
    return [cells[i] for i in chosen]


def width_of(setting, method):
    multiple = method.removeprefix("MLP W")
    return f"{multiple}*2^d" if setting == "mixture3" else f"{multiple}*d"


def scores(cells, preset):
    """Test R2 (cells, repetitions), and seconds, of all networks at once."""
    models, tables, tests = [], [], []
    for setting, d, n, method in cells:
        for r in range(5):
            X, y = published_data(setting, d, r, n * 4 // 3)
            X, X_test, y, y_test = train_test_split(X, y, random_state=0)
            width = width_of(setting, method)
            models.append(MLP(width, preset=preset, random_state=r))
            tables.append((X, y))
            tests.append((X_test, y_test))
    start = time.perf_counter()
    fit_many(models, tables, verbose=True)
    seconds = time.perf_counter() - start
    found = [model.score(*test) for model, test in zip(models, tests, strict=True)]
    return np.reshape(found, (len(cells), 5)), seconds


def studied(cells, table):
    """Test R2 of the preset on five repetitions, of the cells that a study has run."""
    if table is None:
        return {}
    frame = pd.read_parquet(table).query("split == 'test' and repetition < 5")
    groups = dict(list(frame.groupby(["setting", "d", "n", "method"])))
    rows = {
        cell: groups[cell].sort_values("repetition") for cell in cells & groups.keys()
    }
    return {cell: part.r2.to_numpy() for cell, part in rows.items() if len(part) == 5}


def main():
    rows = published()
    cells = drawn_cells(rows)
    known = studied(set(cells), sys.argv[1] if len(sys.argv) > 1 else None)
    unknown = [cell for cell in cells if cell not in known]
    slow = np.nan
    if unknown:
        found, slow = scores(unknown, "paper")
        known |= dict(zip(unknown, found, strict=True))
    preset = np.array([known[cell] for cell in cells])
    default, fast = scores(cells, None)
    theirs = np.array([[rows[cell][r] for r in range(5)] for cell in cells])
    gap = preset - theirs
    error = gap.std(axis=1, ddof=1) / np.sqrt(5)
    inside = np.abs(gap.mean(axis=1)) <= 2 * error
    gain = (default - preset).mean(axis=1)
    print(
        "| setting | d | n | width | published | preset - published | within 2 se | "
        "default - preset |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for k, (setting, d, n, method) in enumerate(cells):
        print(
            f"| {setting} | {d} | {n} | {method[4:]} | {theirs[k].mean():.4f} | "
            f"{gap[k].mean():+.4f} ± {error[k]:.4f} | {inside[k]} | {gain[k]:+.4f} |"
        )
    print(
        f"\npreset: within two standard errors in {inside.sum()} of {len(cells)} "
        f"cells, mean difference {gap.mean():+.4f}; default - preset: lowest "
        f"{gain.min():+.4f}, mean {gain.mean():+.4f}, below -0.002 in "
        f"{(gain < -0.002).sum()} cells; seconds {slow:.0f} (preset, "
        f"{len(unknown)} cells) and {fast:.0f}"
    )


if __name__ == "__main__":
    main()
