"""Costs: cheap candidates first, and none that would break a budget."""

import numpy as np
import pandas as pd
import pytest

from missfit.comparison import CompareOptions, compare_table
from missfit.comparison.candidates import CANDIDATES, candidate
from missfit.comparison.class_candidates import MAJORITY
from missfit.comparison.costs import GROWTH, Costs
from missfit.comparison.fits import Fit
from missfit.comparison.fold_fits import FoldFits
from missfit.comparison.results import Trial
from missfit.tables.training import TrainingTable

TRIED = [candidate(name) for name in ("ExpandedLR", "ConstantImputedLR", "EMLR")]


@pytest.fixture
def table(rng):
    frame = pd.DataFrame(rng.standard_normal((500, 3)), columns=list("abc"))
    y = frame.sum(axis=1).to_numpy() + rng.standard_normal(500)
    return TrainingTable(frame.mask(rng.random(frame.shape) < 0.2), y, "y", None, [])


@pytest.fixture
def measured(monkeypatch):
    """Let fits to a small part take what a test says, without waiting for it."""
    took = {}

    def small(self, one, n_rows):
        return Fit(np.empty(0), took[one.name, n_rows], "")

    monkeypatch.setattr(FoldFits, "small", small)
    for name in ("LONG", "TRY"):
        monkeypatch.setattr(f"missfit.comparison.costs.{name}", 0.0)  # no guesses
    return took


def test_cheap_candidates_are_run_first_and_reported_in_the_order_given(table):
    ran, queued = [], []
    found = compare_table(
        table,
        TRIED,
        on_start=lambda whole, queue: queued.extend(one.name for one in queue),
        on_trial=lambda whole, trial, left: ran.append(trial.name),
    )
    assert ran == queued == ["ConstantImputedLR", "ExpandedLR", "EMLR"]
    assert [trial.name for trial in found.trials] == [one.name for one in TRIED]
    costs = [one.cost for one in CANDIDATES]
    assert min(costs) > 0


def test_a_candidate_that_would_break_the_budget_is_left_out_and_named(table, measured):
    for name, seconds in (("ConstantImputedLR", 1), ("ExpandedLR", 1000), ("EMLR", 9)):
        measured[name, 100] = seconds
    # 400 training rows: each fit takes (400 / 100)^0.75 = 2.83 times as long as the
    # small part, and there are 5 for the folds and 2 for the report
    options = CompareOptions(budget=10_000)
    found = compare_table(table, TRIED, options)
    assert [trial.name for trial in found.sound] == ["ConstantImputedLR", "EMLR"]
    left_out = found.trial("ExpandedLR")
    assert left_out.fit_seconds is None
    said = "all folds and the report would take about 5 h 29 min, and 2 h 4"
    assert said in left_out.left_out
    assert not [row for row in found.fold_rows() if row["predictor"] == "ExpandedLR"]


def test_a_trial_that_costs_next_to_nothing_tells_nothing_of_the_others(table):
    """A call of .02 s would make EMLR look as if a fit took 2 s."""
    costs = Costs(FoldFits(compare_table(table, TRIED[1:2]), 1))
    for one, seconds in ((MAJORITY, 0.02), (TRIED[1], 0.01)):
        costs.learn(Trial(one, np.empty(0), np.array([seconds]), "", ""))
    assert costs.guess(TRIED[2]) == pytest.approx(0.01 / TRIED[1].cost)


def test_a_budget_that_nothing_fits_says_so(table, measured):
    measured.update({(one.name, 100): 100.0 for one in TRIED})
    with pytest.raises(
        ValueError, match=r"would take about .* Give a larger budget: 8 s of it"
    ):
        compare_table(table, TRIED, CompareOptions(budget=60))


def test_time_grows_by_the_power_that_is_said_and_a_second_part_corrects_it(rng):
    frame = pd.DataFrame({"a": rng.standard_normal(10_000)})
    table = TrainingTable(frame, rng.standard_normal(10_000), "y", None, [])
    one = candidate("ConstantImputedLR")
    costs = None

    def look(whole, queue):
        nonlocal costs
        costs = Costs(FoldFits(whole, 2))

    compare_table(table, [one], on_start=look)
    costs.fold_fits.small = lambda one, n: Fit(np.empty(0), 4.0, "")  # overhead alone
    assert costs.n_small == 250
    first, second = 4 * (8000 / 250) ** GROWTH, 4 * (8000 / 1000) ** GROWTH
    costs._pace = 1e9
    assert costs.of(one, enough=1e6) == pytest.approx(first)
    assert costs.of(one, enough=20.0) == pytest.approx(second)
    assert costs.of(one, enough=1.0) == pytest.approx(first)  # a second one is dear
    assert costs.folds(one, 7.0) == 21.0  # 5 folds on 2 processes: 3 rounds
    assert costs.folds(one, 7.0, n_done=2) == 14.0
    assert costs.folds(one._replace(fit_many=print), 7.0) == 35.0


def test_once_the_time_is_spent_no_part_is_fitted_any_more(table, measured):
    with pytest.raises(ValueError, match="0 s are left of the time"):
        compare_table(table, TRIED, CompareOptions(budget=1e-3))  # `measured` is empty


def refuse(*_):
    raise AssertionError("trained")


def test_networks_are_left_out_where_there_are_few_rows_for_each_column(rng):
    frame = pd.DataFrame(rng.standard_normal((60, 30)))
    table = TrainingTable(
        frame.rename(columns=str), rng.standard_normal(60), "y", None, []
    )
    ridge = candidate("mean + indicator ridge")
    network = ridge._replace(name="network", cost=60.0, fit_many=refuse)
    found = compare_table(table, [ridge, network])
    assert "fewer than 2 training rows for each column" in found.trials[1].left_out
    tried = compare_table(table, [ridge, network], CompareOptions(all_folds=True))
    assert tried.trials[1].failure == "AssertionError: trained"
