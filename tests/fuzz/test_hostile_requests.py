"""Hostile requests: each ends in an answer below 500, none in a hang or a crash."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hostile_requests import KINDS, PAUSE, ROW, case, fault

import missfit
from served import make_table

pytest.importorskip("pyarrow")
pytest.importorskip("starlette", reason='pip install "missfit[serve]"')
pytest.importorskip("uvicorn", reason='pip install "missfit[serve]"')
from missfit.serve.refusals import Limits
from serving import Running

LONG, BLOCK = 2_000, 500
LIMITS = Limits(
    body=1_000_000,
    bodies=20_000_000,
    rows=1_000,
    head_seconds=PAUSE / 2,
    body_seconds=PAUSE / 2,
)


def fitted(kind):
    table = make_table(300)
    if kind == "number":
        return missfit.fit_table(table, "y", "ConstantImputedLR")
    table["y"] = np.where(table["y"] > table["y"].median(), "high", "low")
    return missfit.fit_table(table, "y", "ConditionalImputedLogistic")


@pytest.fixture(scope="module", params=["number", "class"])
def running(request):
    server = Running(fitted(request.param), LIMITS)
    yield server
    server.stop()


def assert_harmless(running, numbers):
    before = running.ask("POST", "/predict", json.dumps(ROW))
    assert before[0] == 200, before[2]
    n_threads = threading.active_count()
    with ThreadPoolExecutor(8) as pool:
        faults = list(pool.map(lambda n: fault(case(n), running.port), numbers))
    wrong = {n: text for n, text in zip(numbers, faults, strict=True) if text}
    assert wrong == {}
    assert running.ask("POST", "/predict", json.dumps(ROW))[2] == before[2]
    assert threading.active_count() <= n_threads + 1  # for large bodies, on first use
    assert running.server.service.reader.held == 0
    status, _, body = running.ask("GET", "/watch")
    assert (status, json.loads(body)["rows"] > 0) == (200, True)


def test_hostile_requests_are_answered_and_do_no_harm(running):
    assert_harmless(running, range(2 * len(KINDS)))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 100 + LONG, BLOCK))
def test_two_thousand_hostile_requests_are_answered_and_do_no_harm(running, start):
    assert_harmless(running, range(start, start + BLOCK))
