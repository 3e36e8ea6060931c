"""Hostile files and command lines: no traceback, no signal, nothing left behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("skops")

SERVER = Path(__file__).parent / "hostile_server.py"
LONG, BLOCK = 2_000, 100
TABLES = 1_000_000  # from here on, cases are tables alone


def results_of(numbers):
    """Run cases one after another in a server of their own."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(SERVER)],
        input="\n".join(map(str, numbers)),
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_harmless(numbers):
    results = results_of(numbers)
    assert len(results) == len(numbers)
    wrong = [result for result in results if result["wrong"]]
    assert not wrong, "\n".join(map(str, wrong))
    assert any(result["code"] == 0 for result in results)
    assert any(result["code"] == 2 for result in results)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_hostile_files_and_command_lines_do_no_harm():
    assert_harmless(range(20))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("start", range(TABLES, TABLES + 500, 50))
def test_five_hundred_mutated_tables_do_no_harm(start):
    assert_harmless(range(start, start + 50))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("start", range(20, 20 + LONG, BLOCK))
def test_two_thousand_hostile_files_and_command_lines_do_no_harm(start):
    assert_harmless(range(start, start + BLOCK))
