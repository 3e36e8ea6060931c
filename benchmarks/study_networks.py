"""The networks of the paper's study against the published rows, over all cells.

Reads what `missfit study paper --out results/paper` has made, and the authors' rows
(rows_repetitions_0_to_4.csv in the folder that MISSFIT_PUBLISHED names). A cell is a
setting, d, n and a width. Its five pairs give a mean difference of test R2 and a
standard error; if both sides trained the same networks, their ratio would follow
Student's t with 4 degrees of freedom.

    python benchmarks/study_networks.py [--out FOLDER]
"""

import argparse
import os
from pathlib import Path

import pandas as pd
from scipy import stats

PUBLISHED = Path(os.environ.get("MISSFIT_PUBLISHED", "../shared/published"))
CELL = ["setting", "d", "n", "method"]


def network_r2(rows):
    """Return the test R2 of networks by cell and repetition."""
    rows = rows[rows.method.str.startswith("MLP") & (rows.split == "test")]
    return rows.pivot(index=CELL, columns="repetition", values="r2")


def compared(ours, theirs):
    """Return the mean difference of each cell and its ratio to the standard error."""
    both = theirs.index.intersection(ours.index)
    pairs = ours.loc[both, theirs.columns] - theirs.loc[both]
    mean, error = pairs.mean(axis=1), pairs.std(axis=1) / pairs.shape[1] ** 0.5
    law = stats.t(pairs.shape[1] - 1)
    return mean, mean / error, law


def line(name, mean, ratio, law):
    """Return a row of the table."""
    within, chance = (ratio.abs() <= 2).mean(), law.cdf(2) - law.cdf(-2)
    p = stats.kstest(ratio, law.cdf).pvalue
    return (
        f"| {name} | {len(mean)} | {mean.mean():+.4f} | {within:.1%} | {chance:.1%} "
        f"| {p:.2f} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("results/paper"))
    args = parser.parse_args()
    ours = network_r2(pd.read_parquet(args.out / "results.parquet"))
    theirs = network_r2(pd.read_csv(PUBLISHED / "rows_repetitions_0_to_4.csv"))
    mean, ratio, law = compared(ours, theirs)
    print(
        "| cells | number | mean difference | within two standard errors | by chance "
        "| p (Kolmogorov-Smirnov) |\n|---|---|---|---|---|---|"
    )
    print(line("all", mean, ratio, law))
    for setting, part in mean.groupby(level="setting"):
        print(line(setting, part, ratio.loc[part.index], law))


if __name__ == "__main__":
    main()
