"""Rows that come as JSON: an object for each row, a column for each of its keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from missfit.serve.refusals import RefusedError
from missfit.tables.columns import Column, array_column, shown
from missfit.tables.problems import instead

FORMS = (
    "Give a row as an object of columns and values, or a list of such objects; null, "
    '"" or no key at all stands for a missing value.'
)
NAMES = {dict: "an object", list: "a list"}


def parsed_rows(body: bytes, most_rows: int) -> list[dict[str, Any]]:
    """Return the rows of a body: one object, a list of them, or {"rows": a list}.

    >>> parsed_rows(b'{"rows": [{"age": null}, {}]}', most_rows=10)
    [{'age': None}, {}]
    """
    found = _parsed(body)
    if isinstance(found, dict) and isinstance(found.get("rows"), list):
        if len(found) > 1:
            other = next(name for name in found if name != "rows")
            raise RefusedError(
                422, f'beside "rows" the body holds {shown(other)}; leave it out.'
            )
        found = found["rows"]
    rows = [found] if isinstance(found, dict) else found
    if not isinstance(rows, list):
        raise RefusedError(422, f"the body is {shown(found)}. {FORMS}")
    if len(rows) > most_rows:
        raise RefusedError(
            413,
            f"the body has {len(rows):,} rows, and at most {most_rows:,} are taken at "
            "once; send them in parts.",
        )
    for k, row in enumerate(rows):
        if not isinstance(row, dict):
            raise RefusedError(422, f"row {k + 1} is {shown(row)}. {FORMS}")
    return rows


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise RefusedError(
            400,
            f"the body is not UTF-8 (byte {error.start} is 0x{body[error.start]:02x}); "
            "JSON is sent in UTF-8.",
        ) from error
    except RecursionError as error:
        raise RefusedError(400, f"the body is nested too deeply. {FORMS}") from error
    except ValueError as error:
        raise RefusedError(400, f"the body is no JSON ({error}). {FORMS}") from error


def unknown_keys(
    rows: Sequence[dict[str, Any]], columns: Sequence[str], target: str
) -> list[str]:
    """Return warnings on keys that are no columns; raise where no key is one.

    Parameters
    ----------
    rows : sequence of dict
    columns : sequence of str
        Those of the model.
    target : str
        What is predicted; it may be there, and is not read.
    """
    keys = set().union(*rows)
    strange = sorted(keys.difference(columns, [target]))
    if strange and len(strange) == len(keys):
        raise RefusedError(
            422,
            f"no key is a column of the model: {shown(strange[0])} is none"
            f"{instead(strange[0], columns)}",
        )
    return [
        f"{shown(key)} is no column of the model, and is not used"
        f"{instead(key, columns)}"
        for key in strange[:10]
    ]


def json_columns(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> list[Column]:
    """Return the columns of rows, each value as it came, None where there is no key."""
    return [_column(rows, name) for name in names]


def _column(rows: Sequence[dict[str, Any]], name: str) -> Column:
    values = np.empty(len(rows), dtype=object)
    for k, row in enumerate(rows):
        value = row.get(name)
        if isinstance(value, (dict, list)):
            raise RefusedError(
                422,
                f"the column {shown(name)} of row {k + 1} is {NAMES[type(value)]}; "
                "give a number, a text, true, false or null.",
            )
        values[k] = value
    return array_column(values, name)
