"""The oldest versions that pyproject.toml allows: `make test-oldest` runs with them."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def constraints():
    """By package, as `.ci/oldest.py` prints them for pip."""
    script = ROOT / ".ci" / "oldest.py"
    if not script.exists():
        pytest.skip("the tests stand alone, without the rest of the project")
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True
    )
    return dict(line.split("==") for line in done.stdout.splitlines())


def test_every_package_that_missfit_needs_has_an_oldest_version(constraints):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]  # missfit[networks,study,...]
    needed = set(project["dependencies"])
    for extra in re.findall(r"\w+", everything)[1:]:
        needed.update(extras[extra])
    names = {re.split(r"[\[>=<]", requirement)[0] for requirement in needed}
    assert names - {"missfit"} == set(constraints) - {"onnxruntime", "polars"}


@pytest.mark.parametrize(
    ("name", "works", "why"),
    [
        ("skops", "0.14", "0.13 cannot save a namedtuple inside a fitted model"),
        ("jax", "0.8", "the trainer calls what earlier versions do not have"),
        ("matplotlib", "3.10", "3.9 ends a study in a TypeError"),
        ("pandas", "2.2.2", "2.2.0 was built for numpy 1"),
    ],
)
def test_no_version_is_allowed_that_was_seen_to_fail(constraints, name, works, why):
    def numbers(version):
        return tuple(map(int, version.split(".")))

    assert numbers(constraints[name]) >= numbers(works), why
