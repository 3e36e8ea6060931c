"""missfit compare with worker processes, stopped from outside."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

NAMES = ["ConstantImputedLR", "AutoRegressor"]  # the first is done at once

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc"),
]


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """A comparison whose second predictor takes minutes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6_000, 25))
    y = X[:, :3].sum(axis=1) + np.sin(3 * X[:, 0]) * X[:, 1] + rng.normal(size=6_000)
    X[rng.random(X.shape) < 0.2] = np.nan
    path = tmp_path_factory.mktemp("interrupt") / "t.csv"
    pd.DataFrame(X).add_prefix("x").assign(y=y).to_csv(path, index=False)
    start = [sys.executable, "-m", "missfit", "compare", str(path), "--target", "y"]
    return [*start, "--only", ",".join(NAMES), "--jobs", "2", "--all"]


def members(session):
    """Return the processes of a session that have not ended."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            after_name = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended just now
            continue
        if int(after_name[3]) == session and after_name[0] != "Z":
            found.append(int(place.name))
    return found


def until(is_so, seconds=120.0):
    """Wait for something that is to come in any case; the limit is for a failure."""
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.05)
    assert is_so()


@pytest.mark.parametrize(
    ("number", "to_all"),
    [(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGTERM, False)],
)
def test_stopped_it_writes_the_report_of_what_is_there_and_leaves_no_process(
    line, tmp_path, number, to_all
):
    said, err = tmp_path / "said", tmp_path / "err"
    with said.open("w") as out, err.open("w") as wrong:
        process = subprocess.Popen(
            [*line, "--out", str(tmp_path / "out")],
            stdout=out,
            stderr=wrong,
            start_new_session=True,
        )
    try:
        until(lambda: f"{NAMES[0]} " in said.read_text() or process.poll() is not None)
        until(lambda: len(members(process.pid)) > 2)  # the workers are there
        if to_all:  # as a terminal does after Ctrl-C
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        assert process.wait(300) == 130, err.read_text()
        until(lambda: not members(process.pid))
    finally:
        for pid in members(process.pid):
            os.kill(pid, signal.SIGKILL)
    assert "give the same command again" in err.read_text()
    assert "Traceback" not in err.read_text() + said.read_text()
    results = pd.read_csv(tmp_path / "out" / "results.csv")
    assert set(results["predictor"]) == {NAMES[0]}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "not finished before the comparison was interrupted" in page
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert left == {"report.html", "results.csv", "missfit.json", "parts"}
