"""Tables in files: CSV, Parquet and Feather, whole or in chunks, and what is wrong.

Everything that a user can mend raises `TableError`, one line that says how.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
import warnings
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.columns import kind_of, numbers_of, pandas_column

CHUNK = 50_000  # rows
MOST_LINE = 2**20  # bytes of a line of a CSV file; a longer one is no row of a table
FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
}


class TableError(ValueError):
    """What is wrong with a table, and what to do about it."""


class Dialect(NamedTuple):
    """How a CSV file is written."""

    names: list[str]
    separator: str
    decimal: str


def column_names(path: str | Path) -> list[str]:
    """Return the names of a table's columns, without reading its rows."""
    path = _existing(path)
    kind = _format(path)
    if kind == "csv":
        return csv_dialect(path).names
    names = list(_arrow_reader(path, kind).names)
    _refuse_duplicates(names, path)
    return names


def read_table(path: str | Path, *, text: Sequence[str] = ()) -> Any:
    """Return a table as a pandas DataFrame.

    Parameters
    ----------
    path : str or Path
        CSV (any of , ; tab | between values, with or without a BOM), Parquet or
        Feather, by the end of its name.
    text : sequence of str
        Columns of a CSV file to read as text, whatever they look like.
    """
    import pandas as pd

    names = column_names(path)
    chunks = list(read_chunks(path, names, text=text, rows=None))
    if not chunks:
        raise TableError(f"{path} has a header and no rows; add rows.")
    return chunks[0] if len(chunks) == 1 else pd.concat(chunks, ignore_index=True)


def read_chunks(
    path: str | Path,
    columns: Sequence[str],
    *,
    text: Sequence[str] = (),
    rows: int | None = CHUNK,
) -> Generator[Any]:
    """Yield some columns of a table in DataFrames of at most so many rows, in order."""
    path = _existing(path)
    kind = _format(path)
    if kind == "csv":
        yield from _csv_chunks(path, list(columns), text, rows)
    else:
        yield from _arrow_reader(path, kind).chunks(list(columns), rows)


def _existing(path: str | Path) -> Path:
    path = Path(path)
    if path.is_dir():
        raise TableError(f"{path} is a folder; give a file.")
    if not path.exists():
        raise TableError(f"{path} does not exist.")
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty.")
    return path


def _format(path: Path) -> str:
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise TableError(
            f"{path}: the end of the name says no known format; rename it to one of "
            f"{', '.join(FORMATS)}."
        )
    return kind


def csv_dialect(path: Path) -> Dialect:
    """Read off the first lines of a CSV file how it is written."""
    with path.open("rb") as file:
        start = file.read(MOST_LINE)
    first, newline, rest = start.partition(b"\n")
    if not newline and len(start) == MOST_LINE:
        raise TableError(
            f"{path}: the first line is longer than {MOST_LINE:,} bytes, which is no "
            "header; give a table with one line per row."
        )
    try:
        header = first.decode("utf-8-sig").rstrip("\r")
        body = rest.decode("utf-8", errors="ignore")
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path} is not UTF-8 text ({error.reason} at byte {error.start}); save it "
            "as CSV in UTF-8."
        ) from error
    if "\0" in header:
        raise TableError(f"{path} holds binary data, not CSV text.")
    if header.count('"') % 2:
        raise TableError(f"{path}: a column name holds a line break; rename it.")
    separator = max(",;\t|", key=header.count)
    separator = separator if separator in header else ","
    names = next(csv.reader([header], delimiter=separator), [])
    if not any(name.strip() for name in names):
        raise TableError(f"{path}: the first line holds no column names.")
    names = [name or f"Unnamed: {j}" for j, name in enumerate(names)]
    _refuse_duplicates(names, path)
    decimal = "."
    if separator != "," and re.search(rf"(?m)(^|{re.escape(separator)})-?\d+,\d", body):
        decimal = ","
    return Dialect(names, separator, decimal)


def _refuse_duplicates(names: Sequence[str], path: Path) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"{path} has more than one column named {twice[0]!r}; give each column a "
            "name of its own."
        )


class _Lines(io.RawIOBase):
    """Bytes of a CSV file, refused once a line is longer than a row can be.

    The parser takes hundreds of bytes for each value of a line before it can say that
    there are too many: 100 MB of one line would fill the memory.
    """

    def __init__(self, path: Path):
        self.path, self.file = path, path.open("rb", buffering=0)
        self.line, self.length = 1, 0  # the line that is read, and its bytes so far

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # in parts shorter than a line may be, so that only their ends need a look
        part = memoryview(buffer)[: MOST_LINE // 4]
        n = self.file.readinto(part) or 0
        block = bytes(part[:n])
        end = block.find(b"\n")
        if self.length + (n if end < 0 else end) > MOST_LINE:
            raise TableError(
                f"{self.path}: line {self.line:,} is longer than {MOST_LINE:,} bytes, "
                "which is no row; give a table with one line per row."
            )
        self.line += block.count(b"\n")
        self.length = self.length + n if end < 0 else n - 1 - block.rfind(b"\n")
        return n

    def close(self) -> None:
        self.file.close()
        super().close()


def _csv_chunks(path: Path, columns: list[str], text, rows) -> Iterator[Any]:
    import pandas as pd

    dialect = csv_dialect(path)
    _refuse_absent(columns, dialect.names, path)
    read: Any = pd.read_csv
    kept = sorted(columns, key=dialect.names.index)
    try:
        with (
            io.BufferedReader(_Lines(path), MOST_LINE // 4) as lines,
            warnings.catch_warnings(),
        ):
            # a line that is longer than the header loses values
            warnings.simplefilter("error", pd.errors.ParserWarning)
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            frames = read(
                lines,
                sep=dialect.separator,
                decimal=dialect.decimal,
                header=0,
                names=dialect.names,
                index_col=False,
                usecols=None if len(kept) == len(dialect.names) else kept,
                dtype={name: str for name in text if name in kept},
                encoding="utf-8-sig",
                chunksize=rows,
                low_memory=False,
            )
            if rows is None:
                yield from [frames[columns]] if len(frames) else []
                return
            with frames:
                for frame in frames:
                    if len(frame):
                        yield frame[columns]
    except pd.errors.EmptyDataError as error:
        raise TableError(f"{path} is empty.") from error
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path} is not UTF-8 text ({error.reason} at byte {error.start}); save it "
            "as CSV in UTF-8."
        ) from error
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        text_of = str(error).split("C error: ")[-1].strip()
        raise TableError(
            f"{path} cannot be read as CSV ({text_of}); mend that line, or quote "
            f"values that hold {dialect.separator!r}."
        ) from error


@dataclass(frozen=True)
class _ArrowReader:
    """Batches of a Parquet or Feather file."""

    names: list[str]
    path: Path
    file: Any
    is_parquet: bool

    def chunks(self, columns: list[str], rows: int | None) -> Iterator[Any]:
        """Yield DataFrames of these columns."""
        import pyarrow as pa

        _refuse_duplicates(self.names, self.path)
        _refuse_absent(columns, self.names, self.path)
        try:
            if self.is_parquet:
                size = max(1, rows or self.file.metadata.num_rows)
                batches = self.file.iter_batches(batch_size=size, columns=columns)
            else:
                count = self.file.num_record_batches
                batches = (self.file.get_batch(i) for i in range(count))
            for batch in batches:
                batch = batch.select(columns)
                step = max(1, rows or len(batch))
                for start in range(0, len(batch), step):
                    yield batch.slice(start, step).to_pandas()
        except (pa.ArrowException, OSError) as error:
            raise TableError(f"{self.path} cannot be read ({_line(error)}).") from error


def _arrow_reader(path: Path, kind: str) -> _ArrowReader:
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            'Parquet and Feather files need pyarrow: pip install "missfit[table]"'
        ) from error
    try:
        if kind == "parquet":
            file: Any = pyarrow.parquet.ParquetFile(path)
            return _ArrowReader(file.schema_arrow.names, path, file, True)
        file = pa.ipc.open_file(pa.memory_map(str(path)))
        return _ArrowReader(file.schema.names, path, file, False)
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"{path} is not a whole {kind.capitalize()} file ({_line(error)})."
        ) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _refuse_absent(columns: Sequence[str], names: Sequence[str], path: Path) -> None:
    for column in columns:
        if column not in names:
            others = [name for name in names if name not in columns]
            raise TableError(f"{path} has no column {column!r}{guess(column, others)}")


def guess(name: str, others: Sequence[str]) -> str:
    """Which name was meant, as the end of a message.

    >>> guess("age", ["Age", "sex"])
    "; did you mean 'Age'? Rename it."
    """
    folded = {other.lower().strip(): other for other in others}
    near = difflib.get_close_matches(name.lower().strip(), folded, n=1, cutoff=0.75)
    if near:
        return f"; did you mean {folded[near[0]]!r}? Rename it."
    shown = ", ".join(map(repr, others[:8])) or "no others"
    more = f" and {len(others) - 8} more" if len(others) > 8 else ""
    return f"; add it (it may be empty). The other columns are {shown}{more}."


@dataclass(frozen=True)
class TrainingTable:
    """Rows to learn from: features, target, groups, and notes on what was done."""

    X: Any  # pandas DataFrame
    y: NDArray[np.float64]
    target: str
    groups: NDArray | None
    notes: list[str]


def read_training(
    path: str | Path,
    target: str,
    *,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    group: str | None = None,
    least_rows: int = 20,
) -> TrainingTable:
    """Read a table to learn from, without the rows that have no target.

    Parameters
    ----------
    path : str or Path
    target : str
        The column to predict: numbers.
    drop, categorical : sequence of str
        Columns to leave out, and to take as categories whatever they look like.
    group : str, optional
        Column of the groups that stay together in cross-validation; no feature.
    least_rows : int
        Rows with a target to ask for.
    """
    names = column_names(path)
    for role, columns in (
        ("--target", [target]),
        ("--drop", drop),
        ("--categorical", categorical),
        ("--group", [group] if group else []),
    ):
        for column in columns:
            if column not in names:
                raise TableError(
                    f"{role} {column!r}: {path} has no such column"
                    f"{guess(column, names).split('; add it')[0]}"
                )
    out = {target, group, *drop}
    features = [name for name in names if name not in out]
    if not features:
        raise TableError(
            f"{path} has no column beside the target {target!r} to predict from."
        )
    frame = read_table(path, text=categorical)
    y = _target(frame[target], target, path)
    known = ~np.isnan(y)
    notes = []
    if not known.all():
        notes.append(f"{(~known).sum():,} rows without a target left out")
    if known.sum() < least_rows:
        raise TableError(
            f"{path} has {known.sum()} rows with a target; at least {least_rows} are "
            "needed."
        )
    frame, y = frame[known].reset_index(drop=True), y[known]
    if np.ptp(y) == 0:
        raise TableError(
            f"the target {target!r} is {y[0]:g} in every row; there is nothing to "
            "learn."
        )
    groups = None
    if group:
        groups = _groups(frame[group], group, path)
    return TrainingTable(frame[features], y, target, groups, notes)


def _target(series: Any, name: str, path: str | Path) -> NDArray[np.float64]:
    """Return the target as numbers, NaN where missing."""
    try:
        column = pandas_column(series, name)
        kind = kind_of(column, name, forced=False)
        if kind in ("number", "boolean"):
            return numbers_of(column, name, kind)
    except ValueError as error:
        raise TableError(f"the target cannot be used: {error}") from error
    if kind == "empty":
        raise TableError(f"the target {name!r} is missing in every row of {path}.")
    what = {"category": "text", "date": "dates"}[kind]
    first = str(series.dropna().iloc[0])[:40]
    raise TableError(
        f"the target {name!r} holds {what}, such as {first!r}; missfit predicts "
        "numbers. Encode it as numbers, or choose another target."
    )


def _groups(series: Any, name: str, path: str | Path) -> NDArray:
    if series.isna().any():
        raise TableError(
            f"--group {name!r} is missing in {series.isna().sum()} rows of {path}; "
            "give each row a group."
        )
    groups = series.astype(str).to_numpy()
    if len(np.unique(groups)) < 2:
        raise TableError(f"--group {name!r} holds one group; at least 2 are needed.")
    return groups
