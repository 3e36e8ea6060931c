"""Tables with a class to predict, and cheap predictors, that several tests share."""

import numpy as np
import pandas as pd

from missfit.comparison import CompareOptions, compare_table
from missfit.comparison.offers import CLASSES
from missfit.tables.training import read_training

CHEAP = ["majority class", "mean + indicator logistic"]
LINEAR = [*CHEAP, "PatternClassifier(ConstantImputedLR)"]


def class_frame(rng, n, labels=("no", "yes"), shares=None, rate=0.2):
    """Return a table whose label follows from three columns with holes."""
    X = rng.standard_normal((n, 3))
    score = X @ [1.5, -1.0, 0.5] + 0.7 * rng.standard_normal(n)
    shares = np.full(len(labels), 1 / len(labels)) if shares is None else shares
    cuts = np.quantile(score, np.cumsum(shares)[:-1])
    label = np.array(labels, dtype=object)[np.searchsorted(cuts, score)]
    X[rng.random(X.shape) < rate] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["label"] = label
    return frame


def class_comparison(frame, names=CHEAP, *, group=None, time=None, **options):
    table = read_training(frame, "label", group=group, time=time)
    tried = [CLASSES.candidate(name) for name in names]
    return compare_table(table, tried, CompareOptions(**options))
