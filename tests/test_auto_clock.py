"""Where the seconds of a fit go."""

import numpy as np
import pytest

from missfit.auto.clock import KEPT, Clock


@pytest.fixture
def now(monkeypatch):
    """A clock that the test sets."""
    seconds = [100.0]
    monkeypatch.setattr("missfit.auto.clock.time.perf_counter", lambda: seconds[0])
    return seconds


def test_a_stage_counts_what_is_done_inside_it_also_the_second_time(now):
    clock = Clock()
    for taken in (2.0, 3.0):
        with clock.stage("one"):
            now[0] += taken
        now[0] += 10.0
    assert clock.seconds == {"one": 5.0}


def test_a_budget_ends_while_there_is_time_to_explain(now):
    assert Clock(20.0).deadline == pytest.approx(100 + 20 * (1 - KEPT))
    assert Clock().deadline == np.inf


@pytest.mark.parametrize("budget", [0, -1.0, np.nan])
def test_a_budget_is_above_zero(budget):
    with pytest.raises(ValueError, match="give seconds > 0"):
        Clock(budget)
