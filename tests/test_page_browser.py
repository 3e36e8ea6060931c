"""Pages as a reader meets them: on a desktop, on a phone, in the dark, on paper."""

import pytest

from missfit.comparison.class_candidates import CLASS_CANDIDATES
from missfit.comparison.class_task import task_of
from missfit.report.page import (
    Column,
    figure,
    page,
    paragraph,
    section,
    side_by_side,
    table,
    write_page,
)
from missfit.report.table.scores import _columns

DESKTOPS, PHONE = (1280, 1920), 390


def _picture(width):
    return f'<svg width="{width * 72}pt" height="100pt" viewBox="0 0 10 10"></svg>'


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with what reports have: a wide table, a long one, figures, sections."""
    columns = [Column("predictor"), *(Column(f"score {k}", ".4f") for k in range(14))]
    wide = [[f"a predictor of number {j}", *[j / 7] * 14] for j in range(5)]
    long = [[f"variable {j}", j] for j in range(60)]
    both = (_picture(9.2), _picture(4.8))
    pair = [figure(_picture(4.8), "one", name=f"half{k}") for k in range(2)]
    content = [
        section(
            "Scores", figure(both, "all of them", name="figure1"), side_by_side(*pair)
        ),
        section("Wide", table(columns, wide, name="many", caption="many columns " * 9)),
        section(
            "Long",
            table(
                [Column("name"), Column("rank")],
                long,
                name="ranks",
                filtered=True,
                first=8,
            ),
        ),
        *(section(f"More {k}", *[paragraph("words " * 90)] * 3) for k in range(6)),
    ]
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(path, page("A report", *content, lead="What it says."))
    return path.as_uri()


@pytest.fixture(scope="module")
def class_scores(tmp_path_factory):
    """A page with the columns and the longest name of the comparison of classes."""
    columns = _columns(task_of(("no", "yes")), has_regret=False)
    names = [candidate.name for candidate in CLASS_CANDIDATES]
    longest = max(names, key=len)
    row = [longest, *[0.12345] * (len(columns) - 2), "a probit on several Gaussians"]
    content = [section("Scores", table(columns, [row], name="comparison"))] * 2
    path = tmp_path_factory.mktemp("classes") / "report.html"
    write_page(path, page("Classes", *content))
    return path.as_uri()


@pytest.fixture
def opened(browser, address):
    """Return a page of some width and scheme; whatever it says fails the test."""
    said, pages = [], []

    def opened_at(width, scheme="light"):
        page = browser.new_page(
            viewport={"width": width, "height": 844}, color_scheme=scheme
        )
        pages.append(page)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(address)
        return page

    yield opened_at
    for one in pages:
        one.close()
    assert said == []


def box(page, selector):
    return page.locator(selector).first.bounding_box()


@pytest.mark.parametrize("width", [*DESKTOPS, 800, PHONE])
def test_no_page_scrolls_sideways(opened, width):
    page = opened(width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", DESKTOPS)
def test_figures_fill_the_page_on_a_desktop(opened, width):
    page = opened(width)
    content = box(page, ".content")["width"]
    assert box(page, "#figure1 .wide svg")["width"] >= 0.95 * content
    assert not page.locator("#figure1 .narrow").is_visible()
    left, right = (box(page, f"#half{k} svg") for k in range(2))
    assert left["y"] == right["y"]
    assert left["width"] + right["width"] >= 0.9 * content
    assert content <= 1200  # lines that an eye can follow


def test_figures_fit_on_a_phone(opened):
    page = opened(PHONE)
    assert not page.locator("#figure1 .wide").is_visible()
    for selector in ("#figure1 .narrow svg", "#half0 svg", "#half1 svg"):
        found = box(page, selector)
        assert found["x"] >= 0
        assert found["x"] + found["width"] <= PHONE


def test_a_wide_table_scrolls_in_its_box_and_keeps_its_first_column(opened):
    page = opened(PHONE)
    first, last = (
        "#many tbody td:first-child",
        "#many tbody tr:first-child td:last-child",
    )
    before, far = box(page, first), box(page, last)
    assert far["x"] > PHONE
    page.evaluate("document.querySelector('#many').parentElement.scrollLeft = 1e6")
    assert box(page, first)["x"] == before["x"] >= 0
    now = box(page, last)
    assert now["x"] + now["width"] <= PHONE
    assert before["width"] <= 0.5 * PHONE


def test_a_long_table_shows_its_first_rows_until_asked(opened):
    page = opened(1280)
    rows = page.locator("#ranks tbody tr:visible")
    assert rows.count() == 8
    page.locator("#ranks th button", has_text="rank").click()
    page.locator("#ranks th button", has_text="rank").click()
    assert rows.count() == 8
    assert rows.first.locator("td").first.inner_text() == "variable 59"
    page.locator("input.filter").fill("variable 31")
    assert rows.count() == 1
    page.locator("input.filter").fill("")
    page.get_by_text("show all 60 rows").click()
    assert rows.count() == 60


@pytest.mark.parametrize("width", [1280, PHONE])
def test_the_contents_lead_to_the_sections_and_stay_in_sight(opened, width):
    page = opened(width)
    page.locator("nav a", has_text="More 2").click()
    page.wait_for_function(
        "document.querySelector('#more-2').getBoundingClientRect().top < 100"
    )
    assert page.locator("nav").bounding_box()["y"] >= 0
    page.wait_for_function(
        "document.querySelector('nav a[aria-current]').textContent === 'More 2'"
    )


def test_light_and_dark_follow_the_reader(opened):
    light, dark = (
        opened(PHONE, scheme).evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        for scheme in ("light", "dark")
    )
    assert light == "rgb(255, 255, 255)"
    assert max(int(part) for part in dark[4:-1].split(",")) < 40


def test_on_paper_there_is_no_contents_and_nothing_is_cut_off(opened):
    page = opened(1280, "dark")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator("input.filter").is_visible()
    style = "getComputedStyle(document.querySelector('#many').parentElement).overflowX"
    assert page.evaluate(style) == "visible"
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    assert len(page.pdf()) > 5_000


@pytest.mark.parametrize("width", [1280, PHONE])
def test_the_scores_of_classes_fit_on_a_desktop_and_scroll_in_a_box_on_a_phone(
    browser, class_scores, width
):
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto(class_scores)
    inner, outer = page.evaluate(
        "(b => [b.scrollWidth, b.clientWidth])(document.querySelector('.scroll'))"
    )
    assert (inner > outer) == (width == PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
