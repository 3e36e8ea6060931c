"""What is said about a file at fit is known to predict: marks, encoding, sheet."""

import numpy as np
import pandas as pd
import pytest

from missfit.cli import main

PREDICTOR = ["--predictor", "ConstantImputedLR"]


def frame_of(rng):
    frame = pd.DataFrame({"größe": rng.normal(size=60).round(3)})
    frame["город"] = rng.choice(["Москва", "Тула"], 60)
    frame["y"] = frame["größe"] * 2 + (frame["город"] == "Тула")
    return frame


def fitted(path, model, *options):
    line = ["fit", str(path), "--target", "y", "--model", str(model), *PREDICTOR]
    assert main([*line, *options]) == 0


def predicted(path, model, *options):
    out = path.with_suffix(".out.csv")
    assert main(["predict", str(model), str(path), "--out", str(out), *options]) == 0
    return pd.read_csv(out).to_numpy()


def test_an_encoding_that_was_named_is_that_of_new_files(tmp_path, rng):
    frame = frame_of(rng).rename(columns={"größe": "size"})
    path, model = tmp_path / "t.csv", tmp_path / "m"
    frame.to_csv(path, index=False)
    fitted(path, model)
    expected = predicted(path, model)
    frame.to_csv(path, index=False, encoding="cp1251")
    fitted(path, model, "--encoding", "cp1251")
    np.testing.assert_array_equal(predicted(path, model), expected)
    frame.to_csv(path, index=False, encoding="koi8-r")
    found = predicted(path, model, "--encoding", "koi8-r")
    np.testing.assert_array_equal(found, expected)


def test_a_mark_that_was_named_is_missing_in_new_files(tmp_path, rng):
    frame = frame_of(rng)
    frame.loc[::5, "größe"] = np.nan
    path, model = tmp_path / "t.csv", tmp_path / "m"
    frame.to_csv(path, index=False)
    fitted(path, model)
    expected = predicted(path, model)
    for mark in ("-77", "weg"):
        frame.to_csv(path, index=False, na_rep=mark)
        fitted(path, model, "--na", mark)
        np.testing.assert_allclose(predicted(path, model), expected, rtol=1e-9)


def test_a_sheet_that_was_named_is_that_of_new_workbooks(tmp_path, rng, capsys):
    pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    frame = frame_of(rng)
    csv, path, model = (tmp_path / name for name in ("t.csv", "t.xlsx", "m"))
    frame.to_csv(csv, index=False)
    fitted(csv, model)
    expected = predicted(csv, model)
    with pd.ExcelWriter(path, engine="openpyxl") as book:
        frame.iloc[:3].to_excel(book, sheet_name="Notes", index=False)
        frame.to_excel(book, sheet_name="Rows", index=False)
    fitted(path, model, "--sheet", "Rows")
    np.testing.assert_allclose(predicted(path, model), expected, rtol=1e-9)
    frame.to_excel(path, index=False, engine="openpyxl")  # another name
    assert main(["predict", str(model), str(path)]) == 2
    assert "has no sheet 'Rows'; its sheets are 'Sheet1'" in capsys.readouterr().err
    found = predicted(path, model, "--sheet", "Sheet1")
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_columns_are_left_out_by_a_list_or_by_a_name_with_a_comma(tmp_path, rng):
    frame = frame_of(rng).assign(**{"a,b": 1.5, "a": 2.5, "b": 3.5})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for drop in (["a,b", "a", "b"], ["a,b"], ["город,a"]):
        options = [part for name in drop for part in ("--drop", name)]
        fitted(tmp_path / "t.csv", tmp_path / "m", *options)


def test_all_problems_are_printed_line_by_line(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4,5\n")
    line = ["fit", str(path), "--target", "y", "--model", str(tmp_path / "m")]
    assert main([*line, "--drop", "z"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "missfit: 3 things are wrong with the table:"
    assert lines[1].startswith("missfit: - --target 'y': ")
    assert lines[2].startswith("missfit: - --drop 'z': ")
    assert "line 3 is longer than the header" in lines[3]
