"""Text as HTML: elements whose content is escaped, and tables of values.

Text given as `str` is escaped everywhere; only `Html`, which the functions here return,
goes in as it is.

>>> element("p", "1 < 2", class_="note")
'<p class="note">1 &lt; 2</p>'
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

DASH = "\N{EN DASH}"  # shown where a value is missing
LONG = 26  # characters from which the text of a cell may break into lines


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


def number(value: float, largest: float | None = None) -> str:
    """Return a number with four digits that count, without an exponent if it can be.

    With ``largest`` it has the digits of that number, so that a column lines up.

    >>> number(407_912.3), number(17.38291), number(0.0123456), number(3.0)
    ('407,912', '17.38', '0.01235', '3')
    >>> number(1.5e12), number(2e-7), number(0.0), number(9.8754, largest=12.0)
    ('1.5e+12', '2e-07', '0', '9.88')
    """
    size = abs(value) if largest is None else largest
    if value == 0 or not 1e-4 <= size < 1e9:
        return f"{value:.4g}"
    digits = max(0, 3 - math.floor(math.log10(size)))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits and largest is None else text


class Column(NamedTuple):
    """A column of a table; numbers sort as numbers.

    ``format`` is that of Python, or "number" for the digits that `number` chooses.
    """

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
    shown = [_formatter(values, j, c.format) for j, c in enumerate(columns)]
    body = [
        element("tr", *(_cell(x, form) for x, form in zip(row, shown, strict=True)))
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


def _formatter(
    rows: Sequence[Sequence[Any]], j: int, spec: str
) -> Callable[[Any], str]:
    """Return what writes the numbers of column j."""
    if spec != "number":
        return lambda value: format(value, spec)
    sizes = [abs(r[j]) for r in rows if _is_number(r[j]) and math.isfinite(r[j])]
    return lambda value: number(value, max(sizes))


def _cell(value: Any, form: Callable[[Any], str]) -> Html:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return element("td", DASH, data_value="", class_="number")
    if _is_number(value):
        return element("td", form(value), data_value=value, class_="number")
    return element("td", value, class_="long" if len(str(value)) > LONG else None)
