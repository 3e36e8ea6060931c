"""What `make release-check` asks of a version before it is tagged."""

import re
import runpy
from pathlib import Path

import pytest

import missfit

SCRIPT = Path(__file__).parents[1] / ".ci" / "release.py"
CHANGES = "# Changelog\n\n## 1.0.0 (2030-01-31)\n\n- All.\n\n## 0.1.0 (2029-01-31)\n"


@pytest.fixture(scope="module")
def faults():
    if not SCRIPT.exists():
        pytest.skip("the tests stand alone, without the rest of the project")
    return runpy.run_path(str(SCRIPT))["faults"]


def test_a_version_with_a_dated_newest_section_can_be_released(faults):
    assert faults("1.0.0", CHANGES, ["Development Status :: 5 - Stable"]) == []


@pytest.mark.parametrize(
    ("version", "changelog", "words"),
    [
        ("1.0.1", CHANGES, "newest section of CHANGELOG.md is '1.0.0 (2030-01-31)'"),
        ("0.1.0", CHANGES, "a release has '0.1.0 (YEAR-MONTH-DAY)'"),
        ("1.0.0", "## 1.0.0 (unreleased)\n", "is '1.0.0 (unreleased)'"),
        ("1.0.0", "", "is 'nothing'"),
        ("1.0", CHANGES, "1.0 is not a version such as 1.2.0"),
    ],
)
def test_a_version_without_its_changes_is_refused(faults, version, changelog, words):
    assert words in " ".join(faults(version, changelog, []))


def test_from_version_one_on_no_alpha_is_released(faults):
    (found,) = faults("1.0.0", CHANGES, ["Development Status :: 3 - Alpha"])
    assert "calls 1.0.0 'Development Status :: 3 - Alpha'" in found


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("CITATION.cff", r"^version: (.*)$"), ("docs/cite.md", r"version = {(.*)}")],
)
def test_how_to_cite_names_the_version_of_the_package(faults, name, pattern):
    text = (SCRIPT.parents[1] / name).read_text()
    assert re.findall(pattern, text, re.M) == [missfit.__version__]


def test_the_citation_has_the_day_of_the_newest_section_of_the_changelog(faults):
    root = SCRIPT.parents[1]
    day = re.search(r"^## .*\((.*)\)$", (root / "CHANGELOG.md").read_text(), re.M)[1]
    assert f"date-released: {day}\n" in (root / "CITATION.cff").read_text()
