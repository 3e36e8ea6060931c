"""Tables of numbers: how they are read, and how work on them is cut into blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from scipy import sparse

BLOCK_DOUBLES = 2**18  # 2 MB: what is worked on at once stays in the cache


def blocks(
    n_items: int, doubles_each: int, *, size: int = BLOCK_DOUBLES
) -> Iterator[slice]:
    """Cut items into consecutive blocks of bounded memory, at least one item each.

    >>> list(blocks(5, doubles_each=4, size=8))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, size // max(1, doubles_each))
    for start in range(0, n_items, step):
        yield slice(start, min(start + step, n_items))


def n_threads() -> int:
    """Threads that a computation may take: OMP_NUM_THREADS, or what the process has.

    The number that is set for numpy's own threads holds for those of missfit too, so
    that jobs side by side do not take each other's processors.
    """
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return int(wanted) if wanted.isdigit() and int(wanted) else cpu_count()


def with_nan(table: Any) -> Any:
    """Return the table with NaN for the missing values that only Python knows.

    Those of masked arrays, and NA or None in pandas columns of objects; everything else
    comes back as it is.
    """
    if np.ma.isMaskedArray(table):
        return np.ma.filled(np.ma.asarray(table, dtype=np.float64), np.nan)
    if _is_pandas(table) and any(kind == "O" for kind in _kinds(table)):
        return table.where(table.notna(), np.nan)
    return table


def _is_pandas(table: Any) -> bool:
    return hasattr(table, "to_numpy") and hasattr(table, "notna")


def _kinds(table: Any) -> list[str]:
    """Kind letters of numpy for the columns, 'O' for what numpy does not know."""
    dtypes = getattr(table, "dtypes", getattr(table, "dtype", []))
    dtypes = dtypes if isinstance(dtypes, list) else np.ravel(np.array(dtypes, object))
    return [getattr(dtype, "kind", "O") for dtype in dtypes]


def as_floats(values: Any, name: str = "X") -> NDArray[np.float64]:
    """Read numbers as float64, with NaN for every kind of missing value.

    Understands None, pandas' NA and nullable types, masked arrays; refuses what is not
    a table of real numbers.

    >>> as_floats([[1, None], [True, 2.5]]).tolist()
    [[1.0, nan], [1.0, 2.5]]
    """
    if sparse.issparse(values):
        raise TypeError(f"{name} is a sparse matrix; give {name}.toarray().")
    strange = [kind for kind in _kinds(values) if kind in "mMc"]
    if strange:
        what = {"m": "durations", "M": "dates", "c": "complex numbers"}[strange[0]]
        raise TypeError(
            f"{name} holds {what}; only real numbers are understood. Encode them as "
            "numbers first."
        )
    try:
        values = with_nan(values)
        if _is_pandas(values):
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} cannot be read as numbers ({error}). Encode text and categories "
            "as numbers first, and use NaN for missing values."
        ) from error


def refuse_rows(bad: NDArray[np.bool_], name: str, what: str, way_out: str) -> None:
    """Raise where an array holds what it must not, with the place of the first."""
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"{name} is {what} in {bad.any(axis=1).sum()} of {len(bad)} rows, first at "
            f"row {row}, column {column}. {way_out}"
        )


def check_features(X: Any, n_features: int) -> NDArray[np.float64]:
    """Return X as float64 with the right number of features and no infinity."""
    X = as_floats(X)
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(
            f"X has shape {X.shape}; the model has {n_features} features, so it must "
            f"be (rows, {n_features})."
        )
    refuse_rows(np.isinf(X), "X", "infinite", "Use NaN for a missing value.")
    return X
