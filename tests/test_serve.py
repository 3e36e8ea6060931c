"""fit and predict of tables: predictions in order, schema, drift, and safe files."""

import io
import json
import os
import pickle
import re
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.preprocessing import FunctionTransformer

from missfit import EMLR, ConformalRegressor, TableEncoder, tableio
from missfit.cli import main
from missfit.compare.candidates import CANDIDATES
from missfit.tables.training import TrainingTable, read_training
from missfit.workflow.archive import packed
from missfit.workflow.model_file import HEADER, ModelFileError, load_model, save_model
from missfit.workflow.predict import fit_table


def make_table(n=600, seed=0):
    """Rows of every kind of column, with holes, and a target that uses them."""
    rng = np.random.default_rng(seed)
    city = rng.choice(["Paris", "Lyon", "Nice"], n)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n).round(2),
            "smokes": rng.random(n) < 0.3,
            "born": np.datetime64("1990-01-01") + rng.integers(0, 3000, n),
            "city": city,
            "dose": rng.normal(0, 1, n).round(3),
        }
    )
    y = frame["age"] / 10 + 2 * frame["smokes"] + 3 * (city == "Nice") + frame["dose"]
    y = y + rng.normal(0, 0.3, n)
    frame = frame.astype({"smokes": "boolean"}).mask(rng.random(frame.shape) < 0.15)
    return frame.assign(y=y.round(4))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve")
    make_table().to_csv(folder / "train.csv", index=False)
    make_table(300, seed=1).to_csv(folder / "new.csv", index=False)
    code = main(
        f"fit {folder}/train.csv --target y --model {folder}/model.skops "
        "--predictor EMLR".split()
    )
    assert code == 0
    return folder


def run(capsys, *arguments):
    """Run a command; return its exit code, stdout and stderr."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def refused(capsys, *arguments):
    """Run a command that must fail as agreed: one line, exit code 2; return it."""
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("missfit: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert len(err) < 700
    return err


def predictions(text):
    assert text.startswith("prediction,lower,upper\n")
    return pd.read_csv(io.StringIO(text))


def test_the_predictions_are_those_of_the_library_in_the_order_of_the_rows(
    folder, capsys
):
    code, out, err = run(capsys, "predict", folder / "model.skops", folder / "new.csv")
    assert code == 0
    assert err == ""
    got = predictions(out)
    train, new = make_table(), make_table(300, seed=1)
    encoder = TableEncoder().fit(train.drop(columns="y"))
    model = ConformalRegressor(EMLR(), alpha=0.1, random_state=0)
    model.fit(encoder.transform(train.drop(columns="y")), train["y"])
    X = encoder.transform(new.drop(columns="y"))
    expected = np.column_stack([model.predict(X), *model.predict_interval(X)])
    # the numbers of the files have been through text: rounding
    np.testing.assert_allclose(got.to_numpy(), expected, rtol=1e-9)
    covered = (got["lower"] <= new["y"]) & (new["y"] <= got["upper"])
    assert covered.mean() > 0.85  # 90 % asked; nested patterns are covered more


def test_chunks_formats_and_extra_columns_do_not_change_a_prediction(
    folder, capsys, tmp_path, monkeypatch
):
    _, whole, _ = run(capsys, "predict", folder / "model.skops", folder / "new.csv")
    expected = predictions(whole).to_numpy()
    new = pd.read_csv(folder / "new.csv").drop(columns="y")
    new["born"] = pd.to_datetime(new["born"])
    new = new[new.columns[::-1]].assign(more="text")
    new.to_parquet(tmp_path / "new.parquet", row_group_size=50)
    new.to_feather(tmp_path / "new.feather")
    new.to_csv(tmp_path / "new.csv", index=False, sep=";", encoding="utf-8-sig")
    for rows in (37, 1000):
        monkeypatch.setattr(
            "missfit.workflow.predict.read_chunks",
            lambda *a, rows=rows, **k: tableio.read_chunks(*a, **k, rows=rows),
        )
        for name in ("new.csv", "new.parquet", "new.feather"):
            _, out, _ = run(capsys, "predict", folder / "model.skops", tmp_path / name)
            np.testing.assert_allclose(
                predictions(out).to_numpy(), expected, rtol=1e-12
            )


def test_out_writes_the_same_text_as_stdout(folder, capsys, tmp_path):
    _, text, _ = run(capsys, "predict", folder / "model.skops", folder / "new.csv")
    out = tmp_path / "predictions.csv"
    code, said, _ = run(
        capsys, "predict", folder / "model.skops", folder / "new.csv", "--out", out
    )
    assert code == 0
    assert out.read_text() == text
    assert "300 predictions of y" in said


def test_no_rows_give_the_header_alone(folder, capsys, tmp_path):
    (tmp_path / "none.csv").write_text("age,smokes,born,city,dose\n")
    code, out, _ = run(capsys, "predict", folder / "model.skops", tmp_path / "none.csv")
    assert (code, out) == (0, "prediction,lower,upper\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="dose"), "has no column 'dose', which the model"),
        (lambda t: t.rename(columns={"age": "Age"}), "did you mean 'Age'"),
        (lambda t: t.rename(columns={"age": "years"}), "add it .it may be empty."),
        (lambda t: t.assign(age="old"), "'age' held numbers at fit, and now 'old'"),
        (lambda t: t.assign(smokes="maybe"), "'smokes' held booleans at fit"),
        (lambda t: t.assign(born="yesterday"), "'born' held dates at fit"),
        (lambda t: t.assign(dose=np.inf), "'dose' is infinite"),
    ],
)
def test_a_table_that_does_not_fit_the_schema_is_refused_and_leaves_no_output(
    folder, capsys, tmp_path, change, message
):
    data, out = tmp_path / "new.csv", tmp_path / "out.csv"
    change(make_table(50, seed=2)).to_csv(data, index=False)
    err = refused(capsys, "predict", folder / "model.skops", data, "--out", out)
    assert message.replace(".it may be empty.", "(it may be empty)") in err
    refused(capsys, "predict", folder / "model.skops", data)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new.csv"]


def test_an_error_in_a_late_chunk_leaves_no_output(
    folder, capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "missfit.workflow.predict.read_chunks",
        lambda *a, **k: tableio.read_chunks(*a, **k, rows=100),
    )
    table = make_table(300, seed=2).astype({"age": object})
    table.loc[250, "age"] = "old"
    table.to_csv(tmp_path / "new.csv", index=False)
    (tmp_path / "out.csv").write_text("before")
    arguments = ["predict", folder / "model.skops", tmp_path / "new.csv"]
    err = refused(capsys, *arguments)
    assert "first row 50. " in err
    assert "Rows are counted from row 200 of the file, here." in err
    refused(capsys, *arguments, "--out", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "before"


def test_a_new_level_is_predicted_as_missing_with_a_warning(folder, capsys, tmp_path):
    table = make_table(40, seed=3)
    table["city"] = "Rome"
    table.to_csv(tmp_path / "rome.csv", index=False)
    table.assign(city=None).to_csv(tmp_path / "none.csv", index=False)
    code, rome, err = run(
        capsys, "predict", folder / "model.skops", tmp_path / "rome.csv"
    )
    _, none, _ = run(capsys, "predict", folder / "model.skops", tmp_path / "none.csv")
    assert code == 0
    assert rome == none
    assert "'city' has levels never seen at fit ('Rome'), taken as missing" in err


def test_missingness_that_drifts_is_told_and_its_absence_is_not(
    folder, capsys, tmp_path
):
    same = make_table(400, seed=4)
    same.to_csv(tmp_path / "same.csv", index=False)
    _, _, err = run(capsys, "predict", folder / "model.skops", tmp_path / "same.csv")
    assert err == ""
    same.assign(age=None).to_csv(tmp_path / "drift.csv", index=False)
    code, _, err = run(
        capsys, "predict", folder / "model.skops", tmp_path / "drift.csv"
    )
    assert code == 0
    assert "warning: column 'age' is missing in 100% of these rows, in 1" in err
    assert err.count("\n") == 1


def test_a_pattern_never_seen_is_told():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    y = frame.sum(axis=1).to_numpy()
    frame.loc[:99, "a"] = np.nan
    frame.loc[200:, "b"] = np.nan  # never both
    model = fit_table(TrainingTable(frame, y, "y", None, []), predictor="EMLR")
    from missfit.workflow.predict import _Watch

    watch = _Watch(model)
    both = frame.assign(a=np.where(np.arange(300) % 3, frame["a"], np.nan))
    both["b"] = np.where(both["a"].isna(), np.nan, both["b"])
    watch.see(both, model.encoder.transform(both))
    assert any("never seen at fit (0% were" in text for text in watch.warnings())


@pytest.mark.parametrize("name", [one.name for one in CANDIDATES])
def test_every_candidate_can_be_fitted_saved_and_loaded(tmp_path, name):
    frame = make_table(150)
    table = TrainingTable(frame.drop(columns="y"), frame["y"].to_numpy(), "y", None, [])
    model = fit_table(table, predictor=name)
    save_model(tmp_path / "m.skops", model)
    again = load_model(tmp_path / "m.skops")
    X = model.encoder.transform(table.X)
    np.testing.assert_array_equal(again.encoder.transform(table.X), X)
    np.testing.assert_array_equal(
        again.regressor.predict_interval(X), model.regressor.predict_interval(X)
    )
    assert again.schema() == model.schema()
    assert again.missingness.keys == model.missingness.keys


def test_a_boosted_default_can_be_saved_and_loaded(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = 3 * np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=600)
    X[rng.random(X.shape) < 0.1] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = fit_table(TrainingTable(frame, y, "y", None, []))
    assert model.predictor == "AutoRegressor"
    assert model.regressor.estimator_.parts_  # boosting earned its place
    save_model(tmp_path / "m.skops", model)
    again = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(
        again.regressor.predict_interval(X), model.regressor.predict_interval(X)
    )
    assert str(again.regressor.estimator_.explain()) == str(
        model.regressor.estimator_.explain()
    )


def test_the_schema_can_be_read_without_missfit(folder):
    with zipfile.ZipFile(folder / "model.skops") as archive:
        schema = json.loads(archive.read(HEADER))
    assert schema["target"] == "y"
    assert [c["name"] for c in schema["columns"]] == [
        "age",
        "smokes",
        "born",
        "city",
        "dose",
    ]
    assert sorted(schema["columns"][3]["levels"]) == ["Lyon", "Nice", "Paris"]
    missing = make_table().isna().sum()
    assert [c["missing"] for c in schema["columns"]] == missing[:-1].tolist()


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


def archive_with(path, header, parts):
    """Write an archive with any header and parts."""
    path.write_bytes(packed(skops.io.dumps(parts), header))


def test_a_file_that_is_no_model_file_is_refused_and_runs_no_code(
    folder, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    good = (folder / "model.skops").read_bytes()
    header = json.loads(zipfile.ZipFile(folder / "model.skops").read(HEADER))
    strange = tmp_path / "strange.skops"

    def says(message):
        out = tmp_path / "out.csv"
        err = refused(capsys, "predict", strange, folder / "new.csv", "--out", out)
        assert message in err
        assert not out.exists()
        assert not (tmp_path / "exploded").exists()

    for protocol in (0, 2, 5):
        strange.write_bytes(pickle.dumps(Bomb(), protocol=protocol))
        says("never loaded" if protocol else "no missfit model file")
    strange.write_text("prediction,lower")
    says("no missfit model file")
    strange.write_bytes(b"")
    says("no missfit model file")
    for cut in (100, len(good) // 2, len(good) - 5):
        strange.write_bytes(good[:cut])
        says("truncated or damaged")
    flipped = bytearray(good)
    flipped[len(good) // 3] ^= 255
    strange.write_bytes(flipped)
    says("damaged")
    strange.write_bytes(skops.io.dumps(EMLR()))
    says("is not loaded: it holds no missfit.json")
    parts = {"encoder": TableEncoder(), "regressor": ConformalRegressor(EMLR())}
    archive_with(strange, {**header, "version": 1}, parts)
    says("format version 1,")
    archive_with(strange, {**header, "version": 99, "missfit": "9.0"}, parts)
    says("format version 99, written by missfit 9.0, and this missfit reads version")
    evil = FunctionTransformer(os.mkdir)
    archive_with(strange, header, {"encoder": evil, "regressor": evil})
    says("FunctionTransformer', which model files may not hold")
    archive_with(strange, header, {"encoder": os.mkdir, "regressor": os.mkdir})
    says("asks for the type 'posix.mkdir', which model files may not hold")
    archive_with(strange, header, {"encoder": 1, "regressor": 2})
    says("its encoder is of another type")
    archive_with(strange, {**header, "columns": []}, parts)
    says("damaged")
    strange.unlink()
    says("does not exist")


def test_a_model_that_could_not_be_loaded_again_is_not_written(tmp_path):
    frame = make_table(60)
    table = TrainingTable(frame.drop(columns="y"), frame["y"].to_numpy(), "y", None, [])
    model = fit_table(table, predictor="EMLR")
    model.regressor.estimator_ = FunctionTransformer(os.mkdir)
    with pytest.raises(ModelFileError, match="not written"):
        save_model(tmp_path / "m.skops", model)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", [], "is empty"),
        ("y\n1\n2\n", [], "no column beside the target"),
        ("a,b\n1,2\n", [], "--target 'y'"),
        ("a,y\n" + "1,2\n" * 30, [], "'y' is 2 in every row"),
        ("a,y\n" + "1,up\n2,down\n" * 30, [], "holds text, such as 'up'"),
        ("a,a,y\n" + "1,2,3\n" * 30, [], "more than one column named 'a'"),
        ("a,y\n1,1\nx,2\n" + "3,4\n" * 30, [], "'a' mixes numbers and other values"),
        ("a,y\n1,1\n", [], "1 rows with a target; at least 20"),
        ("a,y\n1,1\n" + "2,2\n" * 30, ["--coverage", "2"], "coverage of 2"),
        ("a,y\n1,1\n" + "2,2\n" * 30, ["--drop", "b"], "--drop 'b'"),
    ],
)
def test_what_fit_refuses_is_one_line_and_no_model(
    capsys, tmp_path, text, options, message
):
    (tmp_path / "t.csv").write_text(text)
    model = tmp_path / "m.skops"
    err = refused(
        capsys, "fit", tmp_path / "t.csv", "--target", "y", "--model", model, *options
    )
    assert message in err
    assert not model.exists()


def test_groups_are_held_out_together(capsys, tmp_path, rng):
    school = np.repeat(np.arange(30), 20)
    frame = pd.DataFrame({"school": school, "place": 0.5 + school, "noise": 1.0})
    frame["noise"] = rng.standard_normal(600)
    frame["y"] = rng.standard_normal(30)[school] + 0.1 * rng.standard_normal(600)
    frame.to_csv(tmp_path / "t.csv", index=False)
    fit = ["fit", tmp_path / "t.csv", "--target", "y", "--model", tmp_path / "m.skops"]
    fit += ["--predictor", "HistGradientBoosting"]
    found = {}
    for options in ((), ("--group", "school")):
        code, out, _ = run(capsys, *fit, *options)
        assert code == 0
        found[options] = float(re.search(r"R2 (-?[\d.]+) on", out)[1])
    model = load_model(tmp_path / "m.skops")
    assert model.columns == ["place", "noise"]
    kept = np.isin(frame["place"], model.regressor.calibration_rows_[:, 0])
    assert kept.sum() == len(model.regressor.calibration_rows_)
    # the place tells the school: worth much on its other rows, nothing on new schools
    assert found[()] > 0.5
    assert found["--group", "school"] < 0.2
    assert "--group 'scool'" in refused(capsys, *fit, "--group", "scool")


def test_a_folder_that_is_not_there_is_said_before_any_work(capsys, folder, tmp_path):
    fit = ("fit", folder / "train.csv", "--target", "y", "--model")
    err = refused(capsys, *fit, tmp_path / "new" / "m.skops")
    assert "there is no folder" in err
    assert "new; make it first" in err
    assert "is a folder; give a file" in refused(capsys, *fit, tmp_path)
    predict = ("predict", folder / "model.skops", folder / "new.csv", "--out")
    assert "there is no folder" in refused(capsys, *predict, tmp_path / "new" / "p.csv")
    assert not list(tmp_path.iterdir())


def test_names_and_options_reach_the_model(capsys, tmp_path):
    frame = make_table(100).rename(columns={"age": "<script>alert(1)</script>"})
    frame["code"] = np.arange(100) % 3
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.skops"
    code, out, err = run(
        capsys,
        *("fit", tmp_path / "t.csv", "--target", "y", "--model", model),
        *("--categorical", "code", "--drop", "born", "--predictor", "EMLR"),
    )
    assert code == 0
    assert "EMLR on 100 rows and 5 columns; R2 0." in out
    assert "missfit: categories: city (3 levels), code (3 levels)" in err
    loaded = load_model(model)
    assert loaded.columns[0] == "<script>alert(1)</script>"
    assert loaded.encoder.kinds_[-1] == "category"
    code, out, _ = run(capsys, "predict", model, tmp_path / "t.csv")
    assert code == 0
    assert len(predictions(out)) == 100


def test_a_reader_that_stops_early_is_no_error(folder):
    command = (
        f"{sys.executable} -c 'import sys, missfit.cli; sys.exit(missfit.cli.main())' "
        f"predict {folder / 'model.skops'} "
        f"{folder / 'new.csv'} | head -1"
    )
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout == "prediction,lower,upper\n"
    assert done.stderr == ""


def test_memory_does_not_grow_with_the_rows_to_predict(folder, tmp_path):
    """Peak memory of predicting 204,000 rows against 51,000: chunks, not the file."""
    table = pd.read_csv(folder / "new.csv").drop(columns="y")
    peaks = []
    for copies in (170, 680):
        path = tmp_path / f"{copies}.csv"
        pd.concat([table] * copies).to_csv(path, index=False)
        code = (
            "import resource, sys\nfrom missfit.cli import main\n"
            f"assert main(['predict', {str(folder / 'model.skops')!r}, {str(path)!r}, "
            f"'--out', {str(tmp_path / 'out.csv')!r}]) == 0\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout.split()[-1]))
    assert peaks[1] < 1.25 * peaks[0]


def test_read_training_is_what_fit_sees(folder):
    table = read_training(folder / "train.csv", "y")
    assert table.X.columns.tolist() == ["age", "smokes", "born", "city", "dose"]
    assert len(table.y) == 600
