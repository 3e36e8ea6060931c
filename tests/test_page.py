"""The skeleton of a report: escaping, tables, figures, nothing from outside."""

import math
import re

import pytest

from missfit.report.page import (
    DASH,
    Column,
    Html,
    data,
    element,
    facts,
    figure,
    inline_svg,
    page,
    section,
    switches,
    table,
    write_page,
)

NASTY = "<script>alert(\"x\")</script> & 'q'"


def test_text_is_escaped_wherever_it_goes():
    whole = page(
        NASTY,
        section(NASTY, facts([(NASTY, NASTY)]), switches([(NASTY, "red")])),
        table([Column(NASTY)], [[NASTY]], caption=NASTY),
        data("rows", {NASTY: NASTY}),
        lead=NASTY,
    )
    assert "<script>alert" not in whole
    assert whole.count("&lt;script&gt;") >= 8


def test_html_made_by_the_page_is_not_escaped_twice():
    assert element("p", Html("<b>1</b>"), "<") == "<p><b>1</b>&lt;</p>"


def test_missing_numbers_are_a_dash_and_numbers_keep_their_value_for_sorting():
    text = table([Column("a", ".2f")], [[1 / 3], [math.nan], [None]])
    assert 'data-value="0.3333333333333333"' in text
    assert ">0.33<" in text
    assert text.count(DASH) == 2


def test_a_row_must_fill_the_columns():
    with pytest.raises(ValueError, match=r"zip\(\)"):
        table([Column("a"), Column("b")], [[1]])


def test_a_figure_has_ids_of_its_own_and_no_address():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    fig, ax = pyplot.subplots()
    (line,) = ax.plot([0, 1], [0, 1], color="k")
    line.set_gid("series:EMLR:test")
    text = figure(fig, "a caption", name="figure1")
    pyplot.close(fig)
    assert "http" not in text
    assert 'data-series="series:EMLR:test"' in text
    assert "currentColor" in text
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert all(name.startswith("figure1") for name in ids)
    for target in re.findall(r'(?:href="#|url\(#)([^")]*)', text):
        assert target in ids


def test_two_figures_do_not_share_ids():
    svg = '<svg width="72pt" height="72pt"><g id="a"/><use xlink:href="#a"/></svg>'
    assert inline_svg(svg, "one") != inline_svg(svg, "two")
    assert 'id="one-a"' in inline_svg(svg, "one")
    assert 'href="#one-a"' in inline_svg(svg, "one")


def test_a_page_refers_to_nothing_outside_itself(tmp_path):
    whole = page("t", section("s", table([Column("a")], [["b"]], filtered=True)))
    write_page(tmp_path / "sub" / "report.html", whole)
    text = (tmp_path / "sub" / "report.html").read_text()
    assert not re.search(r"""(src|href)\s*=\s*["']?\s*(https?:)?//""", text, re.I)
    assert "@import" not in text
    assert "url(" not in text
