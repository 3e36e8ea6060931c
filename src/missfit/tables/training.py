"""A table to learn from: features, target, groups and times, and what was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.tables.arrays import refuse_same_names
from missfit.tables.columns import count_of, pandas_column, shown
from missfit.tables.decisions import Hints
from missfit.tables.options import ReadOptions
from missfit.tables.problems import Problems, TableError, instead
from missfit.tables.read import OpenTable, open_table, read_table, without_marks
from missfit.tables.reading import Reading
from missfit.tables.target import Label, Target, read_target
from missfit.tables.times import times_of

MOST_NOTES = 20  # on columns
# Rows of other classes than the most frequent one: fewer may all be held out together.
FEWEST_OTHERS = 5


@dataclass(frozen=True)
class TrainingTable:
    """Rows to learn from: features, target, groups, times, and notes on what was done.

    Where there are times, the rows are in the order of time. Where the target is a
    class, ``classes`` holds the labels, and ``y`` the place of each row's label there.
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
    classes: tuple[Label, ...] | None = None  # None where the target is a number


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
        The column to predict: numbers, or classes, see `missfit.tables.target`.
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
    problems = Problems()
    opened = None if is_frame else open_table(table, options)
    names = list(table.columns) if opened is None else opened.names
    options = options.resolved(names)
    _check_roles(problems, path, names, options, target=target, group=group, time=time)
    out = {target, group, time, *options.left_out}
    features = [name for name in names if name not in out]
    if not features:
        problems.add(_no_features(target, path))
    frame = None
    with problems.collected():
        frame = _frame(table if opened is None else opened, options, problems)
    problems.refuse()
    assert frame is not None
    hints = _hints(opened)
    reading, found = _decided(frame[[*features, target]], target, path, options, hints)
    y = found.values
    reading = replace(reading, encoding=options.encoding, sheet=options.sheet)
    X = reading.select(features).apply(frame[features]).frame
    known = ~np.isnan(y)
    notes = [*problems.notes, *_few(_notes(reading, target))]
    notes += [found.note] if found.note else []
    if not known.all():
        n_lost = count_of(int((~known).sum()), "row")
        notes.append(f"{n_lost} without a target left out")
        X, frame = (part[known].reset_index(drop=True) for part in (X, frame))
        y = y[known]
    _check_enough(found._replace(values=y), target, least_rows, path)
    groups = _groups(frame[group], group, path) if group else None
    read = TrainingTable(X, y, target, groups, notes, reading, classes=found.classes)
    if time is None:
        return read
    times = times_of(frame[time], time, path, options=options, hints=hints)
    return _in_time_order(read, times, time)


def _no_features(target: str, path: Any) -> TableError:
    return TableError(
        f"{path} has no column beside the target {shown(target)} to predict from; add "
        "columns."
    )


def _in_time_order(
    table: TrainingTable, times: NDArray[np.float64], name: str
) -> TrainingTable:
    """Return the rows that have a time, the earliest first."""
    order = np.argsort(times, kind="stable")[: int((~np.isnan(times)).sum())]
    notes = list(table.notes)
    if len(order) < len(times):
        notes.append(
            f"{count_of(len(times) - len(order), 'row')} without a time "
            f"({shown(name)}) left out"
        )
    notes.append(
        f"each part is predicted from the rows before it in time ({shown(name)}, which "
        "itself is not used to predict)"
    )
    X = table.X.iloc[order].reset_index(drop=True)
    return replace(table, X=X, y=table.y[order], notes=notes, time=times[order])


def _hints(opened: OpenTable | None) -> Hints:
    """Return what a file says about its numbers: whether they have decimal commas."""
    text = opened and opened.text
    return Hints(decimal="," if text and text.decimal == "," else "")


def _notes(reading: Reading, target: str) -> list[str]:
    """Return the notes on columns; sentinels of features are told as suspicions."""
    notes = [f"{one.name}: {note}" for one in reading.columns for note in one.notes]
    own = reading[target].sentinel_notes()
    return [*notes, *(f"{target}: {note}" for note in own)]


def _few(notes: list[str]) -> list[str]:
    more = len(notes) - MOST_NOTES
    return notes[:MOST_NOTES] + ([f"{more} more notes on columns"] if more > 0 else [])


def _frame(table: Any, options: ReadOptions, problems: Problems) -> Any:
    """Return the rows of a frame, or of a file that is open, as a pandas frame."""
    if isinstance(table, OpenTable):
        said = options.kinds.items()
        text = [name for name, kind in said if kind not in ("number", "drop")]
        kept = [name for name in table.names if name not in options.left_out]
        asked = {"columns": kept, "text": text, "problems": problems}
        return read_table(table, options, **asked)
    refuse_same_names(table)
    frame = table.to_pandas() if hasattr(table, "get_columns") else table
    return without_marks(frame, options.na)


def _check_roles(
    problems: Problems,
    path,
    names: Sequence[str],
    options: ReadOptions,
    *,
    target: str,
    group: str | None,
    time: str | None,
) -> None:
    """Collect the columns that are named and not there, or that have two roles."""
    there = set(names)
    asked = [("target", target), *([("group", group)] if group else [])]
    asked += [("time", time)] if time else []
    asked += [("drop", name) for name in options.drop]
    asked += [("as", name) for name in options.kinds]
    for role, column in asked:
        if column not in there:
            said = f"{path} has no column {shown(column)}{instead(column, names)}"
            problems.add(TableError(said, column=column, role=role))
    if group and time:
        said = (
            f"{path}: rows are held out by groups ({shown(group)}) or by time "
            f"({shown(time)}), not by both; choose the one that new rows will differ "
            "in."
        )
        problems.add(TableError(said, column=time, role="time"))
    roles = (("group", [group]), ("time", [time]), ("drop", options.left_out))
    for role, columns in roles:
        if target in columns:
            said = (
                f"{shown(target)} is the target too; a column can be only one of the "
                "two."
            )
            problems.add(TableError(said, column=target, role=role))


def _check_enough(found: Target, target: str, least_rows: int, path) -> None:
    """Raise where the rows with a target are too few, or all the same."""
    y = found.values
    if len(y) < least_rows:
        raise TableError(
            f"{path} has {len(y)} rows with a target; at least {least_rows} are needed."
        )
    if y.min() == y.max():
        only = f"{y[0]:g}" if found.classes is None else shown(found.classes[0])
        raise TableError(
            f"{path}: the target {shown(target)} is {only} in every row; there is "
            "nothing to learn."
        )
    if found.classes is not None and least_rows > FEWEST_OTHERS:
        _check_others(y.astype(np.intp), found.classes, target, path)


def _check_others(code: NDArray, classes: Sequence[Label], target: str, path) -> None:
    """Raise where nearly all rows are of one class."""
    count = np.bincount(code)
    n_others, most = len(code) - int(count.max()), shown(classes[int(count.argmax())])
    if n_others < FEWEST_OTHERS:
        raise TableError(
            f"{path}: the target {shown(target)} is {most} in all rows but {n_others}; "
            f"at least {FEWEST_OTHERS} rows of other classes are needed to learn them. "
            "Collect more."
        )


def _decided(
    frame: Any, target: str, path: str | Path, options: ReadOptions, hints: Hints
) -> tuple[Reading, Target]:
    """Return how a frame is read, and its target."""
    column = pandas_column(frame[target], target)
    said = {"category": "class", "text": "class", "number": "number"}
    task = options.task or said.get(options.kinds.get(target, ""))
    if column.typed == "f":  # numbers may be called as ids are
        hints = replace(hints, target=target)
    reading = Reading.of(frame, options, hints=hints)
    return reading, read_target(column, reading[target], path, task)


def _groups(series: Any, name: str, path: str | Path) -> NDArray:
    missing = series.isna().to_numpy()
    if missing.any():
        raise TableError(
            f"{path}: the group {shown(name)} is missing in {missing.sum()} rows, "
            f"first row {np.argmax(missing) + 1:,}; give each row a group.",
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
