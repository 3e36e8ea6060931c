"""The site as `make docs` builds it: links, search, API pages, widths, accessibility.

The examples of the gallery are not run here; `tests/test_docs.py` runs them.
"""

import json
import shutil
import subprocess
import sys
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import missfit

ROOT = Path(__file__).parents[1]
MADE = shutil.ignore_patterns("_build", "generated", "gallery")
PREDICTORS = sorted((ROOT / "docs" / "predictors").glob("*.md"))
pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """The links, the places that can be linked to, and the text of a page."""

    def __init__(self, path):
        super().__init__()
        self.path, self.links, self.ids, self.strong = path, set(), set(), set()
        self.text, self._bold = "", False
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids |= {found[key] for key in ("id", "name") if found.get(key)}
        self.links |= {found[key] for key in ("href", "src") if found.get(key)}
        self._bold = tag == "strong"

    def handle_data(self, data):
        self.text += data
        if self._bold:
            self.strong |= {name.strip() for name in data.split(",")}

    def handle_endtag(self, tag):
        self._bold = False


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the site, built with warnings as errors."""
    for extension in ("sphinx_design", "sphinx_gallery", "myst_parser"):
        pytest.importorskip(extension, reason='pip install "missfit[docs]"')
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=MADE)
    for path in ROOT.glob("*.md"):
        shutil.copy(path, folder)
    build = [
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        "-D",
        "plot_gallery=0",
        "docs",
        "html",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *build],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site):
    found = (path for path in site.rglob("*.html") if "_static" not in path.parts)
    return {path: Page(path) for path in found}


def test_no_link_inside_the_site_is_dead(pages):
    dead = defaultdict(set)
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve()
            target = path if not parts.path else target
            place = unquote(parts.fragment)
            if not target.exists() or (
                place and target in pages and place not in pages[target].ids
            ):
                dead[path.name].add(link)
    assert not dead


def documented_attributes(kind):
    """Return the names under Attributes in the docstring of a class."""
    lines = iter((kind.__doc__ or "").split("\n    "))
    if "Attributes" not in (line.strip() for line in lines):
        return []
    next(lines)
    names = []
    for line in lines:
        if set(line.strip()) == {"-"}:
            return names[:-1]
        if line.strip() and not line.startswith(" "):
            names += line.split(" : ")[0].strip().split(", ")
    return names


def test_api_pages_show_attributes_as_they_are(site, pages):
    kinds = {
        name: getattr(missfit, name) for name in missfit.__all__ if name[0].isupper()
    }
    assert "coef_" in documented_attributes(kinds["EMLR"])
    for name, kind in kinds.items():
        page = pages[site / "generated" / f"missfit.{name}.html"]
        missing = set(documented_attributes(kind)) - page.strong
        assert not missing, (name, missing)


def test_predictors_and_their_classes_link_to_each_other(site, pages):
    titles = {
        p.stem: p.read_text().split("\n")[0].removeprefix("# ") for p in PREDICTORS
    }
    for stem, name in titles.items():
        if name not in missfit.__all__:
            continue
        here = pages[site / "predictors" / f"{stem}.html"]
        there = pages[site / "generated" / f"missfit.{name}.html"]
        assert any(f"generated/missfit.{name}.html" in link for link in here.links), (
            name
        )
        assert any(f"predictors/{stem}.html" in link for link in there.links), name


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("classification", "guide/class_table"),
        ("classification", "glossary"),
        ("cite", "cite"),
        ("GridSearchCV", "faq"),
        ("xlsx", "guide/files"),
    ],
)
def test_search_finds_the_page_of_a_word(site, word, page):
    search = pytest.importorskip("sphinx.search.en").SearchEnglish({})
    text = (site / "searchindex.js").read_text()
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    stem = search.stem(word.lower())
    found = [index[part].get(stem, []) for part in ("terms", "titleterms")]
    hits = {n for one in found for n in (one if isinstance(one, list) else [one])}
    assert page in {index["docnames"][n] for n in hits}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return the report of a small comparison."""
    X, y = missfit.simulate.published("mixture1", d=4).sample(200, random_state=0)
    found = missfit.compare(X, y, only=["EMLR", "ConstantImputedLR"])
    return Path(found.report(tmp_path_factory.mktemp("report")))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
@pytest.mark.parametrize("name", ["index", "comparison", "generated/missfit.EMLR"])
def test_a_page_does_not_scroll_sideways(site, browser, name, width, scheme):
    size = {"width": width, "height": 844}
    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.goto((site / f"{name}.html").as_uri())
    too_wide = "document.documentElement.scrollWidth > window.innerWidth"
    assert not page.evaluate(too_wide)
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "guide/table", "gallery/index", "report"])
def test_axe_finds_no_serious_barrier(site, report, browser, name, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason='pip install "missfit[dev]"'
    )
    page = browser.new_page(color_scheme=scheme)
    page.goto((report if name == "report" else site / f"{name}.html").as_uri())
    found = axe.Axe().run(page).response["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    assert not [
        (one["id"], [node["html"][:90] for node in one["nodes"]][:3]) for one in grave
    ]
    page.close()
