"""What is wrong with a table, and what to do about it."""

from __future__ import annotations

import contextlib
import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from missfit.tables.columns import shown
from missfit.writing import kind_of_place

MOST_GUESSED = 2_000  # names that are compared with one that is not there
MOST_LISTED = 10  # names of columns in a message


class TableError(ValueError):
    """What is wrong with a table, and what to do about it.

    Attributes
    ----------
    column : str
        The column that is meant, "" where it is the whole table.
    role : str
        What the column was asked to be: "target", "group", "drop" or "as" (some kind),
        or what else was given, "encoding" or "sheet" (its value is then ``column``), so
        that a caller can name what was given to it; "" elsewhere.
    """

    def __init__(self, message: str, *, column: str = "", role: str = ""):
        super().__init__(message)
        self.column, self.role = column, role


class NoTableError(TableError, FileNotFoundError):
    """There is no table at a place."""


class SeveralTableError(TableError):
    """Several things that are wrong with one table.

    Attributes
    ----------
    errors : list of TableError
    """

    def __init__(self, errors: Sequence[TableError]):
        lines = "".join(f"\n- {error}" for error in errors)
        super().__init__(f"{len(errors)} things are wrong with the table:{lines}")
        self.errors = list(errors)


class Problems:
    """Collects what is wrong with a table, to tell all of it at once, and notes.

    Attributes
    ----------
    errors : list of TableError
    notes : list of str
        What was decided, and is not wrong.

    Examples
    --------
    >>> problems = Problems()
    >>> problems.add(TableError("a is missing; add it."))
    >>> problems.add(TableError("b is missing; add it."))
    >>> problems.refuse()
    Traceback (most recent call last):
    missfit.tables.problems.SeveralTableError: 2 things are wrong with the table:
    - a is missing; add it.
    - b is missing; add it.
    """

    def __init__(self):
        self.errors: list[TableError] = []
        self.notes: list[str] = []

    def add(self, error: TableError) -> None:
        """Take an error, or each of several, that was not yet told."""
        for one in getattr(error, "errors", [error]):
            if str(one) not in map(str, self.errors):
                self.errors.append(one)

    def note(self, *texts: str) -> None:
        """Take what was decided, once."""
        self.notes += [text for text in texts if text not in self.notes]

    @contextlib.contextmanager
    def collected(self) -> Iterator[None]:
        """Keep an error of the block, which ends with it, and go on after the block."""
        try:
            yield
        except TableError as error:
            self.add(error)

    def refuse(self) -> None:
        """Raise what was collected, if anything was."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise SeveralTableError(self.errors)


def existing_place(path: str | Path) -> Path:
    """Return the path of a folder, or of a file that is not empty and no pipe."""
    path = Path(path)
    try:
        kind = kind_of_place(path)
    except (OSError, ValueError) as error:  # a name too long, a loop of links
        raise TableError(f"{path} cannot be opened ({as_line(error)}).") from error
    if not kind:
        raise NoTableError(f"{path} does not exist.")
    if kind not in ("a file", "a folder"):
        raise TableError(
            f"{path} is {kind}, which can be read only once; save the table in a file "
            "first, and give that."
        )
    if kind == "a file" and path.stat().st_size == 0:
        raise TableError(f"{path} is empty; give a table with a header and rows.")
    return path


def refuse_duplicates(names: Sequence[str], path: Path | str) -> None:
    """Raise where two columns of a table have one name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"{path} has more than one column named {shown(twice[0])}; give each "
            "column a name of its own."
        )


def refuse_absent(columns: Sequence, names: Sequence, where: Path | str) -> None:
    """Raise where a table lacks a column, with the name that was meant."""
    there = set(names)
    absent = next((column for column in columns if column not in there), None)
    if absent is not None:
        raise TableError(
            f"{where} has no column {shown(absent)}{instead(absent, names)}",
            column=str(absent),
        )


def instead(name: str, names: Sequence) -> str:
    """Which name was meant, or which there are, as the end of a message.

    >>> instead("age", ["Age", "sex"]), instead("y", ["Age", "sex"])
    ("; did you mean 'Age'?", '; its columns are Age, sex.')
    """
    near = _nearest(name, names)
    return (
        f"; did you mean {shown(near)}?"
        if near
        else f"; its columns are {listed(names)}."
    )


def listed(names: Sequence) -> str:
    """Return the first names of many, for a message.

    >>> listed(list("abcdefghijkl"))
    'a, b, c, d, e, f, g, h, i, j and 2 more'
    """
    more = len(names) - MOST_LISTED
    first = ", ".join(str(name)[:40] for name in names[:MOST_LISTED])
    return first + (f" and {more} more" if more > 0 else "")


def _nearest(name: str, others: Sequence) -> str | None:
    folded = {str(one).lower().strip(): str(one) for one in others[:MOST_GUESSED]}
    near = difflib.get_close_matches(name.lower().strip(), folded, n=1, cutoff=0.75)
    return folded[near[0]] if near else None


def guess(name: str, others: Sequence[str]) -> str:
    """Which name was meant, as the end of a message on a column to be predicted from.

    >>> guess("age", ["Age", "sex"])
    "; did you mean 'Age'? Rename it."
    """
    near = _nearest(name, others)
    if near:
        return f"; did you mean {shown(near)}? Rename it."
    if not others:
        return "; add it (it may be empty)."
    names = listed([shown(other) for other in others])
    return f"; add it (it may be empty). The other columns are {names}."


def as_line(error: BaseException) -> str:
    """Return what an error says, as one line of bounded length."""
    return " ".join(str(error).split())[:200]


def needs(packages: str, error: ImportError, extra: str = "table") -> ImportError:
    """Return the error of a package that is not there, with how to install it."""
    return ImportError(
        f'This takes {packages}: pip install "missfit[{extra}]" ({error}).'
    )
