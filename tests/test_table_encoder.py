"""TableEncoder: each kind of column, one mask bit per variable, and what it refuses."""

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from missfit import EMLR, MICELR, ConstantImputedLR, ExpandedLR, TableEncoder

MIXED = {
    "age": [30, None, 51, 44],
    "smokes": [True, False, None, True],
    "born": ["1990-01-02", "1970-01-01", None, "2000-01-01T12:00"],
    "city": ["Paris", "Lyon", "Paris", None],
}


@parametrize_with_checks([TableEncoder()])
def test_scikit_learns_suite(estimator, check):
    check(estimator)


def mixed_table(rng, n=400):
    """Rows with every kind of column, holes in all, and a target that uses all."""
    city = rng.choice(["Paris", "Lyon", "Nice"], n, p=[0.5, 0.3, 0.2])
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "smokes": rng.random(n) < 0.3,
            "born": np.datetime64("1990-01-01") + rng.integers(0, 3000, n),
            "city": city,
        }
    )
    days = (frame["born"] - pd.Timestamp("1990-01-01")).dt.days
    y = 0.1 * frame["age"] + 2 * frame["smokes"] + 0.001 * days + 3 * (city == "Nice")
    frame = frame.astype({"smokes": "boolean"}).mask(rng.random(frame.shape) < 0.2)
    return frame, y.to_numpy()


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(MIXED),
        pd.DataFrame(MIXED).convert_dtypes(),
        pd.DataFrame(MIXED).astype({"city": "category", "smokes": "boolean"}),
        pl.DataFrame(MIXED),
        pl.DataFrame(MIXED).with_columns(pl.col("city").cast(pl.Categorical)),
        np.array(list(zip(*MIXED.values(), strict=True)), dtype=object),
    ],
    ids=["pandas", "nullable", "category", "polars", "polars-categorical", "array"],
)
def test_every_kind_of_table_gives_the_same_numbers(table):
    encoder = TableEncoder()
    out = encoder.fit_transform(table)
    assert encoder.kinds_ == ["number", "boolean", "date", "category"]
    nan = np.nan
    expected = [
        [30, 1, 7306, 0],  # 20 years, 5 of them leap, and a day after 1970-01-01
        [nan, 0, 0, 1],
        [51, nan, nan, 0],
        [44, 1, 10957.5, nan],
    ]
    np.testing.assert_array_equal(out, expected)


def test_typed_dates_and_dates_in_a_zone_agree_with_text():
    days = pd.Series(["2020-02-29T23:30", None, "1969-12-31"])
    naive = pd.to_datetime(days, format="ISO8601")
    expected = TableEncoder().fit_transform(pd.DataFrame({"t": days}))
    assert expected[2, 0] == -1
    for series in (naive, naive.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")):
        for dtype in (series.dtype, object):
            frame = pd.DataFrame({"t": series.astype(dtype)})
            np.testing.assert_array_equal(TableEncoder().fit_transform(frame), expected)
    python = pd.DataFrame({"t": [datetime.date(1970, 1, 3), None]}, dtype=object)
    assert TableEncoder().fit_transform(python)[0, 0] == 2


def test_a_missing_category_is_missing_in_all_its_columns(rng):
    table, _ = mixed_table(rng)
    encoder = TableEncoder().fit(table)
    out = encoder.transform(table)
    # one variable, one mask bit: the mask of the output is the table's, by variable
    np.testing.assert_array_equal(
        np.isnan(out), table.isna().to_numpy()[:, encoder.variables_]
    )


def test_levels_agree_with_scikit_learns_encoder_without_the_most_frequent(rng):
    levels = rng.choice(["a", "b", "c", "d"], (500, 1), p=[0.1, 0.2, 0.3, 0.4])
    ours = TableEncoder().fit(levels)
    assert ours.get_feature_names_out().tolist() == ["x0=c", "x0=b", "x0=a"]
    theirs = OneHotEncoder(categories=[["c", "b", "a", "d"]], sparse_output=False)
    expected = theirs.fit_transform(levels)[:, :3]
    np.testing.assert_array_equal(ours.transform(levels), expected)


def test_rare_levels_share_a_column_and_unknown_ones_join_them():
    levels = np.array([["a"]] * 5 + [["b"]] * 3 + [["c"], ["d"]], dtype=object)
    encoder = TableEncoder(max_categories=3).fit(levels)
    assert encoder.categories_ == [["a", "b", "(other)"]]
    new = np.array([["a"], ["c"], ["never seen"], [None]], dtype=object)
    out = encoder.transform(new)
    np.testing.assert_array_equal(
        out, [[0, 0], [0, 1], [0, 1], [np.nan, np.nan]], strict=True
    )
    assert encoder.unknown_levels(new) == {}


def test_a_level_that_is_really_called_other_keeps_its_own_column():
    levels = [["a"]] * 5 + [["(other)"]] * 3 + [["c"], ["d"]]
    encoder = TableEncoder(max_categories=3).fit(np.array(levels, dtype=object))
    assert encoder.categories_ == [["a", "(other)", "((other))"]]
    new = np.array([["(other)"], ["c"], ["never seen"]], dtype=object)
    np.testing.assert_array_equal(encoder.transform(new), [[1, 0], [0, 1], [0, 1]])
    # without rare levels nothing joins it, and a new level is missing
    few = TableEncoder().fit(np.array(levels, dtype=object))
    assert few.categories_ == [["a", "(other)", "c", "d"]]
    out = few.transform(new)
    np.testing.assert_array_equal(out, [[1, 0, 0], [0, 1, 0], [np.nan] * 3])
    assert few.unknown_levels(new) == {"x0": ["never seen"]}


BIG = 2**53


@pytest.mark.parametrize(
    "table",
    [
        np.array([[BIG], [BIG + 1], [BIG + 1]]),
        np.array([[BIG], [BIG + 1], [BIG + 1]], dtype=np.uint64),
        np.array([[BIG], [BIG + 1], [BIG + 1]], dtype=object),
        np.ma.masked_array([[BIG], [BIG + 1], [BIG + 1], [7]], [[0], [0], [0], [1]]),
        pd.DataFrame({"x0": [BIG, BIG + 1, BIG + 1]}),
        pd.DataFrame({"x0": [BIG, BIG + 1, BIG + 1, None]}, dtype="Int64"),
        pl.DataFrame({"x0": [BIG, BIG + 1, BIG + 1, None]}),
    ],
    ids=["int64", "uint64", "objects", "masked", "pandas", "nullable", "polars"],
)
def test_integers_beyond_two_to_the_53_are_levels_of_their_own(table):
    by_name = hasattr(table, "columns")
    encoder = TableEncoder(categorical=["x0" if by_name else 0])
    out = encoder.fit_transform(table)
    assert encoder.categories_ == [[str(BIG + 1), str(BIG)]]
    np.testing.assert_array_equal(out[:, 0], [1, 0, 0, np.nan][: len(table)])


@pytest.mark.parametrize("kind", ["numbers", "integers", "dates", "text", "rows"])
def test_what_a_mask_hides_is_missing(kind):
    shown, hidden = {
        "numbers": (1.5, -999.0),
        "integers": (1, -999),
        "dates": (np.datetime64("1970-01-02"), np.datetime64("0001-01-01")),
        "text": ("a", "hidden"),
        "rows": (1.5, -999.0),
    }[kind]
    table = np.ma.masked_array([[shown], [hidden], [shown]], [[0], [1], [0]])
    encoder = TableEncoder()
    out = encoder.fit_transform(list(table) if kind == "rows" else table)
    expected = {"numbers": 1.5, "integers": 1, "dates": 1, "text": 0, "rows": 1.5}[kind]
    np.testing.assert_array_equal(out, [[expected], [np.nan], [expected]])
    assert encoder.unknown_levels(table) == {}


def test_an_unknown_level_is_missing_or_refused():
    known = pd.DataFrame({"city": ["Paris", "Lyon", "Paris"]})
    new = pd.DataFrame({"city": ["Lyon", "Rome"]})
    encoder = TableEncoder().fit(known)
    np.testing.assert_array_equal(encoder.transform(new), [[1], [np.nan]])
    assert encoder.unknown_levels(new) == {"city": ["Rome"]}
    with pytest.raises(ValueError, match=r"'city' has the new level 'Rome' in 1 of 2"):
        TableEncoder(unknown="error").fit(known).transform(new)


def test_numbers_can_be_categories_and_their_writing_does_not_matter():
    encoder = TableEncoder(categorical=["code"])
    encoder.fit(pd.DataFrame({"code": [1.0, 2.0, 2.0, np.nan]}))
    assert encoder.kinds_ == ["category"]
    for codes in ([1, 2], [1.0, 2.0], ["1", "2"]):
        out = encoder.transform(pd.DataFrame({"code": codes}))
        np.testing.assert_array_equal(out, [[1], [0]])


def test_text_that_differs_in_most_rows_keeps_only_its_mask():
    names = pd.DataFrame({"name": [f"person {i}" for i in range(50)] + [None]})
    encoder = TableEncoder().fit(names)
    assert encoder.kinds_ == ["identifier"]
    out = encoder.transform(names)
    np.testing.assert_array_equal(out[:, 0], [0.0] * 50 + [np.nan])


def test_an_empty_column_and_a_constant_one_keep_their_mask_bit():
    frame = pd.DataFrame({"empty": [None, None], "one": ["a", None]})
    encoder = TableEncoder().fit(frame)
    assert encoder.kinds_ == ["empty", "category"]
    later = pd.DataFrame({"empty": ["text", 1], "one": [None, "a"]})
    np.testing.assert_array_equal(
        encoder.transform(later), [[np.nan, np.nan], [np.nan, 0]]
    )


def test_set_output_and_names():
    frame = pd.DataFrame({"a": [1.5, 2], "b": ["u", "v"]}, index=[7, 9])
    out = TableEncoder().set_output(transform="pandas").fit_transform(frame)
    assert out.columns.tolist() == ["a", "b=v"]
    assert out.index.tolist() == [7, 9]
    assert isinstance(
        TableEncoder().set_output(transform="polars").fit_transform(frame), pl.DataFrame
    )
    encoder = TableEncoder().fit(frame)
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        encoder.get_feature_names_out(["b", "a"])
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(frame[["b", "a"]])


@pytest.mark.parametrize(
    "predictor",
    [
        EMLR(),
        MICELR(),
        ConstantImputedLR(),
        ExpandedLR(min_rows=30, fallback=ConstantImputedLR(), centred=True),
    ],
    ids=lambda predictor: type(predictor).__name__,
)
def test_it_serves_every_predictor_in_a_pipeline(rng, predictor):
    table, y = mixed_table(rng)
    model = make_pipeline(TableEncoder(), predictor)
    scores = cross_val_score(model, table, y, cv=3)
    assert scores.mean() > 0.6  # of a noise-free target with 20 % of the values missing
    model = clone(model).fit(table, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(table), again.predict(table))


def test_the_output_does_not_depend_on_the_company_of_a_row(rng):
    table, _ = mixed_table(rng)
    encoder = TableEncoder().fit(table)
    whole = encoder.transform(table)
    parts = [encoder.transform(table.iloc[[i]]) for i in range(20)]
    np.testing.assert_array_equal(np.concatenate(parts), whole[:20])


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([[1], [2], [3]], r"holds values that are not numbers, dates or text"),
        ([("a",), ("b",), ("c",)], r"holds a tuple"),
        (pd.to_timedelta([1, 2, 3], unit="D"), r"'a' holds durations"),
        (np.array([1j, 2, 3]), r"'a' holds complex numbers"),
    ],
)
def test_what_cannot_be_read_is_named(values, text):
    with pytest.raises(ValueError, match=text):
        TableEncoder().fit(pd.DataFrame({"a": values}))


@pytest.mark.parametrize(
    ("fitted", "later", "text"),
    [
        ([1.0, 2.0], ["1", "x"], r"'a' held numbers at fit, and now .*'x' in row 2"),
        ([1.0, 2.0], [1.0, np.inf], r"'a' held numbers at fit, and now .*inf in row 2"),
        (
            ["1", "2"],
            ["1", "1e999"],
            r"held numbers at fit, and now .*'1e999' in row 2",
        ),
        (
            [1, 2],
            pd.Series([1, 10**400], dtype=object),
            r"numbers at fit, and now .*a whole number of 1329 bits",
        ),
        (
            [True, False],
            [1.0, 2.0],
            r"'a' held booleans at fit, and now .*2\.0 in row 2",
        ),
        (["2020-01-01"], [3.0], r"'a' held dates at fit, and now .*3\.0 in row 1"),
        ([1.0, 2.0], pd.to_datetime(["2020-01-01"]), r"held numbers at fit, and now"),
    ],
)
def test_a_column_of_another_kind_at_transform_is_refused(fitted, later, text):
    encoder = TableEncoder().fit(pd.DataFrame({"a": fitted}))
    with pytest.raises(ValueError, match=text):
        encoder.transform(pd.DataFrame({"a": later}))


def test_booleans_are_read_in_any_writing():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [True, False]}))
    for later in ([True, False], [1, 0], [1.0, 0.0], ["true", "FALSE"]):
        out = encoder.transform(pd.DataFrame({"a": later}))
        np.testing.assert_array_equal(out, [[1], [0]])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"unknown": "ignore"}, "choose 'missing' or 'error'"),
        ({"max_categories": 1}, "at least 2"),
        ({"categorical": ["b"]}, "'b', which is not a column"),
        ({"categorical": "a"}, r"give a list of columns, \['a'\]"),
    ],
)
def test_options_out_of_range_are_refused(options, text):
    with pytest.raises(ValueError, match=text):
        TableEncoder(**options).fit(pd.DataFrame({"a": [1, 2]}))
