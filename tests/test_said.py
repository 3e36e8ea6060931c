"""compare prints the line that fits what it recommends; fit takes a report's folder."""

import argparse
import csv
import json
import shlex

import numpy as np
import pandas as pd
import pytest

from missfit.cli import main
from missfit.cli.options import seconds
from missfit.cli.said import NAME, as_options, fill_in, read_said, said_of_table
from missfit.comparison.candidates import CANDIDATES, candidate
from missfit.comparison.offers import NUMBERS

TRIED = ("ConstantImputedLR", "mean + indicator ridge")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table with a hostile name, for the shell and for the options."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.standard_normal((90, 3)), columns=["a", "b", "no $HOME"])
    y = frame.sum(axis=1) + rng.standard_normal(90)
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    frame["--code"] = rng.integers(0, 4, 90)
    frame["it's; y"] = y
    path = tmp_path_factory.mktemp("a table") / "-t 1.csv"
    frame.to_csv(path, index=False)
    return path


def compare_line(table, out, *more):
    said = ["--target", "it's; y", "--drop", "no $HOME", "--categorical=--code"]
    where = ["--only", ",".join(TRIED), "--jobs", "1", "--folds", "3", "--out", out]
    return ["compare", *map(str, [table, *said, *where, *more])]


@pytest.fixture(scope="module")
def printed(table):
    """What a comparison printed, and its folder."""
    import contextlib
    import io

    out, text = table.parent / "report of it", io.StringIO()
    with contextlib.redirect_stdout(text):
        assert main(compare_line(table, out)) == 0
    return text.getvalue(), out


def test_the_printed_line_fits_what_is_recommended_and_so_does_the_folder(
    printed, table, tmp_path, monkeypatch, capsys
):
    text, out = printed
    (line,) = [line for line in text.splitlines() if "missfit fit" in line]
    words = shlex.split(line)
    assert words[:2] == ["missfit", "fit"]
    assert words[-1] == str(out / "model.skops")
    assert main(words[1:]) == 0
    short = tmp_path / "m.skops"
    call = ["fit", str(table), "--from", str(out), "--model", str(short)]
    assert main(call) == 0
    # equal models are equal files
    assert short.read_bytes() == (out / "model.skops").read_bytes()
    recommended = json.loads((out / NAME).read_text())["predictor"]
    assert f"m.skops: {recommended} on 90 rows and 3 columns" in capsys.readouterr().out


def test_what_the_command_line_gives_counts_instead_of_the_report(
    printed, table, tmp_path, capsys
):
    _, out = printed
    call = ["fit", str(table), "--from", str(out), "--model", str(tmp_path / "m.skops")]
    given = ["--drop", "a", "--predictor", "EMLR"]
    assert main([*call, *given]) == 0
    said = capsys.readouterr()
    assert "EMLR on 90 rows and 3 columns" in said.out
    read = [line.split("  ")[0] for line in said.err.splitlines()]
    assert "a" not in read
    assert {"b", "no $HOME"} <= set(read)  # one is left out, the others are not


def test_the_options_of_a_table_are_found_among_all_others():
    line = "compare t.csv --out r --targ y --drop=a --drop b --jobs 2 --seed 3"
    said = said_of_table(shlex.split(line))
    assert said == {"target": ["y"], "drop": ["a", "b"], "seed": ["3"]}
    arguments = argparse.Namespace(argv=["fit", "t.csv", "--drop", "c"], drop=["c"])
    fill_in(arguments, said)
    assert (arguments.target, arguments.seed, arguments.drop) == ("y", 3, ["c"])
    assert said_of_table(as_options(said)) == said


def failure(capsys, *line):
    assert main([str(part) for part in line]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert all(one.isprintable() or one == "\n" for one in said)
    return said


HOSTILE = [
    b"",
    b"\xff\x00",
    b"[" * 200_000,
    b"[]",
    b'{"predictor": "EMLR"}',
    b'{"predictor": "EMLR", "options": {"target": "y"}}',
    b'{"predictor": "EMLR", "options": {"target": [1]}}',
    b'{"predictor": ["EMLR"], "options": {}}',
    b'{"predictor": "EMLR", "options": {}, "x": "' + b"x" * 2_000_000 + b'"}',
]


@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_a_damaged_or_hostile_file_of_a_report_is_refused(
    content, table, tmp_path, capsys
):
    (tmp_path / NAME).write_bytes(content)
    model = tmp_path / "m.skops"
    said = failure(capsys, "fit", table, "--from", tmp_path, "--model", model)
    assert "missfit.json is damaged" in said
    assert not model.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"predictor": "EMLR", "options": {"model": ["x"]}}, "not have, '--model'"),
        ({"predictor": "EMLR", "options": {"from": ["x"]}}, "does not have, '--from'"),
        ({"predictor": "EMLR", "options": {"\x1b]0;": []}}, "option that missfit fit"),
        ({"predictor": "os", "options": {"target": ["it's; y"]}}, "no predictor"),
        ({"predictor": "EMLR", "options": {"seed": ["-1"]}}, "'-1' is not between 0"),
        ({"predictor": "EMLR", "options": {}}, "which column is to be predicted"),
        ({"predictor": "EMLR", "options": {"target": ["\x1b[2J"]}}, "has no column"),
    ],
)  # fmt: skip
def test_what_a_report_may_not_say_is_refused_in_one_line(
    content, words, table, tmp_path, capsys
):
    (tmp_path / NAME).write_text(json.dumps(content))
    model = tmp_path / "m.skops"
    assert words in failure(capsys, "fit", table, "--from", tmp_path, "--model", model)
    assert not model.exists()


def test_a_folder_that_is_no_report_is_refused(table, tmp_path, capsys):
    model = tmp_path / "m.skops"
    line = ("fit", table, "--model", model, "--from")
    assert "there is no such folder" in failure(capsys, *line, tmp_path / "none")
    assert "there is no missfit.json in it" in failure(capsys, *line, tmp_path)
    with pytest.raises(Exception, match="no such folder"):
        read_said(table)


def results(out):
    with (out / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


def test_an_interrupt_writes_the_report_of_what_is_there_and_the_command_goes_on(
    printed, table, tmp_path, monkeypatch, capsys
):
    def interrupt(seed):
        raise KeyboardInterrupt

    def with_second(make):
        second = candidate(TRIED[1])
        return [one._replace(make=make) if one is second else one for one in CANDIDATES]

    out = tmp_path / "out"
    stopped = with_second(interrupt)
    offer = NUMBERS._replace(candidates=stopped)
    monkeypatch.setattr("missfit.comparison.offers.NUMBERS", offer)
    assert main(compare_line(table, out)) == 130
    said = capsys.readouterr()
    assert "give the same command again to go on" in said.err
    assert f"{TRIED[1]}: not finished before the comparison was interrupted" in said.err
    assert "Use ConstantImputedLR" in said.out
    page = (out / "report.html").read_text()
    assert "not finished before the comparison was interrupted" in page
    monkeypatch.undo()
    assert main(compare_line(table, out)) == 0
    assert "3 fits of an earlier run are used" in capsys.readouterr().err
    assert results(out) == results(printed[1])


def test_an_interrupt_before_the_first_result_says_so(table, monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("missfit.comparison.fits.Fit", interrupt)
    out = table.parent / "nothing"
    assert main(compare_line(table, out)) == 130
    assert capsys.readouterr().err.endswith("missfit: interrupted\n")
    assert not out.exists()


@pytest.mark.parametrize("text", ["", "0", "-5m", "1d", "inf", "nan", "ten"])
def test_a_budget_is_a_time(text):
    with pytest.raises(argparse.ArgumentTypeError, match="such as 90s, 10m or 1h"):
        seconds(text)
