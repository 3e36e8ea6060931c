"""``missfit simulate`` writes a table, whole or not at all."""

import subprocess
import sys

import numpy as np
import pytest

from conftest import with_file_size_limit
from missfit.cli import main
from missfit.simulate import published

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_it_writes_a_draw_of_the_law(tmp_path, suffix, capsys):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    out = tmp_path / f"table.{suffix}"
    line = ["simulate", "mixture3", "--d", "4", "--n", "50", "--seed", "3"]
    assert main([*line, "--out", str(out)]) == 0
    if suffix == "csv":  # by Python: pandas 2 reads the last bit wrongly
        frame = pd.read_csv(out, dtype=str).astype(float)
    else:
        frame = pd.read_parquet(out)
    X, y = published("mixture3", 4).sample(50, random_state=3)
    assert list(frame) == ["x1", "x2", "x3", "x4", "y"]
    np.testing.assert_allclose(frame[["x1", "x2", "x3", "x4"]], X, rtol=1e-15)
    np.testing.assert_allclose(frame["y"], y, rtol=1e-15)
    assert "50 rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"--n": "0"}, "'0' is not a whole number >= 1"),
        ({"--n": "-3"}, "is not a whole number >= 1"),
        ({"--n": "1e3"}, "is not a whole number >= 1"),
        ({"--d": "5"}, "d=5 is not in the paper's mixture1; choose one of 4, 6"),
        ({"--seed": "-1"}, "'-1' is not between 0"),
        ({"--out": "table.txt"}, "must end in .csv or .parquet"),
        ({"--out": "no/table.csv"}, "/no; make it first, or give a file elsewhere"),
        ({"setting": "mixture2"}, "invalid choice: 'mixture2'"),
    ],
)
def test_a_mistake_is_named_and_nothing_is_written(tmp_path, change, words, capsys):
    given = {"setting": "mixture1", "--d": "4", "--n": "10", "--out": "table.csv"}
    given |= change
    setting, out = given.pop("setting"), tmp_path / given.pop("--out")
    line = ["simulate", setting, "--out", str(out)]
    line += [f"{name}={value}" for name, value in given.items()]
    try:
        code = main(line)
    except SystemExit as stop:  # argparse
        code = stop.code
    assert code == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_the_old_file(tmp_path):
    out = tmp_path / "table.csv"
    out.write_text("old")
    line = f"-m missfit simulate mixture1 --d 4 --n 1000 --out {out}"
    done = subprocess.run(
        with_file_size_limit(500, sys.executable, *line.split()),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "File too large" in done.stderr
    assert out.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


def test_a_table_is_written_where_the_memory_of_the_machine_is_not_known(
    tmp_path, monkeypatch
):
    """As on Windows, whose Python has no os.sysconf."""
    monkeypatch.delattr("os.sysconf")
    out = tmp_path / "table.csv"
    line = f"simulate mixture1 --d 4 --n 10 --out {out}"
    assert main(line.split()) == 0
    assert len(out.read_text().splitlines()) == 11
