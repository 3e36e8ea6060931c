"""What would become of a model if columns went missing, against the law of the data."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special, stats

import missfit
from comparison_cases import comparison_of
from missfit.comparison import CompareOptions, compare_table, diagnose
from missfit.comparison.candidates import candidate
from missfit.comparison.fold_models import FoldModel
from missfit.comparison.stress import stress_of
from missfit.evidence.stress import STRENGTH
from missfit.report.table.stress import stress_section
from missfit.tables.training import TrainingTable
from missfit.workflow.stress import stress
from served import run

SLOPES = np.array([2.0, 1.0, 0.0])


@pytest.fixture(scope="module")
def model():
    """y = 2 a + b + noise of variance 1; a tenth is missing at random."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 3))
    y = X @ SLOPES + rng.normal(size=len(X))
    X[rng.random(X.shape) < 0.1] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["k"] = rng.choice(["u", "v", "w"], len(X))
    return missfit.fit_table(frame, y, "EMLR")


def r2(missing):
    """R2 of the best predictor if features are missing at random at these rates."""
    return 1 - (1 + (SLOPES**2) @ missing) / (1 + (SLOPES**2).sum())


def mean_square_of_hidden(share):
    """E[a^2 1(hidden)] of a standard normal, hidden by probit of its value."""
    law = stats.norm()
    grid = np.linspace(-8, 8, 4_001)
    weight = law.pdf(grid) * (grid[1] - grid[0])
    bias = optimize.brentq(
        lambda b: weight @ special.ndtr(b + STRENGTH * grid) - share, -20, 20
    )
    return weight @ (grid**2 * special.ndtr(bias + STRENGTH * grid))


def test_the_falls_of_r2_are_those_of_the_law(model):
    found = stress(model)
    columns = {one.name: one for one in found.columns}
    # 3,000 rows held out: an R2 of 0.8 has a standard error near 0.006
    near = {"abs": 0.03}
    assert found.name == "R2"
    assert found.now == pytest.approx(r2(np.array([0.1, 0.1, 0.1])), **near)
    for j, name in enumerate("abc"):
        gone, doubled = np.full(3, 0.1), np.full(3, 0.1)
        gone[j], doubled[j] = 1.0, 0.2
        assert columns[name].gone == pytest.approx(r2(gone), **near)
        assert columns[name].doubled == pytest.approx(r2(doubled), **near)
    # of the rows that have a, a ninth loses it, by its value
    more = 0.9 * 4 * mean_square_of_hidden(1 / 9)
    expected = r2(np.array([0.1, 0.1, 0.1])) - more / 6
    assert columns["a"].by_value == pytest.approx(expected, **near)
    assert columns["a"].by_value < columns["a"].doubled - 0.02
    assert np.isnan(columns["k"].by_value)  # a category has no large values
    assert [one.name for one in found.columns][:2] == ["a", "b"]


def test_classes_are_stressed_by_their_log_loss():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1_200, 2))
    labels = np.where(X[:, 0] + 0.3 * rng.normal(size=len(X)) > 0, "yes", "no")
    X[rng.random(X.shape) < 0.1] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b"])
    found = stress(missfit.fit_table(frame, labels, "ConditionalImputedLogistic"))
    gone = {one.name: one.gone for one in found.columns}
    assert found.name == "explained log-loss"
    assert found.now > 0.5
    assert abs(gone["a"]) < 0.1  # nothing is left without a
    assert gone["b"] == pytest.approx(found.now, abs=0.02)


def test_a_comparison_says_what_each_column_would_cost():
    """As the law says: y = 2 a + b + noise, a tenth of all values missing."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2_400, 3))
    y = X @ SLOPES + rng.normal(size=len(X))
    X[rng.random(X.shape) < 0.1] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    table = TrainingTable(frame, y, "y", None, [])
    comparison = compare_table(table, [candidate("EMLR")], CompareOptions(n_folds=2))
    diagnosis = diagnose(comparison, with_curve=False)
    found = diagnosis.stress
    columns = {one.name: one for one in found.columns}
    # 2,000 rows held out: an R2 of 0.75 has a standard error of 0.01
    assert found.now == pytest.approx(r2(np.full(3, 0.1)), abs=0.04)
    for j, name in enumerate("abc"):
        gone, doubled = np.full(3, 0.1), np.full(3, 0.1)
        gone[j], doubled[j] = 1.0, 0.2
        assert columns[name].gone == pytest.approx(r2(gone), abs=0.04)
        assert columns[name].doubled == pytest.approx(r2(doubled), abs=0.04)
    assert columns["a"].by_value < columns["a"].doubled - 0.02
    told = stress_section(comparison, diagnosis)
    assert f"Without a, R2 would be {columns['a'].gone:.3f} in place of" in told


class Counting:
    """A law that is known, and how often it was asked; a call may be dear."""

    def __init__(self):
        self.n_calls = 0

    def predict(self, X):
        self.n_calls += 1
        return np.where(np.isnan(X), 0.0, X) @ np.arange(1.0, X.shape[1] + 1)


@pytest.mark.parametrize(("doubles", "n_calls"), [(None, 1), (60 * 40 * 7, 6)])
def test_many_columns_are_hidden_in_one_call(doubles, n_calls, rng, monkeypatch):
    """y is the sum of all columns without noise: what is hidden is the error."""
    if doubles is not None:  # blocks of 7 columns
        monkeypatch.setattr("missfit.comparison.stress.BLOCK_DOUBLES", doubles)
    X = rng.normal(size=(60, 40))
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 7] = np.nan
    filled = np.where(np.isnan(X), 0.0, X)
    model, variables = Counting(), np.arange(40)
    y = filled @ (variables + 1.0)
    comparison = comparison_of(X, y, n_folds=2)
    fold = FoldModel(model, X, variables, np.arange(60))
    found = stress_of(comparison, [fold])
    assert model.n_calls == 1 + n_calls  # the rows as they are, and without each
    columns = {one.name: one for one in found.columns}
    assert "x7" not in columns
    for j in set(variables) - {7}:
        lost = np.mean((filled[:, j] * (j + 1)) ** 2) / y.var()
        assert columns[f"x{j}"].gone == pytest.approx(1 - lost, abs=1e-9)


def test_the_command_prints_a_table_and_writes_a_page(model, capsys, tmp_path):
    model.save(tmp_path / "model.skops")
    page = tmp_path / "stress.html"
    code, out, err = run(capsys, "stress", tmp_path / "model.skops", "--out", page)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("R2 0.7")
    assert lines[0].endswith("on 3,000 rows held out")
    assert lines[1].split() == ["column", "missing", "gone", "doubled", "by", "value"]
    assert lines[2].startswith("a ")
    assert lines[-1] == f"{page}: the report"
    assert "if columns went missing" in page.read_text()
