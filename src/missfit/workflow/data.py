"""What a Python user gives as a table: a file, a frame, arrays, and words on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from missfit.tables.arrays import as_floats
from missfit.tables.frames import is_frame, pandas_frame
from missfit.tables.options import ReadOptions
from missfit.tables.problems import TableError
from missfit.tables.training import TrainingTable, read_training

READING = {one.name for one in fields(ReadOptions)} | {"categorical"}
TARGETS = ("y", "target", "target of the rows")  # names for a target without one
GROUP, TIME = "group of the rows", "time of the rows"


def training_table(
    data: Any,
    target: Any,
    reading: ReadOptions | None = None,
    *,
    group: Any = None,
    time: Any = None,
    least_rows: int = 20,
) -> TrainingTable:
    """Return the table to learn from that a user means.

    Parameters
    ----------
    data : str, Path, DataFrame, array-like of shape (n, d) or TrainingTable
        A file; a pandas or polars frame; an array of the features; or a table that has
        been read already, which is returned as it is.
    target : str or array-like of shape (n,)
        The column to predict, or, for a frame or an array of features, its values.
    reading : ReadOptions, optional
        How the columns are to be read.
    group : str or array-like of shape (n,), optional
        The column that names the group of each row, or these names.
    time : str or array-like of shape (n,), optional
        The column that holds the time of each row, or these times.
    least_rows : int
        How many rows with a target are needed.
    """
    if isinstance(data, TrainingTable):
        return data
    if target is None:
        raise TypeError(
            "the target is missing; give the name of a column of the table, or an "
            "array of the values to predict."
        )
    if not isinstance(data, (str, Path)):
        data, target = _with_target(data, target)
        data, group = _with_role(data, GROUP, group)
        data, time = _with_role(data, TIME, time)
    elif not isinstance(target, str):
        raise TypeError(f"{data} is a file; give the name of its column to predict.")
    return read_training(
        data, target, reading, group=group, time=time, least_rows=least_rows
    )


def _with_target(data: Any, target: Any) -> tuple[Any, str]:
    """Return a frame that holds the target too, and the name of its column."""
    frame = pandas_frame(data)
    if _is_name(target):
        if not is_frame(data):
            raise TypeError(
                f"the target {target!r} is a name, and an array has none; give an "
                "array of the values to predict."
            )
        return frame, str(target)
    name = _free_name(target, frame.columns)
    return _with_column(frame, name, _target_values(target)), name


def _target_values(target: Any) -> Any:
    """Return the values of a target: numbers, or labels of classes as they are."""
    if np.ma.isMaskedArray(target) and target.dtype.kind in "bUO":
        labels = np.array(target.data, dtype=object)
        labels[np.ma.getmaskarray(target)] = None
        return labels
    values = np.asarray(target)
    is_text = values.dtype.kind in "bUS" or (
        values.dtype.kind == "O"
        and any(isinstance(value, (str, bool, np.bool_)) for value in values.flat)
    )
    if is_text and values.ndim == 1 and not np.ma.isMaskedArray(target):
        return values
    return as_floats(target, "the target")


def _with_role(frame: Any, role: str, values: Any) -> tuple[Any, str | None]:
    """Return a frame that holds groups or times too, and the name of their column."""
    if values is None or _is_name(values):
        return frame, None if values is None else str(values)
    return _with_column(frame, role, np.asarray(values)), role


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int, np.integer))


def _free_name(target: Any, taken: Iterable[str]) -> str:
    """Return the name of a target: its own, or one that no column has."""
    own = getattr(target, "name", None)
    names = [str(own)] if own is not None and str(own) else []
    return next(name for name in [*names, *TARGETS] if name not in set(taken))


def _with_column(frame: Any, name: str, values: Any) -> Any:
    if len(values) != len(frame):
        raise TableError(
            f"{len(values)} values of {name} for {len(frame)} rows; give one for each "
            "row."
        )
    return frame.assign(**{name: np.asarray(values)})


def read_options(said: dict[str, Any]) -> ReadOptions:
    """Return how a table is to be read, by what a user said in keyword arguments.

    >>> read_options({"categorical": ["zip"], "drop": ["id"]})
    ReadOptions(kinds={'zip': 'category'}, drop=('id',))
    """
    said = dict(said)
    categorical = said.pop("categorical", ())
    if isinstance(categorical, str):
        raise TypeError(
            f"categorical={categorical!r} is one string; give [{categorical!r}]."
        )
    kinds = dict.fromkeys(map(str, categorical), "category")
    kinds |= dict(said.pop("kinds", {}))
    return ReadOptions(kinds=kinds, **said)


def refuse_unknown(said: Iterable[str], known: Iterable[str], function: str) -> None:
    """Raise where a keyword argument is not known, with those that are."""
    known = sorted(known)
    for name in said:
        if name not in known:
            raise TypeError(
                f"{function} takes no argument {name!r}; it takes {', '.join(known)}."
            )
