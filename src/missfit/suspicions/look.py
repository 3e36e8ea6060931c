"""A look at a table: some of its rows, each column as numbers and as codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from missfit.tables.column_reading import ColumnReading
from missfit.tables.columns import pandas_column
from missfit.tables.options import ReadOptions
from missfit.tables.reading import Reading
from missfit.tables.target import Label
from missfit.tables.training import TrainingTable

MOST_ROWS = 20_000
# Rows times columns: with more columns fewer rows are drawn, but not below LEAST_ROWS.
# A column costs about 0.4 microseconds a row, so that the look takes about a second.
MOST_VALUES = 2_000_000
LEAST_ROWS = 1_000


@dataclass(frozen=True)
class Feature:
    """One column of the rows that are looked at.

    Attributes
    ----------
    name : str
    kind : str
        "number", "boolean", "date", "category" or "empty".
    values : ndarray of shape (n,)
        Its values as numbers (of a category: the codes of its levels), NaN where they
        are missing.
    levels : list of str
        The levels of a category; empty for other kinds.
    sentinels : mapping of str to int
        Numbers that stood for a missing value, as they are written, and the rows of the
        table that had each. They are missing in ``values``.
    """

    name: str
    kind: str
    values: NDArray[np.float64]
    levels: list[str]
    sentinels: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Where the value is missing."""
        return np.isnan(self.values)

    @cached_property
    def known(self) -> NDArray[np.intp]:
        """The rows in which the value is known."""
        return np.flatnonzero(~self.missing)

    @cached_property
    def distinct(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The distinct known values, and the number of rows of each."""
        return np.unique(self.values[self.known], return_counts=True)

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """The place of each row among the distinct values; after them if missing."""
        values, _ = self.distinct
        codes = np.searchsorted(values, self.values)
        codes[self.missing] = len(values)
        return codes

    @cached_property
    def is_whole(self) -> bool:
        """Whether it is a number, and every known value is a whole number."""
        values, _ = self.distinct
        return self.kind == "number" and bool((values == np.round(values)).all())

    @property
    def share_distinct(self) -> float:
        """Distinct values for each row in which the value is known."""
        return len(self.distinct[0]) / max(len(self.known), 1)

    def written(self, value: float) -> str:
        """Return a value as a person would write it."""
        if self.kind == "category":
            return repr(self.levels[int(value)])
        if self.kind == "date":
            return str(np.datetime64(round(value), "D"))
        return f"{value:.6g}"


@dataclass(frozen=True)
class Look:
    """Some rows of a table, in its order, to find suspicions in.

    Attributes
    ----------
    features : list of Feature
    y : ndarray of shape (n,)
        The target; where it is a class, 1 for the second of two classes, or for the
        most frequent one of more, and 0 for the others.
    target : str
    n_rows : int
        The number of rows of the whole table.
    code : int ndarray of shape (n,), optional
        The place of each row's class; None where the target is a number.
    classes : tuple
        The labels of the classes.
    """

    features: list[Feature]
    y: NDArray[np.float64]
    target: str
    n_rows: int
    code: NDArray[np.intp] | None = None
    classes: tuple[Label, ...] = ()

    @cached_property
    def rank(self) -> NDArray[np.float64]:
        """The ranks of the target, centred and scaled: no far value outweighs others.

        All zero where the target is constant in these rows.
        """
        rank = rankdata(self.y)
        rank -= rank.mean()
        return rank / (rank.std() or 1.0)

    @property
    def is_two_valued(self) -> bool:
        """Whether the target has two values."""
        return len(np.unique(self.y)) == 2

    @property
    def of(self) -> str:
        """Say how many rows these are."""
        n = len(self.y)
        drawn = f" drawn from {self.n_rows:,}" if n < self.n_rows else ""
        return f"{n:,} rows{drawn}"


def look_at(table: TrainingTable, categorical: Sequence[str], seed: int) -> Look:
    """Draw rows of a table, and read their columns.

    Parameters
    ----------
    table : TrainingTable
    categorical : sequence of str
        Columns whose values are categories, where the table does not say how its
        columns were read.
    seed : int
    """
    n, d = table.X.shape
    most = min(MOST_ROWS, max(LEAST_ROWS, MOST_VALUES // d))
    rows = np.arange(n)
    if n > most:
        rows = np.sort(np.random.default_rng(seed).permutation(n)[:most])
    frame = table.X.iloc[rows]
    reading = table.reading
    if reading is None:
        kinds = dict.fromkeys(map(str, categorical), "category")
        reading = Reading.of(frame, ReadOptions(kinds=kinds))
    by_name = {one.name: one for one in reading.columns}
    features = [
        read_feature(frame.iloc[:, j], by_name[str(name)])
        for j, name in enumerate(frame.columns)
    ]
    if table.classes is None:
        return Look(features, table.y[rows], table.target, n)
    code = table.y[rows].astype(np.intp)
    told = 1 if len(table.classes) == 2 else int(np.bincount(code).argmax())
    y = (code == told).astype(float)
    return Look(features, y, table.target, n, code, table.classes)


def read_feature(series: Any, reading: ColumnReading) -> Feature:
    """Return a column as it was read; ids that are numbers as numbers."""
    name, kind = reading.name, reading.kind
    column = pandas_column(series, name)
    if kind in ("number", "boolean", "date", "empty"):
        values = reading.numbers(column).values
        marks = map(reading.shown_as, reading.sentinels)
        sentinels = dict(zip(marks, reading.sentinel_rows, strict=False))
        return Feature(name, kind, values, [], sentinels)
    column = column.as_objects()
    levels = reading.levels(column)
    distinct = [level for level in dict.fromkeys(levels) if level is not None]
    if kind == "identifier" and (numbers := _numbers(distinct)) is not None:
        kind, place = "number", dict(zip(distinct, numbers, strict=True))
    else:
        kind, place = "category", {level: k for k, level in enumerate(distinct)}
    of_value = [np.nan if level is None else place[level] for level in levels]
    values = np.array(of_value, dtype=np.float64)[column.codes]
    return Feature(name, kind, values, distinct)


def _numbers(levels: list[str]) -> list[float] | None:
    """Return levels as numbers, None where one is no whole number."""
    if all(level.isascii() and level.isdecimal() for level in levels):
        return [float(level) for level in levels]
    return None
