"""The command line: one line for whatever goes wrong, nothing lost, nothing obeyed."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import missfit
from missfit.cli import command, main
from missfit.cli.command import command_parser
from missfit.cli.options import jobs_of, named_option
from missfit.terminal import printable

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
FIT = ("--target", "y", "--predictor", "ConstantImputedLR")
SLOW = ("AutoRegressor", "MLP", "NeuMiss", "SelfMaskedLR", "PatternMixtureLR")
SLOW += ("MICELR", "IterativeImputer + ridge", "ExpandedLR", "FactorizedLR")
SLOW += ("HistGradientBoosting", "PartialPooling", "ConditionalImputedLR", "EMLR")
SKIP = [part for name in SLOW for part in ("--skip", name)]


@pytest.fixture
def table(tmp_path, rng):
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    frame["y"] = frame["a"] + 0.1 * rng.normal(size=80)
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def refused(capsys, *arguments):
    """Return the one line of a command that is refused."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as stop:  # argparse
        code = stop.code
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    return err.strip().rpartition("\n")[2]


# ---- whatever goes wrong -------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [TypeError, KeyError, IndexError, RecursionError, AttributeError]
)
def test_an_error_that_nobody_foresaw_is_one_line_with_a_hint(
    capsys, monkeypatch, table, error
):
    def fail(*_, **__):
        raise error("of all things")

    monkeypatch.setattr("missfit.tables.training.read_training", fail)
    monkeypatch.delenv(command.TRACEBACK, raising=False)
    line = ("fit", table, *FIT, "--model", table.parent / "m.skops")
    said = refused(capsys, *line)
    assert f"not foreseen, {error.__name__}" in said
    assert "of all things" in said
    assert f"{command.TRACEBACK}=1" in said
    monkeypatch.setenv(command.TRACEBACK, "1")
    assert main([str(part) for part in line]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_full_memory_is_called_that(capsys, monkeypatch, table):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("missfit.tables.training.read_training", fail)
    line = ("fit", table, *FIT, "--model", table.parent / "m.skops")
    assert "not enough memory" in refused(capsys, *line)


@pytest.mark.parametrize("way", ["module", "script"])
def test_an_interrupt_while_missfit_is_loaded_is_one_line(tmp_path, way):
    (tmp_path / "missfit").write_text(
        "import sys\nfrom missfit.cli import main\nsys.exit(main())\n"
    )
    start = ["-m", "missfit"] if way == "module" else [str(tmp_path / "missfit")]
    # a library that takes long to load, so that the moment is the same everywhere
    (tmp_path / "libraries").mkdir()
    (tmp_path / "libraries" / "scipy.py").write_text(
        f"import pathlib, time\npathlib.Path({str(tmp_path / 'began')!r}).touch()\n"
        "time.sleep(60)\n"
    )
    paths = [tmp_path / "libraries", Path(missfit.__file__).parents[1]]
    process = subprocess.Popen(
        [sys.executable, *start, "study", "--list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))},
    )
    while not (tmp_path / "began").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "missfit: interrupted\n")


# ---- streams -------------------------------------------------------------------------


def shell(line):
    line = line.replace("missfit", f"{sys.executable} -m missfit", 1)
    return subprocess.run(line, shell=True, capture_output=True, text=True, timeout=120)


def test_a_reader_that_has_enough_does_not_end_the_work(table):
    out, skip = table.parent / "out", " ".join(f"'{part}'" for part in SKIP)
    line = f"missfit compare {table} --target y --jobs 1 --out {out} {skip}"
    done = shell(f"({line}; echo code $? >&2) | head -1")
    assert "predictor" in done.stdout
    assert "code 0" in done.stderr
    assert "Traceback" not in done.stderr
    assert (out / "report.html").exists()
    assert (out / "results.csv").exists()


@pytest.mark.slow  # the short run of the fuzzer has such streams too
@pytest.mark.parametrize(
    ("streams", "code", "words"),
    [
        (">&-", 2, "standard output is closed; give a file"),
        (">/dev/full", 2, "standard output could not be written"),
        ("--out p.csv >&- 2>&- <&-", 0, ""),
    ],
)
def test_closed_and_full_streams_are_no_tracebacks(table, streams, code, words):
    model = table.parent / "m.skops"
    assert main(["fit", str(table), *FIT, "--model", str(model)]) == 0
    done = shell(f"cd {table.parent} && missfit predict {model} {table} {streams}")
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    if "--out" in streams:
        assert len(pd.read_csv(table.parent / "p.csv")) == 80


def test_names_are_shown_and_not_obeyed(capsys, tmp_path, rng):
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=[f"a{ESCAPE}", "y"])
    frame["city"] = np.where(np.arange(60) % 2, f"Paris{ESCAPE}", "\u202eLyon")
    frame.to_csv(tmp_path / f"t{ESCAPE}.csv", index=False)
    line = ["fit", str(tmp_path / f"t{ESCAPE}.csv"), *FIT]
    assert main([*line, "--model", str(tmp_path / "m.skops")]) == 0
    said = "".join(capsys.readouterr())
    assert "a\\x1b]0;owned\\x07" in said
    said += refused(capsys, *line, "--model", tmp_path / "n.skops", "--drop", ESCAPE)
    said += refused(capsys, "fit", ESCAPE, "--target", ESCAPE, "--model", tmp_path)
    said += refused(capsys, "study", "--list", ESCAPE, "--jobs", ESCAPE)
    said += refused(capsys, ESCAPE)
    assert all(one.isprintable() or one == "\n" for one in said)


def test_every_character_can_be_printed():
    text = "".join(map(chr, range(0x3000))) + "\ud800\U000e0001"
    shown = printable(text)
    assert all(one.isprintable() or one == "\n" for one in shown)
    assert printable("plain, é and 漢") == "plain, é and 漢"


# ---- places --------------------------------------------------------------------------


def test_what_a_command_reads_is_not_overwritten(capsys, table):
    folder = table.parent
    model = folder / "m.skops"
    assert main(["fit", str(table), *FIT, "--model", str(model)]) == 0
    capsys.readouterr()
    (folder / "link.csv").symlink_to(table)
    os.link(model, folder / "hard.skops")
    (folder / "report").mkdir()
    (folder / "report" / "results.csv").symlink_to(table)
    before = table.read_bytes(), model.read_bytes()
    predict = ("predict", model, table, "--out")
    lines = [("fit", table, *FIT, "--model", place) for place in (table, "link.csv")]
    lines += [(*predict, place) for place in (table, model, "link.csv", "hard.skops")]
    lines += [("compare", table, "--target", "y", "--out", folder / "report")]
    for line in lines:
        line = [folder / p if p in ("link.csv", "hard.skops") else p for p in line]
        assert "would overwrite" in refused(capsys, *line)
    assert (table.read_bytes(), model.read_bytes()) == before


def test_an_unwritable_place_is_said_before_any_work(capsys, monkeypatch, table):
    def work(*_, **__):
        raise AssertionError("work was done")

    monkeypatch.setattr("missfit.tables.training.read_training", work)
    monkeypatch.setattr("missfit.workflow.compare.advise", work)
    monkeypatch.setattr("missfit.study.run", work)
    os.mkfifo(table.parent / "pipe")
    for place in ("/proc/x.skops", table.parent / "pipe", "/dev/null"):
        said = refused(capsys, "fit", table, *FIT, "--model", place)
        assert said.startswith("missfit: --model: ")
    for line in (("compare", table, "--target", "y"), ("study", "quick")):
        assert "nothing can be written" in refused(capsys, *line, "--out", "/proc/x")
        assert "is a file; give a folder" in refused(capsys, *line, "--out", table)
    assert (table.parent / "pipe").is_fifo()


# ---- options -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rows", "-1"], "'-1' is not a whole number >= 1"),
        (["--rows", "5"], "5 rows to draw; at least 50"),
        (["--folds", "0"], "'0' is not a whole number >= 1"),
        (["--folds", "1"], "1 folds; at least 2"),
        (["--folds", "81"], "81 folds of 80 rows"),
        (["--jobs", "0"], "'0' is not a whole number >= 1"),
        (["--seed", "-1"], "'-1' is not between 0"),
        (["--seed", "9" * 5000], "is not between 0"),
        (["--group", "y"], "--group 'y'.* the target"),
        (["--drop", "y"], "--drop 'y'.* the target"),
    ],
)
def test_options_out_of_range_are_named(capsys, table, options, words):
    line = ["compare", table, "--target", "y", "--out", table.parent / "out"]
    said = refused(capsys, *line, *options)
    assert re.search(words, said), said
    assert not (table.parent / "out").exists()


def test_the_command_line_names_the_option_of_a_column_that_a_table_refuses():
    error = ValueError("table.csv has no such column")
    assert named_option(error) == ""
    error.role, error.column = "target", "price"
    assert named_option(error) == "--target 'price': "


def test_help_is_in_whole_sentences():
    commands = command_parser()._subparsers._group_actions[0].choices.values()
    helps = [a.help for c in commands for a in c._actions if a.dest != "help"]
    helps += [command.description for command in commands]
    assert all(text[0].isupper() and text[-1] == "." for text in helps)


def test_the_command_alone_shows_what_there_is(capsys):
    with pytest.raises(SystemExit) as stop:
        main([])
    assert not stop.value.code
    assert "missfit COMMAND --help" in capsys.readouterr().out


def test_a_thousand_jobs_are_as_many_as_the_cores_can_bear(capsys):
    cores = os.cpu_count() or 1
    assert jobs_of(None) == cores
    assert jobs_of(1) == 1
    assert jobs_of(1000) == min(1000, 4 * cores)
    assert "--jobs 1000" in capsys.readouterr().err


def test_more_rows_than_memory_are_refused_at_once(capsys, tmp_path):
    line = ("simulate", "mixture1", "--d", 4, "--n", 10**14)
    said = refused(capsys, *line, "--out", tmp_path / "t.csv")
    assert "draw fewer rows" in said
    assert not list(tmp_path.iterdir())
