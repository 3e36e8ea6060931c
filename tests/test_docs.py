"""The Python in the README and the docs runs as it stands."""

import importlib
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest

import missfit

ROOT = Path(__file__).parents[1]
MADE = {"_build", "gallery", "generated"}  # by `make docs`
PAGES = [ROOT / "README.md"] + [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if not MADE & set(page.relative_to(ROOT).parts)
]
EXAMPLES = sorted((ROOT / "examples").glob("*/plot_*.py"))
FIRST = {"README.md", "getting_started.md"}  # what a newcomer runs: in every run
TAKES_SECONDS = r"\b(AutoRegressor|AutoClassifier|MLP|NeuMiss|compare)\w*\("


def marks(page, code):
    """The code of a page that takes seconds runs with the slow tests."""
    slow = page.name not in FIRST and re.search(TAKES_SECONDS, code)
    return [pytest.mark.slow] if slow else []


SNIPPETS = [
    pytest.param(code, id=f"{page.name}-{i}", marks=marks(page, code))
    for page in PAGES
    for i, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.S))
]


@pytest.mark.parametrize("code", SNIPPETS)
def test_the_python_of_a_page_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(code, "page", "exec"), {"__name__": "__main__"})


@pytest.mark.slow  # `make docs` runs them too
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_of_the_gallery_runs(path, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", path],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr


def test_an_example_has_a_title_a_picture_and_the_folder_of_a_section():
    assert len(EXAMPLES) >= 10
    for path in EXAMPLES:
        _, title, line, blank, *text = path.read_text().split("\n")
        assert line == "=" * len(title), path.name
        assert blank == "", path.name
        assert any("plt.show()" in one for one in text), path.name
        assert (path.parent / "README.txt").exists(), path.name


def test_the_examples_load_four_real_tables_and_nothing_from_the_network():
    code = "".join(path.read_text() for path in EXAMPLES)
    assert len(set(re.findall(r"import (load_\w+)", code))) >= 4
    assert not re.findall(r"fetch_\w+|https?://", code)


def test_the_index_of_the_guide_lists_each_of_its_pages_once():
    folder = ROOT / "docs" / "guide"
    blocks = re.findall(
        r"```{toctree}\n(.*?)```", (folder / "index.md").read_text(), re.S
    )
    listed = re.findall(r"^([\w./]+)$", "".join(blocks), re.M)
    pages = {page.stem for page in folder.glob("*.md")} - {"index"}
    assert sorted(listed) == sorted(pages | {"../scale"})


def test_every_predictor_has_a_page_with_formula_strength_and_weakness():
    predictors = [name for name in missfit.__all__ if name[0].isupper()]
    others = {"ConformalClassifier", "ConformalRegressor", "PatternMoments"}
    others |= {"TableEncoder", "TableFile"}
    pages = {p.read_text().split("\n")[0]: p.read_text() for p in PAGES}
    for name in set(predictors) - others:
        page = pages[f"# {name}"]
        assert "$$" in page, name
        assert "**Wins**" in page, name
        assert "**Fails**" in page, name


def linked(page, target):
    """Return the file that a link leads to: of a page of the gallery, its example."""
    path = (page.parent / target).resolve()
    gallery = ROOT / "docs" / "gallery"
    if not path.is_relative_to(gallery):
        return path
    example = (ROOT / "examples" / path.relative_to(gallery)).with_suffix(".py")
    return example.with_name("README.txt") if path.stem == "index" else example


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            if {"_build", "generated"} & set(Path(target).parts):
                continue  # `make docs` checks it
            assert linked(page, target).exists(), (page.name, target)


def found_in_missfit(name):
    """Return what a dotted name stands for, importing modules on the way."""
    found = missfit
    for part in name.split("."):
        if not hasattr(found, part):
            importlib.import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


def test_every_name_of_the_api_page_is_there():
    page = (ROOT / "docs" / "api.md").read_text()
    names = re.findall(r"^   missfit\.([\w.]+)$", page, re.M)
    assert len(names) > 30
    for name in names:
        assert found_in_missfit(name).__doc__, name


def test_every_public_class_and_function_is_on_the_api_page():
    page = (ROOT / "docs" / "api.md").read_text()
    rooms = {name for name in missfit.__all__ if name in missfit.ROOMS}
    for name in set(missfit.__all__) - rooms:
        assert re.search(rf"^   missfit\.{name}$", page, re.M), name


def numbers_of(row):
    return [float(cell) for cell in re.findall(r"[-+]?\d*\.\d+", row)]


def rows_between(page, start, end):
    """Return the lines of a table, of which the first begins and the last ends so."""
    lines = (ROOT / "docs" / page).read_text().split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith(start))
    last = next(i for i, line in enumerate(lines) if line.startswith(end))
    return lines[first : last + 1]


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_numbers_of_the_first_page_are_those_of_their_sources(page):
    text = (ROOT / page).read_text()
    fits = pd.read_csv(ROOT / "results" / "bench" / "published.csv")
    cells = fits[fits["n"] >= 18_750].groupby(["setting", "d", "n"])
    below = (cells["bayes_r2"].mean() - cells["r2"].mean()).round(6)
    assert len(below) == 70
    assert below.max() < 0.001
    assert "0.001" in text
    assert "70 cells" in text

    peers = rows_between("comparison.md", "| math_placement", "| nhanes_sbp")
    ahead = [numbers_of(row)[-1] for row in peers]
    assert len(ahead) == 4
    assert f"{min(ahead):.3f} to {max(ahead):.3f}" in text

    covered = rows_between(
        "guide/intervals.md",
        "| covered share of all rows | 400",
        "| covered share of all rows | 2,000",
    )
    shares = [100 * share for row in covered for share in numbers_of(row)]
    assert len(shares) == 8
    assert f"{min(shares):.1f} to {max(shares):.1f} %" in text


def test_the_page_of_commands_names_every_script_and_figure():
    page = (ROOT / "docs" / "reproduce.md").read_text()
    helpers = {"header.py", "resumable.py"}  # imported by the others
    for script in (ROOT / "benchmarks").glob("*.py"):
        assert script.name in helpers or f"benchmarks/{script.name}" in page, script
    for figure in (ROOT / "docs" / "figures").iterdir():
        assert f"`{figure.name}`" in page, figure
    for name in re.findall(r"benchmarks/(\w+\.py)", page):
        assert (ROOT / "benchmarks" / name).exists(), name


def measured():
    """Yield the rows of the table of numbers, and when they were measured."""
    page = (ROOT / "docs" / "reproduce.md").read_text()
    rows = re.findall(r"^\| .*$", page.split("## Tables and numbers")[1], re.M)[1:]
    assert len(rows) > 20
    for row in rows:
        yield row, row.strip("| ").split("|")[-1].strip()


def test_the_page_of_commands_says_when_and_at_which_commit_numbers_were_measured():
    when = r"20\d\d-\d\d-\d\d, \w{7}(, `\w+\.txt`)?"
    for row, words in measured():
        assert re.fullmatch(rf"{when}|on your machine", words), row


def test_what_a_benchmark_printed_is_of_the_day_and_the_commit_that_the_page_says():
    for row, words in measured():
        if words.endswith(".txt`"):
            day, commit, name = words.replace("`", "").split(", ")
            printed = (ROOT / "results" / "bench" / name).read_text()
            assert printed.startswith(f"Measured on {day} at commit {commit} "), row


def test_a_page_names_the_command_that_makes_its_numbers():
    page = (ROOT / "docs" / "reproduce.md").read_text()
    for row in re.findall(r"^\| .*$", page, re.M):
        scripts = re.findall(r"benchmarks/\w+\.py", row)
        for target in re.findall(r"\]\(([^)#]+)\)", row):
            text = (ROOT / "docs" / target).read_text()
            assert not scripts or any(name in text for name in scripts), (target, row)


def test_every_file_that_a_page_names_is_there():
    folders = "src|tests|benchmarks|docs|examples"
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        named = re.findall(rf"(?<![\w/])((?:{folders})/[\w/*]+\.\w+)", page.read_text())
        for name in set(named):
            assert "your_lr" in name or list(ROOT.glob(name)), (page.name, name)


def test_every_name_of_the_map_of_the_paper_is_there():
    page = (ROOT / "docs" / "paper.md").read_text()
    rows = [line.split("|") for line in page.split("\n") if line.startswith("| ")]
    claims = " ".join(row[1] for row in rows)
    for kind, numbers in {
        "Proposition": ["3.1", "4.1", "4.2", "C.1"],
        "Definition": ["4.1"],
        "Assumption": ["4.1", "5.1"],
        "Theorem": ["5.1", "5.2", "6.1"],
        "Example": ["3.1"],
        "Figure": ["1", "2", "3", "4"],
    }.items():
        assert all(f"{kind} {number}" in claims for number in numbers)
    for name in re.findall(r"`([a-zA-Z][\w.]*\.?\w+)[(`]", "".join(r[2] for r in rows)):
        if name.startswith(("model.", "imputation_", "noise_variance")) or name == "L":
            continue  # of an instance, or an argument
        found_in_missfit(name)
