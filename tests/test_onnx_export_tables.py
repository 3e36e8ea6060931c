"""Exported tables: one input for each column, read as the encoder reads it."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import missfit
from exported import session
from missfit import ConstantImputedLR, TableEncoder
from missfit.cli import main
from missfit.onnx_export.export import onnx_model
from served import refused

onnx = pytest.importorskip("onnx")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 300
    table = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n).round(1),
            "v1": rng.integers(0, 9, n) * 1.0,  # a name as a graph might have
            "city": rng.choice(["Paris", "Rome", "Oslo"], n),
            "smoker": rng.choice(["yes", "no"], n),
            "when": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "code": rng.choice([1.0, 2.0, 30.0], n),
            "rare": [f"r{k}" for k in rng.geometric(0.1, n)],
            "id": [f"case-{k}" for k in range(n)],
            "nothing": [None] * n,
            "prediction": rng.normal(size=n),  # a name that an output has
        }
    )
    for name in table.columns:
        table.loc[rng.random(n) < 0.2, name] = None
    y = table["age"].fillna(60) * 0.3 + (table["city"] == "Rome") * 4
    return table.assign(y=y + rng.normal(size=n))


@pytest.fixture(scope="module")
def model(frame):
    return missfit.fit_table(frame, "y", "ConstantImputedLR", categorical=["code"])


def feeds(encoder, frame):
    """Return the inputs of a graph, as someone would make them from the schema."""
    found = {}
    for one in encoder.reading_.columns:
        column = frame[one.name]
        if one.kind in ("category", "identifier", "text"):
            texts = [["" if pd.isna(x) else str(x)] for x in column]
            found[one.name] = np.array(texts, dtype=object)
        elif one.kind == "boolean":
            found[one.name] = column.map({"yes": 1.0, "no": 0.0}).to_numpy()[:, None]
        elif one.kind == "date":
            days = (column - pd.Timestamp(0)).dt.total_seconds() / 86_400
            found[one.name] = days.to_numpy()[:, None]
        elif one.kind == "number":
            found[one.name] = column.to_numpy(dtype=float)[:, None]
    return found


def test_a_table_is_read_in_the_graph_as_by_the_encoder(frame, model, tmp_path):
    missfit.export(model, tmp_path / "m.onnx", schema=tmp_path / "m.json")
    kinds = dict(zip(model.columns, model.encoder.kinds_, strict=True))
    assert kinds["nothing"] == "empty"
    assert kinds["rare"] == kinds["code"] == "category"
    assert kinds["id"] == "identifier"
    run = session(tmp_path / "m.onnx")
    inputs = feeds(model.encoder, frame)
    assert {one.name for one in run.get_inputs()} == set(inputs)
    found, lower, upper = run.run(["prediction_", "lower", "upper"], inputs)
    np.testing.assert_allclose(found, model.predict(frame), rtol=1e-12)
    ends = model.predict_interval(frame)
    np.testing.assert_allclose([lower, upper], ends, rtol=1e-12)
    schema = json.loads((tmp_path / "m.json").read_text())
    assert (schema["predictor"], schema["target"]) == ("ConstantImputedLR", "y")
    levels = {one["column"]: one.get("levels") for one in schema["inputs"]}
    assert set(levels["city"]) == {"Paris", "Rome", "Oslo"}


def test_new_levels_and_values_that_do_not_fit_are_missing_or_rare_as_in_the_encoder(
    frame, tmp_path
):
    X = frame[["city", "rare", "smoker", "age"]]
    encoder = TableEncoder(max_categories=5)
    pipe = make_pipeline(encoder, ConstantImputedLR()).fit(X, frame["y"])
    missfit.export(pipe, tmp_path / "m.onnx")
    new = X.iloc[:6].copy()
    new["city"] = ["Rome", "Rome", "Lima", "NA", "Oslo", "Oslo"]
    new["rare"] = ["r1", "r999", "r2", "n/a", "r1", "r1"]
    new["smoker"] = ["yes", "no", None, "yes", "no", "no"]
    new["age"] = [50.0, np.nan, 40.0, 30.0, np.inf, 20.0]
    inputs = feeds(encoder, new)
    inputs["smoker"] = np.append(inputs["smoker"][:5], [[7.0]], axis=0)  # no answer
    new["smoker"] = ["yes", "no", None, "yes", "no", None]
    found = session(tmp_path / "m.onnx").run(["prediction"], inputs)[0]
    expected = pipe.predict(new.replace(np.inf, np.nan))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_numbers_that_stand_for_missing_values_are_missing_in_the_graph(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(50, 5, 300).round()
    table = pd.DataFrame({"x": np.where(rng.random(300) < 0.2, -999.0, x)})
    encoder = TableEncoder()
    pipe = make_pipeline(encoder, ConstantImputedLR()).fit(table, x)
    assert encoder.reading_["x"].sentinels == (-999.0,)
    missfit.export(pipe, tmp_path / "m.onnx", dtype="float32")
    values = np.array([[50.0], [-999.0], [np.nan]], dtype=np.float32)
    found = session(tmp_path / "m.onnx").run(None, {"x": values})[0]
    assert found[1] == found[2]
    np.testing.assert_allclose(
        found, pipe.predict(pd.DataFrame({"x": values[:, 0]})), rtol=1e-12
    )


def test_the_command_writes_what_python_writes(frame, model, tmp_path, capsys):
    file, to = tmp_path / "m.skops", tmp_path / "m.onnx"
    model.save(file)
    assert main(["export", str(file), "--to", str(to)]) == 0
    assert "ConstantImputedLR for y" in capsys.readouterr().out
    missfit.export(missfit.load_model(file), tmp_path / "again.onnx")
    assert to.read_bytes() == (tmp_path / "again.onnx").read_bytes()
    inputs = feeds(model.encoder, frame)
    found = session(to).run(["prediction_"], inputs)[0]
    np.testing.assert_allclose(found, model.predict(frame), rtol=1e-12)


def test_the_command_overwrites_neither_the_model_nor_its_own_file(
    model, tmp_path, capsys
):
    file, to = tmp_path / "m.skops", tmp_path / "m.onnx"
    model.save(file)
    before = file.read_bytes()
    assert main(["export", str(file), "--to", str(file)]) == 2
    assert "would overwrite" in capsys.readouterr().err
    assert main(["export", str(file), "--to", str(to), "--schema", str(to)]) == 2
    assert "two different files" in capsys.readouterr().err
    assert main(["export", str(file), "--to", str(tmp_path / "no" / "m.onnx")]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert file.read_bytes() == before
    assert not to.exists()


def test_the_command_says_for_which_rows_intervals_are_infinite(tmp_path, rng, capsys):
    X = rng.normal(size=(60, 12)).round(3)
    table = pd.DataFrame(X, columns=list("abcdefghijkl")).assign(y=X.sum(axis=1))
    file, to = tmp_path / "m.skops", tmp_path / "m.onnx"
    for n_columns in (10, 12):
        some = table[[*table.columns[:n_columns], "y"]]
        missfit.fit_table(some, "y", "ConstantImputedLR").save(file)
        assert main(["export", str(file), "--to", str(to)]) == 0
        said = capsys.readouterr().err
        assert ("intervals are infinite" in said) == (n_columns > 10)


def hostile_onnx(tmp_path):
    """An ONNX file whose weights lie in another file of the machine."""
    (tmp_path / "secret.txt").write_text("password")
    X = np.array([[1.0], [2.0], [3.0]])
    model = ConstantImputedLR().fit(X, X[:, 0])
    found = onnx.load_from_string(onnx_model(model).content)
    weight = found.graph.initializer[0]
    weight.data_location = onnx.TensorProto.EXTERNAL
    weight.external_data.add(key="location", value=str(tmp_path / "secret.txt"))
    return found.SerializeToString()


@pytest.mark.parametrize("command", ["predict", "watch", "stress", "serve", "export"])
def test_no_command_takes_an_onnx_file_or_a_schema_for_a_model(
    command, tmp_path, capsys
):
    (tmp_path / "new.csv").write_text("x,y\n1,2\n")
    schema = '{"format": "missfit onnx", "inputs": [{"__reduce__": ["os.system"]}]}'
    more = {
        "predict": [tmp_path / "new.csv"],
        "watch": [tmp_path / "new.csv"],
        "export": ["--to", tmp_path / "m.onnx"],
        "serve": ["--port", "0"],
    }
    for name, content in {
        "evil.onnx": hostile_onnx(tmp_path),
        "evil.json": schema.encode(),
        "nested.json": b"[" * 100_000,
    }.items():
        (tmp_path / name).write_bytes(content)
        before = sorted(tmp_path.iterdir())
        err = refused(capsys, command, tmp_path / name, *more.get(command, []))
        assert name in err
        assert "password" not in err
        assert sorted(tmp_path.iterdir()) == before


def test_the_command_says_what_cannot_be_exported(frame, tmp_path, capsys):
    file, to = tmp_path / "m.skops", tmp_path / "m.onnx"
    missfit.fit_table(frame[["age", "v1", "y"]], "y", "IterativeImputer + ridge").save(
        file
    )
    assert main(["export", str(file), "--to", str(to)]) == 2
    assert "IterativeImputer cannot be exported to ONNX" in capsys.readouterr().err
    assert not to.exists()


@pytest.mark.parametrize(
    "predictor", ["ConditionalImputedLogistic", "HistGradientBoosting"]
)
def test_a_table_of_classes_comes_back_from_its_file_and_is_exported(
    predictor, frame, tmp_path
):
    table = frame[["age", "city", "smoker"]].assign(
        answer=np.where(frame["y"] > 17, "high", "low")
    )
    model = missfit.fit_table(table, "answer", predictor)
    model.save(tmp_path / "m.skops")
    missfit.export(missfit.load_model(tmp_path / "m.skops"), tmp_path / "m.onnx")
    inputs = feeds(model.encoder, table)
    label, shares, sets = session(tmp_path / "m.onnx").run(None, inputs)
    np.testing.assert_allclose(shares, model.predict_proba(table), atol=1e-12)
    assert label.tolist() == model.predict(table).tolist()
    assert (sets == model.predict_set(table)).all()


def test_no_rows_give_no_predictions(model, frame, tmp_path):
    missfit.export(model, tmp_path / "m.onnx")
    inputs = {name: x[:0] for name, x in feeds(model.encoder, frame).items()}
    found = session(tmp_path / "m.onnx").run(None, inputs)
    assert [len(one) for one in found] == [0, 0, 0]
