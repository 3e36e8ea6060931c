"""Tables in disguise, and what is no table of numbers, to build hostile cases from."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

# ── Disguises: the table, and the numbers that it stands for ──────────────────────────


def _masked(rng, X):
    junk = rng.choice([-999.0, 1e30, np.inf, 0.0])
    return np.ma.masked_array(np.where(np.isnan(X), junk, X), np.isnan(X)), X


def _masked_rows(rng, X):
    return list(_masked(rng, X)[0]), X


def _masked_objects(rng, X):
    hidden = np.where(np.isnan(X), "hidden", X.astype(object))
    return np.ma.masked_array(hidden, np.isnan(X)), X


def _masked_integers(rng, X):
    whole = np.round(3 * X)
    mask = np.isnan(X)
    return np.ma.masked_array(np.where(mask, -999, whole).astype(int), mask), whole


def _objects(rng, X):
    gap = [None, np.nan, pd.NA, decimal.Decimal("NaN"), pd.NaT][rng.integers(5)]
    return np.where(np.isnan(X), np.array(gap, dtype=object), X.astype(object)), X


def _decimals(rng, X):
    cells = [None if x != x else decimal.Decimal(float(x)) for x in X.flat]
    return np.reshape(np.array(cells, dtype=object), X.shape), X


def _text(rng, X):
    return np.reshape([repr(float(x)) for x in X.flat], X.shape), X


def _integers(rng, X):
    whole = np.nan_to_num(np.round(3 * X))
    return whole.astype(rng.choice(["int8", "int16", "int64"])), whole


def _booleans(rng, X):
    return X > 0, (X > 0).astype(float)


def _half(rng, X):
    return X.astype(np.float16), X.astype(np.float16).astype(float)


def _long(rng, X):
    return X.astype(np.longdouble), X


def _views(rng, X):
    wide = np.repeat(np.asfortranarray(X), 2, axis=1)
    return wide[::-1, ::2][::-1], X


def _lists(rng, X):
    return [[None if x != x else float(x) for x in row] for row in X], X


def _names(X):
    return [f"c{j}" for j in range(X.shape[1])]


def _frame(rng, X):
    index = rng.permutation(len(X))
    return pd.DataFrame(X, columns=_names(X), index=index), X


def _nullable(rng, X):
    return _frame(rng, X)[0].astype("Float64"), X


def _nullable_integers(rng, X):
    whole = np.round(3 * X)
    return pd.DataFrame(whole, columns=_names(X)).astype("Int64"), whole


def _object_frame(rng, X):
    frame = _frame(rng, X)[0].astype(object)
    return frame.where(frame.notna(), pd.NA if rng.random() < 0.5 else None), X


def _sparse_frame(rng, X):
    return pd.DataFrame(X, columns=_names(X)).astype(pd.SparseDtype("float")), X


def _polars(rng, X):
    frame = pl.DataFrame(dict(zip(_names(X), X.T, strict=True)))
    return frame.fill_nan(None), X


def _constant(rng, X):
    X = X.copy()
    X[:, 0] = rng.choice([0.0, 7.0, 1e8])
    return _frame(rng, X)[0], X


def _empty(rng, X):
    X = X.copy()
    X[:, 0] = np.nan
    X[0] = np.nan
    return _masked(rng, X)[0], X


DISGUISES = [
    _masked,
    _masked_rows,
    _masked_objects,
    _masked_integers,
    _objects,
    _decimals,
    _text,
    _integers,
    _booleans,
    _half,
    _long,
    _views,
    _lists,
    _frame,
    _nullable,
    _nullable_integers,
    _object_frame,
    _sparse_frame,
    _polars,
    _constant,
    _empty,
]
TARGETS = [
    lambda y: y.tolist(),
    lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
    lambda y: pd.Series(y).astype("Float64"),
    lambda y: pl.Series(y),
    lambda y: np.ma.masked_array(y, np.zeros(len(y), bool)),
    lambda y: y.astype(object),
    lambda y: np.array([decimal.Decimal(v) for v in y.tolist()]),
    lambda y: y.astype(np.longdouble),
]


# ── Poisons: no table of numbers ──────────────────────────────────────────────────────

DAY = np.datetime64("2020-01-01")
TABLES = {
    "dates": lambda X: np.full(X.shape, DAY),
    "durations": lambda X: np.full(X.shape, np.timedelta64(3, "h")),
    "masked dates": lambda X: np.ma.masked_array(np.full(X.shape, DAY), X > 0),
    "a date among objects": lambda X: with_first(X.astype(object), DAY),
    "a duration among objects": lambda X: with_first(
        X.astype(object), datetime.timedelta(1)
    ),
    "a polars date": lambda X: pl.DataFrame(
        {"a": [datetime.date(2020, 1, 1)] * len(X)}
    ),
    "a categorical date": lambda X: pd.DataFrame(
        {"a": pd.Categorical([pd.Timestamp(0)] * len(X))}
    ),
    "complex": lambda X: X + 1j,
    "infinity": lambda X: with_first(X, np.inf),
    "minus infinity": lambda X: with_first(X.astype(object), -np.inf),
    "1e308": lambda X: with_first(X, 1e308),
    "-1e200": lambda X: with_first(X, -1e200),
    "10**400": lambda X: with_first(X.astype(object), 10**400),
    "one name twice": lambda X: pd.DataFrame(np.hstack([X, X])).set_axis(
        ["c"] * 2 * X.shape[1], axis=1
    ),
    "text": lambda X: np.full(X.shape, "three"),
    "a word among objects": lambda X: with_first(X.astype(object), "three"),
    "bytes": lambda X: np.full(X.shape, b"three"),
    "a dict": lambda X: with_first(X.astype(object), {"a": 1}),
    "sparse": lambda X: sparse.csr_array(np.nan_to_num(X)),
    "one axis": lambda X: X[:, 0],
    "three axes": lambda X: X[:, :, None],
    "a number": lambda X: 3.0,
    "no columns": lambda X: X[:, :0],
    "no rows": lambda X: X[:0],
    "ragged": lambda X: [[1.0], *X[1:].tolist(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]],
    "nothing": lambda X: None,
    "records": lambda X: np.zeros(len(X), dtype=[("a", float), ("b", float)]),
}
MAY_BE_ENCODED = "date", "text", "word", "bytes"  # TableEncoder reads them
READ_AS_MISSING = "infinity", "minus infinity", "10**400"  # with a warning
# the same in new rows of a column of numbers; a column of such values is refused
LATER_READ_AS_MISSING = (
    "a word among objects",
    "a date among objects",
    "a duration among objects",
)
BAD_TARGETS = {
    "a masked y": lambda y: np.ma.masked_array(y, np.arange(len(y)) == 1),
    "None in y": lambda y: with_first(y.astype(object), None),
    "NA in y": lambda y: pd.Series(y).astype("Float64").mask(np.arange(len(y)) == 1),
    "NaN in y": lambda y: with_first(y, np.nan),
    "infinite y": lambda y: with_first(y, np.inf),
    "y of 1e308": lambda y: with_first(y, 1e308),
    "dates as y": lambda y: np.full(len(y), DAY),
    "durations as y": lambda y: pd.Series(pd.to_timedelta(np.arange(len(y)), "D")),
    "complex y": lambda y: y + 1j,
    "text as y": lambda y: np.full(len(y), "three"),
    "short y": lambda y: y[:-1],
    "y of three axes": lambda y: y[:, None, None],
    "no y": lambda y: None,
    "y a number": lambda y: 3.0,
    "one target, then two": lambda y: np.column_stack([y, y]),
    "huge integer in y": lambda y: with_first(y.astype(object), 10**400),
}
ONLY_LATER = {"one target, then two"}
NEVER_LATER = {"no weight at all"}  # a chunk of a stream may weigh nothing
BAD_WEIGHTS = {
    "a masked weight": lambda w: np.ma.masked_array(w, np.arange(len(w)) == 1),
    "a negative weight": lambda w: with_first(w, -1.0),
    "a NaN weight": lambda w: with_first(w, np.nan),
    "an infinite weight": lambda w: with_first(w, np.inf),
    "no weight at all": lambda w: 0 * w,
    "zeros of a wrong shape": lambda w: np.zeros((len(w), 2)),
    "too few weights": lambda w: w[:-1],
    "text as weights": lambda w: np.full(len(w), "three"),
    "None among weights": lambda w: with_first(w.astype(object), None),
    "dates as weights": lambda w: np.full(len(w), DAY),
    "complex weights": lambda w: w + 1j,
}


def with_first(values, value):
    """Return a copy whose first value is another."""
    values = values.copy()
    values[(0,) * values.ndim] = value
    return values
