"""What `import missfit` shows, and what it does not load."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import missfit

CORE = ("numpy", "scipy", "sklearn")


def loaded_after(statements):
    """Return the modules that a new process has loaded after these statements."""
    code = f"{statements}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def checked_names():
    """Return the names that a type checker sees: those imported for it alone."""
    tree = ast.parse(Path(missfit.__file__).read_text())
    block = next(
        node
        for node in tree.body
        if isinstance(node, ast.If) and "not" not in ast.unparse(node.test)
    )
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in imports for alias in node.names}


def test_dir_shows_the_public_names_and_no_others():
    assert set(dir(missfit)) == {*missfit.__all__, "__version__"}


@pytest.mark.parametrize("name", missfit.__all__)
def test_every_public_name_can_be_imported(name):
    assert getattr(missfit, name) is not None


def test_a_type_checker_sees_the_public_names():
    assert checked_names() == set(missfit.__all__)


USER = """
import numpy as np
import missfit

X = np.zeros((9, 2))
missfit.AutoRegresor()
reveal_type(missfit.ConformalRegressor(missfit.EMLR()).fit(X, X[:, 0]).predict(X))
reveal_type(missfit.MLP().fit(X, X[:, 0]))
"""


def test_a_type_checker_finds_a_misspelt_name_and_knows_what_fit_returns(tmp_path):
    pyright = pytest.importorskip("pyright", reason="pip install pyright")
    if shutil.which("node") is None:
        pytest.skip("pyright needs Node.js: apt-get install nodejs")
    script = tmp_path / "user.py"
    script.write_text(USER)
    done = pyright.run(
        "--pythonpath", sys.executable, str(script), capture_output=True, text=True
    )
    wrong = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(wrong) == 1, done.stdout + done.stderr
    assert '"AutoRegresor" is not a known attribute' in wrong[0]
    assert re.search('predict.* is "ndarray', done.stdout), done.stdout
    assert re.search('MLP.* is "MLP"', done.stdout), done.stdout


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = missfit.Nothing


def test_the_version_is_told_without_loading_numpy_scipy_or_scikit_learn():
    said = "from missfit.cli import main\nmain(['--version'])"
    assert not loaded_after(said).intersection(CORE)


def test_a_predictor_is_had_with_the_core_dependencies_alone():
    loaded = loaded_after("from missfit import EMLR, AutoRegressor")
    assert loaded.issuperset(CORE)
    # scikit-learn itself loads pandas where it is installed
    assert not loaded.intersection({"jax", "matplotlib", "dask", "skops"})
