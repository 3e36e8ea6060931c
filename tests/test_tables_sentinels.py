"""Numbers that stand for missing values are found where they are, and nowhere else."""

import numpy as np
import pandas as pd
import pytest

from missfit import TableEncoder
from missfit.cli.suspicions import answer
from missfit.suspicions import find_suspicions
from missfit.tables.options import ReadOptions
from missfit.tables.reading import Reading
from missfit.tables.sentinels import sentinels_of
from missfit.tables.training import read_training

RNG = np.random.default_rng(0)
N = 1000
NATURAL = {
    "normal": RNG.normal(size=N),
    "ages": RNG.integers(18, 100, N),
    "ages to 98 and many of 99": np.r_[RNG.integers(18, 99, N), [99] * 30],
    "codes -1, 0, 1": RNG.integers(-1, 2, N),
    "codes -1 and 1": RNG.choice([-1, 1], N),
    "changes": RNG.integers(-5, 6, N),
    "counts": RNG.poisson(3, N),
    "counts with a long tail": RNG.negative_binomial(1, 0.03, N),
    "counts with a gap before 9": np.r_[RNG.poisson(1.2, N).clip(0, 6), [9] * 6],
    "scores of 0 to 9": RNG.integers(0, 10, N),
    "scores of 1 to 9": RNG.integers(1, 10, N),
    "hours cut at 99": RNG.normal(40, 20, N).round().clip(1, 99),
    "percents": RNG.uniform(0, 99, N).round(),
    "prices ending in 99": RNG.choice([49, 99, 149, 199, 299, 499, 999], N),
    "incomes": RNG.lognormal(10, 1, N).round(),
    "heavy tails": RNG.standard_cauchy(N),
    "temperatures": RNG.normal(-5, 10, N).round(),
    "years": RNG.integers(1900, 2025, N),
    "standardised": np.r_[-1.0, RNG.exponential(1, N)],
    "fees of 0 and of 50 to 500": np.r_[[0] * 300, RNG.uniform(50, 500, N)],
    "dates as years since 0": RNG.integers(0, 30, N),
    "temperatures in winter": np.r_[RNG.normal(8, 3, N).round(1).clip(0.1), [-1, -1]],
    "scores to 80 and some best ones of 99": np.r_[RNG.integers(0, 81, N), [99] * 30],
    "hours with a long tail and a 99": np.r_[RNG.gamma(3, 8, N).round(), 99],
    "balls of 1, 2, 3 and 4 to 9": RNG.integers(1, 10, N),
    "one 99 among small counts": np.r_[RNG.integers(1, 8, N), 99],
}
PLANTED = {
    "-999 in ages": (RNG.integers(18, 90, N), [-999]),
    "-999 and -99 in temperatures": (RNG.normal(10, 8, N), [-999, -99]),
    "-1 in prices": (RNG.lognormal(5, 1, N), [-1]),
    "-1 in counts": (RNG.integers(0, 20, N), [-1]),
    "-9 in codes": (RNG.integers(0, 2, N), [-9]),
    "99 in codes": (RNG.integers(0, 2, N), [99]),
    "97, 98 and 99 in answers of 1 to 5": (RNG.integers(1, 6, N), [97, 98, 99]),
    "9 after answers of 1 to 5": (RNG.integers(1, 6, N), [9]),
    "8 and 9 after answers of 0 to 4": (RNG.integers(0, 5, N), [8, 9]),
    "999 in days": (RNG.integers(0, 28, N), [999]),
    "9999 in prices": (RNG.lognormal(6, 0.4, N), [9999]),
    "999999 in incomes": (RNG.lognormal(10, 0.5, N), [999999]),
    "1e20": (RNG.normal(size=N), [1e20]),
    "-999 among gains and losses": (RNG.normal(0, 5000, N), [-999]),
    "-1 and -999": (RNG.integers(0, 50, N), [-1, -999]),
    "0 in years": (RNG.integers(1900, 2025, N), [0]),
    "98 and 99 in hours": (RNG.normal(36, 10, N).round().clip(0, 80), [98, 99]),
    "9 after 1 and 2": (RNG.integers(1, 3, N), [9]),
    "7, 8 and 9 after 0 and 1": (RNG.integers(0, 2, N), [7, 8, 9]),
    "999 in scores of 200 to 800": (RNG.normal(500, 80, N).clip(200, 800), [999]),
    "-9999 in one column of a few rows": (RNG.uniform(0, 1, 40), [-9999]),
}


@pytest.mark.parametrize("name", NATURAL)
def test_natural_values_stay(name):
    assert sentinels_of(NATURAL[name].astype(float)) == ()


@pytest.mark.parametrize("name", PLANTED)
def test_planted_sentinels_are_found_and_reported(name):
    values, planted = PLANTED[name]
    column = np.concatenate([values, *([x] * (len(values) // 25) for x in planted)])
    assert sentinels_of(column) == tuple(sorted(float(x) for x in planted))
    for written in (column, [repr(value) for value in column.tolist()]):
        frame = pd.DataFrame({"a": written})
        reading = Reading.of(frame)
        assert reading["a"].missing == len(column) - len(values)
        assert len(reading.notes()) == len(planted)
        out = TableEncoder().fit_transform(frame)[:, 0]
        np.testing.assert_array_equal(out[: len(values)], values)
        assert np.isnan(out[len(values) :]).all()


def test_one_number_far_away_is_missing_too():
    assert sentinels_of(np.r_[np.arange(300.0) / 10, -999]) == (-999.0,)
    assert sentinels_of(np.r_[np.arange(300.0) / 10, 9999]) == (9999.0,)


@pytest.mark.parametrize("n_rows", [1, 7])
def test_a_lag_of_minus_one_in_the_first_rows_is_missing(n_rows):
    sales = RNG.normal(120, 15, N).round(1)
    assert sentinels_of(np.r_[[-1.0] * n_rows, sales]) == (-1.0,)


def test_a_rare_minus_one_is_missing_where_no_other_value_is_as_frequent():
    stock = RNG.uniform(0, 500, N).round(2)
    assert sentinels_of(np.r_[[-1.0] * 6, stock]) == (-1.0,)
    assert sentinels_of(np.r_[[-1.0] * 6, RNG.integers(0, 30, N)]) == ()


def test_new_rows_are_read_as_the_old_ones():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [*range(50), -999, -999]}))
    later = encoder.transform(pd.DataFrame({"a": [3.0, -999.0, -99.0]}))
    np.testing.assert_array_equal(later[:, 0], [3, np.nan, -99])


def test_a_user_can_say_that_a_number_was_measured():
    frame = pd.DataFrame({"a": [*range(50), -999, -999]})
    for said in (frame, frame.astype(str)):
        reading = Reading.of(said, ReadOptions(kinds={"a": "number"}))
        assert (reading["a"].sentinels, reading["a"].missing) == ((), 0)


def test_a_sentinel_is_said_once_as_a_suspicion_or_as_a_note_on_the_target():
    n = 60
    frame = pd.DataFrame({"a": RNG.normal(size=n), "y": RNG.normal(size=n)})
    frame.loc[:3, "a"] = frame.loc[4:5, "y"] = -999.0
    table = read_training(frame, "y")
    assert table.notes == [
        "y: -999 taken as missing in 2 rows",
        "2 rows without a target left out",
    ]
    (found,) = find_suspicions(table)
    assert found.kind == "sentinel"
    assert found.sentence.startswith(
        "-999 was taken as missing in 4 rows of 'a', since"
    )
    assert answer(found.remedy) == " Option: --as a=number"
