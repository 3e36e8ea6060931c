"""The default beside what other libraries do with missing values, all as they come.

The paper's three settings (10 features, the authors' rows of repetitions 0 to 2: 3,750
to learn from, 1,250 for the test), as many rows of scikit-learn's `make_friedman1` with
a tenth of the values hidden, and CSV files of numbers with the target in the last
column (five shuffled folds). Columns are the mean R2 of held-out rows; the last line is
the median of the processor seconds of a fit. "tuned boosting" is the best of 12 draws
of HistGradientBoosting by three folds (RandomizedSearchCV). "difference" is that of
AutoRegressor to the best of the others but the tuned one. XGBoost, LightGBM and
CatBoost are tried where they are installed (pip install xgboost lightgbm catboost).

    python benchmarks/peers.py [FILE.csv ...]
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
import warnings
from pathlib import Path
from statistics import mean, median

import numpy as np
import pandas as pd
from auto import random_search
from header import header
from robustness import rivals
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.model_selection import KFold

import missfit

warnings.simplefilter("ignore")
ROWS, TEST = 3_750, 1_250
TUNED = "tuned boosting"


def boosters():
    """Yield the boosting libraries that are installed, on one thread each."""
    try:
        from xgboost import XGBRegressor

        yield "XGBoost", XGBRegressor(n_jobs=1)
    except ImportError:
        pass
    try:
        from lightgbm import LGBMRegressor

        yield "LightGBM", LGBMRegressor(n_jobs=1, verbose=-1)
    except ImportError:
        pass
    try:
        from catboost import CatBoostRegressor

        quiet = {"verbose": 0, "allow_writing_files": False}
        yield "CatBoost", CatBoostRegressor(thread_count=1, **quiet)
    except ImportError:
        pass


def methods():
    """Return all methods by name, the default last."""
    *others, default = rivals()
    return dict([*others, *boosters(), (TUNED, random_search()), default])


def simulated(setting):
    """Yield training and test rows of a setting."""
    for repetition in range(3):
        X, y = missfit.simulate.published_data(
            setting, d=10, repetition=repetition, n=ROWS + TEST
        )
        yield X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]


def friedman(which):
    """Yield rows of scikit-learn's curved target with a tenth of the values hidden."""
    for seed in range(3):
        n, rng = ROWS + TEST, np.random.default_rng(seed)
        X, y = make_friedman1(n, n_features=10, noise=1.0, random_state=seed)
        X[rng.random(X.shape) < 0.1] = np.nan
        yield X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]


def folds(path):
    """Yield training and test rows of a table."""
    table = pd.read_csv(path).to_numpy(float)
    X, y = table[:, :-1], table[:, -1]
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        yield X[train], y[train], X[test], y[test]


def measured(model, splits):
    """Return the mean R2, and the processor seconds of each fit."""
    scores, seconds = [], []
    for X, y, new_X, new_y in splits:
        start = time.process_time()
        fitted = clone(model).fit(X, y)
        seconds.append(time.process_time() - start)
        error = np.mean((new_y - np.ravel(fitted.predict(new_X))) ** 2)
        scores.append(1 - error / np.var(new_y))
    return mean(scores), seconds


def main(paths):
    print(header())
    models = methods()
    tables = {name: simulated for name in ("mixture1", "mixture3", "selfmasked")}
    tables |= {"friedman1": friedman} | dict.fromkeys(map(Path, paths), folds)
    print(f"| table | {' | '.join(models)} | difference | Bayes |")
    print("|" + "---|" * (len(models) + 3))
    spent = {name: [] for name in models}
    for table, splits in tables.items():
        found = []
        for name, model in models.items():
            r2, seconds = measured(model, splits(table))
            found.append(r2)
            spent[name] += seconds
        best = ""
        if splits is simulated:
            law = missfit.simulate.published(table, d=10)
            best = f"{missfit.bayes.bayes_r2(law).value:.4f}"
        as_they_come = [
            r2 for r2, name in zip(found, models, strict=True) if name != TUNED
        ]
        *others, ours = as_they_come
        scores = " | ".join(f"{r2:.4f}" for r2 in found)
        name = getattr(table, "stem", table)
        print(f"| {name} | {scores} | {ours - max(others):+.4f} | {best} |", flush=True)
    print(
        "| median processor seconds of a fit | "
        + " | ".join(f"{median(seconds):.1f}" for seconds in spent.values())
        + " | | |"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
