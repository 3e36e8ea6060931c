"""Rows of any table: arrays and frames of numbers, text, dates, as they come.

What a wrapper needs of a table that only its estimator understands: which values are
missing, some of its rows, and the same rows with more values missing.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from missfit.tables.arrays import is_missing, masked_rows


def as_table(table: Any) -> Any:
    """Return an array or a frame as it is, and lists as an array.

    >>> as_table([[1, 2.5]]).dtype.kind, as_table([["a", float("nan")]]).dtype.kind
    ('f', 'O')
    """
    if sparse.issparse(table):
        raise TypeError("X is a sparse matrix; give X.toarray().")
    table = masked_rows(table)
    if hasattr(table, "shape"):
        return table
    array = np.asarray(table)
    # numpy would make text of a NaN beside text
    return np.array(table, dtype=object) if array.dtype.kind in "US" else array


def missing_mask(table: Any) -> NDArray[np.bool_]:
    """Return where values are missing: None, NaN, NaT, NA, null, or masked, (n, d).

    >>> missing_mask(np.array([["a", None], [float("nan"), 1]], object)).tolist()
    [[False, True], [True, False]]
    """
    if np.ma.isMaskedArray(table):
        return np.ma.getmaskarray(table) | missing_mask(np.ma.getdata(table))
    if hasattr(table, "isna"):
        return table.isna().to_numpy(dtype=bool)
    if _is_polars(table):
        return np.column_stack([_missing_in_series(s) for s in table.get_columns()])
    return _missing_in_array(table)


def take_rows(table: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a table as a table of the same type."""
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def hide(table: Any, hidden: NDArray[np.bool_]) -> Any:
    """Return the table with values missing where ``hidden``, shape (n, d)."""
    if not hidden.any():
        return table
    if hasattr(table, "iloc"):
        return table.mask(hidden)
    if _is_polars(table):
        return _hide_polars(table, hidden)
    if np.ma.isMaskedArray(table):
        return np.ma.masked_where(hidden | np.ma.getmaskarray(table), table)
    table = np.asarray(table)
    if table.dtype.kind in "biu":
        table = table.astype(np.float64)
    elif table.dtype.kind in "US":
        table = table.astype(object)
    return np.where(hidden, np.array(np.nan, dtype=table.dtype), table)


def _is_polars(table: Any) -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(table, polars.DataFrame)


def _missing_in_series(series: Any) -> NDArray[np.bool_]:
    missing = series.is_null()
    if series.dtype.is_float():
        missing = missing | series.is_nan().fill_null(True)
    return missing.to_numpy()


def _hide_polars(table: Any, hidden: NDArray[np.bool_]) -> Any:
    import polars

    return table.with_columns(
        polars.when(polars.Series(hidden[:, j])).then(None).otherwise(column)
        .alias(column.name)
        for j, column in enumerate(table.get_columns())
        if hidden[:, j].any()
    )  # fmt: skip


def _missing_in_array(table: Any) -> NDArray[np.bool_]:
    kind = table.dtype.kind
    if kind in "fc":
        return np.isnan(table)
    if kind in "mM":
        return np.isnat(table)
    if kind == "O":
        return np.vectorize(is_missing, otypes=[bool])(table)
    return np.zeros(table.shape, dtype=bool)
