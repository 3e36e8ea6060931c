"""Tables with every awkward column that we could think of, drawn from a seed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

KINDS = (
    "normal",
    "lognormal",
    "counts",
    "binary",
    "rare",  # binary, 1 in a row or two
    "constant",
    "duplicate",  # of the column before, hidden elsewhere
    "empty",
    "one value",
    "two values",
    "empty in a fold",  # observed in one third of the rows only
    "empty by weight",  # observed only in rows of weight 0, where there are any
)
N_NEW = 30


class GeneratedTable(NamedTuple):
    """Rows to fit to, and new rows whose values lie in the range of the first.

    Attributes
    ----------
    X, y : ndarray of shape (n, d) and (n,)
    weight : ndarray of shape (n,), or None
    new : ndarray of shape (m, d)
        Rows of the same law as X, moved into the range of the values that the rows of
        weight > 0 show of each feature; what is missing in them is drawn anew. A
        feature that is all missing in X has values here.
    kinds : tuple of str
        What each column is.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    new: NDArray[np.float64]
    kinds: tuple[str, ...]


def generated_table(seed: int) -> GeneratedTable:
    """Draw the table of a seed: 3 to 200 rows, 1 to 8 columns.

    >>> table = generated_table(0)
    >>> table.X.shape[1] == len(table.kinds) == table.new.shape[1]
    True
    """
    rng = np.random.default_rng([2020, seed])
    n = round(np.exp(rng.uniform(np.log(3), np.log(200))))
    d = int(rng.integers(1, 9))
    kinds = tuple(rng.choice(KINDS, d).tolist())
    weight = _weights(rng, n)
    whole = _complete(rng, n + N_NEW, kinds)
    y = _target(rng, whole)[:n]
    scale = 10.0 ** rng.integers(-3, 4, d)
    whole = (whole + rng.choice([0.0, 0.0, 0.0, 10.0, 2000.0], d)) * scale
    missing = rng.random(whole.shape) < rng.choice([0.0, 0.1, 0.5, 0.9], d)
    for j, kind in enumerate(kinds):
        missing[:n, j] |= _hidden(rng, kind, n, weight)
    X = np.where(missing, np.nan, whole)[:n]
    counted = slice(None) if weight is None else weight > 0
    new = _into_range(whole[n:], X[counted])
    rate = rng.choice([0.0, 0.3, 0.6], (N_NEW, 1))  # some rows whole, some nearly empty
    new[rng.random(new.shape) < rate] = np.nan
    y = y * 10.0 ** rng.integers(-3, 4) + rng.choice([0.0, 1e3])
    return GeneratedTable(X, y, weight, new, kinds)


def _weights(rng, n: int) -> NDArray[np.float64] | None:
    kind = rng.choice(["none", "none", "counts", "fractions", "half zero"])
    if kind == "none":
        return None
    if kind == "fractions":
        return rng.uniform(0.5, 2.0, n)
    high = 4 if kind == "counts" else 2
    weight = rng.integers(0, high, n).astype(float)
    weight[rng.choice(n, 2, replace=False)] = 1.0
    return weight


def _complete(rng, n: int, kinds: tuple[str, ...]) -> NDArray[np.float64]:
    """Values before anything is hidden, correlated through one factor."""
    d = len(kinds)
    factor = rng.standard_normal((n, 1))
    share = rng.uniform(0, 1, d)
    X = np.sqrt(share) * factor + np.sqrt(1 - share) * rng.standard_normal((n, d))
    for j, kind in enumerate(kinds):
        if kind == "lognormal":
            X[:, j] = np.exp(1.5 * X[:, j])
        elif kind == "counts":
            X[:, j] = np.round(2 * X[:, j])
        elif kind == "binary":
            X[:, j] = X[:, j] > 0
        elif kind == "rare":
            X[:, j] = np.isin(np.arange(n), rng.choice(n, 2))
        elif kind == "constant":
            X[:, j] = 0.1
        elif kind == "duplicate" and j > 0:
            X[:, j] = X[:, j - 1]
    return X


def _target(rng, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear, bent or unrelated to X, with noise or (nearly) without."""
    slopes = rng.standard_normal(X.shape[1])
    kind = rng.choice(["linear", "bent", "noise"])
    noise = rng.choice([1e-3, 0.3, 1.0]) * rng.standard_normal(len(X))
    if kind == "noise":
        return rng.standard_normal(len(X))
    signal = X @ slopes
    return (signal if kind == "linear" else np.abs(signal)) + noise


def _hidden(rng, kind: str, n: int, weight) -> NDArray[np.bool_]:
    """Rows in which a column of this kind is missing whatever chance says."""
    hidden = np.zeros(n, dtype=bool)
    if kind == "empty":
        hidden[:] = True
    elif kind in ("one value", "two values"):
        hidden[rng.permutation(n)[1 if kind == "one value" else 2 :]] = True
    elif kind == "empty in a fold":
        start = rng.integers(0, 3) * n // 3
        hidden[:start] = hidden[start + n // 3 + 1 :] = True
    elif kind == "empty by weight" and weight is not None:
        hidden = weight > 0
    return hidden


def _into_range(new: NDArray[np.float64], X: NDArray[np.float64]):
    """Clip each column to the range of what X shows of it, if anything."""
    low = np.min(X, axis=0, initial=np.inf, where=~np.isnan(X))
    high = np.max(X, axis=0, initial=-np.inf, where=~np.isnan(X))
    seen = ~np.isnan(X).all(axis=0)
    low, high = np.where(seen, low, -np.inf), np.where(seen, high, np.inf)
    return np.clip(new, low, high)


def ranges_outside(prediction: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return how far predictions leave the range of y, in ranges of y.

    >>> ranges_outside(np.array([-1.0, 2.0]), np.array([0.0, 1.0]))
    1.0
    """
    if not np.isfinite(prediction).all():
        return np.inf
    low, high = y.min(), y.max()
    beyond = np.maximum(prediction - high, low - prediction).max()
    return float(max(beyond, 0.0) / (high - low))
