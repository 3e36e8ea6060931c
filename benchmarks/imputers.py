"""Imputation by mice and hyperimpute before a linear model, and NeuMiss, side by side.

The tables, the splits and the columns are those of peers.py: mean R2 of held-out rows,
each method with its own defaults, and in the last line the median processor seconds of
a fit with its predictions. mice (R) imputes new rows by `ignore=`, with models of the
training rows alone; the predictions of `lm` in its five completed tables, or in fifty,
are averaged. "EMLR" is a linear model with Gaussian features by EM, as misaem has it.
mice is run where Rscript finds it (apt-get install r-cran-mice). hyperimpute is run by
the Python of an environment of its own, since it brings PyTorch (6 GB) and takes
scikit-learn before 1.8. A method that takes longer than half an hour for the splits of
a table is left out there.

    python benchmarks/imputers.py [--hyperimpute PYTHON] [--real] [FILE.csv ...]
"""

import argparse
import os
import shutil
import subprocess
import time
import warnings
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from header import header
from peers import folds, friedman, simulated

import missfit

warnings.simplefilter("ignore")
LIMIT = 1_800  # seconds for the splits of one table
MICE = """
suppressMessages(library(mice))
m <- as.integer(commandArgs(TRUE))
train <- read.csv("train.csv"); new <- read.csv("new.csv"); new$y <- NA
all <- rbind(train, new); is_new <- seq_len(nrow(all)) > nrow(train)
done <- mice(all, m = m, ignore = is_new, seed = 0, printFlag = FALSE)
guess <- sapply(1:m, function(i) {
  one <- complete(done, i)
  predict(lm(y ~ ., one[!is_new, ]), one[is_new, ])
})
write.csv(data.frame(guess = rowMeans(guess)), "guess.csv", row.names = FALSE)
"""
HYPERIMPUTE = """
import pandas as pd
from hyperimpute.plugins.imputers import Imputers
from sklearn.linear_model import RidgeCV
train, new = pd.read_csv("train.csv"), pd.read_csv("new.csv")
imputer = Imputers().get("hyperimpute", random_state=0)
model = RidgeCV().fit(imputer.fit_transform(train.drop(columns="y")), train["y"])
guess = model.predict(imputer.transform(new))
pd.DataFrame({"guess": guess}).to_csv("guess.csv", index=False)
"""


def by_program(*line):
    """Return a method that another program carries out in a folder with the rows."""

    def guess(X, y, new_X):
        with TemporaryDirectory() as folder:
            names = [f"x{j}" for j in range(X.shape[1])]
            train = pd.DataFrame(X, columns=names).assign(y=y)
            train.to_csv(Path(folder) / "train.csv", index=False)
            new = pd.DataFrame(new_X, columns=names)
            new.to_csv(Path(folder) / "new.csv", index=False)
            subprocess.run(
                line, cwd=folder, check=True, capture_output=True, timeout=LIMIT
            )
            return pd.read_csv(Path(folder) / "guess.csv")["guess"].to_numpy()

    return guess


def by_model(model):
    """Return an estimator as a method."""
    return lambda X, y, new_X: model.fit(X, y).predict(new_X)


def methods(hyperimpute):
    """Return the methods by name, with those that are installed here."""
    found = {}
    if shutil.which("Rscript"):
        for m in ("5", "50"):
            found[f"mice ({m}) and lm"] = by_program("Rscript", "-e", MICE, m)
    if hyperimpute:
        found["hyperimpute and ridge"] = by_program(hyperimpute, "-c", HYPERIMPUTE)
    found["NeuMiss"] = by_model(missfit.NeuMiss(random_state=0))
    found["EMLR"] = by_model(missfit.EMLR())
    found["AutoRegressor"] = by_model(missfit.AutoRegressor(random_state=0))
    return found


def measured(method, splits):
    """Return the mean R2, and the seconds of each split, or None beyond the limit."""
    scores, seconds, start = [], [], time.monotonic()
    for X, y, new_X, new_y in splits:
        before = processor_seconds()
        try:
            guess = method(X, y, new_X)
        except subprocess.TimeoutExpired:
            return None, []
        seconds.append(processor_seconds() - before)
        scores.append(1 - np.mean((new_y - guess) ** 2) / np.var(new_y))
        if time.monotonic() - start > LIMIT:
            return None, []
    return mean(scores), seconds


def processor_seconds():
    """Return the seconds that all cores have worked, for programs that ended too."""
    return sum(os.times()[:4])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", type=Path, metavar="FILE.csv")
    parser.add_argument("--hyperimpute", metavar="PYTHON")
    parser.add_argument("--real", action="store_true", help="the files alone")
    args = parser.parse_args()
    print(header())
    every = methods(args.hyperimpute)
    tables = {name: simulated for name in ("mixture1", "mixture3", "selfmasked")}
    tables = {} if args.real else tables | {"friedman1": friedman}
    tables |= dict.fromkeys(args.tables, folds)
    print(f"| table | {' | '.join(every)} |\n|{'---|' * (len(every) + 1)}")
    spent = {name: [] for name in every}
    for table, splits in tables.items():
        cells = []
        for name, method in every.items():
            r2, seconds = measured(method, splits(table))
            cells.append("over half an hour" if r2 is None else f"{r2:.4f}")
            spent[name] += seconds
        print(f"| {getattr(table, 'stem', table)} | {' | '.join(cells)} |", flush=True)
    cells = [f"{median(seconds):.1f}" for seconds in spent.values()]
    print(f"| median processor seconds | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
