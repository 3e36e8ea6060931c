import datetime
import decimal
import os

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from missfit import PatternMoments
from missfit.moments.blocks import blocks, n_threads
from missfit.tables.arrays import as_floats, columns_of_text

EXPECTED = np.array([[1.0, np.nan], [3.0, 4.0]])


@pytest.mark.parametrize(
    "table",
    [
        [[1, None], [3, 4]],
        np.array([[1, None], [3, 4]], dtype=object),
        np.array(EXPECTED, dtype=np.float32),
        np.asfortranarray(EXPECTED),
        np.ma.masked_array([[1, -999], [3, 4]], mask=[[0, 1], [0, 0]]),
        [np.ma.masked_equal([1, -999], -999), np.ma.masked_equal([3, 4], -999)],
        np.ma.masked_array([[1, "hidden"], [3, 4]], [[0, 1], [0, 0]], dtype=object),
        np.array([[1, pd.NA], [3, 4]], dtype=object),
        np.array([[1, decimal.Decimal("NaN")], [3, decimal.Decimal(4)]], dtype=object),
        pd.DataFrame({"a": [1.0, 3.0], "b": [None, 4.0]}),
        pd.DataFrame({"a": [1, 3], "b": [None, 4]}).astype("Int64"),
        pd.DataFrame({"a": [1, 3], "b": [None, 4]}).astype("Float64"),
        pd.DataFrame({"a": [1, 3], "b": [pd.NA, 4]}, dtype=object),
    ],
)
def test_every_kind_of_missing_value_is_read_as_nan(table):
    np.testing.assert_array_equal(as_floats(table), EXPECTED)
    assert PatternMoments.from_data(table, [1.0, 2.0]).count.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
            "X, column 'a', holds dates, the first 2020-01-01.*; only real numbers",
        ),
        (np.array([[1 + 2j]]), "X holds complex numbers"),
        (np.array([["a"]]), "cannot be read as numbers.*Encode text"),
        ([[datetime.date(2020, 1, 1)]], "X holds dates, the first 2020-01-01"),
        ([[np.timedelta64(3, "D")]], "X holds durations, the first 3 days"),
        (np.array([[1.0, np.datetime64("2020-01-01")]], object), "X holds dates"),
        (pd.DataFrame({"a": pd.Categorical([pd.Timestamp(0)])}), "holds dates"),
        (pl.DataFrame({"a": [datetime.date(2020, 1, 1)]}), "'a', holds dates"),
        (pl.DataFrame({"a": [datetime.timedelta(1)]}), "'a', holds durations"),
        ([[10**400]], "cannot be read as numbers .int too large"),
        (sparse.csr_array(np.eye(2)), r"sparse matrix; give X\.toarray\(\)"),
        ([[1.0], [1.0, 2.0]], "cannot be read as numbers"),
    ],
)
def test_what_is_not_a_table_of_numbers_is_refused(table, message):
    with pytest.raises((TypeError, ValueError), match=message):
        as_floats(table)


def test_blocks_cover_everything_once_and_hold_at_least_one_item():
    cuts = list(blocks(10, doubles_each=10**9))
    assert [cut.start for cut in cuts] == list(range(10))
    assert list(blocks(0, doubles_each=1)) == []


def test_one_setting_limits_all_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert n_threads() == 3
    for unset in ("", "0", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", unset)
        assert n_threads() == (os.cpu_count() or 1)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_columns_of_numbers_are_not_searched_for_text(kind):
    """An error of a table of many rows of numbers looks at none of its cells."""
    assert not list(columns_of_text(kind(EXPECTED)))


def test_columns_that_may_hold_text_have_their_names():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": [1, "z"]})
    frame["d"] = frame["b"].astype("category")
    assert [name for name, _ in columns_of_text(frame)] == ["b", "c", "d"]
    some = pl.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    assert [name for name, _ in columns_of_text(some)] == ["b"]
    assert [name for name, _ in columns_of_text(np.array([["x", 1.0]]))] == [0, 1]
