"""Model files: every candidate comes back, and no file runs code."""

import json
import os
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.preprocessing import FunctionTransformer

from missfit import (
    EMLR,
    ConditionalImputedLogistic,
    ConformalClassifier,
    ConformalRegressor,
    ConstantImputedLR,
    EMProbit,
    PatternClassifier,
    TableEncoder,
)
from missfit.comparison.candidates import CANDIDATES
from missfit.tables.training import TrainingTable
from missfit.workflow.archive import packed, signed_header, zipped
from missfit.workflow.fit import fit_table
from missfit.workflow.missingness import Missingness
from missfit.workflow.model_file import (
    HEADER,
    ModelFileError,
    TableModel,
    load_model,
    save_model,
)
from served import fitted_folder, make_table, refused


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fitted_folder(tmp_path_factory.mktemp("served"))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            one.name, marks=[pytest.mark.slow] if one.name == "NeuMiss" else []
        )
        for one in CANDIDATES  # NeuMiss is saved as MLP is
    ],
)
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
    parts = again.regressor.estimator_.parts_
    n_folds = len(parts[0].model.n_trees)
    n_trees = sum(int(part.model.n_trees.sum()) for part in parts)
    assert n_trees == n_folds * sum(part.rounds for part in parts)  # and no more
    # a leaf and its split take 12 bytes; beside the trees there are 150 calibration
    # rows of 3 numbers and the schema
    n_leaves = sum(int((part.model.feature < 0).sum()) for part in parts)
    assert (tmp_path / "m.skops").stat().st_size < 12 * n_leaves + 30_000


CLASSIFIERS = [
    PatternClassifier(EMLR()),
    PatternClassifier(ConstantImputedLR()),
    EMProbit(),
    ConditionalImputedLogistic(),
]


@pytest.mark.parametrize("labels", [["no", "yes"], [1, 2, 3], [False, True]], ids=str)
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
def test_every_classifier_can_be_saved_and_loaded(tmp_path, estimator, labels):
    frame = make_table(150)
    place = np.searchsorted(frame["y"].quantile([0.4, 0.7]), frame["y"])
    label = pd.Series(labels).to_numpy()[place % len(labels)]  # of text: of objects
    table = frame.drop(columns="y")
    encoder = TableEncoder().fit(table)
    X = encoder.transform(table)
    classifier = ConformalClassifier(estimator, random_state=0).fit(X, label)
    missingness = Missingness.of(encoder.mask(X))
    model = TableModel(encoder, classifier, "some classifier", "y", missingness)
    save_model(tmp_path / "m.skops", model)
    again = load_model(tmp_path / "m.skops").regressor
    assert again.classes_.tolist() == sorted(labels)
    for name in ("predict_proba", "predict", "predict_set"):
        ours, theirs = getattr(again, name)(X), getattr(classifier, name)(X)
        np.testing.assert_array_equal(ours, theirs)


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


def test_the_reading_of_a_header_must_be_that_of_the_model(folder, tmp_path):
    archive = zipfile.ZipFile(folder / "model.skops")
    header = json.loads(archive.read(HEADER))
    members = {n: archive.read(n) for n in archive.namelist() if n != HEADER}
    columns = header["reading"]["columns"]

    def refusal(*changed):
        reading = {**header["reading"], "columns": list(changed)}
        text = signed_header({**header, "reading": reading}, members)
        everything = {**members, HEADER: text}
        strange = tmp_path / "strange.skops"
        strange.write_bytes(zipped(everything.items(), zipfile.ZIP_DEFLATED))
        with pytest.raises(ModelFileError) as error:
            load_model(strange)
        return str(error.value)

    assert "is of other columns" in refusal(*columns[1:])
    assert "disagree on what" in refusal({**columns[0], "kind": "date"}, *columns[1:])
    assert "never written" in refusal({**columns[0], "kind": "code"}, *columns[1:])
    hostile = {"of": "number", "decimal": "(.*)*", "scales": {}, "currencies": []}
    assert "decimal sign" in refusal({**columns[0], "format": hostile}, *columns[1:])


def test_a_model_that_could_not_be_loaded_again_is_not_written(tmp_path):
    frame = make_table(60)
    table = TrainingTable(frame.drop(columns="y"), frame["y"].to_numpy(), "y", None, [])
    model = fit_table(table, predictor="EMLR")
    model.regressor.estimator_ = FunctionTransformer(os.mkdir)
    with pytest.raises(ModelFileError, match="not written"):
        save_model(tmp_path / "m.skops", model)
    assert not list(tmp_path.iterdir())
