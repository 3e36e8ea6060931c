"""explain() as HTML, and in the names of the table's columns."""

import html
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import missfit

NASTY = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def pipeline():
    """A default of two candidates behind an encoder; colours go with y's missing."""
    rng = np.random.default_rng(0)
    n = 500
    frame = pd.DataFrame(
        {
            NASTY: rng.standard_normal(n),
            "colour": rng.choice(["red", "green", "blue", "grey"], n),
            "size": rng.standard_normal(n),
        }
    )
    y = frame.iloc[:, 0] + 2.0 * (frame["colour"] == "red") + 0.3 * rng.normal(size=n)
    hidden = rng.random(frame.shape) < 0.3
    hidden[:, 1] = y > y.quantile(0.7)
    default = missfit.AutoRegressor(
        candidates=[missfit.EMLR(), missfit.ConstantImputedLR()], random_state=0
    )
    model = make_pipeline(missfit.TableEncoder(), default)
    return model.fit(frame.mask(hidden), y), frame.mask(hidden), y


def test_after_a_pipeline_it_speaks_in_the_names_that_are_given(pipeline):
    encoder, default = pipeline[0]
    assert "x0" in str(default.explain())
    names = encoder.get_feature_names_out()
    assert default.explain(names).feature_names == names.tolist()
    assert "colour=" in str(default.explain(names))


def test_the_columns_of_a_category_speak_as_one_variable(pipeline):
    encoder, default = pipeline[0]
    by_column = default.explain(encoder.get_feature_names_out())
    told = default.explain(encoder.feature_names_in_[encoder.variables_])
    assert told.feature_names == [NASTY, "colour", "size"]
    assert [r.feature for r in told.mechanism.target] == [1]  # once, not for each level
    levels = by_column.mechanism.target
    assert len(levels) == 3
    assert told.mechanism.target[0].z == levels[0].z
    assert told.mechanism.target_p.shape == (3,)
    largest = by_column.risk_drops[encoder.variables_ == 1].max()
    assert told.risk_drops[1] == largest
    assert "colour=" not in str(told)


def test_a_pipeline_of_frames_needs_no_names(pipeline):
    model, frame, y = pipeline
    of_frames = clone(model).set_output(transform="pandas").fit(frame, y)
    names = model[0].get_feature_names_out().tolist()
    assert of_frames[-1].explain().feature_names == names


def test_a_wrong_number_of_names_is_refused(pipeline):
    with pytest.raises(ValueError, match="2 names for 5 features; give one for each"):
        pipeline[0][-1].explain(["a", "b"])


def test_the_html_says_what_the_text_says_and_escapes_it(pipeline):
    encoder, default = pipeline[0]
    told = default.explain(encoder.feature_names_in_[encoder.variables_])
    text = told._repr_html_()
    assert "<script>" not in text
    assert html.escape(NASTY) in text
    words = html.unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", text))
    for line in str(told).split("\n"):
        if line.startswith(("candidate", "EMLR", "ConstantImputedLR")):
            continue  # the table has its own columns
        for word in line.split():
            assert word in words or word == "+-", line
    for score in told.candidates:
        assert f"{score.r2:.5f}" in words
    opened = re.findall(r"<(\w+)[ >]", text)
    assert sorted(opened) == sorted(re.findall(r"</(\w+)>", text))
