"""What the target is: numbers to predict, or classes whose probabilities are asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.tables.arrays import is_missing
from missfit.tables.codes import is_whole
from missfit.tables.column_reading import ColumnReading
from missfit.tables.columns import Column, shown
from missfit.tables.problems import TableError

# Whole numbers that count on from 0 or 1 up to so many are taken as classes: codes such
# as 0, 1, 2 are. Answers on a scale of 7 or 10, and counts, are more often predicted as
# numbers. Any two different numbers are classes.
FEW_NUMBERS = 5
ROWS_EACH = 10  # rows for each of these numbers, on average; a small table may have few
MAY_BE_CLASSES = 20  # whole numbers of which it is said that they could be classes
MOST_CLASSES = 100
FEWEST_ROWS_EACH = 3  # rows of a class on average, below which text names the rows
MOST_SHOWN = 4

Label = str | int | float | bool


class Target(NamedTuple):
    """A target that was read.

    Attributes
    ----------
    values : ndarray of shape (n,)
        Numbers, or the place of each row's class among ``classes``; NaN where missing.
    classes : tuple of labels, optional
        The classes, sorted; None where the target is a number.
    note : str
        What was decided, and how to decide otherwise; "" where that is plain.
    """

    values: NDArray[np.float64]
    classes: tuple[Label, ...] | None = None
    note: str = ""


def read_target(
    column: Column, one: ColumnReading, path: str | Path, task: str | None = None
) -> Target:
    """Return the target as numbers, or as the places of its classes.

    Parameters
    ----------
    column : Column
    one : ColumnReading
        How the column is read.
    path : str or Path
        The table, for messages.
    task : str, optional
        "number" or "class", whatever the values look like.
    """
    if one.kind == "empty":
        raise TableError(
            f"the target {shown(one.name)} is missing in every row of {path}."
        )
    if task == "class":
        return _named(_classes(column, one), one, path)
    if task is None and one.kind in ("category", "boolean"):
        found = _classes(column, one)
        _refuse_many(found, column, one, path)
        return found._replace(note=_decision(one, found))
    if one.kind not in ("number", "boolean"):
        raise TableError(_no_number(column, one, path))
    return _number_or_class(one.numbers(column).values, one, is_said=task is not None)


def _number_or_class(
    values: NDArray[np.float64], one: ColumnReading, *, is_said: bool
) -> Target:
    """Return numbers, or classes where the numbers are few."""
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    if is_said or len(distinct) < 2:
        return Target(values)
    is_few = len(distinct) <= MAY_BE_CLASSES and is_whole(distinct)
    is_few &= len(known) >= ROWS_EACH * len(distinct)
    counts_on = distinct[0] in (0, 1) and bool((np.diff(distinct) == 1).all())
    are_codes = is_few and counts_on and len(distinct) <= FEW_NUMBERS
    if len(distinct) == 2 or are_codes:
        found = _of_numbers(values)
        return found._replace(note=_decision(one, found))
    if not is_few:
        return Target(values)
    note = (
        f"the target {shown(one.name)} has {len(distinct)} different values, all of "
        "them whole numbers: it is predicted as a number. To predict each of them as a "
        "class, set the task to class"
    )
    return Target(values, note=note)


def _classes(column: Column, one: ColumnReading) -> Target:
    """Return a column as classes."""
    if one.kind == "number":
        return _of_numbers(one.numbers(column).values)
    if one.kind == "boolean":
        return _of_truths(one.numbers(column).values, _words(column, one))
    column = column.as_objects()
    levels = one.levels(column)
    classes = sorted({level for level in levels if level is not None})
    place = {level: float(k) for k, level in enumerate(classes)}
    codes = np.array([np.nan if v is None else place[v] for v in levels])
    return Target(codes[column.codes], tuple(classes))


def _of_truths(values: NDArray[np.float64], words: tuple[Any, Any]) -> Target:
    """Return truth values as classes, called by the words for no and for yes."""
    seen = np.unique(values[~np.isnan(values)]).astype(int)
    classes = sorted(words[k] for k in seen)
    place = np.array([classes.index(w) if w in classes else 0 for w in words], float)
    known = np.where(np.isnan(values), 0, values).astype(int)
    return Target(np.where(np.isnan(values), np.nan, place[known]), tuple(classes))


def _of_numbers(values: NDArray[np.float64]) -> Target:
    """Return numbers as classes; whole ones are labelled as such."""
    missing = np.isnan(values)
    distinct, place = np.unique(values[~missing], return_inverse=True)
    codes = np.full(len(values), np.nan)
    codes[~missing] = place
    whole = is_whole(distinct) and bool((np.abs(distinct) < 2**53).all())
    labels = [int(value) if whole else value for value in distinct.tolist()]
    return Target(codes, tuple(labels))


def _words(column: Column, one: ColumnReading) -> tuple[Label, Label]:
    """Return how no and yes are written most often."""
    if column.typed:
        return False, True
    numbers, _ = one.distinct(column.values)
    found: list[Counter[Label]] = [Counter(), Counter()]
    for value, number, rows in zip(
        column.values, numbers, column.counts(), strict=True
    ):
        if not (is_missing(value) or np.isnan(number)):
            is_truth = isinstance(value, (bool, np.bool_))
            word = bool(value) if is_truth else " ".join(str(value).split())
            found[int(number)][word] += rows
    no, yes = (one.most_common(1)[0][0] if one else "" for one in found)
    both_truths = isinstance(no, bool) and isinstance(yes, bool)
    return (no, yes) if both_truths else (str(no), str(yes))


def _named(found: Target, one: ColumnReading, path: str | Path) -> Target:
    """Return classes that the user asked for; raise where they are too many."""
    n_classes = len(found.classes or ())
    if n_classes > MOST_CLASSES:
        raise TableError(
            f"{path}: the target {shown(one.name)} has {n_classes:,} different values, "
            f"and at most {MOST_CLASSES} classes are predicted. Join classes, or "
            "predict it as a number.",
            column=one.name,
            role="target",
        )
    return found


def _refuse_many(
    found: Target, column: Column, one: ColumnReading, path: str | Path
) -> None:
    """Raise where text has too many different values for classes."""
    n = int((~np.isnan(found.values)).sum())
    if _are_many(len(found.classes or ()), n):
        raise TableError(_no_number(column, one, path))


def _are_many(n_values: int, n_rows: int) -> bool:
    return n_values > MOST_CLASSES or n_rows < FEWEST_ROWS_EACH * n_values


def _no_number(column: Column, one: ColumnReading, path: str | Path) -> str:
    """Say what a target holds that is neither a number nor a class."""
    row = int(np.argmax(~column.missing))
    objects = column.as_objects()
    value = objects.values[objects.codes[row]]
    what = "dates" if one.kind == "date" else "text"
    held = f"{what}, such as {shown(str(value))} in row {row + 1:,}"
    as_numbers = replace(one, kind="number", format=None)
    numbers = as_numbers.numbers(column)
    if not np.isnan(numbers.values).all():
        held = str(as_numbers.misfits(column, numbers.unfit))
    if one.kind == "date":
        return (
            f"{path}: the target {shown(one.name)} holds {held}; missfit predicts "
            "numbers and classes. Encode it as numbers, or choose another target."
        )
    n_values = len({level for level in one.levels(objects) if level is not None})
    n_rows = int((~column.missing).sum())
    text = f"{path}: the target {shown(one.name)} holds {held}, and has {n_values:,} "
    if not _are_many(n_values, n_rows):
        return (
            f"{text}different values, which can be predicted as classes and not as "
            "numbers: set the task to class."
        )
    return (
        f"{text}different values in {n_rows:,} rows. missfit predicts numbers, and "
        f"classes of which there are at most {MOST_CLASSES}, with "
        f"{FEWEST_ROWS_EACH} rows each on average. Encode it as numbers, join classes, "
        "or choose another target."
    )


def _decision(one: ColumnReading, found: Target) -> str:
    """Say that the values are taken as classes, and how to predict numbers instead."""
    classes = found.classes or ()
    if len(classes) < 2:
        return ""
    text = (
        f"the target {shown(one.name)} has {len(classes)} different values "
        f"({some_labels(classes)}): each is predicted as a class, with a probability"
    )
    if one.kind == "category":
        return text
    return f"{text}. To predict it as a number, set the task to number"


def some_labels(classes: Sequence[Label]) -> str:
    """Return the labels of classes as a list in a sentence, cut where it is long.

    >>> some_labels([0, 1]), some_labels("abcdef")
    ('0 and 1', "'a', 'b', 'c' and 3 more")
    """
    said = [shown(label) for label in classes]
    if len(said) > MOST_SHOWN:
        n_shown = MOST_SHOWN - 1
        said = [*said[:n_shown], f"{len(said) - n_shown} more"]
    return f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else said[0]


def labelled(values: NDArray[np.intp], classes: Sequence[Any]) -> NDArray[Any]:
    """Return the labels of classes by their places.

    >>> labelled(np.array([1, 0]), ("no", "yes")).tolist()
    ['yes', 'no']
    """
    return np.array(list(classes))[values]
