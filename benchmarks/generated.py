"""Awkward tables through every predictor and classifier, to see whether any goes wild.

The tables of tests/fuzz/generated_tables.py have 3 to 200 rows with empty, nearly
empty, constant, repeated and binary columns, and weights. For rows in the range of the
training rows no prediction may lie more than 10 ranges of y outside of the range of y;
no classifier may lose .2 nats more than the shares of the classes do, or give what is
no probability. A network is compiled once for tables of one shape, so that these follow
each other in one process.

    python benchmarks/generated.py [--tables N] [--only NAME ...] [--jobs N]
        [--out FILE] [--table]

A block of tables is appended to a CSV file as it ends; what is there is not fitted
again.
"""

import argparse
import sys
import time
from pathlib import Path

import pandas as pd
from header import header
from resumable import append_fits

FUZZ = str(Path(__file__).resolve().parents[1] / "tests" / "fuzz")
sys.path.insert(0, FUZZ)
import generated_classes  # noqa: E402
import generated_numbers  # noqa: E402
from generated_tables import generated_table  # noqa: E402

FIELDS = ["predictor", "n_tables", "block", "tables", "wild", "seconds"]
BLOCK = 25  # tables
NUMBERS = {
    **generated_numbers.LINEAR,
    **generated_numbers.DEFAULT,
    **generated_numbers.NETWORKS,
}
CLASSES = {
    **generated_classes.LINEAR,
    **{name: model for name, (model, _) in generated_classes.SLOW.items()},
}


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=5_000)
    parser.add_argument("--only", nargs="+", default=[*NUMBERS, *CLASSES])
    parser.add_argument("--jobs", type=int, default=2, help="blocks side by side")
    parser.add_argument("--out", type=Path, default=Path("out/generated.csv"))
    parser.add_argument("--table", action="store_true", help="print what the file has")
    return parser.parse_args()


def fit_block(name, n_tables, block, seeds):
    start = time.perf_counter()
    if name in NUMBERS:
        wild = [seed for seed, *_ in generated_numbers.wild(NUMBERS[name], seeds)]
    else:
        wild = [*generated_classes.faults(CLASSES[name], seeds)]
    found = " ".join(map(str, wild)), round(time.perf_counter() - start, 2)
    return [name, n_tables, block, len(seeds), *found]


def blocks(n_tables):
    """Return the seeds of tables in blocks, those of one shape beside each other."""
    shapes = {seed: generated_table(seed).X.shape for seed in range(n_tables)}
    seeds = sorted(shapes, key=lambda seed: shapes[seed][::-1])
    return [seeds[k : k + BLOCK] for k in range(0, n_tables, BLOCK)]


def main():
    args = options()
    print(header())
    if not args.table:
        seeds = blocks(args.tables)
        fits = {
            (name, args.tables, k): (name, args.tables, k, block)
            for name in args.only
            for k, block in enumerate(seeds)
        }
        append_fits(args.out, FIELDS, fits, fit_block, args.jobs)
    rows = pd.read_csv(args.out, dtype={"wild": str}).fillna({"wild": ""})
    print("| predictor | tables | wild | seconds of one core |\n" + "|---" * 4 + "|")
    for name, cell in rows.groupby("predictor", sort=False):
        wild = " ".join(cell.wild).split()
        print(
            f"| {name} | {cell.tables.sum():,} | {', '.join(wild) or 'none'} | "
            f"{cell.seconds.sum():,.0f} |"
        )


if __name__ == "__main__":
    main()
