"""A suspicion: what is odd about a table, the evidence, and what answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from missfit.tables.columns import shown

# What can be done. Each way of calling missfit has its own words for it.
REMEDIES = ("drop", "group", "time", "log", "keep", "task")
MOST_NAMES = 5  # of the columns that a sentence lists


@dataclass(frozen=True)
class Remedy:
    """What would answer a suspicion, if it is right.

    Attributes
    ----------
    action : str
        "drop" the columns; take the column as the "group" or the "time" of the rows;
        predict the "log" of the target; "keep" every number of the columns as it is;
        set the "task".
    columns : tuple of str
        The columns that it is about; empty where the table has no such column. Of a
        task it is the task to set.
    """

    action: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suspicion:
    """Something odd about a table.

    Attributes
    ----------
    kind : str
        What it is, in a word or two: "leak", "time", "groups", ...
    columns : tuple of str
        The columns that it is about.
    sentence : str
        What was found, with the numbers that say so.
    remedy : Remedy, optional
        What would answer it; None where nothing can be done by an option.
    """

    kind: str
    columns: tuple[str, ...]
    sentence: str
    remedy: Remedy | None = None


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence.

    >>> listed(["a", "b", "c"])
    "'a', 'b' and 'c'"
    """
    some = [shown(name) for name in names[:MOST_NAMES]]
    more = len(names) - len(some)
    if more:
        return f"{', '.join(some)} and {more} more"
    return " and ".join([", ".join(some[:-1]), some[-1]] if len(some) > 1 else some)
