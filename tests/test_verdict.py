"""The loss that is expected under new patterns, against the loss that comes about."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import missfit
from missfit.evidence.expected_loss import expected_loss
from missfit.workflow.watch import Watch
from missfit.workflow.watch_file import watch_file
from served import fitted_folder, make_table, refused, run

COV = 0.5 * np.eye(5) + 0.5
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


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


def realised_log_losses(model, frame, labels):
    shares = model.predict_proba(frame)
    own = shares[np.arange(len(frame)), np.searchsorted(model.classes, labels)]
    return -np.log(own)


def test_the_expected_log_loss_is_the_realised_one_within_ten_percent(rng):
    frame, labels = rows(3_000, [0.1] * 5, rng, classes=True)
    model = missfit.fit_table(frame, labels, "ConditionalImputedLogistic")
    new, target = rows(4_000, [0.6, 0.1, 0.1, 0.1, 0.5], rng, classes=True)
    found = verdict_of(model, new)
    assert found.loss == "log-loss"
    realised = realised_log_losses(model, new, target).mean()
    assert found.now == pytest.approx(realised, rel=0.1)


def real_table(name, rng):
    """Two halves of a real table; in the second, three columns go missing at random."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"the real table {path.name} is not at hand")
    table = pd.read_csv(path)
    X, y = table.iloc[:, :-1].astype(float), table["target"]
    half = rng.random(len(table)) < 0.5
    chosen = X.columns[rng.permutation(X.shape[1])[:3]]
    new = X[~half].copy()
    for column, rate in zip(chosen, (0.3, 0.6, 1.0), strict=True):
        new.loc[rng.random(len(new)) < rate, column] = np.nan
    return X[half], y[half].to_numpy(), new, y[~half].to_numpy()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["brandsma_lang", "star_math3", "math_placement"])
def test_the_expected_rmse_holds_on_real_tables(name, seed):
    rng = np.random.default_rng(seed)
    X, y, new, target = real_table(f"{name}.csv", rng)
    model = missfit.fit_table(X, y, "EMLR")
    realised = np.sqrt(np.mean((model.predict(new) - target) ** 2))
    assert verdict_of(model, new).now == pytest.approx(realised, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["chile_yes", "acath_event", "credit_bad"])
def test_the_expected_log_loss_holds_on_real_tables(name, seed):
    rng = np.random.default_rng(seed)
    X, y, new, target = real_table(f"classes/{name}.csv.gz", rng)
    labels = np.array(["no", "yes"])
    model = missfit.fit_table(X, labels[y.astype(int)], "ConditionalImputedLogistic")
    realised = realised_log_losses(model, new, labels[target.astype(int)])
    assert verdict_of(model, new).now == pytest.approx(realised.mean(), rel=0.1)


def test_the_order_of_the_rows_does_not_matter_for_the_expected_loss(rng):
    """Half of the rows are hard to predict: they come first, or anywhere."""
    X = rng.standard_normal((2_000, 3))
    losses = np.repeat([4.0, 1.0], 1_000)
    patterns = np.array([[True, False, False], [False, False, False]])

    def found(order):
        known = X[order], np.arange(3), patterns, np.array([500, 500])
        return expected_loss(lambda rows, places: losses[order][places], *known)

    # 1,000 of the 2,000 rows stand for half of the new ones: the deviation is 0.017
    for order in (np.arange(2_000), rng.permutation(2_000)):
        assert found(order) == pytest.approx(2.5, abs=0.07)


def test_rows_of_a_rare_pattern_keep_their_losses_where_another_column_is_lost(rng):
    """Rows that lack the first column are hard to predict; now all lose the last."""
    X = rng.standard_normal((400, 3))
    X[:20, 0] = np.nan
    losses = np.where(np.isnan(X[:, 0]), 9.0, 1.0)
    patterns = np.array([[True, False, True], [False, False, True]])
    known = X, np.arange(3), patterns, np.array([50, 950])  # one in twenty, as before
    found = expected_loss(lambda rows, places: losses[places], *known)
    assert found == pytest.approx(0.05 * 9.0 + 0.95, abs=0.05)  # one row is 0.02


def test_a_column_that_is_missing_more_often_has_an_expected_loss_of_its_own(rng):
    frame, y = rows(3_000, [0.1] * 5, rng)
    model = missfit.fit_table(frame, y, "EMLR")
    new, _ = rows(3_000, [0.5, 0.1, 0.1, 0.1, 0.1], rng)
    found = verdict_of(model, new)
    first = found.changes[0]
    assert (first.kind, first.column) == ("missing", "a")
    assert found.alone["a"] == pytest.approx(found.now, rel=0.03)  # nothing else
    line = found.lines()[0]
    assert "times as often; this alone takes the expected RMSE from" in line
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
    assert out.startswith(
        "nothing has changed by more than chance explains\nthe expected R"
    )
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
