"""The skeleton of a report: one HTML page that needs nothing but itself.

Style (light, dark, phone), figures, tables to sort and filter, and escaping. Text given
as `str` is escaped everywhere; only `Html`, which the functions here return, goes in as
it is. Nothing is loaded: no address of a script, a style, a font or a picture.

>>> body = section("Scores", table([Column("method")], [["a < b"]]))
>>> "a &lt; b" in page("My report", body)
True
"""

from __future__ import annotations

import html
import io
import json
import math
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from os import PathLike
from typing import Any, NamedTuple

from missfit.writing import whole_file

DASH = "\N{EN DASH}"  # shown where a value is missing


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

    >>> element("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
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


def section(heading: str, *content: Any) -> Html:
    """Return a part of the page under a heading."""
    return element("section", element("h2", heading), *content)


def facts(pairs: Iterable[tuple[str, Any]]) -> Html:
    """Return names and values, such as what was run and how long it took."""
    items = [element("dt", name) + element("dd", value) for name, value in pairs]
    return element("dl", *map(Html, items), class_="facts")


class Column(NamedTuple):
    """A column of a table; numbers are shown by ``format`` and sort as numbers."""

    name: str
    format: str = ""


def table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[Any]],
    *,
    caption: str = "",
    name: str | None = None,
    filtered: bool = False,
) -> Html:
    """Return a table whose columns sort by a click on their heads.

    Parameters
    ----------
    columns : sequence of Column
    rows : iterable of sequences
        One value for each column. None and NaN are shown as a dash and sort last.
    caption : str
    name : str, optional
        Id of the table.
    filtered : bool
        Put a field above it that keeps the rows which hold all the words typed.
    """
    head = element(
        "tr",
        *(
            element("th", element("button", c.name, type="button"), scope="col")
            for c in columns
        ),
    )
    body = [
        element(
            "tr",
            *(_cell(value, c.format) for value, c in zip(row, columns, strict=True)),
        )
        for row in rows
    ]
    parts = [element("caption", element("span", caption))] if caption else []
    parts += [element("thead", head), element("tbody", *body)]
    whole = element("table", *parts, id=name, class_="sortable")
    field = (
        Html('<input class="filter" type="search" placeholder="filter rows" ')
        + Html('aria-label="filter rows">')
        if filtered
        else ""
    )
    scroll = element("div", whole, class_="scroll")
    return element("div", Html(field), scroll, class_="tablebox")


def _cell(value: Any, spec: str) -> Html:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return element("td", DASH, data_value="", class_="number")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return element("td", format(value, spec), data_value=value, class_="number")
    return element("td", value)


def figure(picture: Any, caption: Any, *, name: str) -> Html:
    """Return a figure: a matplotlib Figure (or SVG text) and its caption.

    Black becomes the colour of the text and white that of the page, so that it can be
    read in light and dark. Artists whose gid begins with ``series:`` can be switched by
    `switches`.

    Parameters
    ----------
    picture : matplotlib.figure.Figure or str
    caption : str or Html
    name : str
        Unique on the page; ids of the SVG begin with it.
    """
    svg = picture if isinstance(picture, str) else _svg(picture)
    return element(
        "figure",
        element("div", inline_svg(svg, name), class_="scroll"),
        element("figcaption", caption),
        id=name,
    )


def _svg(fig) -> str:
    import matplotlib

    buffer = io.StringIO()
    # Text stays text: smaller, searchable, in the font of the page. The salt makes ids,
    # and so the page, the same in every run.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "missfit"}):
        fig.savefig(buffer, format="svg", transparent=True, bbox_inches="tight")
    return buffer.getvalue()


def inline_svg(svg: str, name: str) -> Html:
    """Return an SVG file as an element: own ids, colours of the page, no addresses."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r"\bxlink:href=", "href=", svg)
    svg = re.sub(r'\bid="(?!series:)([^"]*)"', rf'id="{name}-\1"', svg)
    # the name of a series shows where the pointer rests on it
    svg = re.sub(
        r'\bid="(series:([^"]*))">', r'data-series="\1"><title>\2</title>', svg
    )
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    svg = svg.replace("#000000", "currentColor").replace("#ffffff", "var(--paper)")
    # the size of the page, not of the paper
    svg = re.sub(r'<svg([^>]*?) height="[^"]*"', r"<svg\1", svg, count=1)
    svg = re.sub(r'<svg([^>]*?) width="([\d.]+)pt"', _style_width, svg, count=1)
    return Html(svg)


def _style_width(match: re.Match) -> str:
    """Let a figure shrink to half its size, and be scrolled below that."""
    width = float(match[2]) * 4 / 3  # points to pixels
    return (
        f'<svg{match[1]} style="width:100%;max-width:{width:.0f}px;'
        f'min-width:{min(width / 2, 560):.0f}px" role="img"'
    )


def switches(series: Iterable[tuple[str, str]]) -> Html:
    """Return a button for each (name, colour), which shows or hides its series.

    A series is every artist of every figure whose gid is ``series:NAME`` or begins
    with ``series:NAME:``.
    """
    buttons = [
        element(
            "button",
            element("span", "", class_="swatch", style=f"background:{colour}"),
            name,
            type="button",
            aria_pressed="true",
            data_switch=name,
        )
        for name, colour in series
    ]
    return element("div", *buttons, class_="switches", role="group")


def data(name: str, value: Any) -> Html:
    """Return data for a script on the page, as JSON in an element of this id."""
    text = json.dumps(value).replace("<", "\\u003c").replace("&", "\\u0026")
    return Html(f'<script type="application/json" id="{escaped(name)}">{text}</script>')


def page(title: str, *content: Any, lead: Any = "", script: str = "") -> str:
    """Return the whole page.

    Parameters
    ----------
    title : str
    content : Html or str
        Sections, in order.
    lead : str or Html
        What the page says, in a sentence or two under the title.
    script : str
        JavaScript of this page, after that of all pages.
    """
    parts = [
        element("h1", title),
        paragraph(lead, class_="lead") if lead else "",
        *content,
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(title)}</title><style>{_asset('page.css')}</style></head>\n"
        f"<body><main>{joined(parts)}</main>\n"
        f"<script>{_asset('page.js')}{script}</script></body></html>\n"
    )


def _asset(name: str) -> str:
    return (resources.files("missfit") / "report" / name).read_text(encoding="utf-8")


def write_page(path: str | PathLike[str], text: str) -> None:
    """Write a page, whole or not at all."""
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")
