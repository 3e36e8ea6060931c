"""The default estimator on real tables, against what people use.

Each CSV file has numbers alone, its target in the last column. Five folds, shuffled
with seed 0; the mean R2 of the held-out rows, of AutoRegressor and of the three rivals
of `robustness.py`.

    python benchmarks/tables.py FILE.csv ...
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from header import header
from robustness import rivals
from sklearn.base import clone
from sklearn.model_selection import KFold

warnings.simplefilter("ignore")


def held_out_r2(model, X, y):
    """Mean R2 over the folds, and the seconds of a fit."""
    scores, start = [], time.perf_counter()
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        scores.append(clone(model).fit(X[train], y[train]).score(X[test], y[test]))
    return np.mean(scores), (time.perf_counter() - start) / 5


def main(paths):
    print(header())
    names = [name for name, _ in rivals()]
    print(f"| table | rows | features | {' | '.join(names)} | to the best | seconds |")
    print("|" + "---|" * (len(names) + 5))
    gaps = []
    for path in map(Path, paths):
        table = pd.read_csv(path).to_numpy(float)
        X, y = table[:, :-1], table[:, -1]
        found = {name: held_out_r2(model, X, y) for name, model in rivals()}
        r2 = [found[name][0] for name in names]
        gaps.append(r2[-1] - max(r2[:-1]))
        scores = " | ".join(f"{value:.4f}" for value in r2)
        print(
            f"| {path.stem} | {len(X):,} | {X.shape[1]} | {scores} | {gaps[-1]:+.4f} | "
            f"{found[names[-1]][1]:.1f} |",
            flush=True,
        )
    print(f"\nmean {np.mean(gaps):+.4f}, least {min(gaps):+.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
