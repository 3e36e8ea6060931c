"""What is new in rows to predict: levels, patterns and missingness that drifts."""

import numpy as np
import pandas as pd
import pytest

from missfit.tables.training import TrainingTable
from missfit.workflow.fit import fit_table
from missfit.workflow.watch import Watch
from served import fitted_folder, make_table, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fitted_folder(tmp_path_factory.mktemp("served"))


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
    assert "the expected RMSE rises from" in err.splitlines()[1]
    assert err.count("\n") == 2


def test_a_pattern_never_seen_is_told():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    y = frame.sum(axis=1).to_numpy()
    frame.loc[:99, "a"] = np.nan
    frame.loc[200:, "b"] = np.nan  # never both
    model = fit_table(TrainingTable(frame, y, "y", None, []), predictor="EMLR")
    watch = Watch(model)
    both = frame.assign(a=np.where(np.arange(300) % 3, frame["a"], np.nan))
    both["b"] = np.where(both["a"].isna(), np.nan, both["b"])
    watch.see(both, model.encoder.transform(both))
    assert any("never seen at fit (0% were" in text for text in watch.warnings())
