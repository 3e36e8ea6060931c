"""Numbers as people write them, beside what Python says they are."""

import datetime

import numpy as np
import pandas as pd
import pytest

from missfit.tables.number_text import NumberFormat, number_format
from missfit.tables.options import ReadOptions
from missfit.tables.problems import TableError
from missfit.tables.reading import Reading


def read(texts, name="a", **options):
    """Return how a column of text is read, and its numbers."""
    frame = pd.DataFrame({name: pd.Series(texts, dtype=object)})
    reading = Reading.of(frame, ReadOptions(**options))
    return reading[name], reading.apply(frame).frame[name]


def numbers(texts):
    reading, values = read(texts)
    assert reading.kind == "number", reading
    return values.tolist()


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["$1,200.50", "$7", "-$3", "$-4", "($5)"], [1200.5, 7, -3, -4, -5]),
        (["1.234,56 €", "7 €", "1.000.000,5 EUR"], [1234.56, 7, 1000000.5]),
        (["CHF 1'234.50", "CHF 1\u2019000", "20 CHF"], [1234.5, 1000, 20]),
        (["Rs. 4,500", "₹12,34,567", "INR 5"], [4500, 1234567, 5]),
        (["£5", "GBP 1,000,000"], [5, 1e6]),
        (["¥5,000", "12 JPY"], [5000, 12]),
        (["12 %", "12.5%", "-3 percent"], [12, 12.5, -3]),
        (["1 234,5", "1\u202f234\u00a0567,25"], [1234.5, 1234567.25]),
        (["(1,234.5)", "2,000", "1,234-"], [-1234.5, 2000, -1234]),
        (["\u22125", "+3", "\u2013 2"], [-5, 3, -2]),
        (["12 km", "3.5km", "7"], [12, 3.5, 7]),
        (["1.5 km", "2 km", "500 m"], [1.5, 2, 0.5]),
        (["2 kg", "1 kg", "500 g"], [2, 1, 0.5]),
        (["1 h", "2 hours", "30 min"], [1, 2, 0.5]),
        (["20 sq. ft.", "30 sqft", "40 ft²"], [20, 30, 40]),
        (["€110.5M", "€565K", "€0"], [110.5e6, 565e3, 0]),
        (["1.2k", "900", "3k"], [1200, 900, 3000]),
        (["10,000+", "500+", "<5"], [10000, 500, 5]),
        (["1e5", "2.5E-3", ".5"], [1e5, 2.5e-3, 0.5]),
        (["$1,200", "1200", "1,200 USD"], [1200, 1200, 1200]),
        (["14:30", "2:15 PM", "08:00"], [14.5, 14.25, 8]),
    ],
    ids=lambda case: str(case[0]) if isinstance(case, list) else None,
)
def test_a_writing_of_numbers_is_read(texts, expected):
    np.testing.assert_allclose(numbers(texts), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1,234", "0.5"], [1234, 0.5]),  # a point is the decimal sign elsewhere
        (["1,234", "0,5"], [1.234, 0.5]),
        (["1,234", "12,345"], [1234, 12345]),
        (["1.234", "12.345"], [1.234, 12.345]),
        (["1.234", "1.234.567"], [1234, 1234567]),
        (["1.234", "0,5"], [1234, 0.5]),
        (["0,345", "1,234"], [0.345, 1.234]),  # no thousands begin with 0
        (["$407,900", "$389,500"], [407900, 389500]),
        (["1.234 €", "12.500 €"], [1234, 12500]),
    ],
)
def test_the_column_says_what_a_comma_is(texts, expected):
    assert numbers(texts) == expected


def test_points_between_thousands_are_told_from_decimals_by_numbers_without_them():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.integers(1000, 90_000, 60), rng.integers(1, 999, 40)])
    assert numbers([f"{v:,}".replace(",", ".") for v in values]) == values.tolist()
    three = [f"{v / 1000:.3f}" for v in values]
    assert numbers(three) == [float(text) for text in three]


def test_numbers_that_can_be_read_two_ways_follow_the_other_columns_or_say_so():
    frame = pd.DataFrame({"a": ["1.234", "5.678"], "b": ["1,5", "2,25"]})
    reading = Reading.of(frame)
    assert reading.apply(frame).frame["a"].tolist() == [1234, 5678]
    (note,) = Reading.of(frame[["a"]])["a"].notes
    assert "'1.234'" in note or "1.234 can be read in two ways" in note


def test_times_of_day_of_a_spreadsheet_are_hours():
    reading, values = read([datetime.time(14, 30), datetime.time(8), None])
    assert reading.kind == "number"
    assert values.tolist()[:2] == [14.5, 8]


def test_shares_beside_percents_are_made_percents_and_that_is_said():
    reading, values = read(["12%", "50 %", "0.25", "80%"])
    assert values.tolist() == [12, 50, 25, 80]
    assert reading.notes == (
        "numbers without % are at most 1 and were multiplied by 100",
    )
    reading, values = read(["12%", "50", "80%"])
    assert values.tolist() == [12, 50, 80]
    assert reading.notes == ("1 number without a unit taken as %",)


def test_units_that_do_not_go_together_are_named_by_their_rows():
    texts = [f"{k} km" for k in range(1, 200)] + ["5 kg"]
    reading, values = read(texts)
    assert np.isnan(values[199])
    assert reading.notes == (
        "1 value that is no number ('5 kg' in row 200) taken as missing",
    )
    assert read(["1 km", "2 kg"] * 30)[0].kind == "category"


def test_currencies_are_not_converted_and_that_is_said():
    reading, values = read(["$5", "€6"] * 9)
    assert values.tolist() == [5, 6] * 9
    assert (
        "amounts in $ and € stand in one column and are not converted" in reading.notes
    )


@pytest.mark.parametrize(
    "texts",
    [
        ["12 Main St", "7 Elm Rd", "9 Oak Av"],
        ["555-1234", "555-9876"],
        ["1.2.3", "4.5.6"],
        ["A12", "B7", "C9"],
        ["12 34 56", "1 2 3"],
        ["1,2,3", "4,5"],
        ["5)", "(6"],
    ],
)
def test_what_only_looks_like_numbers_is_a_category(texts):
    assert read(texts * 3)[0].kind == "category"


def test_a_few_odd_values_are_missing_and_many_make_a_category():
    texts = [str(k) for k in range(200)]
    few = [*texts, "abc", "x1"]
    reading, values = read(few)
    assert np.isnan(values[200:]).all()
    assert "2 values that are no number ('abc' in row 201, 'x1' in row 202)" in str(
        reading.notes
    )
    # one word for many rows is a mark that nobody told us
    reading, values = read([*texts, *["closed"] * 100])
    assert reading.kind == "number"
    assert reading.notes == ("'closed' in 100 rows taken as missing",)
    assert reading.marks == ("closed",)
    assert read(["1", "2", "low", "high"] * 9)[0].kind == "category"


def test_a_kind_that_is_asked_for_is_followed_or_refused_with_the_values():
    assert read(["1", "2"] * 9, kinds={"a": "category"})[0].kind == "category"
    with pytest.raises(
        TableError, match=r"'a' is to be read as numbers .*'low' in row 2"
    ):
        read(["1", "low"] * 9, kinds={"a": "number"})
    with pytest.raises(TableError, match=r"is to be read as dates .*'low' in row 1"):
        read(["low", "high"] * 9, kinds={"a": "date"})
    assert read([f"id {k}" for k in range(50)], kinds={"a": "text"})[0].kind == "text"


def test_a_mark_that_is_asked_for_is_missing():
    reading, values = read(["1", "niente", "3", "4"] * 9, na=("niente",))
    assert reading.missing == 9
    assert np.isnan(values[1])
    assert read(["a", "niente", "b"] * 9, na=["niente"])[0].missing == 9


def test_every_number_is_read_back_from_every_writing(rng):
    values = np.concatenate(
        [rng.lognormal(0, 6, 300).round(2), -rng.lognormal(3, 2, 99)]
    )
    values = values.round(2)
    for sign, between in ((".", ","), (",", "."), (".", "'"), (",", " ")):
        swap = str.maketrans({",": between, ".": sign})
        texts = [f"{v:,.2f}".translate(swap) for v in values]
        found = number_format(texts, np.ones(len(texts), dtype=np.int64))
        assert found is not None
        np.testing.assert_array_equal(found.values, values)
        np.testing.assert_array_equal(found.format.numbers(texts), values)


def test_a_format_reads_new_texts_and_refuses_others():
    form = NumberFormat(".", {"": 1.0, "km": 1.0}, ("$",))
    found = form.numbers(["$5", "6 km", "7", "8 kg", "€9", "", "ten", "1e999"])
    np.testing.assert_array_equal(found[:3], [5, 6, 7])
    assert np.isnan(found[3:7]).all()


def test_three_br_are_three_bedrooms_not_billions_of_rand():
    reading, _ = read([f"{k % 5 + 1} BR" for k in range(30)])
    assert reading.describe() == "number, in br"
    assert reading.example == "1 BR = 1"
