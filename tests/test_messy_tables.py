"""The messy twin of a table gives the numbers, and the scores, of the clean one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline

from messy_tables import TARGET, VARIANTS, clean_table, messy_twin
from missfit import ConstantImputedLR, TableEncoder
from missfit.cli import main
from missfit.comparison import CompareOptions, compare_table
from missfit.comparison.candidates import candidate
from missfit.tables.training import read_training
from missfit.workflow.fit import fit_table, held_out_r2
from missfit.workflow.predict import predict_file

CLEAN = clean_table()
FEATURES = [name for name in CLEAN.columns if name != TARGET]
ADDED = ["Unnamed: 0", "customer_id", "zip", "reference"]
# conversions such as 500 m = 0.5 km round once; all else is read to the last digit
TOLERANCE = 1e-15


def same(found, clean):
    """Assert that columns hold the same values, in the same rows."""
    for name in FEATURES:
        kind = clean[name].dtype.kind
        if kind == "M":
            one, two = (t[name].astype("datetime64[us]") for t in (found, clean))
            pd.testing.assert_series_equal(one, two)
        elif kind in "fb":
            one, two = (
                t[name].to_numpy(dtype=float, na_value=np.nan) for t in (found, clean)
            )
            np.testing.assert_allclose(one, two, rtol=TOLERANCE, err_msg=name)
        else:
            one, two = (t[name].astype(object) for t in (found, clean))
            assert (
                one.where(one.notna(), "").tolist()
                == two.where(two.notna(), "").tolist()
            )


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_messy_file_is_read_as_its_clean_twin(tmp_path, variant):
    messy_twin(variant, CLEAN, tmp_path / "t.csv")
    table = read_training(tmp_path / "t.csv", TARGET)
    same(table.X, CLEAN)
    np.testing.assert_allclose(table.y, CLEAN[TARGET], rtol=TOLERANCE)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_messy_frame_is_encoded_as_its_clean_twin(variant):
    text = messy_twin(variant, CLEAN)[FEATURES]
    found = TableEncoder().fit_transform(text)
    expected = TableEncoder().fit_transform(CLEAN[FEATURES])
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE)


@pytest.mark.parametrize("variant", ["spreadsheet", "mixed_column", "everything"])
def test_fit_and_predict_of_a_messy_file_agree_with_its_clean_twin(
    tmp_path, capsys, variant
):
    messy, clean = tmp_path / "messy.csv", tmp_path / "clean.csv"
    text = messy_twin(variant, CLEAN, messy)
    CLEAN.to_csv(clean, index=False)
    drop = [part for name in ADDED if name in text for part in ("--drop", name)]
    scores = []
    for path in (messy, clean):
        model, out = path.with_suffix(".skops"), path.with_suffix(".out")
        options = ["--predictor", "ConstantImputedLR"]
        options += drop if path == messy else []
        main(["fit", str(path), "--target", TARGET, "--model", str(model), *options])
        main(["predict", str(model), str(path), "--out", str(out)])
        predicted = pd.read_csv(out)["prediction"]
        scores.append(r2_score(CLEAN[TARGET], predicted))
    assert scores[0] == pytest.approx(scores[1], abs=1e-9)
    assert scores[1] > 0.8
    assert "read as" in capsys.readouterr().err


def test_a_pipeline_on_a_messy_frame_predicts_as_the_clean_one():
    text = messy_twin("everything", CLEAN)[FEATURES]
    model = make_pipeline(TableEncoder(), ConstantImputedLR())
    messy = model.fit(text, CLEAN[TARGET]).predict(text)
    clean = model.fit(CLEAN[FEATURES], CLEAN[TARGET]).predict(CLEAN[FEATURES])
    np.testing.assert_allclose(messy, clean, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_score_agrees_with_the_clean_twin(tmp_path, variant):
    """By compare, fit and predict, with ids and codes among the columns."""
    clean = clean_table(600)
    messy_twin(variant, clean.iloc[:500], tmp_path / "t.csv")
    later = clean[500:].reset_index(drop=True)
    messy_twin(variant, later, tmp_path / "new_t.csv")
    clean[:500].to_csv(tmp_path / "clean.csv", index=False)
    later.to_csv(tmp_path / "new_clean.csv", index=False)
    tried = [candidate(name) for name in ("EMLR", "ConditionalImputedLR")]
    scores = []
    for path in (tmp_path / "t.csv", tmp_path / "clean.csv"):
        table = read_training(path, TARGET)
        found = compare_table(table, tried, CompareOptions())
        model = fit_table(table, predictor="EMLR")
        new, out = path.with_name(f"new_{path.name}"), path.with_suffix(".out")
        predict_file(model, new, out)
        predicted = pd.read_csv(out)["prediction"]
        scores.append(
            [
                *(found.scores[one.name].r2 for one in tried),
                held_out_r2(model),
                r2_score(later[TARGET], predicted),
            ]
        )
    np.testing.assert_allclose(scores[0], scores[1], atol=0.005)
