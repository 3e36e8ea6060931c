"""Saved fits: a stopped comparison goes on, and uses no fits but its own."""

import contextlib
import json
import random
import shutil
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from missfit.comparison import CompareOptions, compare_table
from missfit.comparison.candidates import candidate
from missfit.tables.training import TrainingTable
from missfit.workflow.compare import advise
from missfit.workflow.saved_fits import SavedFits, fingerprint

NAMES = ("ConstantImputedLR", "mean + indicator ridge", "ExpandedLR")
TRIED = [candidate(name) for name in NAMES]


def table(seed=0, n=120):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=list("abc"))
    y = frame.sum(axis=1).to_numpy() + rng.standard_normal(n)
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    frame["town"] = rng.choice(["x", "y", "z"], n)
    return TrainingTable(frame, y, "y", None, [])


class Killed(BaseException):
    """What stops a process, as far as the code inside it can see."""


class KillingStore(SavedFits):
    """Stops everything after so many fits have been saved."""

    def __init__(self, folder, n_fits):
        super().__init__(folder)
        self.left = n_fits

    def save(self, one, part, fits):
        if self.left == 0:
            raise Killed
        self.left -= 1
        super().save(one, part, fits)


def compared(folder, rows=None, **options):
    options = CompareOptions(n_folds=3, **options)
    return compare_table(rows or table(), TRIED, options, store=SavedFits(folder))


def without_seconds(comparison):
    return [
        {name: value for name, value in row.items() if name != "seconds"}
        for row in comparison.fold_rows()
    ]


@pytest.fixture(scope="module")
def whole():
    return compare_table(table(), TRIED, CompareOptions(n_folds=3))


@pytest.mark.parametrize("n_fits", range(9))
def test_stopped_after_any_fit_and_resumed_it_ends_with_the_same_table(
    whole, n_fits, tmp_path
):
    store = KillingStore(tmp_path, n_fits)
    with pytest.raises(Killed):
        compare_table(table(), TRIED, CompareOptions(n_folds=3), store=store)
    found = compared(tmp_path)
    assert without_seconds(found) == without_seconds(whole)
    said = f"{n_fits} fits of an earlier run are used, from {tmp_path}"
    assert found.notes == ([said] if n_fits else [])


def test_fits_that_are_saved_are_not_made_again(tmp_path):
    compared(tmp_path)

    def refuse(seed):
        raise AssertionError("fitted again")

    locked = [one._replace(make=refuse) for one in TRIED]
    store = SavedFits(tmp_path)
    again = compare_table(table(), locked, CompareOptions(n_folds=3), store=store)
    assert not any(trial.failure for trial in again.trials)


def test_a_fit_that_failed_is_tried_again(tmp_path):
    def broken(seed):
        raise RuntimeError("no memory")

    bad = [TRIED[0], TRIED[1]._replace(make=broken)]
    options = CompareOptions(n_folds=3)
    first = compare_table(table(), bad, options, store=SavedFits(tmp_path))
    assert "no memory" in first.trials[1].failure
    assert not compared(tmp_path).trials[1].failure


@pytest.mark.parametrize("options", [{"seed": 1}, {"max_rows": 100}, {}])
def test_a_changed_table_or_option_starts_anew_and_says_so(options, tmp_path):
    compared(tmp_path)
    rows = table()
    if not options:
        rows.y[5] += 1e-9
    found = compared(tmp_path, rows, **options)
    assert any("everything is fitted anew" in note for note in found.notes)
    fresh = compare_table(rows, TRIED, CompareOptions(n_folds=3, **options))
    assert without_seconds(found) == without_seconds(fresh)


@pytest.mark.slow
def test_a_run_that_ends_removes_the_fits_of_others_and_keeps_its_own(tmp_path):
    rows = table()
    path, names = tmp_path / "t.csv", ["ConstantImputedLR"]
    for k in range(2):  # the second table is another one
        rows.X.assign(y=rows.y + k).to_csv(path, index=False)
        options = CompareOptions(n_folds=3, only=names)
        advice = advise(path, "y", tmp_path / "out", options)
    parts = (tmp_path / "out" / "parts").iterdir()
    assert len([one for one in parts if one.is_dir()]) == 1
    again = advise(path, "y", tmp_path / "out", options)
    assert "3 fits of an earlier run are used" in " ".join(again.comparison.notes)
    assert advice.comparison.recommended == again.comparison.recommended


def test_options_that_do_not_change_the_numbers_resume(tmp_path):
    compared(tmp_path)
    for options in ({"all_folds": True}, {"budget": 1e6}, {"skip": ["EMLR"]}):
        (note,) = compared(tmp_path, **options).notes
        assert "9 fits of an earlier run are used" in note


def test_the_fingerprint_sees_values_folds_groups_and_seed(whole):
    rows = table()
    grouped = TrainingTable(rows.X, rows.y, "y", np.arange(120) // 4, [])
    other = table()
    other.X.loc[3, "town"] = "w"
    names = {
        fingerprint(compare_table(one, TRIED[:1], CompareOptions(n_folds=k, seed=seed)))
        for one, k, seed in (
            (rows, 3, 0), (rows, 4, 0), (rows, 3, 1), (grouped, 3, 0), (other, 3, 0)
        )
    }  # fmt: skip
    assert len(names) == 5
    assert fingerprint(whole) in names


def part_of(folder):
    (path,) = folder.glob("*/part-*.jsonl")
    return path


def damages(lines):
    """Yield contents of a part file that a crash, a disk or a person might leave."""
    first = json.loads(lines[0])
    short = {**first, "fits": [{"predictions": [1.0], "seconds": 1.0}]}
    texts = {**first, "fits": [{"predictions": ["a"], "seconds": "x"}]}
    none = {**first, "fits": [{"predictions": None, "seconds": None}]}
    infinite = {**first, "fits": [{"predictions": [1e999], "seconds": 0.0}]}
    yield b"".join(lines)[: len(lines[0]) + 9]  # torn in the second line
    yield b"\x00\xff" * 100 + b"\n" + b"".join(lines)
    yield b"[" * 100_000 + b"\n"
    for record in (short, texts, none, infinite, {**first, "fits": 3}, {"part": 1}):
        yield json.dumps(record).encode() + b"\n" + b"".join(lines[1:])
    yield b"7\nnull\n[]\n{}\n"


def test_damaged_part_files_are_not_read_and_their_fits_made_again(whole, tmp_path):
    compared(tmp_path)
    lines = part_of(tmp_path).read_bytes().splitlines(keepends=True)
    place = part_of(tmp_path)
    for content in damages(lines):
        for path in place.parent.iterdir():
            path.unlink()
        place.write_bytes(content)
        assert without_seconds(compared(tmp_path)) == without_seconds(whole)


def test_a_folder_in_the_place_of_a_part_file_is_passed_by(whole, tmp_path):
    compared(tmp_path)
    (part_of(tmp_path).parent / "part-0.jsonl").mkdir()
    assert without_seconds(compared(tmp_path)) == without_seconds(whole)


def results(out):
    frame = pd.read_csv(out / "results.csv")
    return frame.drop(columns="seconds")


@pytest.mark.slow
def test_killed_at_ten_random_moments_and_resumed_it_ends_with_the_whole_table(
    tmp_path,
):
    rows = table(n=400)
    rows.X.assign(y=rows.y).to_csv(tmp_path / "t.csv", index=False)
    names = "ConstantImputedLR,mean + indicator ridge,ExpandedLR,EMLR,PartialPooling"
    line = [sys.executable, "-m", "missfit", "compare", str(tmp_path / "t.csv")]
    # --all: what a budget leaves out would depend on how busy the machine is
    line += ["--target", "y", "--only", names, "--jobs", "2", "--all", "--out"]
    start = time.monotonic()
    subprocess.run([*line, str(tmp_path / "whole")], check=True, capture_output=True)
    whole_run = time.monotonic() - start
    moments = random.Random(7)
    for k in range(10):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen([*line, str(tmp_path / "out")], **quiet)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(moments.uniform(0.2, 1.0) * whole_run)
        process.kill()
        process.wait()
        if (tmp_path / "out" / "results.csv").exists():  # whole or not there at all
            pd.testing.assert_frame_equal(
                results(tmp_path / "out"), results(tmp_path / "whole")
            )
            if k < 9:  # it came to its end: begin again
                shutil.rmtree(tmp_path / "out")
    subprocess.run([*line, str(tmp_path / "out")], check=True, capture_output=True)
    pd.testing.assert_frame_equal(
        results(tmp_path / "out"), results(tmp_path / "whole")
    )
