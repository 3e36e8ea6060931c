"""The loss that is expected under new patterns, against the loss that comes about."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import missfit
from missfit.workflow.watch import Watch
from missfit.workflow.watch_file import watch_file
from served import fitted_folder, make_table, refused, run

COV = 0.5 * np.eye(5) + 0.5


def rows(n, rates, rng, classes=False):
    """Gaussian rows with values missing completely at random at these rates."""
    X = rng.multivariate_normal(np.zeros(5), COV, n)
    y = X @ [3.0, 1.0, 0.0, 0.0, 2.0] + rng.normal(0, 0.5, n)
    X[rng.random(X.shape) < rates] = np.nan
    frame = pd.DataFrame(X, columns=list("abcde"))
    return frame, np.where(y > 0, "yes", "no") if classes else y


def verdict_of(model, frame):
    watch = Watch(model)
    watch.see(frame, *model.encoder.transform_leniently(frame))
    return watch.verdict()


@pytest.mark.parametrize(
    ("predictor", "rates"),
    [
        ("EMLR", [0.6, 0.1, 0.1, 0.1, 0.1]),
        ("EMLR", [0.4, 0.1, 0.4, 0.1, 0.8]),
        ("EMLR", [0.0, 0.0, 0.0, 0.0, 0.0]),
        ("EMLR", [1.0, 0.1, 0.1, 0.1, 0.1]),
        ("ConstantImputedLR", [0.5, 0.5, 0.5, 0.5, 0.5]),
        ("ConstantImputedLR", [0.1, 0.1, 0.9, 0.1, 0.1]),
    ],
)
def test_the_expected_rmse_is_the_realised_one_within_ten_percent(
    rng, predictor, rates
):
    frame, y = rows(3_000, [0.1] * 5, rng)
    model = missfit.fit_table(frame, y, predictor)
    new, target = rows(4_000, rates, rng)
    found = verdict_of(model, new)
    realised = np.sqrt(np.mean((model.predict(new) - target) ** 2))
    assert found.loss == "RMSE"
    assert found.now == pytest.approx(realised, rel=0.1)
    same, target = rows(4_000, [0.1] * 5, rng)
    then = np.sqrt(np.mean((model.predict(same) - target) ** 2))
    assert found.then == pytest.approx(then, rel=0.1)


def test_the_expected_log_loss_is_the_realised_one_within_ten_percent(rng):
    frame, labels = rows(3_000, [0.1] * 5, rng, classes=True)
    encoder = missfit.TableEncoder().fit(frame)
    X = encoder.transform(frame)
    base = missfit.ConditionalImputedLogistic()
    fitted = missfit.ConformalClassifier(base, random_state=0).fit(X, labels)
    from missfit.workflow.missingness import Missingness
    from missfit.workflow.model_file import TableModel
    from missfit.workflow.profile import Profile

    seen = Missingness.of(encoder.mask(X))
    profile = Profile.of(X, encoder)
    model = TableModel(encoder, fitted, "logistic", "y", seen, profile)
    new, target = rows(4_000, [0.6, 0.1, 0.1, 0.1, 0.5], rng, classes=True)
    found = verdict_of(model, new)
    shares = fitted.predict_proba(encoder.transform(new))
    own = shares[np.arange(len(new)), np.searchsorted(fitted.classes_, target)]
    assert found.loss == "log-loss"
    assert found.now == pytest.approx(-np.log(own).mean(), rel=0.1)


def test_a_column_that_is_missing_more_often_has_an_expected_loss_of_its_own(rng):
    frame, y = rows(3_000, [0.1] * 5, rng)
    model = missfit.fit_table(frame, y, "EMLR")
    new, _ = rows(3_000, [0.5, 0.1, 0.1, 0.1, 0.1], rng)
    found = verdict_of(model, new)
    first = found.changes[0]
    assert (first.kind, first.column) == ("missing", "a")
    assert found.alone["a"] == pytest.approx(found.now, rel=0.03)  # nothing else
    line = found.lines()[0]
    assert "times as often; this alone: expected RMSE" in line
    both, _ = rows(3_000, [0.5, 0.1, 0.1, 0.1, 0.8], rng)
    more = verdict_of(model, both)
    assert found.then < more.alone["a"] < more.now


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fitted_folder(tmp_path_factory.mktemp("served"))


def test_the_command_tells_changes_and_their_meaning_and_writes_a_report(
    folder, capsys, tmp_path
):
    code, out, err = run(capsys, "watch", folder / "model.skops", folder / "new.csv")
    assert (code, err) == (0, "")
    assert out.startswith("nothing has changed, as far as can be told\nthe expected R")
    table = make_table(300, seed=9).assign(city="Rome")
    table["age"] = table["age"].where(np.arange(300) % 3 == 0)
    table["dose"] *= 100
    table.to_csv(tmp_path / "other.csv", index=False)
    report = tmp_path / "report.html"
    code, out, _ = run(
        capsys,
        "watch",
        folder / "model.skops",
        tmp_path / "other.csv",
        "--out",
        report,
    )
    assert code == 1
    for words in (
        "column 'age' is missing in 69.0% of these rows, in 19.3% at fit, 3.6 times",
        "column 'city' has the new level 'Rome' in 300 of these rows",
        "column 'dose' has ",
        "the expected RMSE rises from",
    ):
        assert words in out
    page = report.read_text()
    assert "column &#x27;city&#x27; has the new level" in page
    assert "What it means" in page
    assert "http://" not in page


def test_a_model_file_keeps_the_profile_and_one_of_version_4_has_none(
    folder, capsys, tmp_path, monkeypatch
):
    model = missfit.load_model(folder / "model.skops")
    frame = pd.read_csv(folder / "train.csv")
    assert model.profile.n_rows == 600
    ages = frame["age"].quantile([0, 0.5, 1]).tolist()
    assert np.take(model.profile.quantiles[0], [0, 4, -1]).tolist() == ages
    old = tmp_path / "old.skops"
    monkeypatch.setattr("missfit.workflow.model_file.VERSION", 4)
    replace(model, profile=None).save(old)
    assert missfit.load_model(old).profile is None
    np.testing.assert_array_equal(
        missfit.load_model(old).predict(frame), model.predict(frame)
    )
    err = refused(capsys, "watch", old, folder / "new.csv")
    assert "written by an earlier version of missfit; fit it again" in err


def test_a_file_in_chunks_is_compared_as_a_whole(folder, monkeypatch):
    from missfit.tables.read import read_chunks

    model = missfit.load_model(folder / "model.skops")
    whole = watch_file(model, folder / "new.csv").verdict
    monkeypatch.setattr(
        "missfit.workflow.new_rows.read_chunks",
        lambda *a, **k: read_chunks(*a, **k, rows=70),
    )
    assert watch_file(model, folder / "new.csv").verdict.now == whole.now
