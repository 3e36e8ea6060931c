"""Records that outlive a kill: JSON lines, appended to part files and synced.

Each run appends to a part file of its own. The folder may hold any number of them, from
any number of runs. A line that was torn by a kill or a full disk is not read.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from missfit.writing import sync_folder

Record = dict[str, Any]


class PartFile:
    """The part file that one run appends to; it is made at the first record."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.path: Path | None = None

    def append(self, records: Iterable[Record]) -> None:
        """Append records, and return when they are on the disk."""
        text = "".join(json.dumps(record) + "\n" for record in records)
        try:
            if self.path is None:
                self.path = self._new_file()
            with self.path.open("ab", buffering=0) as file:
                left = memoryview(text.encode())
                while left:
                    left = left[file.write(left) :]
                os.fsync(file.fileno())
        except OSError as error:
            raise OSError(
                error.errno,
                f"{error.strerror or error}; what was finished before is safe in "
                f"{self.folder}. Make room and give the same command again to go on",
                str(self.path or self.folder),
            ) from error

    def _new_file(self) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        path = self.folder / f"part-{stamp}-{secrets.token_hex(4)}.jsonl"
        path.touch(exist_ok=False)
        sync_folder(self.folder)
        return path


def whole_records(data: bytes) -> Iterator[Record]:
    r"""Yield the records of a part file, without lines that are torn or damaged.

    >>> list(whole_records(b'{"key": 1}\n[2]\n{"key": 3}'))
    [{'key': 1}]
    """
    for line in data.split(b"\n")[:-1]:  # the last has no end: torn
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record
