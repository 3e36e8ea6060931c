"""Numbers that stand for missing values are found where they are, and nowhere else."""

import numpy as np
import pandas as pd
import pytest

from missfit import TableEncoder
from missfit.tables.reading import Reading
from missfit.tables.sentinels import sentinels_of

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
    "999 in days": (RNG.integers(0, 28, N), [999]),
    "9999 in prices": (RNG.lognormal(6, 0.4, N), [9999]),
    "999999 in incomes": (RNG.lognormal(10, 0.5, N), [999999]),
    "1e20": (RNG.normal(size=N), [1e20]),
    "-999 among gains and losses": (RNG.normal(0, 5000, N), [-999]),
    "-1 and -999": (RNG.integers(0, 50, N), [-1, -999]),
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


def test_new_rows_are_read_as_the_old_ones():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [*range(50), -999, -999]}))
    later = encoder.transform(pd.DataFrame({"a": [3.0, -999.0, -99.0]}))
    np.testing.assert_array_equal(later[:, 0], [3, np.nan, -99])
