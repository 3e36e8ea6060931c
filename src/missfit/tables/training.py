"""A table to learn from: features, target and groups, and what was done to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.tables.arrays import refuse_same_names
from missfit.tables.columns import kind_of, numbers_of, pandas_column, shown
from missfit.tables.options import ReadOptions
from missfit.tables.problems import Problems, TableError, instead
from missfit.tables.read import OpenTable, open_table, read_table, without_marks


@dataclass(frozen=True)
class TrainingTable:
    """Rows to learn from: features, target, groups, and notes on what was done."""

    X: Any  # pandas DataFrame
    y: NDArray[np.float64]
    target: str
    groups: NDArray | None
    notes: list[str]


def read_training(
    table: Any,
    target: str,
    options: ReadOptions | None = None,
    *,
    group: str | None = None,
    least_rows: int = 20,
) -> TrainingTable:
    """Read a table to learn from, without the rows that have no target.

    Parameters
    ----------
    table : str, Path, pandas or polars DataFrame
        A file as `missfit.tables.read.read_table` reads it, or a frame.
    target : str
        The column to predict: numbers.
    options : ReadOptions, optional
        How the table is to be read: columns to leave out, what some columns hold, and
        what else cannot be seen in the rows.
    group : str, optional
        Column of the groups that stay together in cross-validation; no feature.
    least_rows : int
        Rows with a target to ask for.
    """
    options = options or ReadOptions()
    is_frame = hasattr(table, "columns")
    path = "the frame" if is_frame else table
    problems = Problems()
    opened = None if is_frame else open_table(table, options)
    names = list(table.columns) if opened is None else opened.names
    options = options.resolved(names)
    _check_roles(problems, path, names, target, options, group)
    out = {target, group, *options.left_out}
    features = [name for name in names if name not in out]
    if not features:
        problems.add(
            TableError(
                f"{path} has no column beside the target {shown(target)} to predict "
                "from; add columns."
            )
        )
    frame = None
    with problems.collected():
        frame = _frame(table if opened is None else opened, options, problems)
    problems.refuse()
    y = _target(frame[target], target, path)
    known = ~np.isnan(y)
    notes = problems.notes
    if not known.all():
        notes.append(f"{(~known).sum():,} rows without a target left out")
        frame, y = frame[known].reset_index(drop=True), y[known]
    _check_enough(y, target, least_rows, path)
    groups = _groups(frame[group], group, path) if group else None
    return TrainingTable(frame[features], y, target, groups, notes)


def _frame(table: Any, options: ReadOptions, problems: Problems) -> Any:
    """Return the rows of a frame, or of a file that is open, as a pandas frame."""
    if isinstance(table, OpenTable):
        text = options.categorical
        return read_table(table, options, text=text, problems=problems)
    refuse_same_names(table)
    frame = table.to_pandas() if hasattr(table, "get_columns") else table
    return without_marks(frame, options.na)


def _check_roles(
    problems: Problems, path, names: Sequence[str], target, options: ReadOptions, group
) -> None:
    """Collect the columns that are named and not there, or that have two roles."""
    there = set(names)
    asked = [("target", target), *([("group", group)] if group else [])]
    asked += [("drop", name) for name in options.drop]
    asked += [("as", name) for name in options.kinds]
    for role, column in asked:
        if column not in there:
            said = f"{path} has no column {shown(column)}{instead(column, names)}"
            problems.add(TableError(said, column=column, role=role))
    for role, columns in (("group", [group]), ("drop", options.left_out)):
        if target in columns:
            said = (
                f"{shown(target)} is the target too; a column can be only one of the "
                "two."
            )
            problems.add(TableError(said, column=target, role=role))


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
