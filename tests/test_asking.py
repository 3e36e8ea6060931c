"""Which field a server asks for, from what the rows that calibrate a model tell."""

import numpy as np
import pandas as pd
import pytest

import missfit
from missfit import EMLR
from missfit.evidence.next_value import NextValue
from missfit.serve.asking import Asking


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_200, 3))
    group = np.repeat(np.arange(40), 30)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        y=X.sum(axis=1) + rng.standard_normal(40)[group] + rng.standard_normal(1_200),
        g=group,
    )
    frame = frame.mask(rng.random(frame.shape) < [0.2, 0.2, 0.2, 0, 0])
    return missfit.fit_table(frame, "y", EMLR(), group="g")


def test_groups_that_stay_together_are_one_draw(model):
    found = Asking(model)._of_pattern(np.array([False, True, True]))
    assert (found.n_units[1:] <= 40).all()
    assert (found.n_units[1:] >= 5).all()


def test_the_field_with_the_lowest_expected_error_comes_first(model, monkeypatch):
    # b lowers the loss most, but rows that have it are known to be hard to predict
    measured = NextValue(
        now=9.0,
        then=np.array([np.nan, 8.0, 1.0]),
        drops=np.array([np.nan, 6.0, 5.0]),
        standard_errors=np.array([np.nan, 0.1, 0.1]),
        n_units=np.array([0, 30, 30]),
    )
    asking = Asking(model)
    monkeypatch.setattr(asking, "_of_pattern", lambda pattern: measured)
    said = asking.of_row(np.array([[0.5, np.nan, np.nan]]))
    assert said["rmse"] == 3.0
    assert said["ask"] == [{"column": "c", "rmse": 2.0}, {"column": "b", "rmse": 2.83}]
