"""The commands of the README run in its order, and those of all pages can be read."""

import json
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from missfit.cli.command import command_parser

ROOT = Path(__file__).parents[1]
MADE = {"_build", "gallery", "generated"}  # by `make docs`
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FREE_PORT = "8765"  # the default may be taken


def commands_of(page):
    """Return the words after `missfit` of each command in the blocks of a page."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", page.read_text(), re.S | re.M)
    lines = re.findall(r"^missfit (.*)$", "\n".join(blocks), re.M)
    plain = [line for line in lines if "[" not in line]  # no list of options
    return [shlex.split(line, comments=True) for line in plain]


COMMANDS = [
    pytest.param(words, id=f"{page.name}-{' '.join(words[:2])}")
    for page in PAGES
    if not MADE & set(page.relative_to(ROOT).parts)
    for words in commands_of(page)
    if "--completion" not in words  # it ends while it is read
]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_of_a_page_is_one_that_missfit_knows(words):
    assert command_parser().parse_args(words).command


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """A folder in which the commands of the README have run, up to the server."""
    for name in ("onnx", "pandas", "skops", "starlette", "uvicorn"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("newcomer")
    *commands, serve = commands_of(ROOT / "README.md")
    assert serve[0] == "serve"
    for words in commands:
        done = subprocess.run(
            [sys.executable, "-m", "missfit", *words],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (words, done.stderr)
    return folder, serve


@pytest.mark.slow  # the commands of the README take a minute
def test_the_commands_of_the_readme_write_a_report_predictions_and_an_onnx_file(walked):
    folder, _ = walked
    assert "What to use" in (folder / "missfit-report" / "report.html").read_text()
    predictions = (folder / "predictions.csv").read_text().splitlines()
    assert predictions[0] == "prediction,lower,upper"
    assert len(predictions) == 1 + 3000
    assert (folder / "table.onnx").stat().st_size > 1_000


@pytest.mark.slow
def test_the_server_of_the_readme_answers_what_its_curl_asks(walked):
    folder, serve = walked
    asked = re.findall(r"-d '(.*?)'", (ROOT / "README.md").read_text())
    command = [sys.executable, "-m", "missfit", *serve, "--port", FREE_PORT]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        (row,) = answer_to(asked[0])["predictions"]
    finally:
        server.terminate()
        server.wait()
    assert row["lower"] < row["prediction"] < row["upper"]


def answer_to(body):
    """Return what the server says to a row, as soon as it has started."""
    request = Request(
        f"http://127.0.0.1:{FREE_PORT}/predict",
        body.encode(),
        {"content-type": "application/json"},
    )
    for _ in range(600):
        try:
            with urlopen(request) as reply:
                return json.loads(reply.read())
        except URLError:
            time.sleep(0.5)
    raise TimeoutError("the server did not start within five minutes")
