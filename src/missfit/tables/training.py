"""A table to learn from: features, target, groups and times, and what was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.tables.arrays import refuse_same_names
from missfit.tables.columns import kind_of, numbers_of, pandas_column, shown
from missfit.tables.problems import TableError, instead
from missfit.tables.read import column_names, read_table
from missfit.tables.times import times_of


@dataclass(frozen=True)
class TrainingTable:
    """Rows to learn from: features, target, groups, times, and notes on what was done.

    Where there are times, the rows are in the order of time.
    """

    X: Any  # pandas DataFrame
    y: NDArray[np.float64]
    target: str
    groups: NDArray | None
    notes: list[str]
    time: NDArray[np.float64] | None = None  # of each row, in increasing order


def read_training(
    table: Any,
    target: str,
    *,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    group: str | None = None,
    time: str | None = None,
    least_rows: int = 20,
) -> TrainingTable:
    """Read a table to learn from, without the rows that have no target.

    Parameters
    ----------
    table : str, Path, pandas or polars DataFrame
        A file as `missfit.tables.read.read_table` reads it, or a frame.
    target : str
        The column to predict: numbers.
    drop, categorical : sequence of str
        Columns to leave out, and to take as categories whatever they look like.
    group : str, optional
        Column of the groups that stay together in cross-validation; no feature.
    time : str, optional
        Column of the time of each row, dates or numbers. Rows are put in its order, and
        those without a time are left out. It is no feature, since all rows to predict
        come later than the rows that a model has seen.
    least_rows : int
        Rows with a target to ask for.
    """
    is_frame = hasattr(table, "columns")
    path = "the frame" if is_frame else table
    names = list(table.columns) if is_frame else column_names(table)
    _check_roles(path, names, target, drop, categorical, group, time)
    out = {target, group, time, *drop}
    features = [name for name in names if name not in out]
    if not features:
        raise TableError(
            f"{path} has no column beside the target {shown(target)} to predict from."
        )
    frame = _pandas_frame(table) if is_frame else read_table(path, text=categorical)
    y = _target(frame[target], target, path)
    known = ~np.isnan(y)
    notes = []
    if not known.all():
        notes.append(f"{(~known).sum():,} rows without a target left out")
        frame, y = frame[known].reset_index(drop=True), y[known]
    _check_enough(y, target, least_rows, path)
    groups = _groups(frame[group], group, path) if group else None
    table = TrainingTable(frame[features], y, target, groups, notes)
    return _in_time_order(table, frame[time], time, path) if time else table


def _in_time_order(table: TrainingTable, series: Any, name: str, path) -> TrainingTable:
    """Return the rows that have a time, the earliest first."""
    times = times_of(series, name, path)
    order = np.argsort(times, kind="stable")[: int((~np.isnan(times)).sum())]
    notes = list(table.notes)
    if len(order) < len(times):
        notes.append(
            f"{len(times) - len(order):,} rows without a time ({shown(name)}) left out"
        )
    notes.append(
        f"each part is predicted from the rows before it in time ({shown(name)}, which "
        "itself is not used to predict)"
    )
    X = table.X.iloc[order].reset_index(drop=True)
    return TrainingTable(X, table.y[order], table.target, None, notes, times[order])


def _pandas_frame(frame: Any) -> Any:
    refuse_same_names(frame)
    return frame.to_pandas() if hasattr(frame, "get_columns") else frame


def _check_roles(
    path, names: Sequence[str], target, drop, categorical, group, time
) -> None:
    """Raise where a column that is named is not there, or has two roles."""
    there = set(names)
    asked = [("target", target), *([("group", group)] if group else [])]
    asked += [("time", time)] if time else []
    asked += [("drop", name) for name in drop]
    asked += [("categorical", name) for name in categorical]
    for role, column in asked:
        if column not in there:
            raise TableError(
                f"{path} has no column {shown(column)}{instead(column, names)}",
                column=column,
                role=role,
            )
    if group and time:
        raise TableError(
            f"{path}: rows are held out by groups ({shown(group)}) or by time "
            f"({shown(time)}), not by both; choose the one that new rows will differ "
            "in.",
            column=time,
            role="time",
        )
    for role, columns in (("group", [group]), ("time", [time]), ("drop", drop)):
        if target in columns:
            raise TableError(
                f"{shown(target)} is the target too; a column can be only one of the "
                "two.",
                column=target,
                role=role,
            )


def _check_enough(y: NDArray, target: str, least_rows: int, path: str | Path) -> None:
    """Raise where the rows with a target are too few, or all the same."""
    if len(y) < least_rows:
        raise TableError(
            f"{path} has {len(y)} rows with a target; at least {least_rows} are needed."
        )
    if y.min() == y.max():
        raise TableError(
            f"{path}: the target {shown(target)} is {y[0]:g} in every row; there is "
            "nothing to learn."
        )


def _target(series: Any, name: str, path: str | Path) -> NDArray[np.float64]:
    """Return the target as numbers, NaN where missing."""
    try:
        column = pandas_column(series, name)
        kind = kind_of(column, name, forced=False)
        if kind in ("number", "boolean"):
            return numbers_of(column, name, kind)
    except ValueError as error:
        raise TableError(f"{path}: the target cannot be used: {error}") from error
    if kind == "empty":
        raise TableError(f"the target {shown(name)} is missing in every row of {path}.")
    what = {"category": "text", "date": "dates"}[kind]
    row = int(np.argmax(~column.missing))
    raise TableError(
        f"{path}: the target {shown(name)} holds {what}, such as "
        f"{shown(str(series.iloc[row]))} in row {row}; missfit predicts numbers. "
        "Encode it as numbers, or choose another target."
    )


def _groups(series: Any, name: str, path: str | Path) -> NDArray:
    missing = series.isna().to_numpy()
    if missing.any():
        raise TableError(
            f"{path}: the group {shown(name)} is missing in {missing.sum()} rows, "
            f"first row {np.argmax(missing)}; give each row a group.",
            column=name,
            role="group",
        )
    groups = series.astype(str).to_numpy()
    if len(np.unique(groups)) < 2:
        raise TableError(
            f"{path}: {shown(name)} holds one group, {shown(groups[0])}; at least 2 "
            "are needed.",
            column=name,
            role="group",
        )
    return groups
