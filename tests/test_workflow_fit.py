"""missfit.fit_table: a model of a table that predicts frames, files and arrays."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

import missfit
from missfit import EMLR, ConformalRegressor, TableEncoder
from missfit.workflow.model_file import ModelFileError
from served import make_table


@pytest.fixture(scope="module")
def table():
    return make_table(300)


@pytest.fixture(scope="module")
def model(table):
    return missfit.fit_table(table, "y", "EMLR")


@pytest.fixture(scope="module")
def by_hand(table):
    """The encoder and the regressor that the model promises to be."""
    X = table.drop(columns="y")
    encoder = TableEncoder().fit(X)
    regressor = ConformalRegressor(EMLR(), alpha=0.1, random_state=0)
    return encoder, regressor.fit(encoder.transform(X), table["y"])


def test_a_model_predicts_as_an_encoder_and_a_conformal_regressor(
    model, by_hand, table
):
    new = make_table(40, seed=1).drop(columns="y")
    encoder, regressor = by_hand
    X = encoder.transform(new)
    np.testing.assert_allclose(model.predict(new), regressor.predict(X))
    np.testing.assert_allclose(
        model.predict_interval(new), regressor.predict_interval(X)
    )
    wider = ConformalRegressor(EMLR(), alpha=0.05, random_state=0)
    wider.fit(
        encoder.transform(make_table(300).drop(columns="y")), make_table(300)["y"]
    )
    got = model.predict_interval(new, coverage=0.95)
    np.testing.assert_allclose(got, wider.predict_interval(X))


def test_frames_files_and_columns_in_any_order_are_predicted_alike(model, tmp_path):
    new = make_table(40, seed=1)
    expected = model.predict(new)
    shuffled = new[new.columns[::-1]].assign(more="text")
    new.to_csv(tmp_path / "new.csv", index=False)
    new.to_parquet(tmp_path / "new.parquet")
    for data in (shuffled, pl.from_pandas(new), tmp_path / "new.parquet"):
        np.testing.assert_allclose(model.predict(data), expected, rtol=1e-12)
    # numbers have been through text
    np.testing.assert_allclose(model.predict(str(tmp_path / "new.csv")), expected)
    lower, upper = model.predict_interval(tmp_path / "new.csv")
    assert ((lower <= expected) & (expected <= upper)).all()


def test_arrays_are_fitted_and_predicted(rng):
    X = rng.standard_normal((200, 3))
    y = X @ [1, 2, 3] + 0.1 * rng.standard_normal(200)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = missfit.fit_table(X, y, "ConstantImputedLR")
    assert model.columns == ["x0", "x1", "x2"]
    frame = pd.DataFrame(X, columns=model.columns)
    np.testing.assert_array_equal(model.predict(X), model.predict(frame))
    numbered = missfit.fit_table(pd.DataFrame(X).assign(y=y), "y", "ConstantImputedLR")
    np.testing.assert_array_equal(numbered.predict(pd.DataFrame(X)), model.predict(X))
    with pytest.raises(ValueError, match="2 columns, but 3 are read"):
        model.predict(X[:, :2])


def test_a_model_is_saved_and_loaded_in_python(model, tmp_path):
    model.save(tmp_path / "m.skops")
    again = missfit.load_model(tmp_path / "m.skops")
    new = make_table(40, seed=2)
    np.testing.assert_allclose(again.predict(new), model.predict(new), rtol=1e-12)
    np.testing.assert_allclose(
        again.predict_interval(new), model.predict_interval(new), rtol=1e-12
    )


def test_an_own_estimator_is_fitted_and_says_that_it_cannot_be_saved(table, tmp_path):
    class Mine(HistGradientBoostingRegressor):
        pass

    X = table.drop(columns="y")
    model = missfit.fit_table(table, "y", Mine(max_iter=5, random_state=0))
    assert model.predictor == "Mine"
    assert isinstance(model.regressor.estimator_, Mine)
    assert model.predict(X).shape == (300,)
    with pytest.raises(ModelFileError, match="is not written"):
        model.save(tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())


def test_an_explanation_speaks_in_the_names_of_the_columns(rng):
    frame = pd.DataFrame(rng.standard_normal((150, 2)), columns=["age", "dose"])
    frame["y"] = frame["age"] + 2 * frame["dose"] + rng.standard_normal(150)
    frame.loc[rng.random(150) < 0.4, "dose"] = np.nan
    model = missfit.fit_table(frame, "y")
    assert model.predictor == "AutoRegressor"
    explanation = model.explain()
    assert explanation.feature_names == ["age", "dose"]
    assert explanation.ranking[0] == "dose"
    assert "dose" in str(explanation)


def test_what_fit_table_refuses_is_said_with_the_way_out(table, model):
    with pytest.raises(ValueError, match=r"makes no choice .* AutoRegressor, does"):
        model.explain()
    with pytest.raises(TypeError, match=r"takes no argument 'kind'; it takes .*kinds"):
        missfit.fit_table(table, "y", kind={})
    with pytest.raises(TypeError, match=r"give an object, LinearRegression\(\)"):
        missfit.fit_table(table, "y", LinearRegression)
    with pytest.raises(ValueError, match="'EMRL' is no predictor known here"):
        missfit.fit_table(table, "y", "EMRL")
    with pytest.raises(ValueError, match="has no column 'age', which the model reads"):
        model.predict(table.drop(columns="age"))
    with pytest.raises(ValueError, match=r"coverage=1\.5"):
        model.predict_interval(table, coverage=1.5)
