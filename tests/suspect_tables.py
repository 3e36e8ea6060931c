"""Generated tables: clean ones by four laws, and one thing planted in each of them."""

import numpy as np
import pandas as pd

from missfit.tables.training import TrainingTable

LAWS = ("gaussian", "lognormal", "binary", "mixed")
SIZES = (200, 500, 1500, 5000)


def clean_table(law, n, rng, rate=0.15):
    """Return a frame with missing values, and a target with noise of its own."""
    frame = {"gaussian": _gaussian, "lognormal": _lognormal}.get(law, _gaussian)(n, rng)
    if law == "binary":
        frame = (frame > 0.3).astype(float)
    if law == "mixed":
        frame = _mixed(frame, rng)
    y = _target(frame, rng)
    frame = frame.mask(
        pd.DataFrame(rng.random(frame.shape) < rate, frame.index, frame.columns)
    )
    return frame, y


def _gaussian(n, rng, d=6):
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d)))
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])


def _lognormal(n, rng):
    return np.exp(0.8 * _gaussian(n, rng))


def _mixed(frame, rng):
    """Numbers, counts, ages, prices, a flag and two categories."""
    n = len(frame)
    return frame.assign(
        x1=rng.poisson(3, n).astype(float),
        x2=np.round(18 + 60 * rng.beta(2, 3, n)),
        x3=np.round(np.exp(rng.normal(10, 0.5, n))),
        flag=(rng.random(n) < 0.2).astype(float),
        colour=rng.choice(["red", "green", "blue", "white"], n),
        region=rng.choice([f"r{k}" for k in range(9)], n),
    )


def _target(frame, rng):
    """A sum of the columns with noise: R2 about 0.6."""
    codes = [
        frame[name].to_numpy(dtype=float)
        if frame[name].dtype.kind == "f"
        else rng.standard_normal(20)[pd.factorize(frame[name])[0]]
        for name in frame.columns
    ]
    X = np.column_stack(codes)
    signal = ((X - X.mean(0)) / X.std(0)) @ rng.choice([-1.0, 0.5, 1.0], X.shape[1])
    return 50 + 10 * (signal + 0.8 * signal.std() * rng.standard_normal(len(X)))


def as_table(frame, y):
    return TrainingTable(
        frame.reset_index(drop=True), np.asarray(y, float), "y", None, []
    )


def with_gaps(values, rng, rate=0.1):
    """Return a column of which some values are missing."""
    series = pd.Series(values)
    return series.mask(pd.Series(rng.random(len(series)) < rate))


# ── One thing planted: each takes frame, y and rng, and returns frame and y ───────────


def leak(frame, y, rng):
    n = len(y)
    spread = y.std()
    kind = rng.integers(5)
    known = [
        2.5 * y - 3,
        y + 0.05 * spread * rng.standard_normal(n),
        np.exp(-(y - y.mean()) / spread),
        np.round(y, 1),
        y + 0.1 * spread * rng.standard_normal(n),
    ][kind]
    return frame.assign(outcome=with_gaps(known, rng)), y


def row_id(frame, y, rng):
    n = len(y)
    kind = rng.integers(4)
    names = [
        np.arange(1.0, n + 1),
        rng.permutation(n) + 1000.0,
        rng.choice(10**7, n, replace=False).astype(float),
        np.array([f"K{k:06d}" for k in rng.choice(10**6, n, replace=False)]),
    ][kind]
    return frame.assign(record=with_gaps(names, rng, 0.05)), y


def constant(frame, y, rng):
    value = rng.choice([0.0, 3.0, -1.5])
    return frame.assign(unit=with_gaps(np.full(len(y), value), rng)), y


def sentinel(frame, y, rng):
    mark = rng.choice([-999.0, 9999.0, -9999.0, 999.0])
    values = rng.normal(20, 5, len(y))
    values[rng.random(len(y)) < 0.06] = mark
    return frame.assign(depth=with_gaps(values, rng)), y


def time_order(frame, y, rng):
    """A target that drifts; in half of the tables a date tells the order."""
    n = len(y)
    walk = np.cumsum(rng.standard_normal(n))
    y = y + 1.5 * y.std() * walk / walk.std()
    if rng.random() < 0.5:
        frame = frame.assign(when=pd.date_range("2021-03-01", periods=n).astype(str))
        order = rng.permutation(n)
        return frame.iloc[order], y[order]
    return frame, y


def group(frame, y, rng):
    n = len(y)
    n_groups = int(rng.integers(20, max(21, n // 5)))
    of = rng.integers(0, n_groups, n)
    y = y + y.std() * rng.standard_normal(n_groups)[of]
    names = of + 1.0 if rng.random() < 0.5 else np.array([f"s{k}" for k in of])
    return frame.assign(school=names), y


def two_classes(frame, y, rng):
    low, high = (0, 1) if rng.random() < 0.5 else (1, 2)
    return frame, np.where(y > np.quantile(y, rng.uniform(0.1, 0.9)), high, low)


PLANTED = {
    "leak": (leak, {"outcome"}),
    "id": (row_id, {"record"}),
    "constant": (constant, {"unit"}),
    "sentinel": (sentinel, {"depth"}),
    "time": (time_order, set()),
    "groups": (group, {"school"}),
    "two classes": (two_classes, set()),
}
