"""What a user says about how a table is to be read; its rows decide the rest."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from missfit.tables.columns import shown
from missfit.tables.problems import TableError

KINDS = ("number", "category", "date", "text", "drop")
TASKS = ("number", "class")


@dataclass(frozen=True, repr=False)
class ReadOptions:
    """How a table is to be read, where a user says so.

    Attributes
    ----------
    na : tuple of str
        Marks that stand for a missing value, beside those that are known.
    encoding : str, optional
        The encoding of a text file; found by trial if None.
    sheet : str, optional
        The sheet of a workbook; the first one with a table if None.
    kinds : mapping of str to str
        What some columns hold, one of `KINDS` each, whatever they look like.
    drop : tuple of str
        Columns that are left out, one by one or several as "a,b".
    task : str, optional
        What the target is: a "number" or a "class". If None, text, truth values and
        few whole numbers are classes.

    Examples
    --------
    >>> options = ReadOptions(kinds={"zip": "category", "note": "drop"}, drop=["id"])
    >>> options.categorical, options.left_out
    (('zip',), ('id', 'note'))
    >>> options
    ReadOptions(kinds={'zip': 'category', 'note': 'drop'}, drop=('id',))
    """

    na: tuple[str, ...] = ()
    encoding: str | None = None
    sheet: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    task: str | None = None

    def __post_init__(self) -> None:
        for name in ("na", "drop"):
            object.__setattr__(self, name, _texts(getattr(self, name), name))
        object.__setattr__(self, "kinds", dict(self.kinds))
        _check_encoding(self.encoding)
        _check_task(self.task)
        for column, kind in self.kinds.items():
            _check_kind(column, kind, self.drop)

    def __repr__(self) -> str:
        """Show what was said, not what was left to the rows, as code that runs."""
        said = ((one.name, getattr(self, one.name)) for one in fields(self))
        given = ", ".join(f"{name}={value!r}" for name, value in said if value)
        return f"ReadOptions({given})"

    def resolved(self, names: Sequence[str]) -> ReadOptions:
        """Return the options with lists of columns, as "a,b", taken apart.

        A column whose own name holds a comma is meant where its whole name is given.

        >>> ReadOptions(drop=["a,b", "c,d"]).resolved(["a", "b", "c,d"]).drop
        ('a', 'b', 'c,d')
        """
        there = set(names)
        drop: list[str] = []
        for name in self.drop:
            drop += [name] if name in there else map(str.strip, name.split(","))
        return replace(self, drop=tuple(dict.fromkeys(drop)))

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are left out, in whichever way that was said."""
        said = (name for name, kind in self.kinds.items() if kind == "drop")
        return (*self.drop, *said)

    @property
    def categorical(self) -> tuple[str, ...]:
        """Columns whose values are categories, whatever they look like."""
        return tuple(name for name, kind in self.kinds.items() if kind == "category")


def _texts(values, name: str) -> tuple[str, ...]:
    """Return texts as a tuple: one string would be read as its letters."""
    if isinstance(values, str):
        raise TypeError(f"{name}={values!r} is one string; give a list, [{values!r}].")
    return tuple(values)


def _check_encoding(encoding: str | None) -> None:
    if encoding is None:
        return
    try:
        if codecs.lookup(encoding)._is_text_encoding:
            return
    except (LookupError, ValueError):
        pass
    raise TableError(
        f"{shown(encoding)} is no encoding of text that is known; give one such as "
        "utf-8, utf-16, cp1252 or latin-1.",
        column=encoding,
        role="encoding",
    )


def _check_task(task: str | None) -> None:
    if task is not None and task not in TASKS:
        raise TableError(
            f"{shown(task)} is no task; choose one of {' and '.join(TASKS)}.",
            column=task,
            role="task",
        )


def _check_kind(column: str, kind: str, drop: tuple[str, ...]) -> None:
    if kind not in KINDS:
        raise TableError(
            f"column {shown(column)} cannot be read as {shown(kind)}; choose one of "
            f"{', '.join(KINDS)}.",
            column=column,
            role="as",
        )
    if column in drop and kind != "drop":
        raise TableError(
            f"column {shown(column)} is to be left out and to be read as {kind}; say "
            "one of the two.",
            column=column,
            role="drop",
        )
