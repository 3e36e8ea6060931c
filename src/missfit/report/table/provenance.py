"""The section of the report that says what it was made from, and how."""

from __future__ import annotations

from dataclasses import dataclass

from missfit.comparison import Comparison
from missfit.report.page import Html, element, facts, section
from missfit.terminal import duration


@dataclass(frozen=True)
class Provenance:
    """Where a report comes from; `missfit.workflow.provenance` gathers it.

    Attributes
    ----------
    data : str
        The name of the file, or what the table was where it came from memory.
    n_rows, n_columns : int
        The rows that have a target, and the columns to predict from.
    date : str
        When the report was made.
    seconds : float
        How long it took to compare and to find the reasons.
    command : str
        The command or the call that made it, or "".
    versions : str
        The versions of missfit and of what it computes with.
    size : int, optional
        The bytes of the file.
    checksum : str
        The first characters of the SHA-256 of the file, or "".
    """

    data: str
    n_rows: int
    n_columns: int
    date: str
    seconds: float
    command: str
    versions: str
    size: int | None = None
    checksum: str = ""


def provenance_section(comparison: Comparison, origin: Provenance) -> Html:
    """Return the file, the command and the versions behind the numbers of the page."""
    columns = [("columns", line) for line in comparison.encoder.describe()]
    return section(
        "How this was made",
        facts(
            [
                ("data", _data(origin)),
                (
                    "table",
                    f"{origin.n_rows:,} rows with a target, {origin.n_columns:,} "
                    "columns to predict from",
                ),
                *columns,
                *(("note", note) for note in comparison.notes),
                ("folds", _folds(comparison)),
                ("seed", comparison.seed),
                ("command", element("code", origin.command or "not known")),
                ("date", origin.date),
                ("time taken", duration(origin.seconds)),
                ("versions", origin.versions),
            ]
        ),
    )


def _data(origin: Provenance) -> Html | str:
    """Return the name, the size and the checksum of the file."""
    if origin.size is None:
        return origin.data
    words = f"{origin.data}, {in_bytes(origin.size)}"
    return f"{words}, SHA-256 {origin.checksum}…" if origin.checksum else words


def in_bytes(size: int) -> str:
    """Return a size in the unit that suits it.

    >>> in_bytes(912), in_bytes(1_634_027)
    ('912 bytes', '1.6 MB')
    """
    if size < 1000:
        return f"{size} bytes"
    value, units = float(size), iter(("kB", "MB", "GB", "TB"))
    unit = ""
    while value >= 999.5 and (larger := next(units, None)):
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit}" if value >= 10 else f"{value:.1f} {unit}"


def _folds(comparison: Comparison) -> str:
    if comparison.time is not None:
        return (
            f"{comparison.n_folds} parts, each predicted from all rows before it in "
            f"time: {len(comparison.tested.y):,} of {len(comparison.y):,} rows"
        )
    together = ", groups together" if comparison.groups is not None else ""
    rows = f"{len(comparison.y):,} rows{together}"
    return f"{comparison.n_folds}-fold cross-validation of {rows}"
