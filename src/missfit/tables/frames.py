"""Frames and arrays as pandas frames whose columns have names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from missfit.tables.arrays import refuse_same_names
from missfit.tables.problems import TableError, needs


def is_frame(data: Any) -> bool:
    """Return whether something is a pandas or polars frame."""
    return hasattr(data, "columns") and hasattr(data, "shape")


def pandas_frame(data: Any, names: Sequence[str] | None = None) -> Any:
    """Return a pandas or polars frame, or the rows of an array, as a pandas frame.

    Parameters
    ----------
    data : DataFrame or array-like of shape (n, d)
    names : sequence of str, optional
        The names of the columns of an array; by default x0, x1, ...

    Examples
    --------
    >>> pandas_frame([[1.0, 2.0]]).columns.tolist()
    ['x0', 'x1']
    """
    if is_frame(data):
        refuse_same_names(data)
        frame = data.to_pandas() if hasattr(data, "get_columns") else data
        if all(isinstance(name, str) for name in frame.columns):
            return frame
        return frame.set_axis([str(name) for name in frame.columns], axis=1)
    try:
        import pandas as pd
    except ImportError as error:
        raise needs("pandas", error) from error
    rows = np.ma.filled(data, np.nan) if np.ma.isMaskedArray(data) else np.asarray(data)
    if rows.ndim != 2:
        raise TableError(
            f"an array of shape {rows.shape} is no table; give one of shape "
            "(rows, columns)."
        )
    if names is None:
        names = [f"x{j}" for j in range(rows.shape[1])]
    if len(names) != rows.shape[1]:
        raise TableError(
            f"an array with {rows.shape[1]} columns, but {len(names)} are read; give "
            "these columns, in the order of the table that was learned from."
        )
    return pd.DataFrame(rows, columns=list(names))
