"""missfit compare: what it prints, what it writes, what it refuses."""

import re

import pandas as pd
import pytest

from comparison_cases import MEAN, QUICK, SLOW, gaussian, table_of
from missfit.cli import main
from missfit.comparison import CompareOptions
from missfit.comparison.offers import NUMBERS
from missfit.workflow.compare import advise


def test_what_is_left_out_is_printed_and_reported(rng, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("missfit.comparison.trials.PATIENCE", 0.0)
    offer = NUMBERS._replace(candidates=[QUICK[0], MEAN])
    monkeypatch.setattr("missfit.comparison.offers.NUMBERS", offer)
    X, y = gaussian(rng, 200)
    table_of(X, y).X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    call = ["compare", str(tmp_path / "t.csv"), "--target", "y", "--jobs", "1"]
    assert main([*call, "--out", str(tmp_path / "some")]) == 0
    said = capsys.readouterr()
    assert re.search(r"^mean +left out", said.out, re.MULTILINE)
    assert re.search(r"missfit: mean: left out after 1 of 5 .*--all runs", said.err)
    page = (tmp_path / "some" / "report.html").read_text()
    assert "left out after 1 of 5 folds" in page
    assert main([*call, "--all", "--out", str(tmp_path / "all")]) == 0
    assert "left out" not in capsys.readouterr().out
    assert "left out after" not in (tmp_path / "all" / "report.html").read_text()


def test_a_complete_table_and_one_with_a_single_variable_are_reported(tmp_path, rng):
    frame = pd.DataFrame({"a": rng.normal(size=80)}).assign(y=lambda t: t["a"] * 2)
    frame["y"] += rng.normal(size=80)
    frame.to_csv(tmp_path / "t.csv", index=False)
    skip = [part for name in SLOW for part in ("--skip", name)]
    arguments = ["compare", str(tmp_path / "t.csv"), "--target", "y", "--jobs", "1"]
    assert main([*arguments, *skip, "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Nothing: the table is complete." in page


def test_the_report_on_another_table_is_kept(rng, monkeypatch, tmp_path, capsys):
    offer = NUMBERS._replace(candidates=[QUICK[0], MEAN])
    monkeypatch.setattr("missfit.comparison.offers.NUMBERS", offer)
    for name in ("one", "two"):
        X, y = gaussian(rng, 120)
        path = tmp_path / f"{name}.csv"
        table_of(X, y).X.assign(y=y).to_csv(path, index=False)
        call = ["compare", str(path), "--target", "y", "--jobs", "1"]
        assert main([*call, "--out", str(tmp_path / "out")]) == 0
    assert "kept as report-before.html" in " ".join(capsys.readouterr().err.split())
    for suffix, name in (("", "two.csv"), ("-before", "one.csv")):
        page = (tmp_path / "out" / f"report{suffix}.html").read_text()
        assert name in page
    assert main([*call, "--out", str(tmp_path / "out")]) == 0  # the same goes on
    assert "two.csv" not in (tmp_path / "out" / "report-before.html").read_text()


def test_the_report_on_another_table_is_kept_also_after_a_stop(rng, tmp_path):
    for name in ("one", "two"):
        X, y = gaussian(rng, 120)
        path = tmp_path / f"{name}.csv"
        table_of(X, y).X.assign(y=y).to_csv(path, index=False)
    out = tmp_path / "out"
    options = CompareOptions(only=["EMLR", "ConstantImputedLR"], n_jobs=1)
    advise(tmp_path / "one.csv", "y", out, options)

    def killed(*_):
        raise SystemExit

    with pytest.raises(SystemExit):  # after the first predictor
        advise(tmp_path / "two.csv", "y", out, options, on_trial=killed)
    advise(tmp_path / "two.csv", "y", out, options)
    assert "one.csv" in (out / "report-before.html").read_text()
    assert "two.csv" in (out / "report.html").read_text()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", [], "is empty"),
        ("y\n1\n2\n", [], "no column beside the target"),
        ("a,b\n1,2\n", [], "--target 'y'"),
        ("a,y\n" + "1,2\n" * 60, [], "'y' is 2 in every row"),
        (
            "a,y\n" + "".join(f"{k},name {k}\n" for k in range(60)),
            [],
            "holds text, such as 'name 0' in row 1, and has 60 different values",
        ),
        (
            "a,y\n" + "1,up\n2,down\n" * 60,
            ["--task", "number"],
            "can be predicted as classes",
        ),
        (
            "a,y\n1,x\nx,2\n" + "3,z\n" * 60,
            ["--task", "number"],
            "61 values that are no number",
        ),
        ("a,y\n1,1\n2,2\n", [], "2 rows with a target; at least 50"),
        ("a,y\n" + "1,1\n2,2\n" * 60, ["--skip", "Magic"], "no predictor known"),
        ("a,y\n" + "1,1\n2,2\n" * 60, ["--folds", "1"], "at least 2"),
        ("a,y\n" + "1,1\n2,2\n" * 60, ["--rows", "5"], "5 rows to draw; at least 50"),
        ("a,y\n" + "1,1\n2,2\n" * 60, ["--group", "g"], "--group 'g'"),
    ],
)
def test_what_compare_refuses_is_one_line_and_no_report(
    capsys, tmp_path, text, options, message
):
    (tmp_path / "t.csv").write_text(text)
    out = tmp_path / "out"
    given = ["compare", str(tmp_path / "t.csv"), "--target", "y", "--out", str(out)]
    code = main([*given, *options])
    said, err = capsys.readouterr()
    assert code == 2
    assert err.startswith("missfit: ")
    assert message in err
    assert err.count("\n") == 1
    assert not out.exists()
    assert said == ""
