"""Studies: their definition, running, resuming, the tidy table."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import missfit
from conftest import with_file_size_limit
from missfit import study
from missfit.cli import main
from missfit.part_files import PartFile
from missfit.simulate import published_data
from missfit.study.data import SimulatedDataSet
from missfit.study.definition import parse
from missfit.study.estimate import cell_seconds, network_bytes
from missfit.study.fit import fit_networks
from missfit.study.progress import Progress
from missfit.study.records import (
    COLUMNS,
    ORDER,
    SECONDS,
    read_records,
)
from missfit.study.run import data_groups, network_batches, pending_cells

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

TINY = """
title = "tiny"
figures = []
[[data]]
setting = "mixture1"
d = 4
rows = [1_000, 5_000]
repetitions = 2

[[methods]]
name = "ConstantImputedLR"
estimator = "missfit.ConstantImputedLR"

[[methods]]
name = "EMLR"
estimator = "missfit.EMLR"
"""
OWN_MODULE = '''
"""Estimators of a user."""
import os, signal, time
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin


class Mean(RegressorMixin, BaseEstimator):
    def __init__(self, shift=0.0, seconds=0.0, random_state=None):
        self.shift = shift
        self.seconds = seconds
        self.random_state = random_state

    def fit(self, X, y):
        time.sleep(self.seconds)
        noise = np.random.RandomState(self.random_state).normal()
        self.mean_ = y.mean() + self.shift + 1e-3 * noise
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class Broken(Mean):
    def fit(self, X, y):
        raise RuntimeError(f"cannot fit\\n{len(X)} rows")


class NotFinite(Mean):
    def predict(self, X):
        return np.full(len(X), np.nan)


class Killed(Mean):
    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)


def number():
    return 3
'''


@pytest.fixture(autouse=True)
def modules_of_the_test_alone():
    """A module beside one test's study is not that of another test."""
    before = list(sys.path)
    yield
    sys.path[:] = before
    for name in ("own_estimators", "leaves"):
        sys.modules.pop(name, None)


def own_study(folder, text=TINY, name="own"):
    """A study in a file, with a module beside it."""
    (folder / f"{name}.toml").write_text(text)
    (folder / "own_estimators.py").write_text(OWN_MODULE)
    return folder / f"{name}.toml"


def method(name, estimator, **parameters):
    given = ", ".join(f"{k} = {json.dumps(v)}" for k, v in parameters.items())
    return (
        f'\n[[methods]]\nname = "{name}"\nestimator = "{estimator}"\n'
        f"parameters = {{ {given} }}\n"
    )


def command(*arguments, most_bytes=None):
    """The command line as a user runs it, from a process of its own."""
    line = [sys.executable, "-m", "missfit", "study", *map(str, arguments)]
    if most_bytes is not None:
        line = with_file_size_limit(most_bytes, *line)
    return subprocess.run(line, capture_output=True, text=True, timeout=300)


def said(capsys, *arguments):
    """The code, output and errors of a command that starts no process."""
    try:
        code = main(["study", *map(str, arguments)])
    except SystemExit as stop:  # argparse
        code = stop.code
    return code, *capsys.readouterr()


def without_seconds(table):
    return table.drop(columns=list(SECONDS))


def assert_same(one, other):
    pd.testing.assert_frame_equal(
        without_seconds(one), without_seconds(other), check_exact=True
    )


# ---- the definition ------------------------------------------------------------------


@pytest.mark.parametrize("name", study.study_names())
def test_every_study_that_comes_with_missfit_builds_its_estimators(name):
    item = study.load(name)
    item.check()
    assert item.cells()


def test_the_paper_study_is_the_published_grid():
    means = study.published.published_means()
    published = set(zip(means.setting, means.d, means.n, means.method, strict=True))
    cells = study.load("paper").cells()
    ours = {(c.data.setting, c.data.d, c.data.n, c.method.name) for c in cells}
    assert published <= ours
    # beyond the paper: ExpandedLR where the authors had no memory for it
    assert {method for *_, method in ours - published} == {"ExpandedLR"}
    assert all(c.data.kind == "published" for c in cells)
    assert {c.data.repetition for c in cells} == set(range(10))


def test_quick_has_every_setting_and_every_kind_of_method_of_the_paper():
    quick, paper = study.load("quick"), study.load("paper")
    assert {d.setting for d in quick.data} == {d.setting for d in paper.data}
    kinds = {m.estimator for m in paper.methods}
    assert {m.estimator for m in quick.methods} == kinds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title = [", "not TOML"),
        ("title = 3", r"title = 3 is a int; it must be a str"),
        ("", "the key 'data' is missing"),
        (TINY + "[[data]]\nfoo = 1", "data 2: unknown key|setting"),
        (TINY.replace("d = 4", "d = 5"), "mixture1 has no d = 5; choose among 4, 6"),
        (TINY.replace("d = 4", "d = 0"), "d = 0; give a whole number >= 1"),
        (TINY.replace('"mixture1"', '"mixture2"'), "unknown setting 'mixture2'"),
        (TINY.replace("repetitions = 2", "repetitions = []"), "repetitions = \\[\\]"),
        (TINY.replace("repetitions = 2", "repetitions = true"), "whole number"),
        (TINY.replace("repetitions = 2", "repeat = 2"), "repetitions = None"),
        (TINY + "colour = 1", r"method 2 \(EMLR\): unknown key 'colour'; known are"),
        (TINY + "settings = 'mixture3'\n[x]\n", "unknown key 'x'"),
        (TINY.replace('"EMLR"', '"ConstantImputedLR"'), "twice for mixture1, d = 4"),
        (TINY + "parameters = {when = 2020-01-01}", "numbers, texts, true or false"),
        (TINY.replace("[[data]]", "[data]"), "data = .* is a dict; it must be a list"),
    ],
)
def test_a_mistake_in_the_definition_is_named(text, words):
    with pytest.raises(ValueError, match=words):
        parse(text, name="mine")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (method("a", "nowhere.Thing"), "'nowhere.Thing' cannot be imported"),
        (method("a", "missfit.Thing"), "cannot be imported"),
        (method("a", "thing"), "cannot be imported"),
        (method("a", "missfit.EMLR", colour=1), "does not take"),
        (method("a", "own_estimators.number"), "is a function, not a class"),
    ],
)
def test_an_estimator_that_cannot_be_built_stops_before_anything_is_run(
    tmp_path, line, words
):
    item = study.load(own_study(tmp_path, TINY + line))
    with pytest.raises(ValueError, match=words):
        study.run(item, tmp_path / "out", jobs=1)
    assert not (tmp_path / "out").exists()


def test_a_study_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(ValueError, match=r"no study 'figure9'; choose .*quick"):
        study.load("figure9")
    with pytest.raises(ValueError, match="does not exist"):
        study.load("nowhere.toml")


def test_keys_change_with_all_that_a_result_depends_on_and_with_nothing_else():
    (cell, *_) = parse(TINY, name="a").cells()
    same = parse(TINY.replace("tiny", "other title"), name="b").cells()[0]
    renamed = parse(TINY.replace('"ConstantImputedLR"', '"C"'), name="c").cells()[0]
    assert cell.key == same.key == renamed.key
    others = [
        TINY.replace("missfit.ConstantImputedLR", "missfit.ExpandedLR"),
        TINY.replace("d = 4", "d = 6"),
        TINY.replace("[1_000, 5_000]", "[10_000, 5_000]"),
        TINY.replace("repetitions = 2", "repetitions = [1, 0]"),
        TINY.replace("mixture1", "selfmasked"),
    ]
    keys = [parse(text, name="d").cells()[0].key for text in others]
    assert len({cell.key, *keys}) == 6
    with_parameters = TINY.replace("missfit.EMLR", "missfit.ExpandedLR")
    keys = {
        parse(with_parameters + f"parameters = {{ cv = {k} }}", name="e").cells()[1].key
        for k in (3, 4)
    }
    assert len(keys) == 2


def test_only_takes_names_first_words_and_patterns():
    paper = study.load("paper")
    assert set(paper.only(["MLP"]).method_names()) == {
        m for m in paper.method_names() if m.startswith("MLP")
    }
    assert paper.only(["EMLR", "MLP W0.0*"]).method_names() == [
        "EMLR",
        "MLP W0.01",
        "MLP W0.05",
    ]
    assert max(c.data.rows for c in paper.only(max_rows=100_000).cells()) == 100_000
    with pytest.raises(ValueError, match="no method 'XGB'; it has ConstantImputedLR"):
        paper.only(["XGB"])


# ---- data ----------------------------------------------------------------------------


def test_the_rows_are_the_published_ones_split_as_the_authors_did():
    data = SimulatedDataSet("mixture3", 5, 1000, 3)
    _, y = published_data("mixture3", 5, repetition=3, n=1000)
    parts = data.parts()
    assert (data.n, len(parts.X_test)) == (750, 250)
    np.testing.assert_array_equal(np.sort(y), np.sort(np.r_[parts[1], parts[3]]))
    assert data.kind == "published"


def test_sizes_that_the_paper_does_not_have_are_drawn_from_its_law():
    data = SimulatedDataSet("selfmasked", 4, 777, 12)
    X, _ = data.table()
    again, _ = data.table()
    assert data.kind == "drawn"
    assert X.shape == (777, 4)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_allclose(np.isnan(X).mean(), 0.25, atol=0.05)  # 6 s.e.


def test_published_rows_are_reproduced(published_rows, tmp_path):
    item = parse(TINY, name="tiny")
    study.run(item.only(["ConstantImputedLR"]), tmp_path, jobs=1, stream=quiet())
    table = study.collect(item, tmp_path).table
    assert len(table) == 8
    for row in table.itertuples():
        mse, r2 = published_rows[
            row.setting, row.d, row.n, row.repetition, row.method, row.split
        ]
        assert row.mse == pytest.approx(mse, rel=1e-10)
        assert row.r2 == pytest.approx(r2, rel=1e-10)


def csv_study(tmp_path, rng, extra="", **columns):
    X = rng.normal(size=(60, 2))
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": X.sum(axis=1), **columns})
    frame.loc[::7, "a"] = np.nan
    frame.to_csv(tmp_path / "mine.csv", index=False)
    text = f'[[data]]\nfile = "mine.csv"\ntarget = "y"\nrepetitions = 3\n{extra}'
    return own_study(tmp_path, text + method("EM", "missfit.EMLR"))


def test_a_table_of_ones_own_and_an_estimator_of_ones_own(tmp_path, rng, capsys):
    path = csv_study(tmp_path, rng, "rows = [40, 60]\n")
    text = path.read_text() + method("mine", "own_estimators.Mean", shift=1.0)
    path.write_text(text)
    code, _, errors = said(capsys, path, "--out", tmp_path / "out", "--jobs", 1)
    assert code == 0, errors
    table = study.read_table(tmp_path / "out")
    assert len(table) == 2 * 3 * 2 * 2
    assert set(table["setting"]) == {"mine"}
    assert set(table["data"]) == {"file"}
    mine = table[(table["method"] == "mine") & (table["split"] == "train")]
    # MSE = variance + (1 + noise of the seed)^2, the noise about 1e-3
    variance = mine["mse"] / (1 - mine["r2"])
    np.testing.assert_allclose(mine["mse"] - variance, 1, atol=0.01)
    assert mine["seed"].nunique() == 6
    assert (tmp_path / "out" / "report.html").exists()


def test_another_content_of_the_file_is_another_data_set(tmp_path, rng):
    path = csv_study(tmp_path, rng)
    before = {cell.key for cell in study.load(path).cells()}
    text = (tmp_path / "mine.csv").read_text()
    assert {cell.key for cell in study.load(path).cells()} == before
    (tmp_path / "mine.csv").write_text(text + "1,2,3\n")
    assert not {cell.key for cell in study.load(path).cells()} & before


@pytest.mark.parametrize(
    ("extra", "columns", "words"),
    [
        ("rows = 61\n", {}, "rows = 61, but .*mine.csv has 60"),
        ("drop = 'q'\n", {}, "no column 'q'; its columns are a, b, y"),
        ("", {"c": ["x"] * 60}, r"'c' holds 'x' in line 2, .*drop = \['c'\]"),
    ],
)
def test_a_table_that_cannot_be_used_is_named(tmp_path, rng, extra, columns, words):
    with pytest.raises(ValueError, match=words):
        study.load(csv_study(tmp_path, rng, extra, **columns))


def test_a_missing_target_is_named(tmp_path):
    pd.DataFrame({"a": [1.0] * 5, "y": [1, 2, 3, 4, None]}).to_csv(
        tmp_path / "t.csv", index=False
    )
    text = '[[data]]\nfile = "t.csv"\ntarget = "y"\nrepetitions = 1\n'
    with pytest.raises(ValueError, match="'y' is missing in 1 rows"):
        study.load(own_study(tmp_path, text + method("EM", "missfit.EMLR")))


# ---- running -------------------------------------------------------------------------


class Quiet:
    """A stream that nobody reads."""

    def isatty(self):
        return False

    def write(self, text):
        pass

    def flush(self):
        pass


def quiet():
    return Quiet()


def test_the_table_is_the_same_in_one_process_and_in_two(tmp_path):
    path = own_study(tmp_path, TINY + method("m", "own_estimators.Mean"))
    item = study.load(path)
    study.run(item, tmp_path / "one", jobs=1, stream=quiet())
    study.run(item, tmp_path / "two", jobs=2, stream=quiet())
    one, two = (study.collect(item, tmp_path / k).table for k in ("one", "two"))
    assert list(one.columns) == list(COLUMNS)
    assert_same(one, two)
    assert_same(one, study.read_table(tmp_path / "one"))
    assert one.equals(one.sort_values(ORDER, kind="stable", ignore_index=True))


def test_scores_are_those_of_scikit_learn(tmp_path):
    from sklearn.metrics import mean_squared_error, r2_score

    import missfit

    item = parse(TINY, name="tiny").only(["EMLR"])
    study.run(item, tmp_path, jobs=1, stream=quiet())
    table = study.collect(item, tmp_path).table
    row = table[(table["split"] == "test") & (table["repetition"] == 1)].iloc[0]
    parts = SimulatedDataSet("mixture1", 4, 1000, 1).parts()
    predicted = missfit.EMLR().fit(*parts[:2]).predict(parts.X_test)
    assert row["mse"] == pytest.approx(mean_squared_error(parts.y_test, predicted))
    assert row["r2"] == pytest.approx(r2_score(parts.y_test, predicted))


def test_what_is_finished_is_not_run_again(tmp_path):
    item = parse(TINY, name="tiny")
    study.run(item.only(["EMLR"]), tmp_path, jobs=1, stream=quiet())
    assert {c.method.name for c in pending_cells(item, tmp_path)} == {
        "ConstantImputedLR"
    }
    study.run(item, tmp_path, jobs=1, stream=quiet())
    assert not pending_cells(item, tmp_path)
    assert len(list((tmp_path / "parts").iterdir())) == 2
    study.run(item, tmp_path, jobs=1, stream=quiet())
    assert len(list((tmp_path / "parts").iterdir())) == 2


def test_a_changed_method_is_run_again(tmp_path):
    text = TINY.replace("missfit.EMLR", "missfit.ExpandedLR")
    one, two = (
        parse(text + f"parameters = {{ alphas = [{k}] }}", name="t").only(["EMLR"])
        for k in (1.0, 100.0)
    )
    study.run(one, tmp_path, jobs=1, stream=quiet())
    assert len(pending_cells(two, tmp_path)) == 4
    study.run(two, tmp_path, jobs=1, stream=quiet())
    first, second = (study.collect(k, tmp_path).table for k in (one, two))
    assert not np.array_equal(first["mse"], second["mse"])


def test_parts_of_two_machines_are_one_study_compressed_or_not(tmp_path):
    item = parse(TINY, name="tiny")
    for name in ("ConstantImputedLR", "EMLR"):
        study.run(item.only([name]), tmp_path / name, jobs=1, stream=quiet())
    merged = tmp_path / "merged" / "parts"
    merged.mkdir(parents=True)
    one, two = tmp_path.glob("*LR/parts/*")
    one.rename(merged / one.name)
    (merged / f"{two.name}.gz").write_bytes(gzip.compress(two.read_bytes()))
    study.run(item, tmp_path / "whole", jobs=1, stream=quiet())
    assert not pending_cells(item, tmp_path / "merged")
    assert_same(
        study.collect(item, tmp_path / "merged").table,
        study.collect(item, tmp_path / "whole").table,
    )


def test_a_failing_cell_is_recorded_and_the_rest_goes_on(tmp_path, capsys):
    bad = method("broken", "own_estimators.Broken")
    bad += method("nan", "own_estimators.NotFinite")
    path = own_study(tmp_path, TINY + bad)
    done = command(path, "--out", tmp_path / "out", "--jobs", 2)
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1] == "16 of 16 cells run, 8 failed"
    table = study.read_table(tmp_path / "out")
    by_method = table.groupby("method")["status"].unique().map(list).to_dict()
    assert by_method == {
        "ConstantImputedLR": ["ok"],
        "EMLR": ["ok"],
        "broken": ["error"],
        "nan": ["error"],
    }
    messages = set(table[table["status"] == "error"]["message"])
    assert "RuntimeError: cannot fit 750 rows" in messages
    assert "ValueError: 750 of 750 predictions are not finite." in messages
    # mended, the same command runs what failed
    mended = OWN_MODULE.replace("raise RuntimeError", "self.mean_ = 0; return self; (")
    mended = mended.replace('rows")', 'rows"))', 1).replace("np.nan)", "0.0)")
    (tmp_path / "own_estimators.py").write_text(mended)
    code, out, errors = said(capsys, path, "--out", tmp_path / "out", "--jobs", 1)
    assert code == 0, errors
    assert out.splitlines()[-1] == "16 of 16 cells run, none failed"


def test_a_process_that_is_killed_takes_only_its_own_cell_with_it(tmp_path):
    path = own_study(tmp_path, TINY + method("killed", "own_estimators.Killed"))
    text = path.read_text().replace("repetitions = 2", "repetitions = 1")
    path.write_text(text.replace("[1_000, 5_000]", "[1_000]"))
    item = study.load(path)
    done = command(path, "--out", tmp_path / "out", "--jobs", 2)
    assert done.returncode == 1, done.stderr
    table = study.read_table(tmp_path / "out")
    assert len(table) == 2 * len(item.cells())
    killed = table["method"] == "killed"
    assert (table[killed]["status"] == "error").all()
    assert table[killed]["message"].str.contains("was killed").all()
    assert (table[~killed]["status"] == "ok").all()


SLOW = TINY.replace("repetitions = 2", "repetitions = 5") + method(
    "slow", "own_estimators.Mean", seconds=0.15
)


def n_bytes(folder):
    return sum(path.stat().st_size for path in folder.glob("*"))


@pytest.mark.slow  # 34 seconds
def test_killed_at_any_moment_the_study_goes_on_to_the_same_table(tmp_path):
    path = own_study(tmp_path, SLOW)
    item = study.load(path)
    study.run(item, tmp_path / "undisturbed", jobs=1, stream=quiet())
    moments = random.Random(os.getpid())  # other moments in every run of the test
    line = [sys.executable, "-m", "missfit", "study", str(path), "--jobs", "2"]
    line += ["--out", str(tmp_path / "killed")]
    left = []
    for _ in range(3):
        process = subprocess.Popen(
            line,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # from when it begins to write, so that kills fall among the cells
        deadline = time.monotonic() + 60
        parts = tmp_path / "killed" / "parts"
        n_before = len(list(parts.glob("*"))) if parts.exists() else 0
        while process.poll() is None and time.monotonic() < deadline:
            if parts.exists() and len(list(parts.glob("*"))) > n_before:
                break
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.6))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        left.append(len(pending_cells(item, tmp_path / "killed")))
    assert left == sorted(left, reverse=True)
    assert left[0] < 30  # something was finished before the first kill
    done = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert_same(
        study.collect(item, tmp_path / "undisturbed").table,
        study.read_table(tmp_path / "killed"),
    )


def test_a_torn_line_is_not_read_and_its_cell_is_run_again(tmp_path):
    item = parse(TINY, name="tiny")
    study.run(item, tmp_path, jobs=1, stream=quiet())
    whole = study.collect(item, tmp_path).table
    (part,) = (tmp_path / "parts").iterdir()
    content = part.read_bytes()
    for cut in (1, 2, 100, len(content) // 2, len(content) - 1):
        part.write_bytes(content[:-cut])
        n_left = len(pending_cells(item, tmp_path))
        assert 1 <= n_left <= 8
    # a torn line in the middle, as after a full disk, spoils itself alone
    lines = content.split(b"\n")
    part.write_bytes(b"\n".join([lines[0][:40], *lines[1:]]))
    assert len(pending_cells(item, tmp_path)) == 1
    study.run(item, tmp_path, jobs=1, stream=quiet())
    assert_same(study.collect(item, tmp_path).table, whole)


def test_a_full_disk_is_a_clear_error_and_loses_nothing(tmp_path, capsys):
    path = own_study(tmp_path)
    out = tmp_path / "out"
    done = command(path, "--out", out, "--jobs", 1, most_bytes=2500)
    assert done.returncode == 2
    (line,) = [k for k in done.stderr.splitlines() if k.startswith("missfit:")]
    assert "File too large" in line
    assert "safe in" in line
    assert "same command again" in line
    item = study.load(path)
    n_left = len(pending_cells(item, out))
    assert 0 < n_left < len(item.cells())
    code, _, errors = said(capsys, path, "--out", out, "--jobs", 1)
    assert code == 0, errors
    study.run(item, tmp_path / "undisturbed", jobs=1, stream=quiet())
    assert_same(
        study.read_table(out), study.collect(item, tmp_path / "undisturbed").table
    )
    # the disk is full when the table is written again: the old one stays
    before = (out / "results.parquet").read_bytes()
    third = command(path, "--out", out, "--collect", most_bytes=500)
    assert third.returncode == 2
    assert "is as it was before" in third.stderr
    assert (out / "results.parquet").read_bytes() == before
    assert not list(out.glob(".*part*"))


def test_a_success_comes_before_a_failure_whatever_the_order_of_the_parts(tmp_path):
    for status in ("error", "ok", "error"):
        PartFile(tmp_path).append([{"key": "k", "status": status, "message": ""}])
        time.sleep(0.01)
    assert read_records(tmp_path)["k"]["status"] == "ok"


def test_on_a_dask_cluster_the_table_is_the_same(tmp_path):
    distributed = pytest.importorskip("distributed", reason="missfit[dask]")
    path = own_study(tmp_path, TINY + method("m", "own_estimators.Mean"))
    item = study.load(path)
    study.run(item, tmp_path / "here", jobs=1, stream=quiet())
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        # a protocol of its own, which only this process understands
        assert cluster.scheduler_address.startswith("inproc")
        study.run(
            item,
            tmp_path / "there",
            scheduler=cluster.scheduler_address,
            stream=quiet(),
        )
    assert_same(
        study.collect(item, tmp_path / "here").table,
        study.collect(item, tmp_path / "there").table,
    )


@pytest.mark.slow  # a scheduler and two workers: 17 seconds of CPU
def test_on_worker_processes_of_a_cluster_the_command_gives_the_same_table(tmp_path):
    distributed = pytest.importorskip("distributed", reason="missfit[dask]")
    path = own_study(tmp_path, TINY + method("m", "own_estimators.Mean"))
    item = study.load(path)
    study.run(item, tmp_path / "here", jobs=1, stream=quiet())
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        assert cluster.scheduler_address.startswith("tcp")
        address = cluster.scheduler_address
        done = command(path, "--out", tmp_path / "there", "--scheduler", address)
    assert done.returncode == 0, done.stderr
    assert_same(
        study.collect(item, tmp_path / "here").table,
        study.collect(item, tmp_path / "there").table,
    )


def test_networks_train_in_batches_and_are_recorded_like_the_rest(tmp_path):
    pytest.importorskip("jax", reason='pip install "missfit[networks]"')
    text = TINY.replace("[1_000, 5_000]", "[400, 1_000]")
    text += method("MLP W1", "missfit.MLP", width="1*d", weight_decay=1.0)
    text += method("MLP W9", "missfit.MLP", width=-1)
    path = own_study(tmp_path, text)
    item = study.load(path)
    study.run(item.only(["MLP"]), tmp_path / "out", jobs=1, stream=quiet())
    table = study.collect(item, tmp_path / "out").table
    good = table[table["method"] == "MLP W1"]
    assert (good["status"] == "ok").all()
    # a network of d units beats constant imputation, whose R2 the paper has at 0.6
    assert (good["r2"] > 0.5).all()
    bad = table[table["method"] == "MLP W9"]
    assert (bad["status"] == "error").all()
    assert bad["message"].str.contains("width=-1").all()


@pytest.mark.slow
def test_an_interrupt_stops_all_batches_of_networks(tmp_path, monkeypatch):
    """Two batches train at a time, as on an accelerator."""
    pytest.importorskip("jax", reason='pip install "missfit[networks]"')
    text = TINY + method("MLP W1", "missfit.MLP", width=2, weight_decay=1.0)
    text += method("MLP W2", "missfit.MLP", width=500, preset="paper")
    item = study.load(own_study(tmp_path, text)).only(["MLP"])
    stopped = []

    def fit(batch, *arguments):
        try:
            fit_networks(batch, *arguments)
        except InterruptedError:
            stopped.extend({cell.method.name for cell in batch})
            raise

    run_module = sys.modules["missfit.study.run"]  # the package has a run() too
    monkeypatch.setattr(run_module, "device", lambda: "not a CPU")
    monkeypatch.setattr(run_module, "fit_networks", fit)
    monkeypatch.setattr(PartFile, "append", lambda *_: raise_interrupt())
    with pytest.raises(KeyboardInterrupt):
        study.run(item, tmp_path / "out", jobs=1, stream=quiet())
    assert "MLP W2" in stopped


@pytest.mark.slow
def test_networks_that_are_done_are_kept_while_their_batch_trains(
    tmp_path, monkeypatch
):
    pytest.importorskip("jax", reason='pip install "missfit[networks]"')
    text = TINY + method("MLP W1", "missfit.MLP", width=2, weight_decay=1.0)
    text += method("MLP W2", "missfit.MLP", width=3, preset="paper")
    item = study.load(own_study(tmp_path, text)).only(["MLP"])
    assert len(list(network_batches(item.cells(), most_seconds=np.inf))) == 1
    append = PartFile.append

    def append_then_interrupt(*arguments):
        append(*arguments)
        raise KeyboardInterrupt

    run_module = sys.modules["missfit.study.run"]
    monkeypatch.setattr(run_module, "device", lambda: "not a CPU")
    monkeypatch.setattr(PartFile, "append", append_then_interrupt)
    with pytest.raises(KeyboardInterrupt):
        study.run(item, tmp_path / "out", jobs=1, stream=quiet())
    kept = study.collect(item, tmp_path / "out").table
    assert set(kept["method"]) == {"MLP W1"}
    assert (kept["status"] == "ok").all()


def test_a_network_s_predictions_that_are_not_finite_fail_alone(tmp_path, monkeypatch):
    pytest.importorskip("jax", reason='pip install "missfit[networks]"')
    text = TINY.replace("[1_000, 5_000]", "[400]")
    text += method("MLP W1", "missfit.MLP", width=2, weight_decay=1.0)
    text += method("MLP W2", "missfit.MLP", width=3, weight_decay=1.0)
    item = study.load(own_study(tmp_path, text)).only(["MLP"])
    predict = missfit.MLP.predict
    monkeypatch.setattr(
        missfit.MLP,
        "predict",
        lambda model, X: predict(model, X) * (np.nan if model.width == 3 else 1),
    )
    study.run(item, tmp_path / "out", jobs=1, stream=quiet())
    table = study.collect(item, tmp_path / "out").table
    assert (table[table["method"] == "MLP W1"]["status"] == "ok").all()
    bad = table[table["method"] == "MLP W2"]
    assert bad["message"].str.contains("predictions are not finite").all()
    assert len(bad) > 0


def raise_interrupt():
    raise KeyboardInterrupt


def test_batches_of_networks_are_bounded_and_hold_every_cell_once():
    cells = study.load("paper").only(["MLP"], max_rows=5_000).cells()
    batches = list(network_batches(cells, most_seconds=100.0))
    assert sorted(c.key for b in batches for c in b) == sorted(c.key for c in cells)
    for batch in batches:
        assert len(batch) == 1 or sum(map(cell_seconds, batch)) <= 100.0


def test_a_batch_takes_a_quarter_of_the_memory(monkeypatch):
    cells = study.load("paper").only(["MLP W4"], max_rows=5_000).cells()
    alike = [c for c in cells if c.data.rows == 5_000 and c.data.d == 16]
    each = network_bytes(5_000, 16)
    monkeypatch.setattr("missfit.study.estimate.memory_bytes", lambda: 4 * 7 * each)
    sizes = {len(b) for b in network_batches(alike, most_seconds=np.inf)}
    assert len(alike) == 20
    assert sizes == {7, 6}  # 7 + 7 + 6


def test_the_data_of_a_group_are_the_same_for_all_its_methods():
    groups = data_groups(study.load("figure3").only(["EMLR", "MICELR"]).cells())
    assert all(len({cell.data for cell in group}) == 1 for group in groups)
    assert sum(map(len, groups)) == 60


# ---- the command line ----------------------------------------------------------------


def test_list_methods_and_dry_run_say_what_there_is(tmp_path, capsys):
    _, out, _ = said(capsys, "--list")
    assert "paper" in out
    assert "12,670 cells" in out
    assert "MLP W0.05" in said(capsys, "--methods")[1]
    _, out, _ = said(capsys, "paper", "--dry-run", "--jobs", 2, "--out", tmp_path)
    assert "12,670 cells, 0 of them finished" in out
    assert "memory: about" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "which study?"),
        (["nothing"], "no study 'nothing'; choose"),
        (["quick", "--methods", "XGB"], "no method 'XGB'"),
        (["quick", "--jobs", "0"], "'0' is not a whole number >= 1"),
    ],
)
def test_a_wrong_command_is_one_line_and_exit_code_2(arguments, words, capsys):
    code, _, errors = said(capsys, *arguments)
    assert code == 2
    assert words in errors
    assert "Traceback" not in errors


def test_own_estimators_of_scikit_learn_need_no_module(tmp_path):
    text = TINY.replace("missfit.EMLR", "sklearn.dummy.DummyRegressor")
    item = parse(text, name="t").only(["EMLR"])
    study.run(item, tmp_path, jobs=1, stream=quiet())
    table = study.collect(item, tmp_path).table
    train = table[table["split"] == "train"]
    np.testing.assert_allclose(train["r2"], 0, atol=1e-12)  # the mean explains nothing


def test_the_estimate_of_a_study_grows_with_it():
    paper = study.load("paper").only(["EMLR", "ExpandedLR"])
    small = study.cost(paper.only(max_rows=1_000).cells(), 2)
    large = study.cost(paper.cells(), 2)
    assert 0 < small.seconds < large.seconds
    assert small.n_cells < large.n_cells
    assert study.cost(paper.cells(), 1).seconds == pytest.approx(2 * large.seconds)


def test_progress_is_plain_without_a_terminal_and_a_bar_with_one():
    import io

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    seconds = {"a": 1.0, "b": 3.0}
    records = [{"key": "a", "status": "ok"}, {"key": "b", "status": "error"}]
    plain, live = io.StringIO(), Terminal()
    for stream in (plain, live):
        with Progress(seconds, stream) as progress:
            progress.add(records[:1])
            assert progress.share == 0.25
            progress.add(records[1:])
    assert "\r" not in plain.getvalue()
    assert "100%  2/2 cells, 1 failed, took 0 s" in plain.getvalue()
    assert "\r" in live.getvalue()
    assert "[######..................] 1/2 cells, about 3 s left" in live.getvalue()


# ---- what a study may not do ---------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("os.system", "is a builtin_function_or_method, not a class"),
        ("subprocess.Popen", "is a class without fit and predict"),
        ("own_estimators.number", "is a function, not a class"),
        ("own_estimators.Greedy", "does not take"),
        ("leaves.Thing", "cannot be imported"),
    ],
)
def test_what_a_study_names_is_found_and_not_called(tmp_path, path, words):
    command_line = {"command": f"touch {tmp_path / 'called'}"}
    own_study(tmp_path, TINY + method("a", path, **command_line))
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(7)\n")
    with (tmp_path / "own_estimators.py").open("a") as file:
        file.write("\n\nclass Greedy(Mean):\n    pass\n")
    item = study.load(tmp_path / "own.toml")
    with pytest.raises(study.StudyError, match=words):
        item.check()
    assert not (tmp_path / "called").exists()


def test_a_dry_run_builds_nothing(tmp_path, capsys):
    own_study(tmp_path, TINY + method("a", "own_estimators.Loud"))
    with (tmp_path / "own_estimators.py").open("a") as file:
        file.write(
            "\n\nclass Loud(Mean):\n    def __init__(self):\n        raise OSError(1)\n"
        )
    line = ["study", str(tmp_path / "own.toml"), "--dry-run"]
    assert main([*line, "--out", str(tmp_path / "out")]) == 0
    assert "12 cells" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = " + "[" * 20_000, "not TOML"),
        (".".join(["a"] * 20_000) + " = 1", "line 1 has more than 1000 dots"),
        (TINY.replace("rows = [1_000, 5_000]", f"rows = {10**30}"), "at most"),
        (TINY.replace("repetitions = 2", "repetitions = 1_000_000_000_000"), "cells"),
        (TINY.replace('"EMLR"', r'"\u001b[2J"'), "that can be printed"),
        (TINY.replace('"EMLR"', '""'), "a text of 1 to 100 characters"),
        (TINY + f"d = {'9' * 5000}", "not TOML"),
    ],
)
def test_a_definition_that_would_fill_the_memory_is_refused(text, words):
    with pytest.raises(study.StudyError, match=words) as caught:
        parse(text, name="mine")
    assert len(str(caught.value)) < 500


def test_a_method_of_any_name_has_its_figures_and_its_report(tmp_path):
    text = TINY.replace("figures = []", "figures = [1, 3, 4]")
    for number, name in enumerate([r"$\\frac{$", "MLP Wide", "MLP W1.2.3", "<b>&"]):
        text += method(name, "sklearn.dummy.DummyRegressor", constant=number)
    (tmp_path / "odd.toml").write_text(text)
    line = ["study", str(tmp_path / "odd.toml"), "--jobs", "1", "--max-rows", "1000"]
    assert main([*line, "--out", str(tmp_path / "out")]) == 0
    assert r"$\frac{$" in (tmp_path / "out" / "report.html").read_text()
    assert (tmp_path / "out" / "figures" / "figure3.png").exists()


def test_a_damaged_record_is_not_read_and_its_cell_is_run_again(tmp_path):
    item = parse(TINY, name="tiny").only(max_rows=1_000)
    study.run(item, tmp_path, jobs=1, stream=quiet())
    whole = study.collect(item, tmp_path).table
    (part,) = (tmp_path / "parts").iterdir()
    lines = part.read_bytes().splitlines(keepends=True)
    for old, new in (
        (b'"status": "ok"', b'"status": 3'),
        (b'"test": {', b'"test": 3, "rest": {'),
        (b'"r2": ', b'"r2": [], "x": '),
        (b'"seed": ', b'"seed": "", "x": '),
        (b'"key": ', b'"lock": '),
    ):
        part.write_bytes(b"".join([lines[0].replace(old, new, 1), *lines[1:]]))
        assert len(pending_cells(item, tmp_path)) == 1
        study.collect(item, tmp_path)
    part.write_bytes(b"[" * 100_000 + b"\n" + b"".join(lines[1:]))
    study.run(item, tmp_path, jobs=1, stream=quiet())
    assert_same(study.collect(item, tmp_path).table, whole)
    (tmp_path / "parts" / "part-x.jsonl.gz").write_bytes(b"\x1f\x8b no more")
    with pytest.raises(ValueError, match=r"is damaged .* remove it"):
        study.collect(item, tmp_path)


# ---- two processes on one folder -----------------------------------------------------


def test_two_runs_on_one_folder_run_no_cell_twice(tmp_path):
    path = own_study(tmp_path, SLOW)
    item = study.load(path)
    line = [sys.executable, "-m", "missfit", "study", str(path), "--jobs", "1"]
    line += ["--out", str(tmp_path / "out")]
    first = subprocess.Popen(
        [*line, "--methods", "EMLR,slow"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not list((tmp_path / "out").glob(".running-*")):
        time.sleep(0.01)
    with pytest.raises(study.StudyError, match="are being run by another process"):
        study.run(item.only(["slow"]), tmp_path / "out", jobs=1, stream=quiet())
    study.run(item, tmp_path / "out", jobs=1, stream=quiet())
    assert first.wait() == 0
    keys = [
        json.loads(line)["key"]
        for part in (tmp_path / "out" / "parts").iterdir()
        for line in part.read_text().splitlines()
    ]
    assert sorted(keys) == sorted(cell.key for cell in item.cells())
    assert not list((tmp_path / "out").glob(".running-*"))


def test_the_claim_of_a_killed_run_does_not_count(tmp_path):
    item = parse(TINY, name="tiny").only(["EMLR"], max_rows=1_000)
    code = (
        "import os, sys, pathlib\nfrom missfit.study.claims import claimed\n"
        "with claimed(pathlib.Path(sys.argv[1]), lambda: sys.argv[2:]):\n"
        "    os.kill(os.getpid(), 9)"
    )
    keys = [cell.key for cell in item.cells()]
    subprocess.run([sys.executable, "-c", code, str(tmp_path), *keys])
    assert len(list(tmp_path.glob(".running-*"))) == 1
    study.run(item, tmp_path, jobs=1, stream=quiet())
    assert not pending_cells(item, tmp_path)
    assert not list(tmp_path.glob(".running-*"))


def test_a_table_of_a_study_that_is_a_pipe_is_named(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    text = TINY.replace(
        'setting = "mixture1"\nd = 4', 'file = "pipe.csv"\ntarget = "y"'
    )
    with pytest.raises(study.StudyError, match=r"pipe\.csv is a pipe"):
        parse(text, name="mine", folder=tmp_path)
