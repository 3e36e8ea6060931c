"""The rows of a CSV file: as frames, or as numbers alone, which Arrow reads faster.

Both read the same values the same way: Arrow is given the separator, the decimal point
and the words for a missing value that pandas is given. Where Arrow refuses (booleans,
short lines, line breaks within quotes), pandas goes on from the first row that is not
yet read, and says what is wrong if it is wrong.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.tables.csv_text import Dialect, csv_dialect, not_utf8, open_lines
from missfit.tables.marks import EVERYWHERE as MISSING
from missfit.tables.numeric_chunks import NumericChunks
from missfit.tables.problems import TableError, as_line, needs, refuse_absent


def csv_chunks(
    path: Path, columns: list[str], text: Sequence[str], rows: int | None
) -> Iterator[Any]:
    """Yield DataFrames of some columns, of at most so many rows (None: all)."""
    pd = _pandas()
    dialect = csv_dialect(path)
    refuse_absent(columns, dialect.names, path)
    try:
        with open_lines(path) as lines, warnings.catch_warnings():
            # a line that is longer than the header loses values
            warnings.simplefilter("error", pd.errors.ParserWarning)
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            frames = _frames(lines, dialect, set(columns), text, rows)
            if rows is None:
                yield from [_in_order(frames, columns)] if len(frames) else []
                return
            with frames:
                for frame in frames:
                    if len(frame):
                        yield _in_order(frame, columns)
    except TableError:
        raise
    except pd.errors.EmptyDataError as error:
        raise TableError(f"{path} is empty.") from error
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from error
    except (ValueError, OverflowError, pd.errors.ParserWarning) as error:
        problem = as_line(error).split("C error: ")[-1]
        raise TableError(
            f"{path} cannot be read as CSV ({problem}); mend that line, or quote "
            f"values that hold {dialect.separator!r}."
        ) from error


def csv_numbers(
    path: Path, columns: list[str], doubles: int
) -> Iterator[NDArray[np.float64]]:
    """Yield some columns as arrays of about so many numbers, NaN where missing."""
    dialect = csv_dialect(path)
    refuse_absent(columns, dialect.names, path)
    done = 0
    try:
        for values in _arrow_numbers(path, dialect, columns, doubles):
            yield values
            done += len(values)
    except (ImportError, ValueError, OSError, NotImplementedError):
        # Arrow's errors are of the last three types; what it does not read, pandas
        # reads, or refuses with the column and the row
        yield from _numbers_after(path, columns, done, max(1, doubles // len(columns)))


def _numbers_after(
    path: Path, columns: list[str], done: int, rows: int
) -> Iterator[NDArray[np.float64]]:
    """Yield the rows after those that are done, read as the first rows are."""
    first = next(csv_chunks(path, columns, (), rows), None)
    if first is None:
        return
    numbers = NumericChunks(first, path, csv_dialect(path).decimal)
    start = 0
    for frame in csv_chunks(path, columns, numbers.reading.text_columns, rows):
        rest = frame.iloc[max(0, done - start) :]
        start += len(frame)
        if len(rest):
            yield numbers.of(rest, start - len(rest))


def _arrow_numbers(
    path: Path, dialect: Dialect, columns: list[str], doubles: int
) -> Iterator[NDArray[np.float64]]:
    from pyarrow import csv

    reading = csv.ReadOptions(
        column_names=dialect.names, skip_rows=1, block_size=8 * doubles
    )
    # a type given beforehand: the first block may hold nothing but gaps
    converting = csv.ConvertOptions(
        include_columns=columns,
        column_types=dict.fromkeys(columns, "float64"),
        decimal_point=dialect.decimal,
        null_values=MISSING,
    )
    parsing = csv.ParseOptions(delimiter=dialect.separator)
    with (
        open_lines(path) as lines,
        csv.open_csv(lines, reading, parsing, converting) as batches,
    ):
        for batch in batches:
            values = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
            yield np.column_stack(values)


def _in_order(frame: Any, columns: list[str]) -> Any:
    """Return the columns as asked for; each of them costs pandas some time."""
    return frame if frame.columns.tolist() == columns else frame[columns]


def _frames(lines, dialect: Dialect, columns: set[str], text, rows: int | None) -> Any:
    read: Any = _pandas().read_csv
    kept = [name for name in dialect.names if name in columns]
    return read(
        lines,
        sep=dialect.separator,
        decimal=dialect.decimal,
        header=0,
        names=dialect.names,
        index_col=False,
        usecols=None if len(kept) == len(dialect.names) else kept,
        dtype={name: str for name in text if name in columns},
        keep_default_na=False,
        na_values=MISSING,
        encoding="utf-8-sig",
        chunksize=rows,
        low_memory=False,
    )


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise needs("pandas", error) from error
    return pandas
