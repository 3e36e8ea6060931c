"""Arrays of numbers: how they are read, and what is refused."""

from __future__ import annotations

import datetime
import reprlib
from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

LARGEST = 1e150  # squares beyond overflow float64
TIMES = {"m": "durations", "M": "dates"}  # by numpy's letters
_DURATIONS = (datetime.timedelta, np.timedelta64)
_DATES = (datetime.date, np.datetime64)  # a datetime is a date, a Timestamp too


def with_nan(table: Any, name: str = "X") -> Any:
    """Return the table with NaN for the missing values that only Python knows.

    Those of masked arrays (also in lists of masked rows), None, and pandas' NA in
    columns and arrays of objects; everything else comes back as it is. Dates and
    durations are refused: numpy would take them as integers, in units nobody chose.
    """
    table = masked_rows(table)
    if isinstance(table, (list, tuple)):
        table = np.asarray(table)
    for kind, where, values in _columns(table):
        _refuse_times(kind, values, f"{name}{where}")
    if np.ma.isMaskedArray(table):
        return _unmasked(table)
    if _is_pandas(table) and "O" in _kinds(table):
        return table.where(table.notna(), np.nan)
    if _is_pandas(table) and _has_sparse(table):
        return table.astype(np.float64)  # scikit-learn knows sparse zeros alone
    if isinstance(table, np.ndarray) and table.dtype.kind == "O":
        return _filled(table, [is_missing(value) for value in table.flat])
    return table


def masked_rows(table: Any) -> Any:
    """Return a list of masked rows as a masked array: numpy would drop the masks."""
    rows = isinstance(table, (list, tuple)) and any(map(np.ma.isMaskedArray, table))
    return np.ma.array(table) if rows else table


def is_missing(value: Any) -> bool:
    """Whether a single value is None, NaN, NaT, pandas' NA or a masked element."""
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    kind = type(value).__name__
    return kind in ("NAType", "NaTType") or (kind == "Decimal" and value.is_nan())


def _unmasked(table: Any) -> NDArray:
    """Return a masked array with NaN where it is masked, whatever it hides there."""
    missing = np.ma.getmaskarray(table).ravel()
    if table.dtype.kind in "biuf":
        return _filled(np.asarray(table.data, dtype=np.float64), missing)
    values = np.asarray(table.data, dtype=object)
    return _filled(values, missing | [is_missing(value) for value in values.flat])


def _filled(values: NDArray, missing: Any) -> NDArray:
    """Return a copy with NaN at some places, which are given in one line."""
    values = values.copy()
    values[np.reshape(np.asarray(missing, dtype=bool), values.shape)] = np.nan
    return values


def _is_pandas(table: Any) -> bool:
    return hasattr(table, "to_numpy") and hasattr(table, "notna")


def _has_sparse(table: Any) -> bool:
    dtypes = np.ravel(np.array(getattr(table, "dtypes", []), object))
    return any(type(dtype).__name__ == "SparseDtype" for dtype in dtypes)


def refuse_same_names(table: Any) -> None:
    """Raise where two columns of a frame have one name."""
    # of pyarrow, `columns` are the values
    names = list(getattr(table, "column_names", getattr(table, "columns", ())))
    name, count = max(Counter(names).items(), key=itemgetter(1), default=("", 0))
    if count > 1:
        raise ValueError(
            f"X has {count} columns called {name!r}; give each a name of its own."
        )


def _columns(table: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the kind, the place in words and the values of columns that may be times.

    An array, or a series, is one column: its values share a type.
    """
    if _is_pandas(table) and table.ndim == 2:
        for j, (name, kind) in enumerate(
            zip(table.columns, _kinds(table), strict=True)
        ):
            if kind in (*TIMES, "O"):  # a column of numbers costs nothing
                yield kind, f", column {name!r},", table.iloc[:, j]
    elif hasattr(table, "get_columns"):  # polars
        for column in table.get_columns():
            yield _kind(column.dtype), f", column {column.name!r},", column
    else:
        yield from ((kind, "", table) for kind in _kinds(table)[:1])


def refuse_text(table: Any) -> None:
    """Raise where X holds text that is no number, with the column of the first."""
    for name, values in columns_of_text(table):
        for value in values:
            if isinstance(value, str) and not _is_number(value):
                first = reprlib.repr(str(value))  # numpy's own text says np.str_
                raise ValueError(
                    f"X, column {name!r}, holds text, the first {first}; only numbers "
                    "are understood here. Give NaN where a value is missing; "
                    "missfit.TableEncoder() turns text and categories into numbers: "
                    "make_pipeline(TableEncoder(), ...)."
                )


def columns_of_text(table: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the name, or the place, and the values of columns that may hold text."""
    if _is_pandas(table) and table.ndim == 2:
        every = table.items()
    elif hasattr(table, "get_columns"):  # polars
        every = ((column.name, column) for column in table.get_columns())
    else:
        every = enumerate(np.atleast_2d(np.asarray(table)).T)
    for name, values in every:
        if _may_be_text(values.dtype):  # columns of numbers cost nothing
            yield name, values


def _may_be_text(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # polars
        return not dtype.is_numeric()
    return getattr(dtype, "kind", "O") in "OSTU"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _kinds(table: Any) -> list[str]:
    """Kind letters of numpy for the columns, 'O' for what numpy does not know."""
    dtypes = getattr(table, "dtypes", getattr(table, "dtype", []))
    dtypes = dtypes if isinstance(dtypes, list) else np.ravel(np.array(dtypes, object))
    return [_kind(dtype) for dtype in dtypes]


def _kind(dtype: Any) -> str:
    """Kind letter of a type of numpy, pandas or polars, 'O' where it has none."""
    name = type(dtype).__name__
    if name == "CategoricalDtype":  # what its levels are matters if they are times
        kind = _kind(dtype.categories.dtype)
        return kind if kind in TIMES else "O"
    if hasattr(dtype, "is_temporal"):  # polars
        kind = ("m" if name == "Duration" else "M") if dtype.is_temporal() else "f"
        return "O" if name == "Object" else kind
    return getattr(dtype, "kind", "O")


def _refuse_times(kind: str, values: Any, name: str) -> None:
    """Raise where values are dates or durations, by type or among objects."""
    if kind in TIMES:
        first = next(iter(np.asarray(values).flat), "none")
    elif kind == "O":
        first = _first_time(values)
        kind = "m" if isinstance(first, _DURATIONS) else "M"
    else:
        return
    if first is not None:
        encoder = kind == "M" and name.startswith("X")
        raise TypeError(
            f"{name} holds {TIMES[kind]}, the first {first!s}; only real numbers are "
            "understood. Give them as numbers, such as days"
            + (" since some day; TableEncoder does so." if encoder else ".")
        )


def _first_time(values: Any) -> Any:
    """Return the first date or duration among objects, None without one."""
    masked = np.ma.isMaskedArray(values)
    cells = np.ma.compressed(values) if masked else np.asarray(values, dtype=object)
    times = (v for v in cells.flat if isinstance(v, (*_DATES, *_DURATIONS)))
    return next((value for value in times if not is_missing(value)), None)


def as_floats(values: Any, name: str = "X") -> NDArray[np.float64]:
    """Read numbers as float64, with NaN for every kind of missing value.

    Understands None, pandas' NA and nullable types, masked arrays; refuses what is not
    a table of real numbers.

    >>> as_floats([[1, None], [True, 2.5]]).tolist()
    [[1.0, nan], [1.0, 2.5]]
    """
    if sparse.issparse(values):
        raise TypeError(f"{name} is a sparse matrix; give {name}.toarray().")
    try:
        values = with_nan(values, name)
    except ValueError as error:  # rows of unequal length
        raise TypeError(f"{name} cannot be read as numbers ({error}).") from error
    if "c" in _kinds(values):
        raise ValueError(  # as scikit-learn does
            f"{name} holds complex numbers: Complex data not supported. Give their "
            "real and imaginary parts as numbers."
        )
    try:
        if _is_pandas(values):
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"{name} cannot be read as numbers ({error}). "
            + (
                "A target of text needs a classifier, such as AutoClassifier."
                if name == "y"
                else "Encode text and categories as numbers first, and use NaN for "
                "missing values."
            )
        ) from error


def refuse_rows(bad: NDArray[np.bool_], name: str, what: str, way_out: str) -> None:
    """Raise where an array holds what it must not, with the place of the first."""
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"{name} is {what} in {bad.any(axis=1).sum()} of {len(bad)} rows, first at "
            f"row {row}, column {column}. {way_out}"
        )


def target_values(y: Any) -> NDArray[np.float64]:
    """Return y as float64; a masked or missing target is no target."""
    values = as_floats(y, "y")
    if np.ma.isMaskedArray(y) and values.ndim:
        refuse_rows(
            np.isnan(values).reshape(len(values), -1),
            "y",
            "masked",
            "Only features may be missing: drop the rows without a target.",
        )
    return values


def is_within(table: NDArray[np.float64]) -> bool:
    """Whether the square of every value is within the range of float64."""
    ends = (np.fmin.reduce(table, axis=None), np.fmax.reduce(table, axis=None))
    return not max(-ends[0], ends[1]) > LARGEST  # also where all are NaN


def refuse_beyond(table: NDArray[np.float64], name: str) -> None:
    """Raise where a value is infinite or its square overflows float64."""
    if not is_within(table):
        refuse_rows(
            np.abs(table.reshape(len(table), -1)) > LARGEST,
            name,
            f"beyond {LARGEST:g}, or infinity, so that squares overflow float64,",
            "Rescale it first"
            + (", or use NaN where it is not known." if name == "X" else "."),
        )


def check_features(X: Any, n_features: int) -> NDArray[np.float64]:
    """Return X as float64 with the right number of features and no infinity."""
    X = as_floats(X)
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(
            f"X has shape {X.shape}; the model has {n_features} features, so it must "
            f"be (rows, {n_features})."
        )
    refuse_rows(np.isinf(X), "X", "infinite", "Use NaN for a missing value.")
    return X
