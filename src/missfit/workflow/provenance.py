"""Where a report comes from: the file, the moment, the versions."""

from __future__ import annotations

import hashlib
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

from missfit.comparison import Comparison
from missfit.report.table.provenance import Provenance
from missfit.versions import versions

LARGEST = 2**30  # bytes of a file to take the checksum of: about 2 seconds
SHOWN = 16  # characters of the checksum: two files that differ share them never


def provenance_of(
    data: Any, comparison: Comparison, *, command: str, seconds: float
) -> Provenance:
    """Return what a report says about its own making.

    Parameters
    ----------
    data : path or table
        The file that the table was read from, or the table itself.
    comparison : Comparison
        Its rows may be drawn from those of the table.
    command : str
        The command or call.
    seconds : float
        The time taken.
    """
    path = Path(data) if isinstance(data, (str, PathLike)) else None
    is_file = path is not None and path.is_file()
    return Provenance(
        data=path.name if path is not None else f"a {type(data).__name__} in memory",
        n_rows=comparison.drawn_from or len(comparison.y),
        n_columns=len(comparison.names),
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
