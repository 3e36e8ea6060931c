"""Columns of objects: numbers of any size and kind."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from missfit import TableEncoder
from missfit.tables.columns import (
    array_column,
    kind_of,
    numbers_of,
    pandas_column,
    shown,
)


def read(values):
    series = pd.Series(values, dtype=object)
    columns = pandas_column(series, "a"), array_column(series.to_numpy(), "a")
    kinds = {kind_of(column, "a", forced=False) for column in columns}
    (kind,) = kinds
    return [numbers_of(column, "a", kind) for column in columns]


def test_every_nan_of_decimal_is_a_missing_value():
    for values in read([Decimal("1.5"), Decimal("NaN"), Decimal("sNaN"), 2, None]):
        np.testing.assert_array_equal(values, [1.5, np.nan, np.nan, 2.0, np.nan])
    frame = pd.DataFrame({"a": [Decimal("sNaN"), Decimal(1), Decimal(2)] * 9})
    assert np.isnan(TableEncoder().fit_transform(frame)).sum() == 9


@pytest.mark.parametrize("sign", [1, -1])
def test_a_whole_number_beyond_the_largest_float_is_named(sign):
    with pytest.raises(
        ValueError, match=r"'a' .* 1329 bits, beyond the largest number"
    ):
        read([1, sign * 10**400])
    frame = pd.DataFrame({"a": [1, 2, sign * 10**400] * 9})
    with pytest.raises(ValueError, match="beyond the largest number"):
        TableEncoder().fit_transform(frame)


def test_a_category_can_be_a_whole_number_of_any_size():
    column = array_column(np.array([10**400, 10**400 + 1], dtype=object), "a")
    assert len(set(column.levels())) == 2


def test_a_value_is_shown_short_whatever_it_is():
    for value in ("x" * 10**6, 10**5000, -(10**400), [1] * 10**5):
        assert len(shown(value)) <= 80
