"""Dates as people write them: the order of day and month is what all rows allow."""

import datetime

import numpy as np
import pandas as pd
import pytest

from missfit.tables.reading import Reading


def read(texts, **others):
    frame = pd.DataFrame({"when": pd.Series(texts, dtype=object), **others})
    reading = Reading.of(frame)
    return reading["when"], reading.apply(frame).frame["when"]


def days(texts):
    reading, values = read(texts)
    assert reading.kind == "date", reading
    return values.tolist()


def at(*parts):
    return pd.Timestamp(datetime.datetime(*parts))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["31/01/2020", "01/02/2020"], [at(2020, 1, 31), at(2020, 2, 1)]),
        (["01/31/2020", "01/02/2020"], [at(2020, 1, 31), at(2020, 1, 2)]),
        (["31.1.2020", "1.2.2020"], [at(2020, 1, 31), at(2020, 2, 1)]),
        (["2020-01-31", "2020/2/1"], [at(2020, 1, 31), at(2020, 2, 1)]),
        (["20200131", "20200201"], [at(2020, 1, 31), at(2020, 2, 1)]),
        (["20141013T000000", "20141014"], [at(2014, 10, 13), at(2014, 10, 14)]),
        (["March 5, 2020", "5th of March 2020"], [at(2020, 3, 5)] * 2),
        (["3. Mai 2020", "12. Dezember 2021"], [at(2020, 5, 3), at(2021, 12, 12)]),
        (["1er janvier 2020", "3 août 2021"], [at(2020, 1, 1), at(2021, 8, 3)]),
        (["Monday, March 2, 2020", "Tue 3 Mar 2020"], [at(2020, 3, 2), at(2020, 3, 3)]),
        (["05-Mar-20", "31-Dec-99"], [at(2020, 3, 5), at(1999, 12, 31)]),
        (["Dec-11", "Jan-12"], [at(2011, 12, 1), at(2012, 1, 1)]),
        (["2020-01", "2020-12"], [at(2020, 1, 1), at(2020, 12, 1)]),
        (["31/01/2020 14:30", "31/1/2020 2:30 PM"], [at(2020, 1, 31, 14, 30)] * 2),
        (["2020-01-31T01:00:00+02:00", "2020-01-30 23:00Z"], [at(2020, 1, 30, 23)] * 2),
        (["31/01/20", "31.1.20", "31-01-20"], [at(2020, 1, 31)] * 3),
        (["2020-01-31", "31 Jan 2020", "31.01.2020"], [at(2020, 1, 31)] * 3),
    ],
    ids=lambda case: str(case[0]) if isinstance(case[0], str) else None,
)
def test_a_writing_of_dates_is_read(texts, expected):
    assert days(texts) == expected


@pytest.mark.parametrize(
    "form", ["%d/%m/%Y", "%m/%d/%Y", "%d-%b-%Y", "%d.%m.%y", "%A, %d %B %Y"]
)
def test_dates_of_a_year_are_read_back_whatever_their_order(form):
    rng = np.random.default_rng(0)
    all_days = np.datetime64("2019-03-01") + rng.integers(0, 400, 100)
    texts = pd.Series(all_days).dt.strftime(form).tolist()
    np.testing.assert_array_equal(
        read(texts)[1].to_numpy(), all_days.astype("datetime64[us]")
    )


def test_an_order_that_no_row_decides_is_settled_by_other_columns_or_said():
    texts = ["01/02/2020", "05/04/2020", "03/02/2020"]
    reading, values = read(texts)
    assert values[0] == at(2020, 1, 2)
    assert (
        "the month was taken to come first in dates such as '01/02/2020'"
        in reading.notes[0]
    )
    reading, values = read(texts, other=["31/12/2020", "30/11/2020", "29/10/2020"])
    assert values[0] == at(2020, 2, 1)
    assert reading.notes == ()
    reading, values = read(texts, other=["1,5", "2,25", "3,125"])
    assert values[0] == at(2020, 2, 1)


def test_rows_in_order_of_time_settle_the_order():
    months = [f"01/{month:02}/2020" for month in range(1, 13)]
    assert [day.month for day in days(months)] == list(range(1, 13))
    first_days = [f"{month:02}/01/2020" for month in range(1, 13)]
    assert [day.month for day in days(first_days)] == list(range(1, 13))


def test_both_orders_in_one_column_are_followed_and_said():
    texts = [f"{day}/01/2020" for day in range(13, 30)] + ["01/30/2020", "01/31/2020"]
    reading, values = read(texts)
    assert values.iloc[-1] == at(2020, 1, 31)
    assert (
        "2 rows such as '01/30/2020' have day and month in another order"
        in reading.notes[0]
    )


def test_years_of_two_digits_stay_together():
    born = [f"01/02/{year % 100:02}" for year in range(1935, 2010)]
    assert [day.year for day in days([*born, "31/01/50"])][:-1] == list(
        range(1935, 2010)
    )
    sold = [f"13/02/{year % 100:02}" for year in range(2005, 2026)]
    assert [day.year for day in days(sold)] == list(range(2005, 2026))


def test_a_few_odd_dates_are_missing_and_named():
    texts = [f"2020-01-{day:02}" for day in range(1, 31)] * 4 + ["2020-02-30", "soon"]
    reading, values = read(texts)
    assert values.isna().tolist() == [False] * 120 + [True, True]
    assert "'2020-02-30' in row 121, 'soon' in row 122" in reading.notes[0]


def test_numbers_and_words_are_no_dates():
    for texts in (
        ["12", "13"],
        ["1234.5", "1235.25"],
        ["10-11", "3-4"],
        ["May", "June"],
    ):
        assert read(texts * 9)[0].kind != "date"
    assert read([1990, 1995, 2001])[0].kind == "number"


def test_a_date_far_from_all_others_stands_for_a_missing_one():
    texts = [f"2020-{m:02}-{d:02}" for m in range(1, 13) for d in (3, 9)] + [
        "1900-01-01"
    ] * 3
    reading, values = read(texts)
    assert values.isna().sum() == 3
    assert reading.sentinel_notes() == ["1900-01-01 taken as missing in 3 rows"]
