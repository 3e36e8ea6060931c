"""Predictions of a table: in order, whole or not there, in bounded memory."""

import io
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from missfit import EMLR, ConformalRegressor, TableEncoder, fit_table
from missfit.tables.read import read_chunks
from missfit.workflow.predict import NAMES
from served import fitted_folder, make_table, predictions, refused, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fitted_folder(tmp_path_factory.mktemp("served"))


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
    # an R2 of 0.8 of a variance of 5 is an error near 1: at least 4 decimals
    np.testing.assert_allclose(got.to_numpy(), expected, rtol=0, atol=5.1e-5)
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
            "missfit.workflow.new_rows.read_chunks",
            lambda *a, rows=rows, **k: read_chunks(*a, **k, rows=rows),
        )
        for name in ("new.csv", "new.parquet", "new.feather"):
            _, out, _ = run(capsys, "predict", folder / "model.skops", tmp_path / name)
            np.testing.assert_allclose(predictions(out).to_numpy(), expected, rtol=1e-9)


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
        (lambda t: t.assign(age="old"), "'age' held numbers at fit, and now 50 values"),
        (lambda t: t.assign(smokes="maybe"), "'smokes' held booleans at fit"),
        (lambda t: t.assign(born="yesterday"), "'born' held dates at fit"),
        (lambda t: t.assign(dose=np.inf), "no number (inf in row 1 and 49 more)"),
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
        "missfit.workflow.new_rows.read_chunks",
        lambda *a, **k: read_chunks(*a, **k, rows=100),
    )
    table = make_table(300, seed=2).astype({"age": object})
    table.loc[99:, "age"] = "old"
    table.to_csv(tmp_path / "new.csv", index=False)
    (tmp_path / "out.csv").write_text("before")
    arguments = ["predict", folder / "model.skops", tmp_path / "new.csv"]
    err = refused(capsys, *arguments)
    assert "201 values that are no number ('old' in row 100 and 200 more)" in err
    refused(capsys, *arguments, "--out", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "before"


def test_a_value_that_does_not_fit_is_missing_and_named_by_its_row_in_the_file(
    folder, capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "missfit.workflow.new_rows.read_chunks",
        lambda *a, **k: read_chunks(*a, **k, rows=100),
    )
    table = make_table(300, seed=2).astype({"age": object})
    table.loc[[150, 250], "age"] = "old"
    table.to_csv(tmp_path / "odd.csv", index=False)
    table.loc[[150, 250], "age"] = np.nan
    table.to_csv(tmp_path / "empty.csv", index=False)
    model = folder / "model.skops"
    code, out, err = run(capsys, "predict", model, tmp_path / "odd.csv")
    assert code == 0
    assert (
        "2 values that are no number ('old' in row 151 and 1 more), taken as mi" in err
    )
    assert out == run(capsys, "predict", model, tmp_path / "empty.csv")[1]


def test_a_reader_that_stops_early_is_no_error(folder):
    command = (
        f"{sys.executable} -c 'import sys, missfit.cli; sys.exit(missfit.cli.main())' "
        f"predict {folder / 'model.skops'} "
        f"{folder / 'new.csv'} | head -1"
    )
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout == "prediction,lower,upper\n"
    assert done.stderr == ""


@pytest.mark.slow
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


def ids_of(n):
    """Ids that look like numbers and are none, and names with commas and quotes."""
    names = ['a, "b"', "plain", "é", None]
    return {
        "id": [f"{k:05}" for k in range(n)],
        "name": [names[k % 4] for k in range(n)],
    }


def test_kept_columns_are_copied_as_they_are_beside_the_number_of_the_row(
    folder, capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "missfit.workflow.new_rows.read_chunks",
        lambda *a, **k: read_chunks(*a, **k, rows=70),
    )
    new = pd.read_csv(folder / "new.csv").assign(**ids_of(300))
    new.to_csv(tmp_path / "new.csv", index=False)
    call = ("predict", folder / "model.skops", tmp_path / "new.csv")
    _, plain, err = run(capsys, *call)
    assert err == "missfit: not used to predict: 'id', 'name'\n"
    _, out, _ = run(capsys, *call, "--keep", "id,name", "--keep", "age")
    got = pd.read_csv(io.StringIO(out), dtype={"id": str})
    assert got.columns.tolist() == ["row", "id", "name", "age", *NAMES]
    assert got["row"].tolist() == list(range(1, 301))
    pd.testing.assert_frame_equal(
        got[["id", "name", "age"]], new[["id", "name", "age"]]
    )
    pd.testing.assert_frame_equal(got[[*NAMES]], predictions(plain))


def test_a_column_that_cannot_be_kept_is_said(folder, capsys, tmp_path):
    new = pd.read_csv(folder / "new.csv").assign(lower=1)
    new.to_csv(tmp_path / "new.csv", index=False)
    call = ("predict", folder / "model.skops", tmp_path / "new.csv", "--keep")
    err = refused(capsys, *call, "Age")
    assert "has no column 'Age'; did you mean 'age'?" in err
    err = refused(capsys, *call, "lower")
    assert "--keep 'lower': " in err
    assert "rename it in the table" in err


def test_numbers_have_the_decimals_that_their_error_allows(tmp_path, capsys, rng):
    for scale in (1e-6, 1.0, 1e6):
        x = rng.standard_normal(200)
        y = scale * (x + 0.5 * rng.standard_normal(200))
        frame = pd.DataFrame({"x": x, "y": y})
        model = fit_table(frame, "y", "ConstantImputedLR")
        model.save(tmp_path / "m.skops")
        frame.to_csv(tmp_path / "t.csv", index=False)
        call = ("predict", tmp_path / "m.skops", tmp_path / "t.csv")
        _, out, _ = run(capsys, *call)
        got = predictions(out)["prediction"]
        error = abs(got - model.predict(frame))
        # half of a ten-thousandth of the noise, which is 0.5 times the scale
        assert error.max() <= 0.5 * 1e-4 * 0.5 * scale * 1.2
        digits = [text.strip("-0.").replace(".", "") for text in re.split("[,\n]", out)]
        assert max(map(len, digits[3:])) <= 8  # of numbers up to 4 times the noise
        run(capsys, *call, "--out", tmp_path / "p.parquet")
        whole = pd.read_parquet(tmp_path / "p.parquet")
        np.testing.assert_allclose(whole["prediction"], model.predict(frame), rtol=1e-9)


def test_a_table_of_no_rows_is_predicted_as_a_head_alone(folder, capsys, tmp_path):
    pd.read_csv(folder / "new.csv").head(0).to_csv(tmp_path / "no.csv", index=False)
    call = ("predict", folder / "model.skops", tmp_path / "no.csv")
    assert run(capsys, *call)[1] == "prediction,lower,upper\n"
    _, out, _ = run(capsys, *call, "--keep", "age")
    assert out == "row,age,prediction,lower,upper\n"
