"""AutoRegressor against the best published method, cell by cell, on the authors' rows.

For every setting, dimension and number of rows of the paper, fits the default estimator
to the training rows of repetitions 0 to 4 and scores it on their test rows, beside the
authors' own scores (rows_repetitions_0_to_4.csv, read from the folder that
MISSFIT_PUBLISHED names, by default ../shared/published) and the Bayes predictor's. A
fit is appended to a CSV file as it ends, and what is there is not fitted again: stop
and resume at will.

    python benchmarks/published.py [--jobs N] [--out FILE] [--max-n N] [--table]

Prints the table of what the file holds.
"""

import argparse
import csv
import os
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from resumable import append_fits
from sklearn.model_selection import train_test_split

from missfit import AutoRegressor
from missfit.bayes import BayesPredictor
from missfit.simulate import published, published_data, published_sizes

PUBLISHED = Path(os.environ.get("MISSFIT_PUBLISHED", "../shared/published"))
FIELDS = ["setting", "d", "n", "repetition", "r2", "bayes_r2", "seconds", "choice"]
SETTINGS = ("mixture1", "mixture3", "selfmasked")


def all_fits(max_n):
    """Every (setting, d, rows, repetition), the longest fits first."""
    fits = [
        (setting, d, size, repetition)
        for setting in SETTINGS
        for d in published_sizes(setting)[0]
        for size in published_sizes(setting)[1]
        for repetition in range(5)
        if size * 3 // 4 <= max_n
    ]
    return sorted(fits, key=lambda fit: (-fit[2], -fit[1], fit[3], fit[0]))


def fit_one(setting, d, size, repetition):
    X, y = published_data(setting, d, repetition, size)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    start = time.perf_counter()
    model = AutoRegressor(random_state=0).fit(X_train, y_train)
    seconds = time.perf_counter() - start
    r2 = model.score(X_test, y_test)
    bayes = BayesPredictor(published(setting, d)).score(X_test, y_test)
    choice = model.explain().choice.replace("HistGradientBoostingRegressor", "boosting")
    return setting, d, size * 3 // 4, repetition, r2, bayes, f"{seconds:.2f}", choice


def best_published():
    """Test R2 by repetition of the method of the best mean, for each cell."""
    scores = defaultdict(lambda: defaultdict(dict))
    with (PUBLISHED / "rows_repetitions_0_to_4.csv").open() as file:
        for row in csv.DictReader(file):
            if row["split"] == "test":
                cell = row["setting"], int(row["d"]), int(row["n"])
                score = float(row["r2"])
                scores[cell][row["method"]][int(row["repetition"])] = score
    best = {}
    for cell, methods in scores.items():
        name = max(methods, key=lambda m: np.mean(list(methods[m].values())))
        best[cell] = name, methods[name]
    return best


def tolerance(setting, n):
    """How far below the best published method a cell may be."""
    if setting != "mixture1":
        return 0.0
    return 2e-3 if n == 750 else 1e-4


def print_table(out):
    best, cells = best_published(), defaultdict(dict)
    with out.open() as file:
        for row in csv.DictReader(file):
            cell = row["setting"], int(row["d"]), int(row["n"])
            cells[cell][int(row["repetition"])] = row
    print(
        "| setting | d | n | reps | AutoRegressor R2 | best published | its R2 | "
        "difference | paired s.e. | R2 - Bayes | seconds | choice | |"
    )
    print("|" + "---|" * 13)
    failed = []
    for (setting, d, n), rows in sorted(cells.items()):
        name, theirs = best[setting, d, n]
        common = sorted(set(rows) & set(theirs))
        ours = np.array([float(rows[k]["r2"]) for k in common])
        bayes = np.array([float(rows[k]["bayes_r2"]) for k in common])
        gap = ours - [theirs[k] for k in common]
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
        near_bayes = setting != "mixture1" and (ours - bayes).mean() >= -2e-5
        above = gap.mean() > -tolerance(setting, n)
        if not (above or near_bayes):
            failed.append((setting, d, n))
        choices = [rows[k]["choice"] for k in common]
        choice = max(dict.fromkeys(choices), key=choices.count)  # the first of equals
        agree = f" ({choices.count(choice)})" if len(set(choices)) > 1 else ""
        seconds = np.mean([float(rows[k]["seconds"]) for k in common])
        print(
            f"| {setting} | {d} | {n:,} | {len(common)} | {ours.mean():.5f} | {name} | "
            f"{np.mean([theirs[k] for k in common]):.5f} | {gap.mean():+.5f} | "
            f"{error:.5f} | {(ours - bayes).mean():+.5f} | {seconds:.1f} | "
            f"{choice}{agree} | {'' if above or near_bayes else 'below'} |"
        )
    print(f"\n{len(cells) - len(failed)} of {len(cells)} cells hold; below: {failed}")
    times = [float(r["seconds"]) for rows in cells.values() for r in rows.values()]
    print(f"seconds a fit: median {np.median(times):.1f}, longest {max(times):.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/published.csv"))
    parser.add_argument("--max-n", type=int, default=375_000)
    parser.add_argument("--table", action="store_true", help="fit nothing")
    args = parser.parse_args()
    try:
        if not args.table:
            fits = {
                (s, d, n * 3 // 4, r): (s, d, n, r)
                for s, d, n, r in all_fits(args.max_n)
            }
            append_fits(args.out, FIELDS, fits, fit_one, args.jobs)
    finally:
        if args.out.exists():
            print_table(args.out)


if __name__ == "__main__":
    main()
