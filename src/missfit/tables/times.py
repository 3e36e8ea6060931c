"""The time of each row: a column of dates or numbers that puts rows in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.tables.columns import pandas_column, shown
from missfit.tables.decisions import Hints, decide
from missfit.tables.options import ReadOptions
from missfit.tables.problems import TableError


def times_of(
    series: Any, name: str, path: str | Path, *, options: ReadOptions, hints: Hints
) -> NDArray[np.float64]:
    """Return the time of each row as a number, NaN where it is missing.

    Dates become days since 1970-01-01; numbers, such as years, stay what they are.

    Raises
    ------
    TableError
        Where the column holds neither dates nor numbers, or one time alone.
    """
    try:
        column = pandas_column(series, name)
        said = "number" if column.typed == "f" else options.kinds.get(name, "")
        reading = decide(column, name, said=said, marks=options.na, hints=hints).reading
    except ValueError as error:
        raise _refused(path, name, str(error)) from error
    if reading.kind not in ("date", "number"):
        what = f"it is read as {reading.kind}, not as dates or numbers."
        raise _refused(path, name, what)
    times = reading.numbers(column).values
    known = times[~np.isnan(times)]
    if np.ptp(known) == 0:
        row = int(np.argmax(~column.missing))
        raise _refused(
            path,
            name,
            f"it is {shown(str(series.iloc[row]))} wherever it is known; at least 2 "
            "times are needed, a past to learn from and what follows.",
        )
    return times


def _refused(path: str | Path, name: str, why: str) -> TableError:
    text = f"{path}: {shown(name)} cannot be the time of the rows: {why}"
    return TableError(text, column=name, role="time")
