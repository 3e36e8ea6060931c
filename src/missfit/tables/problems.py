"""What is wrong with a table, and what to do about it."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from missfit.tables.columns import shown
from missfit.writing import kind_of_place

MOST_GUESSED = 2_000  # names that are compared with one that is not there


class TableError(ValueError):
    """What is wrong with a table, and what to do about it."""


def existing_file(path: str | Path) -> Path:
    """Return the path of a file that can be read more than once, and is not empty."""
    path = Path(path)
    try:
        kind = kind_of_place(path)
    except (OSError, ValueError) as error:  # a name too long, a loop of links
        raise TableError(f"{path} cannot be opened ({as_line(error)}).") from error
    if not kind:
        raise TableError(f"{path} does not exist.")
    if kind == "a folder":
        raise TableError(f"{path} is a folder; give a file.")
    if kind != "a file":
        raise TableError(
            f"{path} is {kind}, which can be read only once; save the table in a file "
            "first, and give that."
        )
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty.")
    return path


def refuse_duplicates(names: Sequence[str], path: Path) -> None:
    """Raise where two columns of a table have one name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"{path} has more than one column named {shown(twice[0])}; give each "
            "column a name of its own."
        )


def refuse_absent(columns: Sequence[str], names: Sequence[str], path: Path) -> None:
    """Raise where a table lacks a column, with the name that was meant."""
    there = set(names)
    absent = next((column for column in columns if column not in there), None)
    if absent is not None:
        asked = set(columns)
        others = [name for name in names if name not in asked]
        raise TableError(f"{path} has no column {shown(absent)}{guess(absent, others)}")


def guess(name: str, others: Sequence[str]) -> str:
    """Which name was meant, as the end of a message.

    >>> guess("age", ["Age", "sex"])
    "; did you mean 'Age'? Rename it."
    """
    folded = {other.lower().strip(): other for other in others[:MOST_GUESSED]}
    near = difflib.get_close_matches(name.lower().strip(), folded, n=1, cutoff=0.75)
    if near:
        return f"; did you mean {shown(folded[near[0]])}? Rename it."
    listed = ", ".join(map(shown, others[:8])) or "no others"
    more = f" and {len(others) - 8} more" if len(others) > 8 else ""
    return f"; add it (it may be empty). The other columns are {listed}{more}."


def as_line(error: BaseException) -> str:
    """Return what an error says, as one line of bounded length."""
    return " ".join(str(error).split())[:200]
