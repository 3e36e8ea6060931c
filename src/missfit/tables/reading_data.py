"""The reading of a column as plain data, as a model file holds it, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from missfit.tables.column_reading import KINDS, ColumnReading, Format
from missfit.tables.date_text import FORMATS, ClockFormat, DateFormat
from missfit.tables.number_text import NumberFormat

FORMAT_NAMES = {NumberFormat: "number", DateFormat: "date", ClockFormat: "clock"}
ROWS = "sentinel_rows"  # which files of earlier versions do not have
KIND_OF_FORMAT = {"number": "number", "date": "date", "clock": "number"}


def column_data(one: ColumnReading) -> dict[str, Any]:
    """Return plain data from which `column_from_data` makes the same reading."""
    plain: dict[str, Any] = {"name": one.name, "kind": one.kind}
    if one.format is not None:
        plain["format"] = {"of": FORMAT_NAMES[type(one.format)]}
        plain["format"] |= _plain(asdict(one.format))
    plain |= {"marks": list(one.marks), "sentinels": list(one.sentinels)}
    plain |= {"example": one.example, "missing": one.missing}
    plain |= {"notes": list(one.notes), "spellings": dict(one.spellings)}
    return {**plain, ROWS: list(one.sentinel_rows)}


def column_from_data(plain: Any) -> ColumnReading:
    """Return the reading of `column_data`; raise ValueError for any other data."""
    _check(isinstance(plain, Mapping), "a column that is no table")
    kind, missing = plain.get("kind"), plain.get("missing")
    _check(type(kind) is str and kind in KINDS, f"the kind {str(kind)[:40]!r}")
    _check(type(missing) is int and missing >= 0, "missing values that are no number")
    form, spellings = plain.get("format"), plain.get("spellings")
    if form is not None:
        _check(isinstance(form, Mapping), "a format that is no table")
        of = KIND_OF_FORMAT.get(str(form.get("of")))
        _check(of == kind, f"a format of another kind than {kind}")
    _check(isinstance(spellings, Mapping), "spellings that are no table")
    return ColumnReading(
        _text(plain.get("name")),
        kind,
        None if form is None else _format(form),
        tuple(_text(mark) for mark in _list(plain, "marks")),
        tuple(_number(value) for value in _list(plain, "sentinels")),
        _text(plain.get("example")),
        missing,
        tuple(_text(note) for note in _list(plain, "notes")),
        {_text(one): _text(other) for one, other in spellings.items()},
        tuple(int(_number(n)) for n in _list({ROWS: [], **plain}, ROWS)),
    )


def _plain(content: dict[str, Any]) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in content.items()
    }


def _format(plain: Mapping[str, Any]) -> Format:
    """Return the format of plain data, which must be as it is written."""
    if plain["of"] == "clock":
        return ClockFormat()
    if plain["of"] == "date":
        formats = _list(plain, "formats")
        year: Any = plain.get("first_year")
        known = all(type(one) is str and one in FORMATS for one in formats)
        _check(bool(formats) and known, "an unknown format of dates")
        _check(type(year) is int and 1000 <= year <= 3000, "a year out of range")
        return DateFormat(tuple(formats), year)
    scales: Any = plain.get("scales")
    decimal: Any = plain.get("decimal")
    _check(isinstance(scales, Mapping), "units that are no table")
    _check(decimal in (".", ","), "a decimal sign that is none")
    known = {_text(unit): _number(scale) for unit, scale in scales.items()}
    currencies = tuple(_text(one) for one in _list(plain, "currencies"))
    return NumberFormat(decimal, known, currencies)


def _check(right: bool, what: str) -> None:
    if not right:
        raise ValueError(f"the reading of a column holds {what}, as is never written")


def _list(plain: Mapping[str, Any], name: str) -> list[Any]:
    found: Any = plain.get(name)
    _check(isinstance(found, list), f"{name} that are no list")
    return found


def _text(value: Any) -> str:
    _check(type(value) is str, f"{str(value)[:40]} where a text belongs")
    return value


def _number(value: Any) -> float:
    right = type(value) is float or (type(value) is int and abs(value) < 1e300)
    right = right and bool(np.isfinite(float(value)))
    _check(right, f"{str(value)[:40]} where a number belongs")
    return float(value)
