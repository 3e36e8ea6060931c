"""The programs of the page on export, in languages other than Python."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import missfit
from exported import session

GUIDE = Path(__file__).parents[1] / "docs" / "guide"


@pytest.fixture(scope="module")
def node_folder(tmp_path_factory):
    """A folder with onnxruntime-web from the registry; skips where there is none."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not installed")
    folder = tmp_path_factory.mktemp("node")
    line = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(
        [*line, "onnxruntime-web"], cwd=folder, capture_output=True, timeout=300
    )
    if done.returncode:
        pytest.skip("onnxruntime-web could not be installed from the registry")
    return folder


def code_of(page, language):
    """Return the one program of a page in a language."""
    if not GUIDE.exists():
        pytest.skip("the tests stand alone, without the docs")
    (code,) = re.findall(rf"```{language}\n(.*?)```", (GUIDE / page).read_text(), re.S)
    return code


def numbers_printed(folder, code):
    """Run a program by node; return the numbers that it prints."""
    (folder / "page.mjs").write_text(code)
    line = ["node", "page.mjs"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return np.array(done.stdout.split(), dtype=float)


@pytest.mark.slow
def test_the_javascript_of_the_page_predicts_what_python_does(node_folder):
    code = code_of("export.md", "javascript")
    X, y = missfit.simulate.published("mixture3", 4).sample(2000, random_state=0)
    model = missfit.PatternMixtureLR(random_state=0).fit(X, y)
    missfit.export(model, node_folder / "model.onnx")
    found = numbers_printed(node_folder, code)
    row = np.array([[0.5, np.nan, np.nan, 2.0]])
    expected = np.concatenate(model.predict(row, return_std=True))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    same = np.concatenate(session(node_folder / "model.onnx").run(None, {"X": row}))
    np.testing.assert_allclose(found, same, rtol=1e-12)


@pytest.mark.slow
def test_the_javascript_of_a_table_predicts_what_python_does(node_folder, monkeypatch):
    monkeypatch.chdir(node_folder)
    made = {}
    exec(compile(code_of("deploy.md", "python"), "page", "exec"), made)
    found = numbers_printed(node_folder, code_of("deploy.md", "javascript"))
    expected = np.concatenate([made["prediction"], made["lower"], made["upper"]])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
