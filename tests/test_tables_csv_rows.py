"""Arrow and pandas read one CSV file alike, and one goes on where the other stops."""

import bz2
import gzip
import lzma

import numpy as np
import pandas as pd
import pytest

from missfit import EMLR, study
from missfit.tables.problems import TableError
from missfit.tables.read import read_chunks, read_numbers
from missfit.tables.training import read_training

MISSING = ["", "NA", "<NA>", "None", "nan", '""', "#N/A", "null"]


def rows_of(path, columns, doubles=2**20):
    return np.concatenate(list(read_numbers(path, columns, doubles)))


@pytest.mark.parametrize(
    ("separator", "decimal"), [",.", ";.", "\t.", "|.", ";,", "\t,", "|,"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_plain_tables_are_read_by_arrow(
    tmp_path, monkeypatch, rng, separator, decimal, end
):
    values = rng.normal(size=(60, 3)) * 10.0 ** rng.integers(-12, 12, (60, 3))
    lines = [[repr(float(v)).replace(".", decimal) for v in row] for row in values]
    for k, word in enumerate(MISSING):
        lines[7 * k][1], values[7 * k, 1] = word, np.nan
    text = [separator.join(cells) for cells in [["a", '"b"', "c"], *lines]]
    path = tmp_path / "t.csv"
    path.write_bytes(("\ufeff" + end.join(text)).encode())

    def slow(*_):
        raise AssertionError("Python was asked for rows that Arrow can read")

    monkeypatch.setattr("missfit.tables.csv_rows._careful_rows", slow)
    frame = pd.concat(read_chunks(path, ["c", "b", "a"], rows=7))
    # Arrow rounds to the nearest number, as Python does
    np.testing.assert_array_equal(frame.to_numpy(), values[:, ::-1])
    np.testing.assert_array_equal(rows_of(path, ["c", "b", "a"], 60), values[:, ::-1])


def spoiled(path, line, place):
    """Write a thousand rows of numbers, one of which is another line."""
    values = np.array([[k, k / 4] for k in range(1000)])
    lines = [f"{int(a)},{b}" for a, b in values]
    lines[place] = line
    path.write_text("\n".join(["a,y", *lines]) + "\n")
    return values


PLACES = pytest.mark.parametrize(
    "place", [0, 700, 999]
)  # in the first block, and later


@PLACES
@pytest.mark.parametrize(("line", "row"), [("1.5", [1.5, np.nan]), ('" 2 ",3', [2, 3])])
def test_what_arrow_refuses_is_read_as_a_frame_is(tmp_path, line, row, place):
    values = spoiled(tmp_path / "t.csv", line, place)
    values[place] = row
    found = rows_of(tmp_path / "t.csv", ["a", "y"], 100)
    np.testing.assert_array_equal(found, values)
    frame = pd.concat(read_chunks(tmp_path / "t.csv", ["a", "y"], rows=None))
    np.testing.assert_array_equal(frame.to_numpy(dtype=float), values)


def test_true_and_false_are_one_and_nought(tmp_path):
    text = "a,y\n" + "True,1\n,2\nfalse,3\n" * 50
    (tmp_path / "t.csv").write_text(text)
    expected = [[1.0, 1.0], [np.nan, 2.0], [0.0, 3.0]] * 50
    np.testing.assert_array_equal(rows_of(tmp_path / "t.csv", ["a", "y"], 9), expected)


@PLACES
def test_what_is_no_number_is_named_by_file_column_row_and_value(tmp_path, place):
    path = tmp_path / "t.csv"
    spoiled(path, "tall,2", place)
    words = rf"t\.csv: column 'a' holds 'tall' in line {place + 2:,}, which is no"
    with pytest.raises(TableError, match=words):
        EMLR().fit(path, "y")
    text = "[[data]]\nfile = 't.csv'\ntarget = 'y'\nrepetitions = 1\n[[methods]]\n"
    (tmp_path / "own.toml").write_text(text + "name = 'EM'\nestimator = 'missfit.EMLR'")
    with pytest.raises(study.StudyError, match=words + r".*drop = \['a'\]"):
        study.load(tmp_path / "own.toml")
    # a whole table says so, and leaves the row out
    notes = read_training(path, "a").notes
    assert (
        f"a: 1 value that is no number ('tall' in row {place + 1:,}) taken as missing"
        in notes
    )
    assert "1 row without a target left out" in notes


@pytest.mark.parametrize(
    ("line", "words"),
    [("1,2,3", "line 702 is longer than the header"), ("\0", "holds binary data")],
)
def test_a_line_that_is_no_row_is_one_error_of_ours(tmp_path, line, words):
    spoiled(tmp_path / "t.csv", line, 700)
    with pytest.raises(TableError, match=words):
        rows_of(tmp_path / "t.csv", ["a", "y"], 100)


@pytest.mark.parametrize(
    ("ending", "pack"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)],
)
def test_a_packed_file_that_is_cut_is_one_error_of_ours(tmp_path, ending, pack):
    path = tmp_path / f"t.csv.{ending}"
    path.write_bytes(pack(b"a,y\n" + b"1.5,2\n" * 400_000)[:-30])
    with pytest.raises(TableError, match="cannot be read"):
        rows_of(path, ["a", "y"])
    with pytest.raises(TableError, match="cannot be read"):
        read_training(path, "y")
