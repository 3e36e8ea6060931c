"""Columns of Dask tables that are not numbers: labels, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from missfit.estimators.dask_tables import dask_table, load_dask


def dask_columns(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return X, y and the weights as collections with the same partitions.

    Parameters
    ----------
    X, y, sample_weight
        As in `dask_table`; y is one column.
    """
    y = y[0] if isinstance(y, list) and len(y) == 1 else y
    table = dask_table(X, y, sample_weight)
    X, y, sample_weight = table.X, table.y, table.weight
    if not hasattr(X, "columns"):
        one_column = y.ndim == 2 and y.shape[1] == 1
        return X, y[:, 0] if one_column else y, sample_weight
    named = [name for name in (y, sample_weight) if isinstance(name, str)]
    columns = [
        X[name] if isinstance(name, str) else name for name in (y, sample_weight)
    ]
    return X.drop(columns=named), *columns


def dask_parts(function: Callable, y: Any, weight: Any) -> list:
    """Return function(y, weight) of each partition, computed where its rows are."""
    dask = load_dask()
    delayed = [
        np.ravel(np.asarray(values.to_delayed(), dtype=object))
        for values in (y, weight)
        if values is not None
    ]
    return list(dask.compute(*map(dask.delayed(function), *delayed)))


def dask_mapped(function: Callable, y: Any, weight: Any, n_columns: int = 1) -> Any:
    """Return function(y, weight) of each partition as a collection like y.

    Parameters
    ----------
    function : callable
        From labels and weights (or None) to an array of as many rows.
    y : dask array or series
    weight : as y, or None
    n_columns : int
        Of what the function returns; one column is an array of one dimension.
    """
    if hasattr(y, "divisions"):
        return _mapped_series(function, y, weight, n_columns)
    import dask.array as da

    given = [y] if weight is None else [y, weight]
    two_sided: dict[str, Any] = {}
    if n_columns > 1:
        two_sided = {"new_axis": 1, "chunks": (y.chunks[0], (n_columns,))}
    one = function if weight is not None else _without_weight(function)
    return da.map_blocks(one, *given, dtype=float, meta=np.empty(0), **two_sided)


def _mapped_series(function: Callable, y: Any, weight: Any, n_columns: int) -> Any:
    import dask.dataframe as dd
    import pandas

    def framed(labels: Any, weight: Any) -> Any:
        found = np.empty((0, n_columns)[: 1 + (n_columns > 1)])
        if len(labels):
            found = function(labels, weight)
        if n_columns == 1:
            return pandas.Series(found, index=labels.index, name="target")
        return pandas.DataFrame(found, index=labels.index)

    meta = framed(y._meta, None)
    return dd.map_partitions(framed, y, weight, meta=meta, align_dataframes=False)


def _without_weight(function: Callable) -> Callable:
    return lambda labels: function(labels, None)
