"""The report on a table: where it comes from, what it predicts, many patterns."""

import dataclasses
import hashlib
import html
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from missfit.comparison import CompareOptions, compare_table, diagnose
from missfit.comparison.candidates import CANDIDATES, candidate
from missfit.comparison.errors import errors_by_count, errors_by_pattern
from missfit.report.table.importance import importance_section, what_matters
from missfit.report.table.prediction_figures import bins
from missfit.report.table.predictions import calibration, calibration_slope
from missfit.report.table.provenance import Provenance, in_bytes
from missfit.report.table.report import table_report
from missfit.suspicions import Suspicion
from missfit.tables.training import TrainingTable, read_training
from missfit.workflow.compare import advise
from missfit.workflow.provenance import provenance_of

NASTY = "<script>alert('x')</script>"
CHEAP = [candidate("ConstantImputedLR"), candidate("mean + indicator ridge")]
ORIGIN = Provenance(
    data=f"{NASTY}.csv",
    n_rows=1000,
    n_columns=32,
    date="2026-01-31 12:00 UTC",
    seconds=75.0,
    command=f"missfit compare {NASTY}.csv",
    versions="missfit 1.2.3, numpy 4.5.6",
    size=1_634_027,
    checksum="0123456789abcdef",
)


@pytest.fixture(scope="module")
def many_patterns():
    """1,000 rows of 32 columns, of which nearly each row has a pattern of its own."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1000, 32))
    y = 3 * X[:, 7] + X[:, 8] + rng.standard_normal(1000)
    X[rng.random(X.shape) < 0.25] = np.nan
    X[:100, 1:] = np.where(np.arange(1, 32) == 5, np.nan, 0.0)  # one frequent pattern
    X[:100, 0] = 1.0
    frame = pd.DataFrame(X, columns=[f"measurement {j}" for j in range(32)])
    table = TrainingTable(frame, y, "y", None, [])
    comparison = compare_table(table, CHEAP, CompareOptions())
    return comparison, diagnose(comparison)


@pytest.fixture(scope="module")
def page(many_patterns):
    comparison, diagnosis = many_patterns
    leak = Suspicion("leak", (NASTY,), f"{NASTY} holds the answer.")
    odd = dataclasses.replace(comparison, suspicions=[leak])
    return table_report(odd, diagnosis, "print(1)", origin=ORIGIN)


def test_a_report_says_where_it_comes_from(page):
    for fact in (
        "1,000 rows with a target", "32 columns to predict from", "SHA-256 0123456789",
        "1.6 MB", "2026-01-31 12:00 UTC", "1 min 15 s", "missfit 1.2.3, numpy 4.5.6",
        "5-fold cross-validation of 1,000 rows",
    ):  # fmt: skip
        assert fact in page
    assert NASTY not in page
    assert page.count(html.escape(NASTY)) >= 3  # the lead, the data and the command


def test_the_provenance_is_that_of_the_file(tmp_path, rng):
    path = tmp_path / "houses.csv"
    frame = pd.DataFrame(rng.standard_normal((60, 3)), columns=["a", "b", "y"])
    frame.to_csv(path, index=False)
    advise(
        path,
        "y",
        tmp_path / "out",
        CompareOptions(
            skip=[one.name for one in CANDIDATES if one is not CHEAP[0]], n_folds=2
        ),
        command="missfit compare houses.csv",
    )
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"houses.csv, {in_bytes(path.stat().st_size)}" in page
    assert hashlib.sha256(path.read_bytes()).hexdigest()[:16] in page
    assert "60 rows with a target, 2 columns" in page
    assert "<code>missfit compare houses.csv</code>" in page


def test_a_report_without_time_for_a_learning_curve_says_so(tmp_path, rng, monkeypatch):
    frame = pd.DataFrame(rng.standard_normal((60, 3)), columns=["a", "b", "y"])
    frame.to_csv(tmp_path / "houses.csv", index=False)
    options = CompareOptions(only=["ConstantImputedLR"], n_folds=2)
    pages = []
    for seconds in (0.0, 1e9):
        name = "missfit.comparison.diagnosis.curve_seconds"
        monkeypatch.setattr(name, lambda *_, seconds=seconds, **__: seconds)
        advice = advise(tmp_path / "houses.csv", "y", tmp_path / "out", options)
        pages.append(advice.report.read_text())
    note = "to save time, there is no learning curve"
    assert [note in page for page in pages] == [False, True]
    assert "The learning curve was not drawn." in pages[1]


def test_where_targets_do_not_vary_there_is_no_curve_and_no_talk_of_time(tmp_path, rng):
    frame = pd.DataFrame(rng.standard_normal((200, 2)), columns=["a", "y"])
    frame["day"] = pd.date_range("2024-01-01", periods=200).astype(str)
    frame.loc[100:, "y"] = 0.0
    frame.to_csv(tmp_path / "houses.csv", index=False)
    options = CompareOptions(only=["ConstantImputedLR", "EMLR"], time="day")
    advice = advise(tmp_path / "houses.csv", "y", tmp_path / "out", options)
    assert "The learning curve was not drawn." in advice.report.read_text()
    assert not any("to save time" in note for note in advice.comparison.notes)


def test_a_frame_in_memory_has_no_size_and_no_checksum(rng):
    frame = pd.DataFrame(rng.standard_normal((60, 2)), columns=["a", "y"])
    table = read_training(frame, "y")
    comparison = compare_table(table, CHEAP[:1], CompareOptions(n_folds=2))
    found = provenance_of(frame, comparison, command="", seconds=1.0)
    assert found.data == "a DataFrame in memory"
    assert (found.size, found.checksum) == (None, "")
    assert "numpy " in found.versions


def test_every_section_is_in_the_contents_and_every_id_is_its_own(page):
    links = re.findall(r'<a href="#([^"]*)">(.*?)</a>', page)
    headings = re.findall(r'<section id="([^"]*)"><h2>(.*?)</h2>', page)
    assert links == headings
    assert len(links) >= 11
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids))


def test_suspicions_stand_before_all_scores(page):
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings[:2] == ["Before you trust the scores", "What to use"]
    assert '<a href="#before-you-trust-the-scores">' in page


def test_many_patterns_are_summarised(many_patterns, page):
    comparison, diagnosis = many_patterns
    assert len(comparison.patterns.patterns) > 800
    named, others = diagnosis.by_pattern[0], diagnosis.by_pattern[-1]
    assert (named.n_rows, named.missing) == (100, ["measurement 5"])
    assert len(diagnosis.by_pattern) <= 21
    assert others.n_patterns > 800
    assert f"{others.n_patterns:,} other patterns" in page
    assert "are those of one row only" in page
    assert len(page) < 1_000_000


def test_the_shares_of_error_of_all_patterns_add_up(many_patterns):
    comparison, _ = many_patterns
    found = errors_by_pattern(comparison, most=3)
    assert sum(one.share for one in found) == pytest.approx(1)
    assert sum(one.n_rows for one in found) == 1000
    n_patterns = len(comparison.patterns.patterns)
    assert sum(one.n_patterns for one in found) == n_patterns


def test_of_many_variables_the_first_are_drawn_and_all_are_listed(many_patterns):
    text = importance_section(*many_patterns)
    assert "The first 20 of 32 variables" in text
    assert "both are permuted together" in text
    assert text.count("<tr>") == 1 + 32
    assert "show all 32 rows" in text
    assert what_matters(*many_patterns).startswith("measurement 7 matters most")


def test_where_nothing_matters_it_is_said(many_patterns):
    comparison, diagnosis = many_patterns
    flat = diagnosis.importance._replace(drops=np.zeros(32), errors=np.ones(32))
    nothing = dataclasses.replace(diagnosis, importance=flat)
    assert what_matters(comparison, nothing).startswith("No variable matters by itself")


def test_the_slope_of_actual_on_predicted_is_that_of_least_squares(rng):
    guess = rng.standard_normal(300)
    y = 5 + 0.7 * guess + (1 + abs(guess)) * rng.standard_normal(300)
    slope = calibration_slope(y, guess)
    assert slope.value == pytest.approx(np.polyfit(guess, y, 1)[0])
    draws = rng.integers(0, 300, (2000, 300))
    spread = np.std([np.polyfit(guess[d], y[d], 1)[0] for d in draws])
    # the standard deviation of 2,000 draws is known to 1.6 %, and both are
    # approximations that differ by some percent at 300 rows
    assert slope.error == pytest.approx(spread, rel=0.12)
    copies = calibration_slope(np.tile(y, 4), np.tile(guess, 4), np.tile(range(300), 4))
    assert copies == pytest.approx(slope)
    assert calibration_slope(y, np.full(300, 2.0)) is None


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1.0, "taken at their word"),
        (3.0, "vary more than they should"),
        (0.3, "vary less than they should"),
    ],
)
def test_predictions_that_are_too_bold_or_too_timid_are_named(
    many_patterns, factor, words
):
    comparison, _ = many_patterns
    trial = comparison.trial(comparison.recommended)
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(1000)
    y = truth + rng.standard_normal(1000)
    bold = dataclasses.replace(trial, predictions=factor * truth)
    other = next(t for t in comparison.trials if t.name != trial.name)
    moved = dataclasses.replace(comparison, y=y, trials=[bold, other])
    moved.__dict__["recommended"] = trial.name
    assert words in calibration(moved)


@pytest.mark.parametrize("grouped", [False, True])
def test_claims_have_the_errors_of_a_bootstrap(many_patterns, grouped):
    comparison, _ = many_patterns
    rng = np.random.default_rng(1)
    groups = np.arange(1000) // 2 if grouped else None
    found = dataclasses.replace(comparison, groups=groups)
    name, other = (
        found.recommended,
        next(t.name for t in found.trials if t.name != found.recommended),
    )
    units = rng.integers(0, 500 if grouped else 1000, (1000, 500 if grouped else 1000))
    rows = (2 * units[:, :, None] + [0, 1]).reshape(1000, -1) if grouped else units
    loss, other_loss = (
        (found.trial(one).predictions - found.y) ** 2 for one in (name, other)
    )
    # the standard deviation of 1,000 draws is known to 2.2 %
    gain = found.gain(name, over=other)
    draws = (other_loss - loss)[rows].mean(axis=1) / found.y.var()
    r2 = [r2_score(found.y, found.trial(one).predictions) for one in (name, other)]
    assert gain.value == pytest.approx(r2[0] - r2[1])
    assert gain.standard_error == pytest.approx(draws.std(), rel=0.12)
    whole = dataclasses.replace(
        found, X=np.zeros((1000, 32))
    )  # one group: none missing
    (group,) = errors_by_count(whole)
    assert group.errors[name] == pytest.approx(loss.mean() ** 0.5)
    spread = np.sqrt(loss[rows].mean(axis=1)).std()
    assert group.error == pytest.approx(spread, rel=0.12)


def test_bars_of_a_target_on_a_grid_hold_as_many_values_each():
    y = np.tile(np.arange(0.0, 99.0), 30)  # all equally often, 3 values in each bar
    count, _ = np.histogram(y, bins(y, y))
    assert set(count[count > 0].tolist()) == {90}
    assert count.sum() == len(y)
    rng = np.random.default_rng(0)
    free = rng.standard_normal(500)
    assert len(bins(free, free)) == 41
