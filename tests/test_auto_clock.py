"""Where the seconds of a fit go."""

import numpy as np
import pytest

from missfit.auto.clock import KEPT, Clock
from missfit.auto.pace import MANY_VALUES, Pace, fits_at_once


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
    clock = Clock(20.0)
    now[0] += 5.0
    assert clock.left() == pytest.approx(15.0)
    now[0] += 20.0
    assert clock.left() == 0.0
    assert Clock().left() == np.inf


@pytest.mark.parametrize("budget", [0, -1.0, np.nan])
def test_a_budget_is_above_zero(budget):
    with pytest.raises(ValueError, match="give seconds > 0"):
        Clock(budget)


def test_boosting_is_begun_where_its_rounds_end_in_time(now):
    pace = Pace(seconds=0.25, deadline=110.0)
    assert pace.allows(40)  # 10 seconds
    assert not pace.allows(41)
    assert pace.end_of_first(5) == pytest.approx(102.0)  # a fifth of what is left
    assert Pace(0.25, np.inf).end_of_first(5) == np.inf


def test_boosting_of_many_values_is_fitted_side_by_side(monkeypatch):
    monkeypatch.setattr("missfit.auto.pace.n_threads", lambda: 3)
    assert fits_at_once(MANY_VALUES) == 3
    assert fits_at_once(MANY_VALUES - 1) == 1
