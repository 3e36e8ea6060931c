"""Studies of classes: the labels, their scores, the figure and the report."""

import io

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss

from missfit import EMLR, PatternClassifier, study
from missfit.bayes import bayes_log_loss
from missfit.report.study import study_page
from missfit.simulate import Probit, published
from missfit.study.definition import parse
from missfit.study.grid import made
from missfit.study.imported import StudyError
from missfit.study.labels import LabelledDataSet
from missfit.study.run import pending_cells

DATA = """
[[data]]
setting = ["mixture1", "selfmasked"]
d = [4]
rows = [400, 1_000]
repetitions = 2
cut = {cut}
"""
METHODS = """
[[methods]]
name = "EM"
estimator = "missfit.PatternClassifier"
parameters = { estimator = { class = "missfit.EMLR" } }

[[methods]]
name = "mean + logistic"
estimator = "sklearn.pipeline.Pipeline"
[methods.parameters]
steps = [
    ["impute", { class = "sklearn.impute.SimpleImputer" }],
    ["fit", { class = "sklearn.linear_model.LogisticRegression", \
parameters = { C = 2.0 } }],
]
"""
TEXT = "figures = [1, 5]\n" + DATA.replace("{cut}", "0.5") + METHODS


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A study of classes, run, and what was collected of it."""
    item, out = parse(TEXT, name="labels"), tmp_path_factory.mktemp("labels")
    study.run(item, out, jobs=1, stream=io.StringIO())
    return item, out, study.collect(item, out)


def test_a_target_is_cut_at_quantiles_of_its_law():
    whole = LabelledDataSet("mixture1", 4, 10_000, 0, (0.2, 0.9))
    X, label = whole.table()
    # binomial: the standard error of a share of 10,000 rows is 0.4 points
    np.testing.assert_allclose(np.bincount(label) / 10_000, [0.2, 0.7, 0.1], atol=0.02)
    expected, _ = study.data.SimulatedDataSet("mixture1", 4, 10_000, 0).table()
    np.testing.assert_array_equal(X, expected)


def test_scores_of_classes_are_those_of_scikit_learn(done):
    _, _, collected = done
    rows = collected.table
    row = rows[
        (rows["split"] == "test")
        & (rows["method"] == "EM")
        & (rows["rows"] == 1_000)
        & (rows["setting"] == "mixture1")
        & (rows["repetition"] == 1)
    ].iloc[0]
    parts = LabelledDataSet("mixture1", 4, 1_000, 1, (0.5,)).parts()
    model = PatternClassifier(EMLR()).fit(*parts[:2])
    shares = model.predict_proba(parts.X_test)
    assert row["log_loss"] == pytest.approx(log_loss(parts.y_test, shares))
    predicted = model.predict(parts.X_test)
    assert row["accuracy"] == pytest.approx(accuracy_score(parts.y_test, predicted))
    assert np.isnan(row["r2"])
    expected = entropy(parts.bayes.T, shares.T).mean()  # relative to the truth
    assert row["excess_log_loss"] == pytest.approx(expected)


def test_the_bayes_log_loss_of_the_rows_is_that_of_the_law(done):
    rows = done[2].table
    rows = rows[(rows["split"] == "test") & (rows["setting"] == "mixture1")]
    law = published("mixture1", 4)
    truth = bayes_log_loss(Probit(law, law.target_quantile(0.5))).value
    # 700 test rows with a standard deviation of the log-loss of about 0.5
    assert rows["bayes_log_loss"].mean() == pytest.approx(truth, abs=0.08)
    assert (rows["excess_log_loss"] > 0).all()
    gap = rows["log_loss"] - rows["bayes_log_loss"]
    assert rows["excess_log_loss"].mean() == pytest.approx(gap.mean(), abs=0.03)


def test_classes_have_their_figure_and_finding_and_no_others(done):
    item, out, collected = done
    assert list(collected.figures) == [5]  # not 1, which is of R2
    assert (out / "figures" / "figure5.png").exists()
    (finding,) = collected.findings
    assert finding.title == "Classes"
    assert len(finding.rows) == 8  # two settings, sizes and methods
    for rows in np.split(np.array([row[5] for row in finding.rows]), 4):
        assert (np.diff(rows) >= 0).all()  # the best one first
    page = study_page(item, collected)
    steps = "steps=[[&#x27;impute&#x27;, SimpleImputer()], [&#x27;fit&#x27;, "
    steps += "LogisticRegression(C=2.0)]]"
    for text in ("Figure 5. Learning curves of classifiers", "± excess", steps):
        assert text in page
    assert "published" not in page.split("What it shows")[1].lower()
    assert "test log-loss" in study.summary(collected)


def test_numbers_and_classes_can_be_in_one_study(tmp_path):
    text = (
        TEXT
        + DATA.replace("cut = {cut}", "").replace("[400, 1_000]", "[500]")
        + ('[[methods]]\nname = "EMLR"\nestimator = "missfit.EMLR"\nrows = [500]\n')
    )
    item = parse(text, name="both").only(["EMLR", "EM"], max_rows=500)
    study.run(item, tmp_path, jobs=1, stream=io.StringIO())
    collected = study.collect(item, tmp_path)
    table = collected.table
    failed = table[table["status"] != "ok"]
    assert set(failed["method"]) == {"EM"}  # a classifier on numbers
    assert set(failed["rows"]) == {500}
    assert sorted(collected.figures) == [1, 5]
    assert table[table["method"] == "EMLR"]["r2"].notna().all()
    both = collected.beside_published
    assert set(both["method"]) == {"EMLR"}


def test_a_finished_study_of_classes_is_not_run_again(done):
    item, out, _ = done
    assert pending_cells(item, out) == []
    other = parse(TEXT.replace("cut = 0.5", "cut = 0.6"), name="labels")
    assert len(pending_cells(other, out)) == len(other.cells())


@pytest.mark.parametrize("cut", ["0", "1.0", '"half"', "[0.5, 0.5]", "[0.7, 0.3]"])
def test_cuts_that_make_no_classes_are_refused(cut):
    with pytest.raises(StudyError, match="cut = "):
        parse(DATA.replace("{cut}", cut) + METHODS, name="labels")


def test_objects_inside_parameters_are_made_and_checked_before_a_run():
    given = {"a": [1, {"class": "sklearn.linear_model.LogisticRegression"}], "b": "c"}
    built = made(given)
    assert isinstance(built["a"][1], LogisticRegression)
    assert built["b"] == "c"
    wrong = METHODS.replace("C = 2.0", "D = 2.0")
    item = parse(DATA.replace("{cut}", "0.5") + wrong, name="labels")
    with pytest.raises(StudyError, match="LogisticRegression does not take"):
        item.check()
    absent = METHODS.replace("missfit.EMLR", "missfit.EMLRR")
    item = parse(DATA.replace("{cut}", "0.5") + absent, name="labels")
    with pytest.raises(StudyError, match=r"class 'missfit.EMLRR' cannot be imported"):
        item.check()


def test_a_regressor_is_told_that_classes_need_probabilities(tmp_path):
    method = '[[methods]]\nname = "EMLR"\nestimator = "missfit.EMLR"\n'
    item = parse(DATA.replace("{cut}", "0.5") + method, name="labels")
    study.run(item.only(max_rows=400), tmp_path, jobs=1, stream=io.StringIO())
    table = study.collect(item, tmp_path).table
    assert table["message"].str.contains("EMLR has no predict_proba").all()


def test_a_table_of_an_older_version_has_no_classes(done):
    table = done[2].table.drop(columns=["log_loss", "bayes_log_loss", "accuracy"])
    assert 5 not in study.figures.possible_figures(table)
