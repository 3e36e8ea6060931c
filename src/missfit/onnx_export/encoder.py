"""TableEncoder in a graph: one input for each column, numbers or texts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from missfit.estimators import TableEncoder
from missfit.onnx_export.graph import Graph, Value
from missfit.onnx_export.model_bytes import Input
from missfit.onnx_export.rows import Rows
from missfit.tables.column_reading import ColumnReading
from missfit.tables.marks import EVERYWHERE

TEXTS = ("category", "identifier", "text")


class Encoded(NamedTuple):
    """The inputs of a table, what a user should know of each, and the rows."""

    inputs: list[Input]
    schema: list[dict[str, Any]]
    rows: Rows


def encoded(g: Graph, encoder: TableEncoder, kind: str) -> Encoded:
    """Return the rows that an encoder makes of one input for each column.

    Columns in which nothing was observed at fit are no inputs: they are missing in all
    rows. What `TableEncoder.transform` takes as missing, the graph does too.
    """
    inputs, schema, parts = [], [], []
    for j, one in enumerate(encoder.reading_.columns):
        if one.kind == "empty":
            parts.append(None)
            continue
        name = _input_name(one.name, j)
        start = Input(name, "text" if one.kind in TEXTS else kind, 1)
        value = g.input(name)
        inputs.append(start)
        schema.append(_described(start, one, encoder.categories_[j]))
        parts.append(_numbers(encoder, j, one, value, kind))
    missing = next(part for part in parts if part is not None)
    gap = missing.columns([0]) * 0.0 + np.nan
    x = g.joined([gap if part is None else part for part in parts])
    return Encoded(inputs, schema, Rows(x, len(encoder.variables_)))


def _input_name(column: str, j: int) -> str:
    """Return a name that ONNX takes: not empty, and none of the graph's own."""
    return f"column {j} {column}".strip() if column[:1] in ("", "/") else column


def _numbers(
    encoder: TableEncoder, j: int, one: ColumnReading, value: Value, kind: str
) -> Value:
    """Return the columns of one variable, NaN where it is missing."""
    if one.kind == "category":
        return _dummies(encoder, j, one, value)
    if one.kind in TEXTS:  # only whether there is a value
        place = value.graph.table(value, dict.fromkeys(_marks(one), 1), 0)
        return value.graph.node("Gather", np.array([0.0, np.nan]), place)
    number = value if kind == "float64" else value.as_type("float64")
    return _without(one, number)


def _without(one: ColumnReading, number: Value) -> Value:
    """Return numbers with NaN for those that do not fit or stand for missing values."""
    g = number.graph
    number = g.where(g.node("IsInf", number), np.nan, number)
    if one.kind == "boolean":
        either = [g.node("Equal", number, value) for value in (0.0, 1.0)]
        number = g.where(g.node("Or", *either), number, np.nan)
    for sentinel in one.sentinels:
        number = g.where(g.node("Equal", number, float(sentinel)), np.nan, number)
    return number


def _dummies(encoder: TableEncoder, j: int, one: ColumnReading, value: Value) -> Value:
    """Return columns of 0 and 1 for all levels but the first."""
    levels = encoder.categories_[j]
    n_columns = max(1, len(levels) - 1)
    table = np.zeros((max(1, len(levels)) + 1, n_columns))
    for k in range(1, len(levels)):
        table[k, k - 1] = 1.0
    table[-1] = np.nan
    lost = len(table) - 1
    other = lost if encoder.pooled_[j] is None else len(levels) - 1
    keys = {text: k for k, level in enumerate(levels) for text in _writings(level, one)}
    keys |= dict.fromkeys(_marks(one), lost)
    place = value.graph.table(value, keys, other)
    return value.graph.node("Gather", table, place).reshaped(0, n_columns)


def _writings(level: str, one: ColumnReading) -> list[str]:
    """Return the texts that are read as a level, as far as they can be listed."""
    found = [level]
    if level.removeprefix("-").isdigit():
        found.append(f"{level}.0")
    if level in one.spellings.values():
        found += [level.upper(), level.lower(), level.title(), level.capitalize()]
    return list(dict.fromkeys(found))


def _marks(one: ColumnReading) -> list[str]:
    """Return the texts that stand for a missing value."""
    return list(dict.fromkeys([*EVERYWHERE, *one.marks]))


def _described(start: Input, one: ColumnReading, levels: list[str]) -> dict[str, Any]:
    """Return what a user of the graph should know of an input."""
    about: dict[str, Any] = {
        "name": start.name,
        "column": one.name,
        "type": "string" if start.kind == "text" else start.kind,
        "shape": ["rows", 1],
        "kind": one.kind,
        "missing": _marks(one) if start.kind == "text" else ["NaN", *one.sentinels],
    }
    if one.kind == "category":
        about["levels"] = levels
    if one.kind == "boolean":
        about["values"] = [0, 1]
    if one.kind == "date":
        about["unit"] = "days since 1970-01-01"
    if one.kind == "number" and one.format is not None:
        about["written"] = one.describe()
    return about
