"""Files as they lie on the disk, unpacked where they are packed, and damage told."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from missfit.tables.problems import TableError, as_line, listed

DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
DAMAGED += (NotImplementedError, RuntimeError)  # of zipfile: a method, a password
TEXT = (".csv", ".tsv", ".txt")
OPEN = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
PACKED = (*OPEN, ".zip")
# A table of numbers is packed to a third or a tenth, one of 98 % zeros to a 44th;
# what unpacks to more than this, beyond the first bytes, was made to fill the memory.
MOST_RATIO, FREE_BYTES = 100, 2**24
# how files begin that are no text, and what they are
BEGINNINGS = {
    b"PK\x03\x04": ("a zip archive or an Excel workbook", ".zip or .xlsx"),
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook", ".xls"),
    b"\x1f\x8b": ("packed by gzip", ".csv.gz"),
    b"BZh": ("packed by bzip2", ".csv.bz2"),
    b"\xfd7zXZ": ("packed by xz", ".csv.xz"),
    b"PAR1": ("a Parquet file", ".parquet"),
    b"ARROW1": ("a Feather file", ".feather"),
}


class Unpacked(io.RawIOBase):
    """The bytes of a text file, unpacked; what is wrong with them is a `TableError`."""

    def __init__(self, path: Path):
        self.path, self.closing, self.n_bytes = path, contextlib.ExitStack(), 0
        self.room: float = float("inf")
        with _damage_told(path):
            self.file = self._opened()

    def _opened(self) -> Any:
        suffix, size = self.path.suffix.lower(), self.path.stat().st_size
        if suffix not in PACKED:
            return self.closing.enter_context(self.path.open("rb", buffering=0))
        if suffix == ".zip":
            archive = self.closing.enter_context(zipfile.ZipFile(self.path))
            file = archive.open(the_table(archive, self.path))
        else:
            file = OPEN[suffix](self.path, "rb")
        self.room = max(FREE_BYTES, MOST_RATIO * size)
        return self.closing.enter_context(file)

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, fewer than asked for only at the end."""
        with _damage_told(self.path):
            block = self.file.read(size)
        self.n_bytes += len(block)
        if self.n_bytes > self.room:
            raise TableError(
                f"{self.path} unpacks to more than {MOST_RATIO} times its size, as a "
                "file does that is made to fill the memory; if it is a table, unpack "
                "it first and give the unpacked file."
            )
        return block

    def close(self) -> None:
        """Close the file and the archive around it."""
        self.closing.close()
        super().close()


def text_suffix(path: Path) -> str:
    """Return the end of the name of a text file without that of its packing, or "".

    >>> [text_suffix(Path(name)) for name in ("a.tsv.gz", "a.zip", "a")]
    ['.tsv', '.csv', '']
    """
    suffix = path.suffix.lower()
    if suffix in PACKED:
        inner = path.with_suffix("").suffix.lower()
        return inner if inner in TEXT else (".csv" if suffix == ".zip" else "")
    return suffix if suffix in TEXT else ""


def refuse_other_formats(path: Path, start: bytes) -> None:
    """Raise where the first bytes of a text file are those of another format."""
    for beginning, (what, suffix) in BEGINNINGS.items():
        if start.startswith(beginning):
            raise TableError(
                f"{path} is not text but {what}, by its first bytes; rename it to end "
                f"in {suffix}."
            )


def the_table(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    """Return the one table in an archive."""
    members = [one for one in archive.infolist() if not one.is_dir()]
    hidden = ("__MACOSX", ".")
    members = [one for one in members if not one.filename.startswith(hidden)]
    tables = [
        one for one in members if PurePosixPath(one.filename).suffix.lower() in TEXT
    ]
    found = tables or (members if len(members) == 1 else [])
    if len(found) != 1:
        names = listed([one.filename for one in members]) or "nothing"
        what = f"{len(tables)} tables" if tables else f"no {', '.join(TEXT)} file"
        raise TableError(
            f"{path} holds {what}; give an archive with one table in it, or unpack it "
            f"and give one file. It holds {names}."
        )
    return found[0]


@contextlib.contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    try:
        yield
    except TableError:
        raise
    except DAMAGED as error:
        raise TableError(
            f"{path} cannot be read ({as_line(error)}); save or copy it again."
        ) from error
