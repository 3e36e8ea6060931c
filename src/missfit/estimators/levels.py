"""Levels of a category: which are kept, and how they and other columns are told."""

from __future__ import annotations

from collections.abc import Sequence

from missfit.tables.columns import count_of, shown

OTHER = "(other)"
MOST_NAMES = 12  # of columns of one kind that are told
PLURAL = {
    "number": "numbers",
    "boolean": "booleans",
    "date": "dates (as days)",
    "category": "categories",
    "identifier": "ids (only their mask is used)",
    "text": "free text (only its mask is used)",
    "empty": "empty columns (not used)",
}


def kept_levels(levels: list[str], most: int) -> tuple[list[str], str | None]:
    """Return the levels that are kept, and the name of the one for all rare ones.

    >>> kept_levels(["a", "b", "c"], 3), kept_levels(["a", "b", "c"], 2)
    ((['a', 'b', 'c'], None), (['a', '(other)'], '(other)'))
    """
    if len(levels) <= most:
        return levels, None
    levels = levels[: most - 1]
    name = OTHER
    while name in levels:  # no real level may have its name
        name = f"({name})"
    return [*levels, name], name


def some_levels(levels: Sequence[str]) -> str:
    """Return the first levels, as a part of a message.

    >>> some_levels("abcdefghijk")
    "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h' and 3 more"
    """
    some = ", ".join(map(shown, levels[:8]))
    return some + (f" and {len(levels) - 8} more" if len(levels) > 8 else "")


def kinds_in_words(
    names: Sequence[str], kinds: Sequence[str], categories: Sequence[list[str]]
) -> list[str]:
    """Return a line for each kind of column, with the names of the columns.

    >>> kinds_in_words(["a", "b"], ["number", "category"], [[], ["x", "y"]])
    ['numbers: a', 'categories: b (2 levels)']
    """
    lines = []
    for kind, plural in PLURAL.items():
        told = [
            f"{name} ({count_of(len(levels), 'level')})" if levels else name
            for name, of, levels in zip(names, kinds, categories, strict=True)
            if of == kind
        ]
        if told:
            more = len(told) - MOST_NAMES
            end = f" and {more} more" if more > 0 else ""
            lines.append(f"{plural}: {', '.join(told[:MOST_NAMES])}{end}")
    return lines
