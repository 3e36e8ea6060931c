"""CSV files: how one is written, and its bytes, unpacked and looked at for damage."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from missfit.tables.problems import TableError, as_line, refuse_duplicates

MOST_LINE = 2**20  # bytes of a line of a CSV file; a longer one is no row of a table
LINE_END = re.compile(rb"\r\n|\n|\r")
PACKED = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError)


class Dialect(NamedTuple):
    """How a CSV file is written."""

    names: list[str]
    separator: str
    decimal: str


def csv_dialect(path: Path) -> Dialect:
    """Read off the first lines of a CSV file how it is written."""
    start = _start(path)
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
    number = rf'(?m)(^|[\r{re.escape(separator)}])"?-?\d*,\d'
    decimal = "," if separator != "," and re.search(number, body) else "."
    return Dialect(names, separator, decimal)


def open_lines(path: Path) -> io.BufferedReader:
    """Return the bytes of a CSV file, unpacked, which raise where they are damaged."""
    return io.BufferedReader(_Lines(path), MOST_LINE // 4)


def not_utf8(path: Path, error: UnicodeDecodeError) -> TableError:
    """Return the error of a file in some other encoding."""
    return TableError(
        f"{path} is not UTF-8 text ({error.reason} at byte {error.start}); save it as "
        "CSV in UTF-8."
    )


def _start(path: Path) -> bytes:
    try:
        with _opened(path) as file:
            start = file.read(MOST_LINE)
    except DAMAGED as error:
        raise _damaged(path, error) from error
    if not start:
        raise TableError(f"{path} is empty.")
    return start


def _opened(path: Path) -> Any:
    unpack = PACKED.get(path.suffix.lower())
    return unpack(path, "rb") if unpack else path.open("rb", buffering=0)


def _damaged(path: Path, error: Exception) -> TableError:
    return TableError(f"{path} cannot be read ({as_line(error)}).")


def _decoded(line: bytes, path: Path) -> str:
    try:
        header = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from error
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


class _Lines(io.RawIOBase):
    """Bytes of a CSV file, refused once a line is longer than a row can be.

    The parser takes hundreds of bytes for each value of a line before it can say that
    there are too many: 100 MB of one line would fill the memory.
    """

    def __init__(self, path: Path):
        self.path, self.file = path, _opened(path)
        self.line, self.length = 1, 0  # the line that is read, and its bytes so far
        self.after_return = False  # whether the last byte was a carriage return

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # in parts shorter than a line may be, so that only their ends need a look
        part = memoryview(buffer)[: MOST_LINE // 4]
        try:
            n = self.file.readinto(part) or 0
        except DAMAGED as error:
            raise _damaged(self.path, error) from error
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
