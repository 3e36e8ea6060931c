"""The skeleton of a report: one HTML page that needs nothing but itself.

Style (light, dark, phone), figures, tables to sort and filter, and escaping. Text given
as `str` is escaped everywhere; only `Html`, which the functions here return, goes in as
it is. Nothing is loaded: no address of a script, a style, a font or a picture.

>>> body = section("Scores", table([Column("method")], [["a < b"]]))
>>> "a &lt; b" in page("My report", body)
True
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from os import PathLike
from typing import Any

from missfit.markup import (
    DASH,
    Column,
    Html,
    element,
    escaped,
    facts,
    joined,
    number,
    paragraph,
    plain_table,
)
from missfit.writing import whole_file

# Colours that follow the page, which may be light or dark.
COLOURS = {
    "#000000": "currentColor",
    "#ffffff": "var(--paper)",
    "#2b6cb0": "var(--blue)",
    "#c05621": "var(--orange)",
    "#8a94a0": "var(--grey)",
    "#2f855a": "var(--green)",
    "#6b46c1": "var(--purple)",
    "#e4eaf1": "var(--cell)",
}
GROWTH = 1.3  # how far a figure is drawn larger on a wide page: its text is then 16 px
SHRINKAGE = (
    0.68  # how far a figure shrinks before it is scrolled: its text is then 8 px
)
__all__ = [
    "DASH",
    "Column",
    "Html",
    "Section",
    "data",
    "element",
    "escaped",
    "facts",
    "figure",
    "inline_svg",
    "joined",
    "number",
    "page",
    "paragraph",
    "section",
    "side_by_side",
    "switches",
    "table",
    "tiles",
    "write_page",
]


class Section(Html):
    """A part of the page; its heading is listed among the contents of the page."""

    heading: str
    anchor: str


def section(heading: str, *content: Any) -> Section:
    """Return a part of the page under a heading, with an address of its own.

    >>> section("Where it errs").anchor
    'where-it-errs'
    """
    anchor = re.sub(r"\W+", "-", heading.lower()).strip("-")
    whole = Section(element("section", element("h2", heading), *content, id=anchor))
    whole.heading, whole.anchor = heading, anchor
    return whole


def table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[Any]],
    *,
    caption: str = "",
    name: str | None = None,
    filtered: bool = False,
    first: int | None = None,
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
    first : int, optional
        Show this many rows at first, and a button that shows all of them.
    """
    rows = list(rows)
    whole = plain_table(
        columns, rows, caption=caption, name=name, class_="sortable", head="button"
    )
    field = (
        Html('<input class="filter" type="search" placeholder="filter rows" ')
        + Html('aria-label="filter rows">')
        if filtered
        else ""
    )
    more = ""
    if first is not None and len(rows) > first:
        words = f"show all {len(rows):,} rows"
        more = element("button", words, type="button", class_="more", data_first=first)
    scroll = element("div", whole, class_="scroll", tabindex="0")
    return element("div", Html(field), scroll, more, class_="tablebox")


def tiles(items: Iterable[tuple[str, str, str]]) -> Html:
    """Return the few numbers that count: what each is, its value, and a remark."""
    parts = [
        element(
            "div",
            element("span", name, class_="what"),
            element("strong", value),
            element("span", remark, class_="remark"),
        )
        for name, value, remark in items
    ]
    return element("div", *parts, class_="tiles")


def side_by_side(*figures: Html) -> Html:
    """Return figures beside each other where the page is wide enough."""
    return element("div", *figures, class_="pair")


def figure(picture: Any, caption: Any, *, name: str) -> Html:
    """Return a figure: a matplotlib Figure (or SVG text) and its caption.

    Black becomes the colour of the text and white that of the page, so that it can be
    read in light and dark. Artists whose gid begins with ``series:`` can be switched by
    `switches`.

    Parameters
    ----------
    picture : matplotlib.figure.Figure or str, or a pair of them
        Of a pair, the first is shown on a wide page and the second on a phone.
    caption : str or Html
    name : str
        Unique on the page; ids of the SVG begin with it.
    """
    pictures = picture if isinstance(picture, tuple) else (picture,)
    classes = ("scroll wide", "scroll narrow") if len(pictures) == 2 else ("scroll",)
    parts, said = [], f"{name}-caption"  # what a screen reader says of the picture
    for one, class_ in zip(pictures, classes, strict=True):
        svg = one if isinstance(one, str) else _svg(one)
        own = f"{name}-narrow" if "narrow" in class_ else name
        inline = inline_svg(svg, own).replace(
            "<svg", f'<svg aria-labelledby="{said}"', 1
        )
        parts.append(element("div", Html(inline), class_=class_))
    return element("figure", *parts, element("figcaption", caption, id=said), id=name)


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
    for colour, name_of_colour in COLOURS.items():
        svg = svg.replace(colour, name_of_colour)
    # the size of the page, not of the paper
    svg = re.sub(r'<svg([^>]*?) height="[^"]*"', r"<svg\1", svg, count=1)
    svg = re.sub(r'<svg([^>]*?) width="([\d.]+)pt"', _style_width, svg, count=1)
    return Html(svg)


def _style_width(match: re.Match) -> str:
    """Let a figure grow and shrink with the page; below that it is scrolled."""
    width = float(match[2]) * 4 / 3  # points to pixels
    return (
        f'<svg{match[1]} style="width:100%;max-width:{GROWTH * width:.0f}px;'
        f'min-width:{min(SHRINKAGE * width, 560):.0f}px" role="img"'
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
    head = [element("h1", title), paragraph(lead, class_="lead") if lead else ""]
    parts = [
        element("header", *head),
        _contents(content),
        element("div", *content, class_="content"),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(title)}</title><style>{_asset('page.css')}</style></head>\n"
        f"<body><main>{joined(parts)}</main>\n"
        f"<script>{_asset('page.js')}{script}</script></body></html>\n"
    )


def _contents(content: Iterable[Any]) -> Html:
    """Return links to the sections, or nothing where there are fewer than two."""
    sections = [part for part in content if isinstance(part, Section)]
    if len(sections) < 2:
        return Html("")
    links = [
        element("li", element("a", part.heading, href=f"#{part.anchor}"))
        for part in sections
    ]
    return element("nav", element("ol", *links), aria_label="Contents")


def _asset(name: str) -> str:
    return (resources.files("missfit") / "report" / name).read_text(encoding="utf-8")


def write_page(path: str | PathLike[str], text: str) -> None:
    """Write a page, whole or not at all."""
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")
