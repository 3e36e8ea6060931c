"""Files, iterators and named columns give the same rows as the table in memory."""

import os
import subprocess
import sys

import numpy as np
import pytest

from conftest import hide
from missfit import ConstantImputedLR, TableFile
from missfit.tables import chunks as sources
from missfit.tables.chunks import (
    comes_in_chunks,
    feature_chunks,
    named_columns,
    open_source,
)
from missfit.tables.problems import TableError

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture
def frame(rng):
    X = hide(rng, rng.normal(size=(500, 3)))
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    table["count"] = pandas.array(
        np.where(rng.random(500) < 0.3, None, rng.integers(0, 9, 500)), dtype="Int64"
    )
    table["flag"] = rng.random(500) < 0.5
    table["y"] = rng.normal(size=500)
    table["w"] = rng.integers(0, 3, 500).astype(float)
    return table


FEATURES = ["a", "b", "c", "count", "flag"]


def written(frame, folder, kind):
    if kind == "folder":
        (folder / "parts").mkdir()
        for i in range(5):
            part = frame.iloc[100 * i : 100 * i + 100]
            part.to_parquet(folder / "parts" / f"{i}.parquet")
        return folder / "parts"
    path = folder / f"table.{kind}"
    if kind == "parquet":
        frame.to_parquet(path, row_group_size=64)
    else:
        frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv", "csv.gz", "folder"])
def test_a_file_gives_back_the_rows_in_order(frame, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(sources, "CHUNK_DOUBLES", 700)  # many chunks
    source = open_source(written(frame, tmp_path, kind), "y", "w")
    chunks = list(source.chunks())
    assert len(chunks) >= 5
    assert source.n_rows == (None if "csv" in kind else 500)
    X = pandas.concat([chunk.X for chunk in chunks])
    assert list(X.columns) == FEATURES
    expected = frame[FEATURES].to_numpy(dtype=float, na_value=np.nan)
    # decimal text of 17 digits reads back to the last bit or the one beside it
    np.testing.assert_allclose(X.to_numpy(), expected, rtol=1e-15)
    y = np.concatenate([chunk.y for chunk in chunks])
    np.testing.assert_allclose(y, frame["y"], rtol=1e-15)
    np.testing.assert_array_equal(
        np.concatenate([chunk.weight for chunk in chunks]), frame["w"]
    )


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_only_the_columns_asked_for_are_read(frame, tmp_path, kind):
    frame["name"] = "text, which cannot be read as a number"
    path = written(frame, tmp_path, kind)
    with pytest.raises(
        TableError, match=f"{path}: column 'name' holds .* leave it out"
    ):
        list(open_source(path, "y").chunks())
    (chunk,) = open_source(TableFile(path, ["c", "a"]), ["y", "w"]).chunks()
    assert list(chunk.X.columns) == ["c", "a"]
    assert chunk.y.shape == (500, 2)
    (X,) = feature_chunks(path, ["b"])
    np.testing.assert_allclose(X["b"], frame["b"], rtol=1e-15)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_a_frame_can_be_the_target_by_name(frame, library):
    frame = frame.drop(columns=["count", "flag"])
    expected = ConstantImputedLR().fit(
        frame[["a", "b", "c"]], frame["y"], sample_weight=frame["w"]
    )
    table = frame
    if library == "polars":
        polars = pytest.importorskip("polars")
        table = polars.DataFrame({name: frame[name].to_numpy() for name in frame})
    model = ConstantImputedLR().fit(table, "y", "w")
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(model.coef_, expected.coef_)


def test_what_is_a_source_and_what_is_a_table():
    assert all(comes_in_chunks(x) for x in ("a.csv", iter([]), lambda: iter([])))
    assert comes_in_chunks(TableFile("a.csv"))
    tables = ([[1.0]], ((1.0,),), np.ones((2, 2)), pandas.DataFrame({"a": [1]}))
    assert not any(comes_in_chunks(x) for x in tables)


def test_mistakes_say_what_was_found_and_what_to_give(frame, tmp_path):
    path = written(frame, tmp_path, "parquet")
    with pytest.raises(ValueError, match=r"no column 'z'; its columns are a, b, c"):
        open_source(path, "z")
    with pytest.raises(ValueError, match="y is None; give the name"):
        open_source(path)
    with pytest.raises(TypeError, match="y is ndarray; for a file give the name"):
        open_source(path, np.ones(3))
    with pytest.raises(TypeError, match="sample_weight is ndarray"):
        open_source(path, "y", np.ones(3))
    with pytest.raises(FileNotFoundError, match=r"absent\.csv does not exist"):
        open_source("absent.csv", "y")
    with pytest.raises(FileNotFoundError, match=r"no \*.parquet file"):
        open_source(_empty(tmp_path), "y")
    with pytest.raises(ValueError, match=r"says no known format; rename it"):
        open_source(__file__, "y")
    with pytest.raises(ValueError, match="has no named columns"):
        named_columns(np.ones((2, 2)), "y")
    with pytest.raises(TypeError, match=r"chunk is ndarray and y=None"):
        list(open_source(iter([np.ones((2, 2))])).chunks())


def _empty(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def test_a_missing_extra_says_how_to_install_it(tmp_path):
    pandas.DataFrame({"x": [1.0], "y": [2.0]}).to_parquet(tmp_path / "a.parquet")
    code = (
        "import sys\n"
        "sys.modules['pyarrow'] = None  # as if not installed\n"
        "import missfit\n"
        f"missfit.EMLR().fit({str(tmp_path / 'a.parquet')!r}, 'y')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: This takes pyarrow" in done.stderr
    assert 'pip install "missfit[table]"' in done.stderr


@pytest.mark.parametrize(
    "call",
    [
        "missfit.compare(np.eye(9), np.arange(9.0))",
        "main(['simulate', 'mixture1', '--d', '4', '--n', '9', '--out', 'a.csv'])",
    ],
)
def test_without_pandas_it_is_said_what_to_install(call, tmp_path):
    code = (
        "import sys\n"
        "sys.modules['pandas'] = None  # as if not installed\n"
        "import missfit, numpy as np\n"
        "from missfit.cli import main\n"
        f"{call}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert 'pip install "missfit[table]"' in done.stderr, done.stderr


def test_memory_does_not_grow_with_a_parquet_file(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(sources, "CHUNK_DOUBLES", 40_000)  # 10,000 rows
    part = pyarrow.table(
        {name: np.random.default_rng(0).random(10_000) for name in "abcy"}
    )
    path = tmp_path / "long.parquet"
    with parquet.ParquetWriter(path, part.schema, compression="none") as writer:
        for _ in range(100):
            writer.write_table(part)
    before, most = pyarrow.total_allocated_bytes(), 0
    for _ in open_source(path, "y").chunks():
        most = max(most, pyarrow.total_allocated_bytes() - before)
    assert path.stat().st_size > 100 * 4 * 10_000 * 8
    assert most < 10 * 4 * 10_000 * 8  # of 100 row groups, those of a few chunks


def test_a_name_that_is_absent_double_or_has_two_roles_is_named(frame, tmp_path):
    path = written(frame, tmp_path, "parquet")
    with pytest.raises(ValueError, match="'a' is a feature and a feature at once"):
        open_source(TableFile(path, ["a", "a"]), "y")
    with pytest.raises(ValueError, match="'y' is a feature and the target at once"):
        open_source(TableFile(path, ["a", "y"]), "y")
    with pytest.raises(ValueError, match="'y' is the target and the weight at once"):
        open_source(path, "y", "y")
    with pytest.raises(ValueError, match="'y' is the target and the target at once"):
        open_source(path, ["y", "y"])
    with pytest.raises(ValueError, match="no column 'z'"):
        list(feature_chunks(path, ["a", "z"]))


def test_two_columns_of_one_name_are_refused(frame, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table([[1.0], [2.0], [3.0]], names=["a", "a", "y"])
    parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"more than one column named 'a'"):
        open_source(tmp_path / "t.parquet", "y")


def test_a_part_that_lacks_a_column_is_named_before_anything_is_read(frame, tmp_path):
    folder = written(frame, tmp_path, "folder")
    frame.drop(columns="b").to_parquet(folder / "7.parquet")
    with pytest.raises(ValueError, match=r"7\.parquet has no column 'b'"):
        open_source(folder, "y")
    frame.assign(b="text").to_parquet(folder / "7.parquet")
    with pytest.raises(TableError, match=r"7\.parquet: column 'b' .* not numbers"):
        open_source(folder, "y")


def test_a_damaged_file_or_a_pipe_is_one_error_of_ours(frame, tmp_path):
    path = written(frame, tmp_path, "parquet")
    content = path.read_bytes()
    path.write_bytes(content[:-40])
    with pytest.raises(ValueError, match="is not a whole Parquet file"):
        open_source(path, "y")
    spoiled = bytearray(content)
    spoiled[4:400] = b"\xff" * 396  # the first page
    path.write_bytes(spoiled)
    with pytest.raises(ValueError, match="cannot be read"):
        list(open_source(path, "y").chunks())
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="is a pipe, which can be read only once"):
        open_source(tmp_path / "pipe.csv", "y")
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(ValueError, match="is empty"):
        open_source(tmp_path / "empty.csv", "y")
