"""CSV files: how one is written, and its rows in chunks."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from missfit.tables.problems import (
    TableError,
    as_line,
    refuse_absent,
    refuse_duplicates,
)

MOST_LINE = 2**20  # bytes of a line of a CSV file; a longer one is no row of a table
LINE_END = re.compile(rb"\r\n|\n|\r")


class Dialect(NamedTuple):
    """How a CSV file is written."""

    names: list[str]
    separator: str
    decimal: str


def csv_dialect(path: Path) -> Dialect:
    """Read off the first lines of a CSV file how it is written."""
    with path.open("rb") as file:
        start = file.read(MOST_LINE)
    end = LINE_END.search(start)
    if end is None and len(start) == MOST_LINE:
        raise TableError(
            f"{path}: the first line is longer than {MOST_LINE:,} bytes, which is no "
            "header; give a table with one line per row."
        )
    first, rest = (start[: end.start()], start[end.end() :]) if end else (start, b"")
    header = _decoded(first, path)
    separator = max(",;\t|", key=header.count)
    separator = separator if separator in header else ","
    names = _names(header, separator, path)
    body = rest.decode("utf-8", errors="ignore")
    number = rf"(?m)(^|[\r{re.escape(separator)}])-?\d+,\d"
    decimal = "," if separator != "," and re.search(number, body) else "."
    return Dialect(names, separator, decimal)


def _decoded(line: bytes, path: Path) -> str:
    try:
        header = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error) from error
    if "\0" in header:
        raise TableError(f"{path} holds binary data, not CSV text.")
    if header.count('"') % 2:
        raise TableError(f"{path}: a column name holds a line break; rename it.")
    return header


def _names(header: str, separator: str, path: Path) -> list[str]:
    try:
        names = next(csv.reader([header], delimiter=separator), [])
    except csv.Error as error:
        raise TableError(
            f"{path}: the first line cannot be read as column names ({error})."
        ) from error
    if not any(name.strip() for name in names):
        raise TableError(f"{path}: the first line holds no column names.")
    names = [name or f"Unnamed: {j}" for j, name in enumerate(names)]
    refuse_duplicates(names, path)
    return names


def _not_utf8(path: Path, error: UnicodeDecodeError) -> TableError:
    return TableError(
        f"{path} is not UTF-8 text ({error.reason} at byte {error.start}); save it as "
        "CSV in UTF-8."
    )


class _Lines(io.RawIOBase):
    """Bytes of a CSV file, refused once a line is longer than a row can be.

    The parser takes hundreds of bytes for each value of a line before it can say that
    there are too many: 100 MB of one line would fill the memory.
    """

    def __init__(self, path: Path):
        self.path, self.file = path, path.open("rb", buffering=0)
        self.line, self.length = 1, 0  # the line that is read, and its bytes so far
        self.after_return = False  # whether the last byte was a carriage return

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # in parts shorter than a line may be, so that only their ends need a look
        part = memoryview(buffer)[: MOST_LINE // 4]
        n = self.file.readinto(part) or 0
        block = bytes(part[:n])
        if b"\0" in block:
            raise TableError(f"{self.path} holds binary data, not CSV text.")
        end = LINE_END.search(block)
        if self.length + (end.start() if end else n) > MOST_LINE:
            raise TableError(
                f"{self.path}: line {self.line:,} is longer than {MOST_LINE:,} bytes, "
                "which is no row; give a table with one line per row."
            )
        last = max(block.rfind(b"\n"), block.rfind(b"\r"))
        self.length = n - 1 - last if end else self.length + n
        self.line += self._count(block)
        return n

    def _count(self, block: bytes) -> int:
        """Count the line ends; one may begin in a block and end in the next."""
        split = self.after_return and block.startswith(b"\n")
        self.after_return = block.endswith(b"\r") or (self.after_return and not block)
        returns = block.count(b"\r")
        pairs = block.count(b"\r\n") if returns else 0
        return block.count(b"\n") + returns - pairs - split

    def close(self) -> None:
        self.file.close()
        super().close()


def csv_chunks(
    path: Path, columns: list[str], text: Sequence[str], rows: int | None
) -> Iterator[Any]:
    """Yield DataFrames of some columns, of at most so many rows (None: all)."""
    import pandas as pd

    dialect = csv_dialect(path)
    refuse_absent(columns, dialect.names, path)
    try:
        with (
            io.BufferedReader(_Lines(path), MOST_LINE // 4) as lines,
            warnings.catch_warnings(),
        ):
            # a line that is longer than the header loses values
            warnings.simplefilter("error", pd.errors.ParserWarning)
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            frames = _read(lines, dialect, set(columns), text, rows)
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
        raise _not_utf8(path, error) from error
    except (ValueError, OverflowError, pd.errors.ParserWarning) as error:
        problem = as_line(error).split("C error: ")[-1]
        raise TableError(
            f"{path} cannot be read as CSV ({problem}); mend that line, or quote "
            f"values that hold {dialect.separator!r}."
        ) from error


def _in_order(frame: Any, columns: list[str]) -> Any:
    """Return the columns as asked for; each of them costs pandas some time."""
    return frame if frame.columns.tolist() == columns else frame[columns]


def _read(lines, dialect: Dialect, columns: set[str], text, rows: int | None) -> Any:
    import pandas as pd

    read: Any = pd.read_csv
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
        encoding="utf-8-sig",
        chunksize=rows,
        low_memory=False,
    )
