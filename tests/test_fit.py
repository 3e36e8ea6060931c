"""What `missfit fit` learns from, what it refuses, and what reaches the model."""

import re

import numpy as np
import pandas as pd
import pytest

from missfit.tables.training import read_training
from missfit.workflow.model_file import load_model
from served import fitted_folder, make_table, predictions, refused, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fitted_folder(tmp_path_factory.mktemp("served"))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", [], "is empty"),
        ("y\n1\n2\n", [], "no column beside the target"),
        ("a,b\n1,2\n", [], "--target 'y'"),
        ("a,y\n" + "1,2\n" * 30, [], "'y' is 2 in every row"),
        ("a,y\n" + "1,up\n2,down\n" * 30, ["--task", "number"], "holds text, such"),
        (
            "a,y\n1,x\nx,2\n" + "3,z\n" * 30,
            ["--task", "number"],
            "31 values that are no number",
        ),
        ("a,y\n1,1\n", [], "1 rows with a target; at least 20"),
        ("a,y\n" + "1,1\n2,2\n" * 20, ["--coverage", "2"], "coverage of 2"),
        ("a,y\n" + "1,1\n2,2\n" * 20, ["--drop", "b"], "--drop 'b'"),
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
    assert re.search(r"\ncity +category +\w+ \(3 levels\) ", err)
    assert re.search(r"\ncode +category +0 \(3 levels\) ", err)
    loaded = load_model(model)
    assert loaded.columns[0] == "<script>alert(1)</script>"
    assert loaded.encoder.kinds_[-1] == "category"
    code, out, _ = run(capsys, "predict", model, tmp_path / "t.csv")
    assert code == 0
    assert len(predictions(out)) == 100


def test_read_training_is_what_fit_sees(folder):
    table = read_training(folder / "train.csv", "y")
    assert table.X.columns.tolist() == ["age", "smokes", "born", "city", "dose"]
    assert len(table.y) == 600
