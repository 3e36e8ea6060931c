"""Arrow as bytes: read right, or refused with the reason; compressed bytes are not."""

import io

import numpy as np
import pytest

from missfit.tables.arrow_stream import stream_frame
from missfit.tables.problems import TableError

pa = pytest.importorskip("pyarrow")


def table():
    words = pa.array(["x", None, "y"] * 100).dictionary_encode()
    return pa.table({"a": [1.0, None, 3.0] * 100, "b": words, "c": range(300)})


def content(new="new_stream", compression=None, batch=None):
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    found = table()
    with getattr(pa.ipc, new)(sink, found.schema, options=options) as writer:
        writer.write_table(found, batch)
    return sink.getvalue()


@pytest.mark.parametrize("new", ["new_stream", "new_file"])
def test_a_stream_and_a_file_are_read_as_arrow_reads_them(new):
    frame = stream_frame(content(new), ["b", "a"], "the body", 1_000)
    expected = table().select(["b", "a"]).to_pandas()
    assert list(frame.columns) == ["b", "a"]
    np.testing.assert_array_equal(frame["a"], expected["a"])
    assert frame["b"].astype(object).equals(expected["b"].astype(object))


def test_no_more_rows_are_read_than_are_needed_to_see_that_they_are_too_many():
    assert len(stream_frame(content(batch=10), ["a"], "the body", 25)) == 30
    assert len(stream_frame(content(), ["a"], "the body", 25)) == 26


@pytest.mark.parametrize("new", ["new_stream", "new_file"])
@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_compressed_batches_are_refused(new, compression):
    with pytest.raises(TableError, match="compressed Arrow batches"):
        stream_frame(content(new, compression), ["a"], "the body", 1_000)


@pytest.mark.parametrize("junk", [b"", b"abc", content()[:300], b"\xff" * 999])
def test_what_is_no_arrow_is_refused(junk):
    with pytest.raises(TableError, match="the body cannot be read as Arrow"):
        stream_frame(junk, ["a"], "the body", 1_000)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(TableError, match="the body has no column 'A'; did you mean"):
        stream_frame(content(), ["A"], "the body", 1_000)
