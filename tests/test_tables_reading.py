"""What is decided of a table: kinds, marks, codes; shown, kept, and applied again."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from messy_tables import TARGET, clean_table, messy_twin
from missfit import EMLR, TableEncoder
from missfit.tables.reading import Reading, refuse_misfits
from missfit.tables.training import read_training

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def kinds(**columns):
    frame = pd.DataFrame(
        {name: pd.Series(v, dtype=object) for name, v in columns.items()}
    )
    return [one.kind for one in Reading.of(frame).columns]


@pytest.mark.parametrize(
    "words",
    ["Yes No", "y n", "TRUE False", "t f", "oui non", "Ja nein", "sí no", "on off"],
)
def test_yes_and_no_are_booleans_in_several_languages(words):
    yes, no = words.split()
    frame = pd.DataFrame({"a": [yes, no.upper(), "", "-", None, yes.lower()]})
    reading = Reading.of(frame)
    assert reading["a"].kind == "boolean"
    assert reading["a"].missing == 3
    assert reading.apply(frame).frame["a"].to_list()[:2] == [True, False]


def test_other_pairs_of_words_are_categories():
    pairs = [["M", "F"], ["N", "E"], ["yes", "maybe"], ["no", "none"]]
    assert [kinds(a=pair * 5) for pair in pairs] == [["category"]] * 4
    assert kinds(a=["Yes", "No", "Unknown"] * 5) == ["category"]


def test_marks_are_missing_beside_numbers_and_levels_beside_words():
    marks = ["none", "unknown", "-", "?"]
    (number, category) = Reading.of(
        pd.DataFrame(
            {"n": [*map(str, range(40)), *marks], "c": ["a", "b"] * 20 + marks}
        )
    ).columns
    assert (number.kind, number.missing) == ("number", 4)
    assert (category.kind, category.missing) == ("category", 0)
    frame = pd.DataFrame({"c": ["a", "b"] * 20 + ["NA", "", "#DIV/0!", " "]})
    assert Reading.of(frame)["c"].missing == 4


def test_codes_and_ids_are_not_numbers():
    n = 60
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "Unnamed: 0": np.arange(n),
            "customer_id": rng.permutation(10**6)[:n],
            "year": np.arange(1950, 1950 + n),
            "step": np.arange(n),
            "zip_code": rng.choice([10001, 94105], n),
            "plate": [f"{k:05}" for k in rng.choice([501, 2138], n)],
            "month": [f"{k:02}" for k in rng.integers(1, 13, n)],
            "name": [f"Mr {k:x}" for k in rng.permutation(n)],
            "remark": [f"this is remark number {k}" for k in range(n)],
            "store_id": rng.integers(1, 5, n),
            "width": rng.permutation(10**6)[:n],
            "price_index": rng.permutation(10**6)[:n],
            "income_of_zip": rng.permutation(10**6)[:n],
        }
    )
    expected = ["identifier", "identifier", "number", "number", "category", "category"]
    expected += ["number", "identifier", "text", "number", "number", "number", "number"]
    reading = Reading.of(frame)
    assert [one.kind for one in reading.columns] == expected
    out = TableEncoder().set_output(transform="pandas").fit_transform(frame)
    assert (out[["customer_id", "name", "remark"]] == 0).all().all()


def test_zeros_on_the_left_survive_a_file(tmp_path):
    frame = pd.DataFrame({"zip": ["00501", "10001"] * 20, "y": np.arange(40.0) ** 2})
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_training(tmp_path / "t.csv", "y")
    assert table.X["zip"].tolist() == frame["zip"].tolist()


def test_the_same_table_in_pandas_polars_and_arrays_is_read_the_same():
    text = messy_twin("everything", clean_table())
    encoder = TableEncoder().fit(text)
    expected = encoder.transform(text)
    other = TableEncoder().fit(pl.from_pandas(text))
    assert other.kinds_ == encoder.kinds_
    np.testing.assert_array_equal(other.transform(pl.from_pandas(text)), expected)
    array = TableEncoder().fit(text.drop(columns=["zip"]).to_numpy())
    kept = [name for name in text.columns if name != "zip"]
    assert array.kinds_ == TableEncoder().fit(text[kept]).kinds_


def test_a_reading_is_the_same_after_json_and_reads_the_same():
    for variant in ("everything", "spreadsheet", "months_first"):
        text = messy_twin(variant, clean_table())
        reading = Reading.of(text)
        again = Reading.from_json(json.loads(json.dumps(reading.as_json())))
        assert again == reading
        pd.testing.assert_frame_equal(
            again.apply(text).frame, reading.apply(text).frame
        )


def damaged(change):
    plain = Reading.of(messy_twin("everything", clean_table(60))).as_json()
    column = next(one for one in plain["columns"] if one["name"] == "distance")
    change(plain, column)
    return plain


@pytest.mark.parametrize(
    "change",
    [
        lambda plain, one: plain.update(columns={}),
        lambda plain, one: plain.update(n_rows=-1),
        lambda plain, one: plain["columns"].append(7),
        lambda plain, one: one.update(kind="code"),
        lambda plain, one: one.update(name=7),
        lambda plain, one: one.update(missing=True),
        lambda plain, one: one.update(notes="abc"),
        lambda plain, one: one.update(sentinels=["x"]),
        lambda plain, one: one.update(sentinels=[float("nan")]),
        lambda plain, one: one.update(format={"of": "regex"}),
        lambda plain, one: one.update(format={"of": "date", "formats": ["%s"]}),
        lambda plain, one: one["format"].update(scales=[1]),
        lambda plain, one: one["format"].update(scales={"km": "1"}),
        lambda plain, one: one["format"].update(scales={"km": float("inf")}),
        lambda plain, one: one["format"].update(decimal="x"),
        lambda plain, one: one["format"].update(currencies=[None]),
    ],
)
def test_what_was_never_written_is_refused(change):
    with pytest.raises(ValueError, match=r"reading"):
        Reading.from_json(damaged(change))


def test_many_columns_are_summed_up_by_kind():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 50))).add_prefix("a")
    frame["price"] = [f"${k}.50" for k in range(30)]
    lines = Reading.of(frame).table().splitlines()
    assert lines[0].split() == ["column", "read", "as", "example", "missing"]
    assert lines[1].startswith("price   number, in $")
    assert lines[2] == "51 columns in all: 51 number"


def test_new_rows_say_what_does_not_fit():
    reading = Reading.of(pd.DataFrame({"p": ["$1,200", "$950", "$7"] * 9}))
    read, (odd,) = reading.apply(
        pd.DataFrame({"p": ["$5", "ask", "1,000", "$8", "ask"]})
    )
    np.testing.assert_array_equal(read["p"], [5, np.nan, 1000, 8, np.nan])
    assert str(odd) == "2 values that are no number ('ask' in row 2 and 1 more)"
    refuse_misfits([odd])
    _, many = reading.apply(pd.DataFrame({"p": ["$5", "ask", "ask"]}))
    with pytest.raises(ValueError, match=r"'p' held numbers at fit, and now 2 values"):
        refuse_misfits(many)


def test_an_encoder_warns_of_few_odd_values_and_refuses_them_where_asked():
    old = pd.DataFrame({"p": ["$1,200", "$950", "$7"] * 9})
    new = pd.DataFrame({"p": ["$5", "ask", "$8"]})
    with pytest.warns(UserWarning, match=r"'p': 1 value that is no number \('ask'"):
        out = TableEncoder().fit(old).transform(new)
    np.testing.assert_array_equal(out[:, 0], [5, np.nan, 8])
    with pytest.raises(ValueError, match=r"'p' has 1 value that is no number"):
        TableEncoder(unknown="error").fit(old).transform(new)


def test_a_stream_reads_numbers_as_a_table_does(tmp_path):
    frame = clean_table()[["income", "area", "distance", "balance", "rate", TARGET]]
    path = tmp_path / "t.csv"
    text = frame.astype(object)
    text["income"] = [f"${v:,.2f}" for v in frame["income"].fillna(1)]
    text.to_csv(path, index=False)
    clean = frame.assign(income=frame["income"].fillna(1))
    found = EMLR().fit(path, TARGET).predict(clean.drop(columns=TARGET))
    expected = EMLR().fit(clean, TARGET).predict(clean.drop(columns=TARGET))
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize(
    "name", ["brandsma_lang", "math_placement", "nhanes_sbp", "star_math3"]
)
def test_real_tables_of_numbers_are_read_as_they_are(name):
    path = SHARED / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    table, raw = read_training(path, "target"), pd.read_csv(path)
    assert table.notes == []
    assert {one.kind for one in table.reading.columns} == {"number"}
    np.testing.assert_array_equal(table.X, raw.drop(columns="target").astype(float))
