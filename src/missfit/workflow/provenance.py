"""Where a report comes from: the file, the moment, the versions."""

from __future__ import annotations

import hashlib
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

from missfit.report.table.provenance import Provenance
from missfit.tables.training import TrainingTable
from missfit.versions import versions

LARGEST = 2**30  # bytes of a file to take the checksum of: about 2 seconds
SHOWN = 16  # characters of the checksum: two files that differ share them never


def provenance_of(
    data: Any, table: TrainingTable, *, command: str, seconds: float
) -> Provenance:
    """Return what a report says about its own making.

    Parameters
    ----------
    data : path or table
        The file that the table was read from, or the table itself.
    table : TrainingTable
        The table as it was read.
    command : str
        The command or call.
    seconds : float
        The time taken.
    """
    path = Path(data) if isinstance(data, (str, PathLike)) else None
    is_file = path is not None and path.is_file()
    return Provenance(
        data=path.name if path is not None else f"a {type(data).__name__} in memory",
        n_rows=len(table.y),
        n_columns=table.X.shape[1],
        date=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z").strip(),
        seconds=seconds,
        command=command,
        versions=versions(),
        size=path.stat().st_size if path is not None and is_file else None,
        checksum=checksum(path) if path is not None and is_file else "",
    )


def checksum(path: Path) -> str:
    """Return the start of the SHA-256 of a file, or "" where the file is huge."""
    if path.stat().st_size > LARGEST:
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:SHOWN]
