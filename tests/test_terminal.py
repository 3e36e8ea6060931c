"""What commands show on a terminal: one line that is never too long, and goes away."""

import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from missfit.comparison.candidates import CANDIDATES
from missfit.terminal import Status

pty = pytest.importorskip("pty")
ERASE = "\r\x1b[K"


def on_a_terminal(columns, *arguments):
    """Run a command on a terminal of so many columns; return all that it wrote."""
    leader, follower = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "missfit", *map(str, arguments)],
        stdout=follower,
        stderr=follower,
        env={**os.environ, "COLUMNS": str(columns)},
    )
    os.close(follower)
    text = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    os.close(leader)
    assert done.wait() == 0
    return text.decode().replace("\r\n", "\n")


def visible(text):
    """Return the lines that stay on the screen: what was erased is gone."""
    return [line.split(ERASE)[-1] for line in text.split("\n")]


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = X.sum(axis=1)
    X[rng.random(X.shape) < 0.2] = np.nan
    path = tmp_path / "a_table_with_a_name_longer_than_the_terminal_is_wide.csv"
    pd.DataFrame(X, columns=list("abc")).assign(y=y).to_csv(path, index=False)
    return path


def test_the_line_says_what_runs_how_long_and_what_is_left():
    status = Status()
    assert status.line(5, 80) == ""
    status.show("[ 20%] EMLR", left=90)
    assert status.line(0.1, 80) == "[ 20%] EMLR, about 1 min 30 s left"
    assert status.line(5, 80) == "[ 20%] EMLR (5 s), about 1 min 25 s left"
    assert status.line(100, 80) == "[ 20%] EMLR (1 min 40 s)"  # wrong, so not told
    assert status.line(5, 20) == "[ 20%] EMLR (5 s),…"
    status.clear()
    assert status.line(5, 80) == ""


@pytest.mark.slow
def test_fit_and_predict_show_progress_and_leave_nothing_behind(table, tmp_path):
    model = tmp_path / "m.skops"
    fit = ("fit", table, "--target", "y", "--model", model, "--predictor", "EMLR")
    said = on_a_terminal(40, *fit)
    drawn = re.findall(r"\r\x1b\[K([^\r\n]*)", said)
    assert any(line.startswith("fitting EMLR to 200 rows") for line in drawn)
    assert any(line.startswith("reading ") and line.endswith("…") for line in drawn)
    assert max(map(len, drawn)) < 40 or "EMLR on 200 rows" in max(drawn, key=len)
    assert not any("reading" in line or "fitting" in line for line in visible(said))
    predicted = on_a_terminal(40, "predict", model, table)
    lines = [line for line in visible(predicted) if line]
    assert lines[0] == "prediction,lower,upper"
    assert len(lines) == 201


def test_compare_shows_what_runs_and_leaves_the_table_alone(table, tmp_path):
    names = "EMLR", "ConstantImputedLR"
    skip = [f"--skip={one.name}" for one in CANDIDATES if one.name not in names]
    call = ("compare", table, "--target", "y", "--jobs", "1", "--out", tmp_path / "r")
    said = on_a_terminal(80, *call, *skip)
    assert "[1/2] ConstantImputedLR" in said  # the cheap one comes first
    assert "finding the reasons for the scores" in said
    lines = [line for line in visible(said) if line]
    first = [line.split()[0] for line in lines if not line.startswith("missfit: ")]
    assert first[0] == "column"  # how the table is read comes before the scores
    first = first[first.index("predictor") :]
    assert first[:4] == ["predictor", *names[::-1], "Use"]
    assert len(first) == 7  # and where the report is, and the command that fits


def test_without_a_terminal_nothing_is_drawn(table, tmp_path):
    model = tmp_path / "m.skops"
    call = f"fit {table} --target y --model {model} --predictor EMLR"
    done = subprocess.run(
        [sys.executable, "-m", "missfit", *call.split()],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "\x1b" not in done.stderr
    assert "\r" not in done.stderr
