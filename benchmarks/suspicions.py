"""How often what is planted in a table is found, and what is said of clean ones.

Tables of four kinds and four sizes (200 to 5,000 rows), values missing, as
`tests/suspect_tables.py` makes them: 48 for each thing that is planted, 300 clean ones.

    python benchmarks/suspicions.py [--tables 48] [--clean 300]
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from header import header

from missfit.suspicions import find_suspicions

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from suspect_tables import LAWS, PLANTED, SIZES, as_table, clean_table


def tables(n, seed):
    """Yield clean tables in turn of all kinds and sizes, each with its generator."""
    for k in range(n):
        rng = np.random.default_rng([seed, k])
        yield *clean_table(LAWS[k % 4], SIZES[k // 4 % 4], rng), rng


def found(kind, plant, n):
    """Return in how many tables a thing that is planted is found."""
    planted = (plant(*one) for one in tables(n, seed=len(kind)))
    suspicions = (find_suspicions(as_table(frame, y)) for frame, y in planted)
    return sum(any(one.kind == kind for one in those) for those in suspicions)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=48)
    parser.add_argument("--clean", type=int, default=300)
    chosen = parser.parse_args()
    print(header())
    print("| planted | found | tables |\n|---|---|---|")
    for kind, (plant, _) in PLANTED.items():
        print(f"| {kind} | {found(kind, plant, chosen.tables)} | {chosen.tables} |")
    alarms = [
        one
        for frame, y, _ in tables(chosen.clean, seed=1)
        for one in find_suspicions(as_table(frame, y))
    ]
    print(f"\nSuspicions in {chosen.clean} clean tables: {len(alarms)}")


if __name__ == "__main__":
    main()
