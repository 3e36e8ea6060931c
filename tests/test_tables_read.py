"""Tables in files: every way to write one reads the same; what is wrong is one line."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from missfit.tables.options import ReadOptions
from missfit.tables.problems import TableError
from missfit.tables.read import column_names, read_chunks, read_table
from missfit.tables.training import TrainingTable, read_training
from missfit.workflow.fit import fit_table
from missfit.workflow.model_file import save_model

FRAME = pd.DataFrame(
    {
        "age": [30.5, np.nan, 51.25, 44.0],
        "city": ["Paris", "Lyon", None, "a, b"],
        "target": [1.0, 2.0, 3.5, 4.0],
    }
)


def mixed_line_ends():
    lines = FRAME.to_csv(index=False).splitlines()
    return "".join(map(str.__add__, lines, ["\r", "\n", "\r\n", "\r", ""])).encode()


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.csv", lambda p: FRAME.to_csv(p, index=False)),
        ("t.csv", lambda p: FRAME.to_csv(p, index=False, encoding="utf-8-sig")),
        ("t.csv", lambda p: FRAME.to_csv(p, index=False, sep=";")),
        ("t.csv", lambda p: FRAME.to_csv(p, index=False, sep=";", decimal=",")),
        ("t.tsv", lambda p: FRAME.to_csv(p, index=False, sep="\t")),
        ("t.csv", lambda p: FRAME.to_csv(p, index=False, lineterminator="\r\n")),
        ("t.csv", lambda p: FRAME.to_csv(p, index=False, lineterminator="\r")),
        ("t.csv", lambda p: p.write_bytes(mixed_line_ends())),
        ("t.parquet", lambda p: FRAME.to_parquet(p, index=False, row_group_size=3)),
        ("t.feather", lambda p: FRAME.to_feather(p)),
    ],
    ids=[
        "csv",
        "bom",
        "semicolon",
        "comma",
        "tab",
        "crlf",
        "cr",
        "mixed",
        "parquet",
        "feather",
    ],
)
@pytest.mark.parametrize("rows", [1, 3, None])
def test_every_way_to_write_a_table_reads_the_same(tmp_path, name, write, rows):
    path = tmp_path / name
    write(path)
    assert column_names(path) == ["age", "city", "target"]
    chunks = list(read_chunks(path, ["target", "age"], rows=rows))
    assert max(map(len, chunks)) <= (rows or 4)
    whole = pd.concat(chunks, ignore_index=True)
    pd.testing.assert_frame_equal(whole, FRAME[["target", "age"]])
    pd.testing.assert_frame_equal(read_table(path), FRAME, check_dtype=False)


def wrong(tmp_path, text, message, name="t.csv", **options):
    path = tmp_path / name
    if isinstance(text, bytes):
        path.write_bytes(text)
    else:
        path.write_text(text)
    with pytest.raises(TableError, match=message) as caught:
        read_training(path, "y", least_rows=2, **options)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "no column names"),
        ("a,y\n", "a header and no rows"),
        ("y\n1\n2\n", "no column beside the target 'y'"),
        ("a,b\n1,2\n", "has no column 'y'; its columns are a, b"),
        ("a,Y\n1,2\n", "did you mean 'Y'"),
        ("a,y\n1,3\n2,3\n", "'y' is 3 in every row"),
        ("a,y\n1,\n2,\n", "'y' is missing in every row"),
        ("a,y\n1,low\n2,high\n", "holds text, such as 'low'"),
        ("a,y\n1,2020-01-01\n2,2020-01-02\n", "holds dates"),
        ("a,y\n1,1\n2,x\n", "1 value that is no number .'x' in row 2"),
        ("a,y\n1,1\n2,inf\n", "1 row with a target"),
        ("a,y\n1,1\n", "1 row with a target; at least 2"),
        ("a,y\n1,2\n1,2,3\n", r"line 3 is longer than the header \(3 values, 2 n"),
        (
            "a,y\n1,2,3\n1,2,3\n",
            "lines 2, 3 are longer .* give every column",
        ),
        ("a,y\né,2\n".encode() + b"\xff,1\n", "line 3 is not text in utf-8"),
        (b"\x89PNG\r\n\x1a\n\0\0", "binary data"),
        (b"a\0b,y\n1,2\n", "binary data"),
        (b"a,y\n1,\0\n1,1\n", "binary data"),
        (b"a" * 200_000 + b",y\n1,2\n", "cannot be read as column names"),
        (b"a,y\n1,1\n2,1" + b"0" * 400 + b"\n", "1 value that is no number"),
        (b"a" * 3_000_000, "first line is longer than 1,048,576 bytes"),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_one_line(tmp_path, text, message):
    wrong(tmp_path, text, message)


def test_what_is_wrong_with_other_files_is_one_line(tmp_path):
    wrong(tmp_path, "a,y\n1,2\n", "is not a whole Parquet file", "t.parquet")
    wrong(tmp_path, "a,y\n1,2\n", "is not a whole Feather file", "t.feather")
    wrong(tmp_path, "a,y\n1,2\n", "no known format; rename it", "t.doc")
    wrong(tmp_path, "x", "an old Excel workbook is not read; .* as .xlsx", "t.xls")
    wrong(tmp_path, "x", "an OpenDocument workbook is not read", "t.ods")
    wrong(tmp_path, "x", "as CSV or Parquet. In Python, pandas.read_stata", "t.dta")
    FRAME.to_parquet(tmp_path / "whole.parquet")
    content = (tmp_path / "whole.parquet").read_bytes()
    wrong(tmp_path, content[:-50], "is not a whole Parquet file", "cut.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match=r"no \*.parquet file in the folder"):
        read_table(tmp_path / "empty")
    with pytest.raises(TableError, match="does not exist"):
        read_table(tmp_path / "none.csv")


def test_columns_are_left_out_and_groups_kept_apart(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,school,y\n1,2,s1,1\n3,4,s2,2\n5,6,s1,\n")
    table = read_training(
        path, "y", ReadOptions(drop=["b"]), group="school", least_rows=2
    )
    assert table.X.columns.tolist() == ["a"]
    assert table.groups is not None
    assert table.groups.tolist() == ["s1", "s2"]
    assert table.notes[-1] == "1 row without a target left out"
    wrong(
        tmp_path,
        "a,b,y\n1,2,3\n4,5,6\n",
        "no column 'c'",
        options=ReadOptions(drop=["c"]),
    )
    wrong(tmp_path, "a,b,y\n1,2,3\n4,5,6\n", "no column 'c'", group="c")
    wrong(tmp_path, "a,b,y\n1,2,3\n4,,6\n", "missing in 1 rows", group="b")
    wrong(tmp_path, "a,b,y\n1,2,3\n4,2,6\n", "holds one group", group="b")
    wrong(tmp_path, "a,b,y\n1,2,3\n4,2,6\n", "'y' is the target", group="y")
    wrong(
        tmp_path,
        "a,b,y\n1,2,3\n4,2,6\n",
        "'y' is the target",
        options=ReadOptions(drop=["y"]),
    )


HUNDRED_MB = 100_000_000


@pytest.mark.parametrize(
    ("start", "repeated", "words"),
    [
        (b"", b"1,", "the first line is longer than 1,048,576 bytes"),
        (b"a,y\n", b"7x", "line 2 is longer than 1,048,576 bytes"),
        (b"a,y\n1,2\n", b"1,", "line 3 is longer than 1,048,576 bytes"),
    ],
    ids=["header", "cell", "cells"],
)
@pytest.mark.parametrize(
    "command",
    [  # which read alike
        pytest.param("compare", marks=pytest.mark.slow),
        pytest.param("fit", marks=pytest.mark.slow),
        "predict",
    ],
)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_hundred_megabytes_of_one_row_are_one_line_and_little_memory(
    tmp_path, start, repeated, words, command
):
    path, model = tmp_path / "t.csv", tmp_path / "m.skops"
    with path.open("wb") as file:
        file.write(start)
        for _ in range(100):
            file.write(repeated * (HUNDRED_MB // 100 // len(repeated)))
        file.write(b",1\n")
    call = f"{command} {path} --target y --out {tmp_path / 'out'}"
    if command == "fit":
        call = f"fit {path} --target y --model {tmp_path / 'out'}"
    if command == "predict":
        table = pd.DataFrame({"a": np.arange(60.0) % 7, "y": np.arange(60.0)})
        save_model(model, fit_table(training(table), predictor="ConstantImputedLR"))
        call = f"predict {model} {path} --out {tmp_path / 'out'}"
    began = seconds_of_children()
    done, n_bytes = run_and_measure(call, tmp_path / "most")
    assert done.returncode == 2
    assert done.stderr.startswith(f"missfit: {path}: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert n_bytes < 600e6
    assert seconds_of_children() - began < 60
    assert not (tmp_path / "out").exists()


def training(frame):
    return TrainingTable(frame[["a"]], frame["y"].to_numpy(), "y", None, [])


def seconds_of_children():
    """What processes that have ended have worked, whatever else the machine does."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_and_measure(call, note):
    """Run a command in a process of its own; return it and the most memory it took."""
    # not getrusage, whose maximum begins with that of the process that forked
    code = (
        "import sys\n"
        "from missfit.cli import main\n"
        "code = main(sys.argv[2:])\n"
        "lines = open('/proc/self/status').read().splitlines()\n"
        "most = next(line.split()[1] for line in lines if line.startswith('VmHWM'))\n"
        "open(sys.argv[1], 'w').write(most)\n"
        "sys.exit(code)"
    )
    line = [sys.executable, "-c", code, str(note), *call.split()]
    done = subprocess.run(line, capture_output=True, text=True)
    return done, 1024 * int(note.read_text())


def test_lines_are_as_long_as_they_may_be(tmp_path, monkeypatch):
    monkeypatch.setattr("missfit.tables.csv_text.MOST_LINE", 40)
    rows = [f"{'1' * 20},{k}" for k in range(5)]
    (tmp_path / "t.csv").write_text("\n".join(["a,y", *rows, ""]))
    assert read_table(tmp_path / "t.csv")["y"].tolist() == [0, 1, 2, 3, 4]
    rows[3] = f"{'1' * 50},3"
    (tmp_path / "t.csv").write_text("\n".join(["a,y", *rows, ""]))
    with pytest.raises(TableError, match="line 5 is longer than 40 bytes"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather"])
def test_a_pipe_is_called_a_pipe(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(TableError, match="is a pipe, which can be read only once"):
        column_names(tmp_path / name)


DAMAGE = """
import random, sys
from pathlib import Path
from missfit.tables.options import ReadOptions
from missfit.tables.problems import TableError
from missfit.tables.read import read_table
whole, place, rng = Path(sys.argv[1]), Path(sys.argv[2]), random.Random(0)
content, refused = whole.read_bytes(), 0
for k in range(200):
    data = bytearray(content)
    if k % 2:  # a length or an offset
        spot = 8 * rng.randrange(len(data) // 8)
        data[spot : spot + 8] = (1 << rng.randrange(16, 62)).to_bytes(8, "little")
    else:
        for _ in range(rng.choice([1, 4, 30])):
            data[rng.randrange(len(data))] = rng.randrange(256)
    place.write_bytes(data)
    try:
        read_table(place)
    except TableError as error:
        refused += 1
        assert "\\n" not in str(error)
print(refused)
"""


@pytest.mark.parametrize(
    "compression", ["uncompressed", pytest.param("lz4", marks=pytest.mark.slow)]
)
def test_damaged_feather_files_are_refused_and_do_not_kill_the_process(
    tmp_path, compression
):
    frame = pd.concat([FRAME] * 10, ignore_index=True)
    frame["kind"] = frame["city"].astype("category")
    frame.to_feather(tmp_path / "whole.feather", compression=compression)
    line = [sys.executable, "-c", DAMAGE, "whole.feather", "damaged.feather"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 50  # the rest is damage that shows nowhere, or in values


@pytest.mark.slow  # a ratio of times, which a busy machine disturbs
def test_the_time_to_read_grows_as_the_columns_do(tmp_path):
    """Four times the columns take four times the time, not sixteen times."""
    seconds = [_seconds_to_read(tmp_path, n_columns) for n_columns in (5_000, 20_000)]
    assert seconds[1] < 9 * seconds[0]


def _seconds_to_read(folder, n_columns):
    """Return the least processor time of three readings of a table this wide."""
    names = [f"c{j}" for j in range(n_columns)] + ["y"]
    row = ",".join(["1"] * n_columns)
    text = "\n".join([",".join(names), *(f"{row},{k}" for k in range(3))])
    (folder / "t.csv").write_text(text)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        table = read_training(folder / "t.csv", "y", least_rows=2)
        seconds.append(time.process_time() - start)
        assert table.X.shape == (3, n_columns)
    return min(seconds)


def test_an_index_of_pandas_is_a_column_like_the_others(tmp_path):
    frame = FRAME.set_index(pd.Index(["a", "b", "c", "d"], name="who"))
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")["who"].tolist() == ["a", "b", "c", "d"]
