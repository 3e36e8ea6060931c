"""Columns of a table: what kind of values they hold, and these values as numbers.

A column of objects is factorised by hashing first, and everything after works on its
distinct values.
"""

from __future__ import annotations

import datetime
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.tables.arrays import is_missing

DAY = 86_400_000_000  # microseconds


class Column(NamedTuple):
    """A column as its distinct values and the place of each row among them.

    Typed columns of numbers, booleans and dates have ``typed`` instead: "f", "b" or "M"
    and the values themselves, which need no reading. Integers stay integers, since
    beyond 2^53 float64 takes several of them for one; what stands where ``missing``
    does not count.
    """

    missing: NDArray[np.bool_]
    typed: str
    values: Any  # the rows if typed, else the distinct objects
    codes: NDArray[np.intp]  # of each row; empty if typed
    categorical: bool = False

    def as_objects(self) -> Column:
        """Return a typed column by its distinct values."""
        if not self.typed:
            return self
        seen = ~self.missing
        values, codes = np.unique(self.values[seen], return_inverse=True)
        distinct = list(values) if self.typed == "M" else values.tolist()
        if self.typed == "b":
            distinct = [bool(value) for value in distinct]
        place = np.full(len(seen), len(distinct))  # of None, after all others
        place[seen] = codes
        return Column(self.missing, "", [*distinct, None], place, self.categorical)

    def levels(self) -> list[str | None]:
        """Text of each distinct value, None for a missing one."""
        return [None if is_missing(value) else _text(value) for value in self.values]

    def counts(self) -> list[int]:
        """Rows of each distinct value."""
        return np.bincount(self.codes, minlength=len(self.values)).tolist()

    def where(self, distinct: int) -> str:
        """Where a distinct value stands, for a message."""
        rows = np.flatnonzero(self.codes == distinct)
        return f"{len(rows)} of {len(self.codes)} rows, first row {rows[0] + 1:,}"


def pandas_column(series: Any, name: str) -> Column:
    """Read a column of a pandas frame."""
    missing = _missing_in(series)
    if type(series.dtype).__name__ == "CategoricalDtype":
        column = _object_column(series.astype(object).to_numpy(), missing, name)
        return column._replace(categorical=True)
    kind = getattr(series.dtype, "kind", "O")
    if kind in "iu":
        values = series.to_numpy(dtype=f"{kind}8", na_value=0)
        return _typed("f", values, missing)
    if kind in "fb":
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return _typed(kind, values, missing)
    if kind == "M":  # with a time zone: in UTC
        return _typed("M", series.to_numpy(dtype="datetime64[us]"), missing)
    _refuse_kind(kind, name)
    return _object_column(series.to_numpy(dtype=object), missing, name)


def polars_column(series: Any, name: str) -> Column:
    """Read a column of a polars frame."""
    categorical = type(series.dtype).__name__ in ("Categorical", "Enum")
    if type(series.dtype).__name__ == "Boolean":
        values = series.cast(float).to_numpy()
        return _typed("b", values, np.isnan(values))
    if series.dtype.is_integer():
        missing = series.is_null().to_numpy()
        return _typed("f", series.fill_null(0).to_numpy(), missing)
    column = array_column(series.to_numpy(), name)
    return column._replace(categorical=categorical)


def array_column(values: NDArray, name: str, masked: Any = False) -> Column:
    """Read a column of an array, of which some values may be masked."""
    kind = values.dtype.kind
    missing = np.broadcast_to(masked, values.shape)
    if kind in "iu":
        return _typed("f", values, missing)
    if kind in "fb":
        values = values.astype(np.float64)
        return _typed(kind, values, missing | np.isnan(values))
    if kind == "M":
        values = values.astype("datetime64[us]")
        return _typed("M", values, missing | np.isnat(values))
    _refuse_kind(kind, name)
    values = values.astype(object)
    values[missing] = None
    return _object_column(values, None, name)


def _refuse_kind(kind: str, name: str) -> None:
    if kind in "mc":
        what = {"m": "durations", "c": "complex numbers"}[kind]
        raise ValueError(f"column {name!r} holds {what}; give them as real numbers.")


def _typed(kind: str, values: NDArray, missing: NDArray) -> Column:
    return Column(missing, kind, values, np.empty(0, dtype=np.intp))


def _missing_in(series: Any) -> NDArray[np.bool_]:
    """Where a pandas series is missing; Decimal's signalling NaN cannot be compared."""
    try:
        return series.isna().to_numpy(dtype=bool)
    except ArithmeticError:
        return series.map(_quiet).isna().to_numpy(dtype=bool)


def _quiet(value: Any) -> Any:
    """Return None for a NaN of Decimal, which may refuse to be compared and hashed."""
    return None if type(value).__name__ == "Decimal" and value.is_nan() else value


def _hashed(values: list) -> tuple[list, dict]:
    """Return the values, and the distinct ones in order, by hashing."""
    try:
        return values, dict.fromkeys(values)
    except TypeError:
        values = [_quiet(value) for value in values]
        return values, dict.fromkeys(values)


def _object_column(values: NDArray, missing: NDArray | None, name: str) -> Column:
    """Factorise by hashing; everything after works on the distinct values."""
    if missing is not None:
        values = values.copy()
        values[missing] = None
    try:
        rows, found = _hashed(values.tolist())
    except TypeError as error:
        raise ValueError(
            f"column {name!r} holds values that are not numbers, dates or text "
            f"({error}); encode them first."
        ) from error
    place = {value: k for k, value in enumerate(found)}
    codes = np.fromiter(map(place.__getitem__, rows), int, len(rows))
    distinct = list(place)
    if missing is None:
        missing = np.array([is_missing(value) for value in distinct])[codes]
    return Column(missing, "", distinct, codes)


def _text(value: Any) -> str:
    """Write a level: 1 and 1.0 are the same level, True is another.

    >>> [_text(v) for v in (1.0, 1, 0.5, True, "a")]
    ['1', '1', '0.5', 'True', 'a']
    """
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, Integral):
        return str(int(value))  # not by float: 2^53 + 1 is not 2^53
    if isinstance(value, Real) and float(value).is_integer():
        return str(int(float(value)))
    return str(value)


def count_of(n: int, noun: str) -> str:
    """Return a number of things in words.

    >>> count_of(1, "row"), count_of(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def shown(value: Any) -> str:
    """Write a value for a message, cut where it is long.

    >>> shown("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'"
    """
    if isinstance(value, str) and len(value) > 42:
        value = value[:39] + "..."
    if isinstance(value, int) and abs(value) > 10**40:  # Python refuses 4,300 digits
        return f"a whole number of {value.bit_length()} bits"
    return repr(value)[:80]


def hours_of_object(value: Any) -> float | None:
    """Hours of a time of day, as spreadsheets hold it, None for other objects.

    >>> hours_of_object(datetime.time(14, 30)), hours_of_object(14.5)
    (14.5, None)
    """
    if not isinstance(value, datetime.time):
        return None
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return (seconds + value.microsecond / 1e6) / 3600


def days_of_object(value: Any) -> float | None:
    """Days since 1970-01-01 of a date, None for an object that is none.

    >>> days_of_object(datetime.date(1970, 1, 3)), days_of_object("1970-01-03")
    (2.0, None)
    """
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    elif not isinstance(value, (datetime.date, np.datetime64)):
        return None
    when: Any = value
    return float(np.datetime64(when, "us").astype(np.int64)) / DAY
