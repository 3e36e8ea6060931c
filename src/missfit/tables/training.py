"""A table to learn from: features, target, groups and times, and what was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.tables.arrays import refuse_same_names
from missfit.tables.codes import are_padded
from missfit.tables.columns import pandas_column, shown
from missfit.tables.csv_text import csv_dialect
from missfit.tables.decisions import Hints
from missfit.tables.options import ReadOptions
from missfit.tables.problems import TableError, instead
from missfit.tables.read import column_names, read_chunks, read_table, stored
from missfit.tables.reading import Reading
from missfit.tables.times import times_of

SAMPLE = 2_000  # rows of a file in which codes such as 00501 are looked for
MOST_NOTES = 20  # on columns


@dataclass(frozen=True)
class TrainingTable:
    """Rows to learn from: features, target, groups, times, and notes on what was done.

    Where there are times, the rows are in the order of time.
    The columns of X are typed as they were read: numbers, dates, booleans, text.
    ``reading`` says how, and is None where a table was not read here.
    """

    X: Any  # pandas DataFrame
    y: NDArray[np.float64]
    target: str
    groups: NDArray | None
    notes: list[str]
    reading: Reading | None = None  # of the features and of the target
    time: NDArray[np.float64] | None = None  # of each row, in increasing order


def read_training(
    table: Any,
    target: str,
    options: ReadOptions | None = None,
    *,
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
    options : ReadOptions, optional
        How the table is to be read: columns to leave out, what some columns hold, and
        what else cannot be seen in the rows.
    group : str, optional
        Column of the groups that stay together in cross-validation; no feature.
    time : str, optional
        Column of the time of each row, dates or numbers. Rows are put in its order, and
        those without a time are left out. It is no feature, since all rows to predict
        come later than the rows that a model has seen.
    least_rows : int
        Rows with a target to ask for.
    """
    options = options or ReadOptions()
    is_frame = hasattr(table, "columns")
    path = "the frame" if is_frame else table
    names = list(table.columns) if is_frame else column_names(table, options)
    options = options.resolved(names)
    _check_roles(path, names, target, options, group, time)
    out = {target, group, time, *options.left_out}
    features = [name for name in names if name not in out]
    if not features:
        raise TableError(
            f"{path} has no column beside the target {shown(target)} to predict from."
        )
    frame = _pandas_frame(table) if is_frame else _file_frame(path, names, options)
    hints = Hints() if is_frame else _hints(path)
    reading, y = _decided(frame[[*features, target]], target, path, options, hints)
    X = reading.select(features).apply(frame[features]).frame
    known = ~np.isnan(y)
    notes = _few(reading.notes())
    if not known.all():
        notes.append(f"{(~known).sum():,} rows without a target left out")
        X, frame = (part[known].reset_index(drop=True) for part in (X, frame))
        y = y[known]
    _check_enough(y, target, least_rows, path)
    groups = _groups(frame[group], group, path) if group else None
    read = TrainingTable(X, y, target, groups, notes, reading)
    if time is None:
        return read
    times = times_of(frame[time], time, path, options=options, hints=hints)
    return _in_time_order(read, times, time)


def _in_time_order(
    table: TrainingTable, times: NDArray[np.float64], name: str
) -> TrainingTable:
    """Return the rows that have a time, the earliest first."""
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
    return replace(table, X=X, y=table.y[order], notes=notes, time=times[order])


def _file_frame(path: Any, names: Sequence[str], options: ReadOptions) -> Any:
    """Read a file, with codes that begin with zeros as text, so that they keep them."""
    text = list(options.categorical)
    if stored(path).kind == "csv":
        rows = read_chunks(path, names, options, text=names, rows=SAMPLE)
        sample = next(rows, None)
        rows.close()
        if sample is not None:
            padded = (name for name in names if are_padded(sample[name].dropna()))
            text += [name for name in padded if name not in text]
    return read_table(path, options, text=text)


def _hints(path: Any) -> Hints:
    """Return what a file says about its numbers: whether they have decimal commas."""
    kind, parts = stored(path)
    comma = kind == "csv" and csv_dialect(parts[0]).decimal == ","
    return Hints(decimal="," if comma else "")


def _few(notes: list[str]) -> list[str]:
    more = len(notes) - MOST_NOTES
    return notes[:MOST_NOTES] + ([f"{more} more notes on columns"] if more > 0 else [])


def _pandas_frame(frame: Any) -> Any:
    refuse_same_names(frame)
    return frame.to_pandas() if hasattr(frame, "get_columns") else frame


def _check_roles(
    path, names: Sequence[str], target, options: ReadOptions, group, time
) -> None:
    """Raise where a column that is named is not there, or has two roles."""
    there = set(names)
    asked = [("target", target), *([("group", group)] if group else [])]
    asked += [("time", time)] if time else []
    asked += [("drop", name) for name in options.drop]
    asked += [("as", name) for name in options.kinds]
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
    roles = (("group", [group]), ("time", [time]), ("drop", options.left_out))
    for role, columns in roles:
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


def _decided(
    frame: Any, target: str, path: str | Path, options: ReadOptions, hints: Hints
) -> tuple[Reading, NDArray[np.float64]]:
    """Return how a frame is read, and its target as numbers, NaN where missing."""
    column = pandas_column(frame[target], target)
    if column.typed == "f":  # numbers may be called as ids are
        kinds = {**options.kinds, target: "number"}
        options = replace(options, kinds=kinds)
    reading = Reading.of(frame, options, hints=hints)
    one = reading[target]
    if one.kind in ("number", "boolean"):
        return reading, one.numbers(column).values
    if one.kind == "empty":
        raise TableError(
            f"the target {shown(target)} is missing in every row of {path}."
        )
    row = int(np.argmax(~column.missing))
    example = shown(str(frame[target].iloc[row]))
    held = (
        f"{'dates' if one.kind == 'date' else 'text'}, such as {example} in row {row}"
    )
    as_numbers = replace(one, kind="number", format=None)
    numbers = as_numbers.numbers(column)
    if not np.isnan(numbers.values).all():
        held = str(as_numbers.misfits(column, numbers.unfit))
    raise TableError(
        f"{path}: the target {shown(target)} holds {held}; missfit predicts numbers. "
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
