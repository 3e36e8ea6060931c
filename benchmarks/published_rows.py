"""The linear predictors against the authors' published rows, repetition by repetition.

Fits each method on the authors' own data and compares MSE and R2 with their table
(rows_repetitions_0_to_4.csv, read from the folder that MISSFIT_PUBLISHED names, by
default ../shared/published). Every fit is appended to a CSV file as it ends, and rows
already there are not fitted again, so that the run can be stopped and resumed.

    python benchmarks/published_rows.py [METHOD ...] [--out FILE] [--max-n N]

Without a method, prints the table of what the file holds.
"""

import argparse
import csv
import os
import statistics
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from missfit import EMLR, MICELR, ConstantImputedLR, ExpandedLR
from missfit.simulate import published_data, published_sizes

METHODS = {
    "ConstantImputedLR": ConstantImputedLR(),
    "ExpandedLR": ExpandedLR(),
    "EMLR reference": EMLR(algorithm="reference"),
    "EMLR": EMLR(),
    "MICELR unbounded": MICELR(bounded=False),
    "MICELR": MICELR(),
}
FIELDS = ["method", "setting", "d", "n", "repetition", "split", "mse", "r2"]
FIELDS += ["published_mse", "published_r2", "seconds"]
PUBLISHED = Path(os.environ.get("MISSFIT_PUBLISHED", "../shared/published"))


def published_rows():
    with (PUBLISHED / "rows_repetitions_0_to_4.csv").open() as file:
        for row in csv.DictReader(file):
            key = row["setting"], int(row["d"]), int(row["n"]), int(row["repetition"])
            yield (*key, row["method"], row["split"]), row


def wanted(method, d, n, max_n):
    """Whether the plain EM reaches the cell in bearable time, or the user asks less."""
    if method == "EMLR reference":
        return n <= (18_750 if d in (6, 8, 10) else 750 if d >= 12 else 0)
    return n <= max_n


def cells(method, rows, max_n):
    name = method.split()[0]
    for setting in ("mixture1", "mixture3", "selfmasked"):
        dimensions, sizes = published_sizes(setting)
        for d in dimensions:
            for repetition in range(5):
                for size in sizes:
                    n = size * 3 // 4
                    known = (setting, d, n, repetition, name, "test") in rows
                    if known and wanted(method, d, n, max_n):
                        yield setting, d, size, repetition


def scores(model, setting, d, size, repetition):
    X, y = published_data(setting, d, repetition, size)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare patterns, EM stopped at 1,000 steps
        model.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    for split, A, b in (("train", X_train, y_train), ("test", X_test, y_test)):
        mse = np.mean((b - model.predict(A)) ** 2)
        yield split, mse, 1 - mse / np.var(b), seconds


def run(methods, out, max_n):
    rows = dict(published_rows())
    done = set()
    if out.exists():
        with out.open() as file:
            for row in csv.DictReader(file):
                done.add(tuple(row[f] for f in FIELDS[:5]))
    new = not out.exists()
    out.parent.mkdir(exist_ok=True)
    with out.open("a", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(FIELDS)
        for method in methods:
            for setting, d, size, repetition in cells(method, rows, max_n):
                n = size * 3 // 4
                if (method, setting, str(d), str(n), str(repetition)) in done:
                    continue
                model = METHODS[method]
                for split, mse, r2, seconds in scores(
                    model, setting, d, size, repetition
                ):
                    key = setting, d, n, repetition, method.split()[0], split
                    theirs = rows[key]["mse"], rows[key]["r2"]
                    place = method, setting, d, n, repetition, split
                    writer.writerow([*place, mse, r2, *theirs, f"{seconds:.3f}"])
                file.flush()


def print_table(out):
    groups = defaultdict(list)
    with out.open() as file:
        for row in csv.DictReader(file):
            groups[row["method"], row["setting"], int(row["d"])].append(row)
    print(
        "| method | setting | d | rows | worst relative MSE | within 1e-8 | "
        "R2 - published: lowest | median | highest | seconds |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (method, setting, d), rows in sorted(groups.items()):
        relative = [abs(float(r["mse"]) / float(r["published_mse"]) - 1) for r in rows]
        gap = [
            float(r["r2"]) - float(r["published_r2"])
            for r in rows
            if r["split"] == "test"
        ]
        seconds = sum(float(r["seconds"]) for r in rows) / 2
        print(
            f"| {method} | {setting} | {d} | {len(rows)} | {max(relative):.1e} | "
            f"{sum(x <= 1e-8 for x in relative)} | {min(gap):+.1e} | "
            f"{statistics.median(gap):+.1e} | {max(gap):+.1e} | {seconds:.1f} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--out", type=Path, default=Path("out/published_rows.csv"))
    parser.add_argument("--max-n", type=int, default=75_000)
    args = parser.parse_args()
    unknown = [name for name in args.methods if name not in METHODS]
    if unknown:
        parser.error(f"unknown method {unknown[0]!r}; choose of {', '.join(METHODS)}")
    if args.methods:
        run(args.methods, args.out, args.max_n)
    if args.out.exists():
        print_table(args.out)
    else:
        print(f"{args.out} does not exist yet; name the methods to run.")


if __name__ == "__main__":
    main()
