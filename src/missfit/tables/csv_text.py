"""The text of a CSV file: unpacked, as UTF-8, and looked at for damage."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from missfit.tables.encodings import NotThisEncodingError, Recoder
from missfit.tables.packed import Unpacked
from missfit.tables.problems import TableError

MOST_LINE = 2**20  # bytes of a line of a CSV file; a longer one is no row of a table
LINE_END = re.compile(rb"\r\n|\n|\r")


def open_lines(
    path: Path, encoding: str | None = None, skip: int = 0
) -> io.BufferedReader:
    """Return a CSV file as UTF-8, which raises a `TableError` where it is damaged.

    Parameters
    ----------
    path : Path
    encoding : str, optional
        The encoding of the file; found where the first byte is not ASCII if None.
    skip : int
        Bytes of UTF-8 that are left out at the start.
    """
    return io.BufferedReader(CsvText(path, encoding, skip), MOST_LINE // 4)


class CsvText(io.RawIOBase):
    """A CSV file as UTF-8, refused once a line is longer than a row can be.

    A parser takes hundreds of bytes for each value of a line before it can say that
    there are too many: 100 MB of one line would fill the memory.

    Attributes
    ----------
    line : int
        The number of the line that is read.
    odd : bool
        Whether the quotes read so far are odd in number.
    """

    def __init__(self, path: Path, encoding: str | None, skip: int):
        self.path, self.file = path, Unpacked(path)
        self.recode, self.skip = Recoder(encoding), skip
        self.line, self.length = 1, 0  # the line that is read, and its bytes so far
        self.after_return = False  # whether the last byte was a carriage return
        self.odd, self.ended = False, False
        self.ready = b""  # bytes that are read and not yet given

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Give the next bytes."""
        while not self.ready and not self.ended:
            self.ready = self._next()
            left_out = min(self.skip, len(self.ready))
            self.ready, self.skip = self.ready[left_out:], self.skip - left_out
        n = min(len(buffer), len(self.ready))
        buffer[:n] = self.ready[:n]
        self.ready = self.ready[n:]
        return n

    def _next(self) -> bytes:
        """Read a block: shorter than a line may be, so that only its ends matter."""
        raw = self.file.read(MOST_LINE // 4)
        self.ended = not raw
        try:
            block = self.recode(raw, self.ended)
        except NotThisEncodingError as error:
            line = self.line + self._line_ends(raw[: error.start])
            raise not_this_encoding(
                self.path, self.recode.encoding, line, str(error)
            ) from error
        if b"\0" in block:
            raise binary(self.path)
        self._look_at(block)
        return block

    def _look_at(self, block: bytes) -> None:
        """Count lines and quotes; raise where a line is too long."""
        end = LINE_END.search(block)
        if self.length + (end.start() if end else len(block)) > MOST_LINE:
            raise TableError(
                f"{self.path}: line {self.line:,} is longer than {MOST_LINE:,} bytes, "
                "which is no row; give a table with one line per row."
            )
        last = max(block.rfind(b"\n"), block.rfind(b"\r"))
        self.length = len(block) - 1 - last if end else self.length + len(block)
        if b'"' in block:  # to look is faster than to count
            self.odd ^= bool(block.count(b'"') % 2)
        self.line += self._line_ends(block)
        self.after_return = block.endswith(b"\r") or (self.after_return and not block)

    def _line_ends(self, block: bytes) -> int:
        """Count the line ends; one may begin in a block and end in the next."""
        split = self.after_return and block.startswith(b"\n")
        returns = 0
        if b"\r" in block:
            returns = block.count(b"\r") - block.count(b"\r\n")
        return block.count(b"\n") + returns - split

    def close(self) -> None:
        """Close the file."""
        self.file.close()
        super().close()


def binary(path: Path) -> TableError:
    """Return the error of a file that is no text."""
    return TableError(
        f"{path} holds binary data, not text; save the table as CSV, Parquet or .xlsx "
        "under a name that ends so."
    )


def not_this_encoding(
    path: Path, encoding: str | None, line: int, why: str
) -> TableError:
    """Return the error of a file in some other encoding."""
    return TableError(
        f"{path}: line {line:,} is not text in {encoding} ({why}); save the table as "
        "CSV in UTF-8, or give the encoding that it has, such as cp1252.",
        column=str(encoding),
        role="",
    )
