"""Tables, candidates and trials that the tests of a comparison share."""

import contextlib
import io
import warnings

import numpy as np
import pandas as pd
from sklearn.dummy import DummyRegressor

from conftest import random_cov
from missfit import TableEncoder
from missfit.comparison import CompareOptions, Comparison, Trial, compare_table
from missfit.comparison.candidates import CANDIDATES, Candidate, candidate
from missfit.tables.training import TrainingTable

QUICK = [
    candidate(name)
    for name in ("EMLR", "ConstantImputedLR", "mean + indicator ridge", "ExpandedLR")
]


SLOW = [one.name for one in CANDIDATES if one not in QUICK]


MEAN = Candidate("mean", lambda _: DummyRegressor(), "DummyRegressor()", "the mean")


def table_of(X, y, groups=None):
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return TrainingTable(frame, np.asarray(y, dtype=float), "y", groups, [])


def gaussian(rng, n, d=3, noise=0.5, rate=0.3):
    X = rng.multivariate_normal(np.zeros(d), random_cov(rng, d), n)
    y = X.sum(axis=1) + noise * rng.standard_normal(n)
    X[rng.random(X.shape) < rate] = np.nan
    return X, y


def comparison_of(X, y, **options):
    return compare_table(table_of(X, y), QUICK, CompareOptions(**options))


def many_levels(rng, n, n_levels=25):
    """Text of so many levels, of which the last are rare."""
    share = 1 / np.arange(1, n_levels + 1) ** 1.5
    names = np.array([f"level {k:02}" for k in range(n_levels)])
    return rng.choice(names, n, p=share / share.sum())


def trial_of(name, guess, seconds, rival=False):
    one = Candidate(name, lambda seed: None, name, "a test", rival=rival)
    return Trial(one, guess, np.full(5, seconds))


def made(y, trials):
    encoder = TableEncoder().fit(pd.DataFrame({"a": y}))
    fold = np.arange(len(y)) % 5
    return Comparison(y[:, None], y, encoder, fold, None, trials, "y", 0)


def bootstrapped_r2(rng, y, guess):
    """R2 of 2,000 bootstrap samples of the rows."""
    rows = rng.integers(0, len(y), (2000, len(y)))
    error = np.mean((y[rows] - guess[rows]) ** 2, axis=1)
    return 1 - error / y[rows].var(axis=1)


def run_code(code, names=None):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, dict(names or {}))
    return said.getvalue().strip()
