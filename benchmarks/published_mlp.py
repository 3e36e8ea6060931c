"""The MLP against the published rows, on 30 cells drawn at random.

A cell is a setting, d <= 10, n <= 18,750 and a width of the paper; each is fitted on
repetitions 0 to 4, in the paper's preset and by default, all networks of a cell at once
(`fit_many`). Prints the paired differences of test R2 to the published rows, which were
trained without a seed, and the seconds.
"""

import csv
import os
import time
from pathlib import Path

import numpy as np
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


def scores(cell, preset):
    """Test R2 on five repetitions, and seconds."""
    setting, d, n, method = cell
    tables = [published_data(setting, d, r, n * 4 // 3) for r in range(5)]
    parts = [train_test_split(X, y, random_state=0) for X, y in tables]
    models = [
        MLP(width_of(setting, method), preset=preset, random_state=r) for r in range(5)
    ]
    start = time.perf_counter()
    fit_many(models, [(X, y) for X, _, y, _ in parts])
    seconds = time.perf_counter() - start
    return [
        m.score(X, y) for m, (_, X, _, y) in zip(models, parts, strict=True)
    ], seconds


def main():
    rows = published()
    print(
        "| setting | d | n | width | published | preset - published | within 2 se | "
        "default - preset | preset s | default s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    gaps, inside, better, times = [], 0, [], np.zeros(2)
    for cell in drawn_cells(rows):
        theirs = np.array([rows[cell][r] for r in range(5)])
        preset, slow = scores(cell, "paper")
        default, fast = scores(cell, None)
        gap = np.array(preset) - theirs
        error = gap.std(ddof=1) / np.sqrt(5)
        ok = abs(gap.mean()) <= 2 * error
        gain = np.mean(default) - np.mean(preset)
        gaps.append(gap.mean())
        better.append(gain)
        inside += ok
        times += slow, fast
        setting, d, n, method = cell
        print(
            f"| {setting} | {d} | {n} | {method[4:]} | {theirs.mean():.4f} | "
            f"{gap.mean():+.4f} ± {error:.4f} | {ok} | {gain:+.4f} | "
            f"{slow:.1f} | {fast:.1f} |",
            flush=True,
        )
    print(
        f"\npreset: within two standard errors in {inside} of {len(gaps)} cells, mean "
        f"difference {np.mean(gaps):+.4f}; default - preset: lowest "
        f"{min(better):+.4f}, "
        f"mean {np.mean(better):+.4f}; seconds {times[0]:.0f} and {times[1]:.0f}"
    )


if __name__ == "__main__":
    main()
