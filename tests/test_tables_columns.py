"""Columns of objects: numbers of any size and kind."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from missfit import TableEncoder
from missfit.tables.columns import array_column, pandas_column, shown
from missfit.tables.decisions import decide


def read(values):
    series = pd.Series(values, dtype=object)
    columns = pandas_column(series, "a"), array_column(series.to_numpy(), "a")
    return [decide(one, "a").reading.numbers(one).values for one in columns]


def test_every_nan_of_decimal_is_a_missing_value():
    for values in read([Decimal("1.5"), Decimal("NaN"), Decimal("sNaN"), 2, None]):
        np.testing.assert_array_equal(values, [1.5, np.nan, np.nan, 2.0, np.nan])
    frame = pd.DataFrame({"a": [Decimal("sNaN"), Decimal(1), Decimal(2)] * 9})
    assert np.isnan(TableEncoder().fit_transform(frame)).sum() == 9


@pytest.mark.parametrize("sign", [1, -1])
def test_a_whole_number_beyond_the_largest_float_is_missing_and_named(sign):
    encoder = TableEncoder().fit(
        pd.DataFrame({"a": [*range(99), sign * 10**400]}, dtype=object)
    )
    (note,) = encoder.reading_.notes()
    assert note == (
        "a: 1 value that is no number (a whole number of 1329 bits in row 100) taken "
        "as missing"
    )


def test_a_category_can_be_a_whole_number_of_any_size():
    column = array_column(np.array([10**400, 10**400 + 1], dtype=object), "a")
    assert len(set(column.levels())) == 2


def test_a_value_is_shown_short_whatever_it_is():
    for value in ("x" * 10**6, 10**5000, -(10**400), [1] * 10**5):
        assert len(shown(value)) <= 80
