"""Rows in the order of a date: the default chooses by predicting what follows."""

import numpy as np
import pandas as pd
import pytest

import missfit
from missfit.comparison.candidates import candidate
from missfit.comparison.in_order import date_of_rows, in_order, note_on_order
from missfit.estimators import ForwardSplit
from missfit.tables.training import read_training


def walking(rng, n=300, phi=0.95):
    """A level that walks from day to day, its value of yesterday, and a feature."""
    y = np.zeros(n)
    for k in range(1, n):
        y[k] = phi * y[k - 1] + rng.normal()
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n), "D")
    x = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    return pd.DataFrame({"day": day, "lag": np.r_[np.nan, y[:-1]], "x": x, "y": y})


def test_rows_in_the_order_of_a_date_with_like_neighbours_are_found(rng):
    frame = walking(rng)
    assert date_of_rows(read_training(frame, "y")) == "day"
    text = frame.assign(day=frame["day"].dt.strftime("%d.%m.%Y"))
    assert date_of_rows(read_training(text, "y")) == "day"


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.sample(frac=1, random_state=0),
        lambda t: t[::-1],  # the latest first: later rows do not come later
        lambda t: t.assign(y=np.random.default_rng(0).permutation(t["y"])),
        lambda t: t.rename(columns={"day": "date of birth"}),
        lambda t: t.drop(columns="day"),
    ],
)
def test_other_rows_are_not(rng, change):
    table = read_training(change(walking(rng)).reset_index(drop=True), "y")
    assert date_of_rows(table) == ""
    default = candidate("AutoRegressor")
    assert in_order(table, default) is default
    assert note_on_order(table, ["AutoRegressor"]) == []


def test_where_time_or_groups_are_given_nothing_is_guessed(rng):
    frame = walking(rng).assign(shop=np.arange(300) % 7)
    assert date_of_rows(read_training(frame, "y", group="shop")) == ""
    assert date_of_rows(read_training(frame, "y", time="day")) == ""


def test_the_default_chooses_forward_and_others_stay_as_they_are(rng):
    table = read_training(walking(rng), "y")
    assert isinstance(
        in_order(table, candidate("AutoRegressor")).make(0).cv, ForwardSplit
    )
    assert in_order(table, candidate("EMLR")) == candidate("EMLR")
    (note,) = note_on_order(table, ["EMLR", "AutoRegressor"])
    assert note.startswith(
        "the rows are in the order of 'day' and neighbours are alike"
    )


@pytest.mark.slow
def test_choosing_forward_keeps_the_default_from_learning_levels_by_heart():
    rng = np.random.default_rng(5)
    frame = walking(rng, 900, phi=1.0)
    frame["seen"] = 3 * frame["y"] + rng.normal(0, 9, 900)
    train, test = frame[:650], frame[650:]
    model = missfit.fit_table(train, "y")
    plain = missfit.fit_table(train, "y", missfit.AutoRegressor(random_state=0))
    y = test["y"].to_numpy()

    def error(one):
        return ((one.predict(test) - y) ** 2).mean()

    # the step of a day has variance 1; yesterday's value alone predicts to that
    assert error(model) < 1.5
    assert error(model) <= error(plain) * 1.02
