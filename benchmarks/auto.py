"""The time of AutoRegressor's fit, against what people use, in one run.

For each table: the linear candidates alone, the default with its flexible parts, and
as ratios scikit-learn's HistGradientBoostingRegressor and one round of IterativeImputer
on the same rows. Then the linear candidates with 1,000,000 rows, beside the pass over
the rows that they all share, and what one row and many cost to predict.

    python benchmarks/auto.py [--quick] [TABLE.csv TARGET]
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from missfit import AutoRegressor, PatternMoments
from missfit.auto.candidates import default_candidates
from missfit.simulate import published, published_data

warnings.simplefilter("ignore")


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def linear_candidates(X, y):
    """Return the default candidates for a table, without the flexible ones."""
    every = default_candidates(PatternMoments.from_data(X, y))
    return [c for c in every if getattr(c, "is_linear", False)]


def print_fits(name, X, y):
    """Print one line of the table of fits."""
    linear = AutoRegressor(linear_candidates(X, y), random_state=0)
    default = AutoRegressor(random_state=0)
    times = [
        seconds(lambda: linear.fit(X, y)),
        seconds(lambda: default.fit(X, y)),
        seconds(lambda: HistGradientBoostingRegressor().fit(X, y)),
        seconds(lambda: IterativeImputer(max_iter=1).fit(X)),
    ]
    print(
        f"{name:34}{times[0]:9.1f}{times[1]:10.1f}{times[2]:10.2f}{times[3]:10.2f}"
        f"{times[1] / times[2]:8.0f}  {default.explain().choice}",
        flush=True,
    )
    return default


def print_predictions(model, X):
    """Print the time to predict one row, and many."""
    one = seconds(lambda: [model.predict(X[:1]) for _ in range(20)]) / 20
    many = seconds(lambda: model.predict(X))
    print(f"\npredict: one row {one * 1e3:.1f} ms, a row of {len(X):,} ", end="")
    print(f"{many / len(X) * 1e6:.1f} us ({model.explain().choice})")


def print_large(n):
    """Print the linear candidates one by one, on many rows."""
    X, y = published("mixture3", 10).sample(n, random_state=0)
    passing = seconds(lambda: PatternMoments.from_data(X, y))
    model = AutoRegressor(linear_candidates(X, y), random_state=0)
    total = seconds(lambda: model.fit(X, y))
    print(f"\n{n:,} x 10, mixture 3: pass over the rows {passing:.2f} s, linear ")
    print(f"candidates {total:.1f} s in all, by held-out prediction:")
    for score in model.explain().candidates:
        print(f"  {score.name:24}{score.seconds:8.2f} s  {score.verdict}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("table", nargs="*", metavar="TABLE.csv TARGET")
    args = parser.parse_args()
    n = 7_500 if args.quick else 75_000
    print(
        f"{'seconds':34}{'linear':>9}{'default':>10}{'boosting':>10}{'1 round':>10}"
        f"{'ratio':>8}  choice"
    )
    for setting in ("mixture1", "mixture3", "selfmasked"):
        X, y = published_data(setting, 10, 0, n * 4 // 3)
        model = print_fits(f"{setting}, {n:,} x 10", X[:n], y[:n])
    if args.table:
        import pandas as pd

        path, target = args.table
        frame = pd.read_csv(path).select_dtypes("number").dropna(subset=[target])
        y = frame.pop(target).to_numpy(float)
        print_fits(f"{path[-20:]}, {frame.shape}", frame.to_numpy(float), y)
    print_predictions(model, np.asarray(X))
    print_large(100_000 if args.quick else 1_000_000)


if __name__ == "__main__":
    main()
