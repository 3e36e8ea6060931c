"""compare and fit in time: every part is predicted from the rows before it."""

import contextlib
import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import TimeSeriesSplit
from sklearn.pipeline import make_pipeline

import missfit
from missfit import TableEncoder
from missfit.comparison import CompareOptions, compare_table, diagnose
from missfit.comparison.candidates import candidate
from missfit.comparison.folds import folds_of
from missfit.report.table.code import reproducing_code
from missfit.report.table.report import table_report
from missfit.tables.options import ReadOptions
from missfit.tables.problems import TableError
from missfit.tables.training import read_training
from missfit.workflow.fit import fit_table, held_out_r2
from missfit.workflow.model_file import load_model
from served import refused, run

QUICK = [candidate(name) for name in ("ConstantImputedLR", "EMLR")]


def daily(n=240, seed=0):
    """A table of days in random order: features, a city and a target that drifts."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "day": pd.date_range("2021-01-01", periods=n).strftime("%Y-%m-%d"),
            "a": rng.standard_normal(n),
            "b": np.where(rng.random(n) < 0.2, np.nan, rng.standard_normal(n)),
            "city": rng.choice(["x", "y", None], n),
        }
    )
    walk = np.cumsum(rng.standard_normal(n)) / 5
    frame["y"] = frame["a"] + frame["b"].fillna(0.5) + walk
    return frame.iloc[rng.permutation(n)].reset_index(drop=True)


@pytest.fixture(scope="module")
def compared():
    table = read_training(daily(), "y", time="day")
    options = CompareOptions(time="day", seed=1)
    return table, compare_table(table, QUICK, options), options


def test_rows_are_in_the_order_of_time_and_time_is_no_feature():
    frame = daily()
    table = read_training(frame, "y", time="day")
    in_order = frame.sort_values("day")
    assert table.y == pytest.approx(in_order["y"])
    assert (np.diff(table.time) == 1).all()  # days
    assert list(table.X.columns) == ["a", "b", "city"]
    assert any("'day', which itself is not used to predict" in n for n in table.notes)


def test_numbers_and_missing_times():
    frame = daily().assign(year=lambda f: f.index % 7 + 2000.0)
    frame.loc[:9, "year"] = np.nan
    table = read_training(frame, "y", ReadOptions(drop=("day",)), time="year")
    assert len(table.y) == len(frame) - 10
    assert (np.diff(table.time) >= 0).all()
    assert any(
        "10 rows without a time ('year') left out" in note for note in table.notes
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": "city"}, "'city' cannot be the time of the rows: it is read as cat"),
        ({"time": "dy"}, "no column 'dy'"),
        ({"time": "one"}, "it is '1.0' wherever it is known; at least 2 times"),
        ({"time": "day", "group": "city"}, "by groups ('city') or by time ('day')"),
        ({"time": "y"}, "'y' is the target too"),
    ],
)
def test_what_cannot_be_a_time_is_refused(options, message):
    with pytest.raises(TableError, match=re.escape(message)):
        read_training(daily().assign(one=1.0), "y", **options)


def test_folds_follow_each_other_and_the_first_rows_have_none():
    fold = folds_of(600, 5, 0, time=np.arange(600) // 10)
    assert (np.diff(fold) >= 0).all()
    assert np.bincount(fold + 1).tolist() == [100] * 6
    shuffled = folds_of(600, 5, 0)
    assert np.bincount(shuffled).tolist() == [120] * 5


def test_the_predictions_are_those_of_scikit_learns_time_series_split(compared):
    table, comparison, _ = compared
    for trial in comparison.trials:
        expected = np.full(len(table.y), np.nan)
        for train, test in TimeSeriesSplit(5).split(table.X):
            model = make_pipeline(TableEncoder(), trial.candidate.make(1))
            model.fit(table.X.iloc[train], table.y[train])
            expected[test] = model.predict(table.X.iloc[test])
        assert trial.predictions == pytest.approx(expected, nan_ok=True)
        tested = ~np.isnan(expected)
        assert tested.sum() == 200
        score = comparison.scores[trial.name]
        assert score.r2 == pytest.approx(
            r2_score(table.y[tested], expected[tested]), abs=1e-12
        )
        assert np.isfinite(score).all()


def test_every_fold_has_a_record_and_no_record_is_of_untested_rows(compared):
    _, comparison, _ = compared
    records = list(comparison.fold_rows())
    assert [record["rows"] for record in records] == [40] * 10
    assert all(np.isfinite(record["rmse"]) for record in records)


def test_blocks_of_time_widen_the_intervals_of_scores_that_drift(compared):
    _, comparison, _ = compared
    units = comparison.units
    assert (np.diff(units) >= 0).all()
    # blocks of about sqrt(200 tested rows) = 14 rows
    assert 12 <= np.bincount(units).mean() <= 20


def test_the_report_shows_only_rows_that_are_tested(compared):
    _, comparison, _ = compared
    diagnosis = diagnose(comparison)
    assert sum(group.n_rows for group in diagnosis.by_count) == 200
    assert np.isfinite(diagnosis.importance.drops).all()
    assert all(np.isfinite(list(g.errors.values())).all() for g in diagnosis.by_count)
    assert sum(pattern.n_rows for pattern in diagnosis.by_pattern) == 200
    assert sum(p.share for p in diagnosis.by_pattern) == pytest.approx(1.0)
    assert np.isfinite(diagnosis.coverage).all()
    assert diagnosis.curve[-1].n_rows == 180  # the last two parts learn from 160, 200
    page = table_report(comparison, diagnosis, "")
    assert "each predicted from all rows before it in time" in page
    assert "blocks of consecutive rows" in page
    assert ">nan<" not in page


@pytest.mark.parametrize(
    "name", ["EMLR", pytest.param("AutoRegressor", marks=pytest.mark.slow)]
)
def test_the_code_of_the_report_prints_the_score(tmp_path, name):
    path = tmp_path / "table.csv"
    daily(120).to_csv(path, index=False)
    reading = ReadOptions(drop=("city",))
    table = read_training(path, "y", reading, time="day")
    options = CompareOptions(reading, time="day", n_folds=2, max_rows=110)
    comparison = compare_table(table, [candidate(name)], options)
    code = reproducing_code(comparison, path, options)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue().strip() == f"{comparison.scores[name].r2:.4f}"


def test_fit_prints_the_r2_of_compare(compared):
    table, comparison, _ = compared
    model = fit_table(table, predictor="EMLR", random_state=1)
    # the encoder of fit knows all rows, whose levels here are those of any part
    assert held_out_r2(model) == pytest.approx(comparison.scores["EMLR"].r2, abs=1e-9)


def test_what_shuffled_folds_hide_forward_folds_show():
    """A random walk with smooth features: nearly all is explained, and nothing is."""
    rng = np.random.default_rng(1)
    n = 1500
    steps = rng.standard_normal((n, 5))
    frame = pd.DataFrame(np.cumsum(np.cumsum(steps[:, :4], 0), 0), columns=list("abcd"))
    frame = frame.assign(t=np.arange(n), y=np.cumsum(steps[:, 4]))
    trees = candidate("HistGradientBoosting")
    trees = trees._replace(make=lambda s: HistGradientBoostingRegressor(max_iter=30))
    r2 = {}
    for time in (None, "t"):
        reading = ReadOptions(drop=() if time else ("t",))
        table = read_training(frame, "y", reading, time=time)
        found = compare_table(table, [trees], CompareOptions(time=time))
        r2[time] = found.scores[trees.name].r2
    assert r2[None] > 0.95
    assert r2["t"] < 0.3


def test_the_commands_say_what_is_suspicious_and_take_the_time(capsys, tmp_path):
    frame = daily(200).sort_values("day").assign(unit=1.0)
    frame["copy"] = 2 * frame["y"]
    path, model = tmp_path / "t.csv", tmp_path / "m.skops"
    frame.to_csv(path, index=False)
    fit = ["fit", path, "--target", "y", "--model", model, "--predictor", "EMLR"]
    code, _, err = run(capsys, *fit)
    assert code == 0, err
    assert "suspicion (leak): 'copy' alone explains" in err
    assert "Option: --drop copy" in err
    assert "Option: --time day" in err
    assert "suspicion (constant): 'unit' is the same in every row: 1. Option" in err
    options = ["--time", "day", "--drop", "copy", "--drop", "unit"]
    code, out, err = run(capsys, *fit, *options)
    assert code == 0, err
    assert "suspicion" not in err
    assert "on 165 rows held out" in out  # 5 of 6 blocks of 33
    assert load_model(model).columns == ["a", "b", "city"]


def test_compare_in_time_writes_a_report_that_begins_with_suspicions(capsys, tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "out"
    frame = daily(150).assign(unit=1.0)
    frame.to_csv(path, index=False)
    skip = [
        part
        for name in _names()
        if name not in ("EMLR", "ConstantImputedLR")
        for part in ("--skip", name)
    ]
    arguments = ["compare", path, "--target", "y", "--time", "day", "--jobs", "1"]
    code, _, err = run(capsys, *arguments, "--out", out, *skip)
    assert code == 0
    assert "suspicion (constant): 'unit'" in err
    page = (out / "report.html").read_text()
    assert "leave out &#x27;unit&#x27;" in page
    assert page.index("Before you trust the scores") < page.index("What to use")
    with (out / "results.csv").open() as file:
        assert {row["rows"] for row in csv.DictReader(file)} == {"25"}


def _names():
    from missfit.comparison.candidates import CANDIDATES

    return [one.name for one in CANDIDATES]


def test_a_group_and_a_time_are_refused_by_their_options(capsys, tmp_path):
    path = tmp_path / "t.csv"
    daily(60).to_csv(path, index=False)
    options = ["--group", "city", "--time", "day", "--model", tmp_path / "m.skops"]
    err = refused(capsys, "fit", path, "--target", "y", *options)
    assert "--time 'day':" in err
    assert "not by both" in err


def test_python_takes_a_column_or_an_array_of_times(compared):
    _, comparison, _ = compared
    frame = daily()
    options = {"only": ["EMLR"], "random_state": 1}
    by_name = missfit.compare(frame, "y", time="day", **options)
    assert by_name.scores["EMLR"].r2 == pytest.approx(comparison.scores["EMLR"].r2)
    days = pd.to_datetime(frame["day"]).to_numpy()
    features = frame.drop(columns=["day", "y"])
    by_array = missfit.compare(features, frame["y"], time=days, **options)
    assert by_array.scores["EMLR"].r2 == pytest.approx(by_name.scores["EMLR"].r2)
    model = missfit.fit_table(features, frame["y"], "EMLR", time=days, random_state=1)
    assert held_out_r2(model) == pytest.approx(by_name.scores["EMLR"].r2, abs=1e-9)
