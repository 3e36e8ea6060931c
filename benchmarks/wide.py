"""Many columns and few rows: R2 and seconds of a fit, by law and method.

Each law (independent features, 3 or 10 common factors, blocks of 10, a chain) has a
target with 5 slopes or all, 10 % to 30 % of the values missing completely at random and
a noise of .1 to 5 times the signal; the mean over draws and, for the gain over a ridge
on means and indicators, the least. CPU seconds of one thread.

``python benchmarks/wide.py`` (300 x 200, 8 draws), or another size:
``python benchmarks/wide.py --rows 2000 --columns 1000 --draws 1 --skip boosting``.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
import warnings

import numpy as np
from header import header
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from missfit import EMLR, ConditionalImputedLR

N_NEW = 1000
LAWS = ("independent", "3 factors", "10 factors", "blocks", "chain")
NOISE = (0.1, 0.5, 2.0, 5.0)  # of draw 0, 1, 2, 3, 4 = 0, ...
RATES = (0.1, 0.2, 0.3)
METHODS = {
    "ridge": lambda: make_pipeline(
        SimpleImputer(add_indicator=True),
        StandardScaler(),
        RidgeCV(alphas=np.logspace(-3, 5, 17)),
    ),
    "EMLR": EMLR,
    "ConditionalImputedLR": ConditionalImputedLR,
    "boosting": lambda: HistGradientBoostingRegressor(random_state=0),
}


def features(law, n, d, rng):
    """Draw complete rows of a law."""
    X = rng.standard_normal((n, d))
    if law.endswith("factors"):
        q = int(law.split()[0])
        return 0.7 * X + rng.standard_normal((n, q)) @ rng.standard_normal(
            (q, d)
        ) / np.sqrt(q)
    if law == "blocks":
        return 0.45 * X + 0.9 * rng.standard_normal((n, d))[:, np.arange(d) // 10]
    if law == "chain":
        for j in range(1, d):
            X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(0.51) * X[:, j]
    return X


def table(law, target, n, d, draw):
    """Training rows with holes, their targets, and as many new ones."""
    rng = np.random.default_rng(draw)
    X = features(law, n + N_NEW, d, rng)
    slopes = rng.standard_normal(d)
    if target == "sparse":
        slopes[rng.permutation(d)[5:]] = 0.0
    signal = X @ slopes
    noise = np.sqrt(NOISE[draw % len(NOISE)]) * rng.standard_normal(len(X))
    y = signal / signal.std() + noise
    X[rng.random(X.shape) < RATES[draw % len(RATES)]] = np.nan
    return X[:n], y[:n], X[n:], y[n:]


def r2_and_seconds(make, rows):
    X, y, X_new, y_new = rows
    start = time.process_time()
    model = make().fit(X, y)
    seconds = time.process_time() - start
    return model.score(X_new, y_new), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--skip", action="append", default=[], choices=list(METHODS))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [name for name in METHODS if name not in args.skip]
    print(header())
    print(f"{args.rows} x {args.columns}, {args.draws} draws: R2 (least gain; seconds)")
    print("| law | slopes | " + " | ".join(names) + " |")
    print("|---|---|" + "---|" * len(names))
    for law in LAWS:
        for target in ("sparse", "dense"):
            tables = [
                table(law, target, args.rows, args.columns, draw)
                for draw in range(args.draws)
            ]
            found = {
                name: np.array([r2_and_seconds(METHODS[name], rows) for rows in tables])
                for name in names
            }
            print(
                f"| {law} | {target} | " + " | ".join(cells(found)) + " |", flush=True
            )


def cells(found):
    """Return one cell for each method: mean R2, least gain over the first, seconds."""
    first = next(iter(found.values()))[:, 0]
    for values in found.values():
        r2, seconds = values.T
        yield f"{r2.mean():.3f} ({(r2 - first).min():+.3f}; {seconds.mean():.2f})"


if __name__ == "__main__":
    main()
