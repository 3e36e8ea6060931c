"""Text as HTML: elements whose content is escaped, and tables of values.

Text given as `str` is escaped everywhere; only `Html`, which the functions here return,
goes in as it is.

>>> element("p", "1 < 2", class_="note")
'<p class="note">1 &lt; 2</p>'
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

DASH = "\N{EN DASH}"  # shown where a value is missing
LONG = 36  # characters from which the text of a cell may break into lines


class Html(str):
    """Text that is HTML already."""


def escaped(value: Any) -> Html:
    """Return a value as HTML; text is escaped, `Html` is kept.

    >>> escaped('<b> & "q"')
    '&lt;b&gt; &amp; &quot;q&quot;'
    """
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def element(tag: str, *content: Any, **attributes: Any) -> Html:
    """Return an element; ``class_`` and ``data_x`` become class and data-x.

    An attribute that is None is left out.
    """
    names = {name: name.rstrip("_").replace("_", "-") for name in attributes}
    given = "".join(
        f' {names[name]}="{html.escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Html(f"<{tag}{given}>{joined(content)}</{tag}>")


def joined(parts: Iterable[Any]) -> Html:
    """Return parts one after the other, escaped."""
    return Html("".join(map(escaped, parts)))


def paragraph(*content: Any, class_: str | None = None) -> Html:
    """Return a paragraph."""
    return element("p", *content, class_=class_)


def facts(pairs: Iterable[tuple[str, Any]]) -> Html:
    """Return names and values, such as what was run and how long it took."""
    items = [element("dt", name) + element("dd", value) for name, value in pairs]
    return element("dl", *map(Html, items), class_="facts")


class Column(NamedTuple):
    """A column of a table; numbers are shown by ``format`` and sort as numbers."""

    name: str
    format: str = ""


def plain_table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[Any]],
    *,
    caption: str = "",
    name: str | None = None,
    class_: str | None = None,
    head: str = "span",
) -> Html:
    """Return a table.

    Parameters
    ----------
    columns : sequence of Column
    rows : iterable of sequences
        One value for each column. None and NaN are shown as a dash.
    caption : str
    name, class_ : str, optional
        Id and class of the table.
    head : str
        The element that holds the name of a column in the head of the table.
    """
    values = [list(row) for row in rows]
    kind = {"type": "button"} if head == "button" else {}
    heads = [
        element(
            "th", element(head, c.name, **kind), scope="col", class_=_side(values, j)
        )
        for j, c in enumerate(columns)
    ]
    body = [
        element(
            "tr",
            *(_cell(value, c.format) for value, c in zip(row, columns, strict=True)),
        )
        for row in values
    ]
    parts = [element("caption", element("span", caption))] if caption else []
    parts += [element("thead", element("tr", *heads)), element("tbody", *body)]
    return element("table", *parts, id=name, class_=class_)


def _side(rows: Sequence[Sequence[Any]], j: int) -> str | None:
    """Return the class of the head of column j: that of its numbers, if it has any."""
    return "number" if any(len(r) > j and _is_number(r[j]) for r in rows) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cell(value: Any, spec: str) -> Html:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return element("td", DASH, data_value="", class_="number")
    if _is_number(value):
        return element("td", format(value, spec), data_value=value, class_="number")
    return element("td", value, class_="long" if len(str(value)) > LONG else None)
