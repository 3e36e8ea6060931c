"""Dates tell the time of day, week and year where they go through these cycles."""

import numpy as np
import pandas as pd
import pytest

import missfit
from conftest import hide
from missfit import ConditionalImputedLR, TableEncoder
from missfit.estimators.date_cycles import PERIODS, cycles_of, date_columns

N = 900


def days(step, n=N):
    return 17_000 + step * np.arange(n)


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (days(1.0), ["week", "year"]),
        (days(1.0, 500), ["week"]),  # less than one and a half years
        (days(1.0, 150), []),  # too few rows
        (days(7.0), ["year"]),
        (days(365.2425), []),
        (days(1 / 24), ["day", "week"]),
        (days(1 / 24, 24 * 600), ["day", "week", "year"]),
        (np.repeat(days(30.0, 10), 100), []),  # ten different dates
        (np.full(N, np.nan), []),
    ],
)
def test_a_cycle_is_there_where_dates_go_through_it(dates, expected):
    assert cycles_of(dates) == expected


def test_phases_are_equal_after_a_period_and_differ_within_it():
    for name, period in PERIODS.items():
        now = date_columns(np.array([17_000.25]), [name])[0, 1:]
        later = date_columns(np.array([17_000.25 + 3 * period]), [name])[0, 1:]
        half = date_columns(np.array([17_000.25 + period / 2]), [name])[0, 1:]
        np.testing.assert_allclose(later, now, atol=1e-9)
        np.testing.assert_allclose(half, -now, atol=1e-9)


def sales(rng):
    """Sales by day with a season and weekends, and a feature with holes."""
    t = np.arange(1200)
    day = pd.Timestamp("2019-01-01") + pd.to_timedelta(t, "D")
    x = rng.normal(size=1200)
    season = 2 * np.sin(2 * np.pi * t / 365.25) + 1.5 * (day.day_of_week >= 5)
    y = x + season + 0.002 * t + rng.normal(size=1200)
    return pd.DataFrame({"day": day, "x": hide(rng, x, 0.2)}), y


def test_a_season_that_dates_tell_is_known_of_days_to_come(rng):
    frame, y = sales(rng)
    train, test = frame[:900], frame[900:]
    found = {}
    for cycles in (True, False):
        encoder = TableEncoder(cycles=cycles).fit(train)
        model = ConditionalImputedLR().fit(encoder.transform(train), y[:900])
        found[cycles] = model.score(encoder.transform(test), y[900:])
    # the season is 2.5 of the variance of 4.8, and the noise 1: a linear model without
    # it cannot have 0.4, and one with it has about 0.7
    assert found[True] > 0.65
    assert found[False] < 0.4


def test_a_date_is_one_variable_with_one_mask_bit_and_names_for_its_columns(rng):
    frame, _ = sales(rng)
    frame.loc[5, "day"] = pd.NaT
    encoder = TableEncoder().fit(frame)
    X = encoder.transform(frame)
    assert encoder.cycles_ == [["week", "year"], []]
    assert encoder.variables_.tolist() == [0] * 5 + [1]
    assert np.isnan(X[5, :5]).all()
    assert encoder.mask(X)[5].tolist() == [True, bool(frame["x"].isna()[5])]
    names = encoder.get_feature_names_out().tolist()
    assert names[:3] == ["day", "day: week sin", "day: week cos"]
    assert names[-1] == "x"


def test_a_model_with_cycles_is_saved_and_loaded(rng, tmp_path):
    frame, y = sales(rng)
    model = missfit.fit_table(frame.assign(y=y), "y", "ConstantImputedLR")
    model.save(tmp_path / "m.skops")
    again = missfit.load_model(tmp_path / "m.skops")
    assert again.encoder.cycles_ == [["week", "year"], []]
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_an_exported_model_knows_the_cycles(rng, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    frame, y = sales(rng)
    model = missfit.fit_table(frame.assign(y=y), "y", "ConstantImputedLR")
    path = tmp_path / "m.onnx"
    missfit.export(model, path)
    since = (frame["day"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    given = {"day": since.to_numpy()[:, None], "x": frame["x"].to_numpy()[:, None]}
    run = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    found = run.run(["prediction"], given)[0].ravel()
    np.testing.assert_allclose(found, model.predict(frame), rtol=1e-9)
