"""What AutoRegressor costs: fits, predictions and files, beside rivals, in one run.

Every line is a median of `--repeat` measurements, of fewer once they have taken two
minutes together. Rivals have the same threads: scikit-learn's
HistGradientBoostingRegressor as it comes, and RandomizedSearchCV of it with 12 draws
and 3 folds, which is measured once. The last column is the bar that a line should keep.

    python benchmarks/auto.py [--only small tables ...] [--tables CSV ...] [--jobs N]

With --markdown the lines are rows of a table, as in docs/predictors/auto_regressor.md.

Tables are CSV files of numbers with the target in the last column. Predictions, the
model file and a budget of time are those of star_math3, or of the first table.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median

ENOUGH_SECONDS = 120  # after which a measurement is not repeated
N_NEW = 20_000  # rows that a model of 1,000,000 is scored on
BUSY = "while True: pass"  # what runs beside a fit on a busy machine


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), metavar="SECTION")
    parser.add_argument("--tables", nargs="+", type=Path, default=[], metavar="CSV")
    parser.add_argument("--jobs", type=int, default=2, help="threads, also of rivals")
    parser.add_argument("--repeat", type=int, default=3, help="fits of each line")
    parser.add_argument("--quick", action="store_true", help="a tenth of large tables")
    parser.add_argument("--markdown", action="store_true", help="print table rows")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def seconds(call, repeat):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
        if sum(times) > ENOUGH_SECONDS:
            break
    return median(times)


def line(name, *values):
    if "--markdown" in sys.argv:
        print(f"| {' | '.join([name.strip(), *values])} |", flush=True)
    else:
        print(f"{name:44}" + "".join(f"{value:>12}  " for value in values), flush=True)


def auto():
    from missfit import AutoRegressor

    return AutoRegressor(random_state=0)


def print_fit(args, name, X, y, bar=""):
    """Print the seconds of a fit and of one of boosting; return the first."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = auto()
    taken = seconds(lambda: model.fit(X, y), args.repeat)
    rival = seconds(lambda: HistGradientBoostingRegressor().fit(X, y), args.repeat)
    choice = model.explain().choice.replace("HistGradientBoostingRegressor", "boosting")
    ratio = f"{taken / rival:.1f}"
    line(name, f"{taken:.2f} s", f"{rival:.2f} s", ratio, bar, choice)
    return taken


def small(args):
    """200 rows x 2 columns, and 750 x 10 of mixture 3."""
    print_fit(args, "200 x 2", *gaussian(200, 2), bar="1 s")
    print_fit(args, "750 x 10, mixture3", *published("mixture3", 750), bar="3 s")


def wide(args):
    """More columns than rows can tell apart: 300 x 200."""
    print_fit(args, "300 x 200", *factors(300, 200), bar="10 s")


def large(args):
    """75,000 x 10 of the paper's three settings."""
    n = 7_500 if args.quick else 75_000
    for setting, bar in (("mixture1", 3), ("mixture3", 10), ("selfmasked", 4)):
        rows = published(setting, n)
        print_fit(args, f"{n:,} x 10, {setting}", *rows, bar=f"{bar} s")


def half_missing(args):
    """100,000 x 50 with half of the values missing, at random and by their values."""
    n = 10_000 if args.quick else 100_000
    for by_value in (False, True):
        X, y = factors(n, 50, hide=0.0)
        X = hide_half(X, by_value)
        kind, bar = ("probit self-masking", 120) if by_value else ("MCAR", 60)
        name = f"{n:,} x 50, half missing, {kind}"
        print_fit(args, name, X, y, bar=f"{bar} s")


def tables(args):
    """Real tables, against one fit of boosting and a random search."""
    for path in args.tables:
        X, y = read(path)
        taken = print_fit(args, path.stem, X, y, bar="12 times")
        search = random_search()
        rival = seconds(lambda X=X, y=y, s=search: s.fit(X, y), 1)
        ratio = f"{taken / rival:.2f}"
        line("  random search of boosting", "", f"{rival:.2f} s", ratio, "0.33 times")


def predict(args):
    """One row and many, of a boosted model and of a linear one."""
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingRegressor

    from missfit import AutoRegressor
    from missfit.estimators import ConditionalImputedLR

    X, y = one_table(args)
    model = auto().fit(X, y)
    linear = AutoRegressor([ConditionalImputedLR()]).fit(X, y)
    n_trees = int(sum(part.model.n_trees.sum() for part in model.parts_))
    rival = HistGradientBoostingRegressor(max_iter=max(n_trees, 1)).fit(X, y)
    many = np.tile(X, (max(1, 50_000 // len(X)), 1))
    for name, fitted, bar in (
        (f"default, {n_trees} trees", model, "2 ms, 150,000 rows/s"),
        ("linear base alone", linear, "0.3 ms"),
        (f"boosting, {n_trees} trees", rival, ""),
    ):
        one = X[:1].copy()
        fitted.predict(one)
        row = seconds(lambda f=fitted, one=one: f.predict(one), 200)
        rate = len(many) / seconds(lambda f=fitted: f.predict(many), args.repeat)
        line(f"predict: {name}", f"{row * 1e3:.2f} ms", f"{rate:,.0f} rows/s", bar)


def file(args):
    """Print the size of a model file."""
    from missfit.tables.training import read_training
    from missfit.workflow.fit import fit_table
    from missfit.workflow.model_file import save_model

    for path in args.tables and [chosen(args.tables)]:
        header = path.read_text().partition("\n")[0].strip().split(",")
        model = fit_table(read_training(path, header[-1]))
        with tempfile.TemporaryDirectory() as folder:
            save_model(Path(folder) / "model", model)
            size = (Path(folder) / "model").stat().st_size
        line(f"model file of {path.stem}", f"{size / 1e6:.2f} MB", "", "", "3 MB")


def busy(args):
    """Print the time of a fit with four busy processes beside it, against one alone."""
    X, y = one_table(args)
    alone = seconds(lambda: auto().fit(X, y), args.repeat)
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(4)]
    try:
        beside = seconds(lambda: auto().fit(X, y), args.repeat)
    finally:
        for other in others:
            other.kill()
    times = f"{beside / alone:.1f}"
    line("four busy processes beside", f"{beside:.2f} s", "", times, "3 times")


def budget(args):
    """Print how long fits take that are given less time than they would take."""
    from missfit import AutoRegressor

    X, y = one_table(args)
    for given in (0.5, 1, 2):
        model = AutoRegressor(time_budget=given, random_state=0)
        taken = seconds(lambda m=model: m.fit(X, y), args.repeat)
        ratio = f"{taken / given:.2f}"
        line(f"time_budget={given}", f"{taken:.2f} s", "", ratio, "1.2 times")


def wider(args):
    """2,000 x 1,000: processor seconds of a fit, and R2 on new rows beside rivals."""
    from wide import METHODS, r2_and_seconds, table

    n, d = (400, 200) if args.quick else (2_000, 1_000)
    for law, slopes in (("3 factors", "dense"), ("independent", "sparse")):
        rows = table(law, slopes, n, d, draw=1)
        every = {"default": auto, "ridge": METHODS["ridge"]}
        for name, make in (every | {"boosting": METHODS["boosting"]}).items():
            r2, taken = r2_and_seconds(make, rows)
            title = f"{n:,} x {d:,}, {law}, {slopes}: {name}"
            line(title, f"{taken:.1f} CPU s", f"R2 {r2:.3f}")


def million(args):
    """1,000,000 x 30 in memory, from a Parquet file, and by `missfit fit`."""
    import pandas as pd

    n = 100_000 if args.quick else 1_000_000
    X, y = factors(n + N_NEW, 30, hide=0.2)
    names = [f"x{j}" for j in range(X.shape[1])]
    with tempfile.TemporaryDirectory() as folder:
        rows = pd.DataFrame(X, columns=names).assign(y=y)
        rows[:n].to_parquet(Path(folder) / "rows.parquet")
        rows[n:].to_parquet(Path(folder) / "new.parquet")
        for how in ("in memory", "from a file", "missfit fit"):
            script = [sys.executable, __file__, "--one", how, folder]
            said = subprocess.run(script, check=True, capture_output=True, text=True)
            taken, peak, r2 = said.stdout.split()[-3:]
            cells = f"{taken} CPU s", f"{peak} GB", f"R2 {r2}"
            line(f"{n:,} x 30, {how}", *cells)


def one_fit(how, folder):
    """Fit in this process; print seconds of the processor, peak memory and R2."""
    import resource

    import pandas as pd
    from sklearn.metrics import r2_score

    import missfit

    path, new = (Path(folder) / name for name in ("rows.parquet", "new.parquet"))
    unseen = pd.read_parquet(new)
    rows = pd.read_parquet(path) if how == "in memory" else None
    start = time.process_time()
    if rows is not None:
        model = auto().fit(rows.drop(columns="y").to_numpy(), rows["y"].to_numpy())
    elif how == "from a file":
        model = auto().fit(path, "y")
    else:
        model = missfit.fit_table(path, "y", "AutoRegressor")
    taken = time.process_time() - start
    table = unseen.drop(columns="y")
    guess = model.predict(table.to_numpy() if rows is not None else table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{taken:.0f} {peak:.1f} {r2_score(unseen['y'], guess):.4f}")


def gaussian(n, d):
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X.sum(axis=1) + 0.5 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.3] = np.nan
    return X, y


def factors(n, d, hide=0.3):
    """Features that share five factors; y is the sum of ten of them."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, d)) + rng.normal(size=(n, d))
    y = X[:, :10].sum(axis=1) + rng.normal(size=n)
    X[rng.random(X.shape) < hide] = np.nan
    return X, y


def curved(n, d):
    """Return a target that trees are good for."""
    import numpy as np

    X, y = gaussian(n, d)
    return X, y + 3 * np.sin(2 * np.nan_to_num(X[:, 0])) * np.nan_to_num(X[:, 1])


def hide_half(X, by_value):
    import numpy as np

    rng = np.random.default_rng(1)
    standard = X / X.std(axis=0) if by_value else 0.0
    return np.where(standard + rng.normal(size=X.shape) > 0, np.nan, X)


def published(setting, n):
    from missfit.simulate import published_data

    X, y = published_data(setting, 10, 0, n * 4 // 3)
    return X[:n], y[:n]


def chosen(paths):
    """Return the table that lines about one table are about."""
    return next((path for path in paths if path.stem == "star_math3"), paths[0])


def one_table(args):
    return read(chosen(args.tables)) if args.tables else curved(5_000, 20)


def read(path):
    import pandas as pd

    values = pd.read_csv(path).to_numpy(float)
    return values[:, :-1], values[:, -1]


def random_search():
    from scipy.stats import loguniform, randint
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import RandomizedSearchCV

    draws = {
        "learning_rate": loguniform(0.02, 0.3),
        "max_iter": randint(50, 500),
        "max_leaf_nodes": randint(7, 64),
        "min_samples_leaf": randint(5, 60),
        "l2_regularization": loguniform(1e-3, 30),
    }
    # One fit after the other, each on all threads: with as many processes as threads
    # beside them, the search on 2,661 rows took 312 s on two cores.
    rival = HistGradientBoostingRegressor(random_state=0)
    return RandomizedSearchCV(rival, draws, n_iter=12, cv=3, random_state=0)


SECTIONS = {
    "small": small,
    "tables": tables,
    "wide": wide,
    "large": large,
    "half_missing": half_missing,
    "wider": wider,
    "million": million,
    "predict": predict,
    "file": file,
    "busy": busy,
    "budget": budget,
}
ON_DEMAND = {"wider", "million"}  # what has no bar


def main():
    args = options()
    # before numpy and its libraries are imported
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(args.jobs)
    warnings.simplefilter("ignore")
    if args.one:
        one_fit(*args.one)
        return
    from header import header

    print(header())
    line("", "default", "boosting", "ratio", "bar", "choice")
    if args.markdown:
        print("|" + "---|" * 6)
    for name in args.only or [name for name in SECTIONS if name not in ON_DEMAND]:
        SECTIONS[name](args)


if __name__ == "__main__":
    main()
