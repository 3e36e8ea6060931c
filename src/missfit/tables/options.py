"""What a user says about how a table is to be read; its rows decide the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KINDS = ("number", "category", "date", "text", "drop")


@dataclass(frozen=True)
class ReadOptions:
    """How a table is to be read, where a user says so.

    Attributes
    ----------
    na : tuple of str
        Marks that stand for a missing value, beside those that are known.
    encoding : str, optional
        The encoding of a text file; found by trial if None.
    sheet : str, optional
        The sheet of a workbook; the first one if None.
    kinds : mapping of str to str
        What some columns hold, one of `KINDS` each, whatever they look like.
    drop : tuple of str
        Columns that are left out.
    """

    na: tuple[str, ...] = ()
    encoding: str | None = None
    sheet: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
