"""How the start of a table is laid out: lines above the header, names, empty ends.

The same for the rows of text files and of the sheets of workbooks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from missfit.tables.columns import shown
from missfit.tables.problems import TableError, listed

MOST_NAME = 10_000  # characters of a name; a longer one is not the name of a column
NUMBER = re.compile(r"\s*[-+(]?[$€£]?\s*[\d.,]*\d[\d.,]*\s*[%€]?\)?\s*")

Row = Sequence[str]


class Header(NamedTuple):
    """The header of a table.

    Attributes
    ----------
    row : int
        Its place among the rows.
    names : list of str
        The names of the columns, each of them once.
    width : int
        The values of a row: those with a name, then some that are always empty.
    notes : list of str
        What was decided, in sentences.
    """

    row: int
    names: list[str]
    width: int
    notes: list[str]


def header_of(rows: Sequence[Row], where: str, line: str = "line") -> Header:
    """Find the header among the first rows of a table.

    Parameters
    ----------
    rows : sequence of sequences of str
        The first rows, also those that are empty.
    where : str
        What is read, for messages.
    line : str
        What a row is called.
    """
    filled = [(k, _n_filled(row)) for k, row in enumerate(rows) if _n_filled(row)]
    if not filled:
        raise TableError(f"{where}: the first {line} holds no column names.")
    place = _header_place(rows, filled)
    names = [" ".join(name.split()) for name in rows[place]]
    if max(map(len, names)) > MOST_NAME:
        raise TableError(
            f"{where}: {line} {place + 1} cannot be read as column names, since one "
            f"would have more than {MOST_NAME:,} characters."
        )
    notes = _skipped(rows, place, line)
    names, width, more = _without_empty_end(names, rows[place + 1 :])
    names, renamed = _one_name_each(names)
    return Header(place, names, width, [*notes, *more, *renamed])


def _n_filled(row: Row) -> int:
    return sum(1 for value in row if value.strip())


def _header_place(rows: Sequence[Row], filled: list[tuple[int, int]]) -> int:
    """Return the place of the first row that is no title, remark or date of a report.

    Such a row fills one value where the others fill several (or two, as in "Date:
    2024-01-01", where they fill at least five), and a row of names comes after it. A
    row of titles, each above several columns, fills at most half of what the row of
    names fills that comes next.
    """
    first = filled[0][0]
    counts = Counter(n for _, n in filled)
    usual = max(counts, key=lambda n: (counts[n], n))
    for k, (place, n) in enumerate(filled):
        if n > (2 if usual >= 5 else 1) or usual <= n:
            if _is_above_names(rows, filled[k : k + 2]):
                continue
            names = rows[place]
            if place == first or not any(NUMBER.fullmatch(name) for name in names):
                return place
            return first
    return first


def _is_above_names(rows: Sequence[Row], two: Sequence[tuple[int, int]]) -> bool:
    """Whether the first of two rows holds titles of several columns each, not names.

    The second holds the names, and numbers stand below it.
    """
    if len(two) < 2 or 2 * two[0][1] > two[1][1]:
        return False
    titles, names = (rows[place] for place, _ in two)
    if any(NUMBER.fullmatch(value) for value in (*titles, *names)):
        return False
    return any(NUMBER.fullmatch(value) for value in [*rows, []][two[1][0] + 1])


def _skipped(rows: Sequence[Row], place: int, line: str) -> list[str]:
    above = [k for k in range(place) if _n_filled(rows[k])]
    if not above:
        return []
    text = next(value for value in rows[above[0]] if value.strip())
    which = f"{line} {above[0] + 1}" if len(above) == 1 else f"{len(above)} {line}s"
    return [
        f"the header is in {line} {place + 1}: {which} above it, "
        f"{'with' if len(above) == 1 else 'the first with'} {shown(text)}, left out"
    ]


def _without_empty_end(
    names: list[str], rows: Sequence[Row]
) -> tuple[list[str], int, list[str]]:
    """Leave out columns at the end that have no name and no values.

    Spreadsheets write separators for columns that are empty, in the header or not.
    """
    used = max((_used(row) for row in rows), default=0)
    kept = _used(names)
    if used > kept:  # a column of values without a name, or a line that is too long
        kept = min(used, len(names))
    usual = Counter(len(row) for row in rows if _n_filled(row)).most_common(1)
    width = len(names)
    if usual and usual[0][0] > width and used <= kept:
        width = usual[0][0]
    n_empty = width - kept
    plural = "s" if n_empty > 1 else ""
    notes = [f"{n_empty} empty column{plural} at the end left out"] if n_empty else []
    return names[:kept], width, notes


def _used(row: Row) -> int:
    """Return the number of values up to the last that is not empty."""
    return next((k for k in range(len(row), 0, -1) if row[k - 1].strip()), 0)


def _one_name_each(names: list[str]) -> tuple[list[str], list[str]]:
    """Give names to columns without one, and number the columns of one name.

    >>> _one_name_each(["a", "", "a"])[0]
    ['a', 'Unnamed: 1', 'a (2)']
    """
    notes, taken = [], set(names)
    unnamed = [j for j, name in enumerate(names) if not name]
    names = [name or f"Unnamed: {j}" for j, name in enumerate(names)]
    if unnamed:
        called = listed([shown(names[j]) for j in unnamed])
        what = "column without a name is" if len(unnamed) == 1 else "columns are"
        notes.append(f"{len(unnamed)} {what} called {called}")
    seen: Counter[str] = Counter()
    renamed = []
    for j, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            while f"{name} ({seen[name]})" in taken:
                seen[name] += 1
            names[j] = f"{name} ({seen[name]})"
            taken.add(names[j])
            renamed.append(shown(names[j]))
    if renamed:
        what = "a column has" if len(renamed) == 1 else f"{len(renamed)} columns have"
        notes.append(
            f"{what} the name of another, and {'is' if len(renamed) == 1 else 'are'} "
            f"called {listed(renamed)}"
        )
    return names, notes
