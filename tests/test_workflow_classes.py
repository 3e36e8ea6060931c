"""A class, from a table to predictions: in Python, by commands, in a model file."""

import contextlib
import html
import io

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.svm import LinearSVC

import missfit
from class_cases import CHEAP, class_frame
from comparison_cases import run_code
from missfit.cli import main
from missfit.cli.said import said_of_table
from missfit.comparison.offers import CLASSES
from missfit.workflow.fit import held_out_score
from missfit.workflow.predict import predict_file

MEAN = "mean + indicator logistic"
CONSTANT = "PatternClassifier(ConstantImputedLR)"


@pytest.fixture(scope="module")
def frame():
    return class_frame(np.random.default_rng(0), 300, ("bad luck", "good", "so-so"))


@pytest.fixture(scope="module")
def model(frame):
    return missfit.fit_table(frame, "label", MEAN)


@pytest.fixture
def files(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path


def test_compare_takes_labels_as_a_column_or_as_an_array(frame):
    named = missfit.compare(frame, "label", only=CHEAP)
    X, label = frame.drop(columns="label"), frame["label"]
    for target in (label, label.tolist(), label.to_numpy(str), pd.Categorical(label)):
        found = missfit.compare(X, target, only=CHEAP)
        assert found.scores == named.scores
    assert "log-loss" in repr(named)
    assert "probability" in "".join(named.comparison.notes)
    assert "<td" in named._repr_html_()
    assert named.best == MEAN


def test_compare_takes_masked_and_boolean_labels():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 2))
    truth = X[:, 0] > 0
    found = missfit.compare(X, truth, only=CHEAP)
    assert found.comparison.task.classes == (False, True)
    masked = np.ma.array(truth, mask=np.arange(90) < 10)
    found = missfit.compare(X, masked, only=CHEAP)
    assert len(found.comparison.y) == 80
    assert "10 rows without a target left out" in found.comparison.notes


def test_the_law_of_a_class_gives_the_regret_to_its_bayes_classifier():
    law = missfit.simulate.Probit(missfit.simulate.published("mixture1", 4), 1.0)
    names = ["PatternClassifier(EMLR)", "majority class"]
    found = missfit.compare(law, n=2000, only=names)
    X, label = law.sample(2000, 0)
    truth = missfit.bayes.BayesClassifier(law).predict_proba(X)
    assert found.bayes_score == pytest.approx(log_loss(label, truth))
    assert found.bayes_r2 is None
    line = found.table.set_index("predictor").loc[names[0]]
    assert line["regret"] == pytest.approx(line["log-loss"] - found.bayes_score)
    # the divergence has the expectation of the regret: within 4 standard errors of it
    gap = abs(line["regret"] - line["distance"])
    assert gap < 4 * line["regret_error"]
    assert 0 < line["distance"] < 0.02
    assert "The Bayes predictor has log-loss" in repr(found)
    number = missfit.compare(law, n=300, only=["EMLR"], task="number")
    assert number.bayes_r2 == number.bayes_score


def test_own_classifiers_are_compared_and_need_probabilities(frame):
    own = {"mine": DummyClassifier(strategy="prior")}
    found = missfit.compare(frame, "label", own, only=["mine", "majority class"])
    mine, theirs = (found.scores[name] for name in ("mine", "majority class"))
    assert mine == theirs
    with pytest.raises(TypeError, match=r"'mine' has no predict_proba.*Calibrated"):
        missfit.compare(frame, "label", {"mine": LinearSVC()})
    with pytest.raises(TypeError, match="'LinearSVC' has no predict_proba"):
        missfit.fit_table(frame, "label", LinearSVC())


def test_names_of_predictors_of_numbers_are_refused_for_a_class(frame):
    with pytest.raises(ValueError, match="'EMLR' does not predict classes"):
        missfit.compare(frame, "label", only=["EMLR"])
    with pytest.raises(ValueError, match="'EMLR' does not predict classes"):
        missfit.fit_table(frame, "label", "EMLR")
    with pytest.raises(ValueError, match="'nobody' is no predictor known here"):
        missfit.compare(frame, "label", only=["nobody"])


def test_quick_tries_a_few_of_the_task(frame):
    skip = ["HistGradientBoosting", "AutoClassifier"]
    found = missfit.compare(frame, "label", quick=True, n_folds=2, skip=skip)
    names = set(found.table["predictor"])
    assert {"majority class", MEAN, "ConditionalImputedLogistic"} <= names
    assert "EMProbit" not in names


def test_a_fitted_table_gives_labels_and_probabilities(frame, model):
    new = frame.drop(columns="label").iloc[::-1]
    shares = model.predict_proba(new)
    assert model.classes.tolist() == ["bad luck", "good", "so-so"]
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (model.predict(new) == model.classes[shares.argmax(axis=1)]).all()
    assert (model.predict(new) == frame["label"].iloc[::-1]).mean() > 0.6
    sets = model.predict_set(new, coverage=0.99)
    assert sets.shape == shares.shape
    assert (sets | ~model.predict_set(new, coverage=0.5)).all()  # they are nested
    with pytest.raises(ValueError, match=r"'label' is a class, which has no intervals"):
        model.predict_interval(new)
    number = missfit.fit_table(frame[["a", "b"]], frame["c"].fillna(0.0), "EMLR")
    with pytest.raises(ValueError, match="'c' is a number, which has no probab"):
        number.predict_proba(frame)


def test_the_held_out_scores_are_those_of_rows_that_the_model_has_not_seen(model):
    fitted = model.regressor
    code, shares = fitted.calibration_targets_, fitted.calibration_predictions_
    score = held_out_score(model)
    assert score["log_loss"] == pytest.approx(log_loss(code, shares))
    auc = roc_auc_score(code, shares, multi_class="ovr")
    assert score["auc"] == pytest.approx(auc)


@pytest.mark.parametrize(
    "name",
    [
        *("majority class", MEAN, "HistGradientBoosting", "ConditionalImputedLogistic"),
        "PatternClassifier(EMLR)",
        pytest.param(CONSTANT, marks=pytest.mark.slow),
        pytest.param("EMProbit", marks=pytest.mark.slow),
        pytest.param("PatternProbit(SelfMaskedLR)", marks=pytest.mark.slow),
        pytest.param("PatternProbit(PatternMixtureLR)", marks=pytest.mark.slow),
        pytest.param("AutoClassifier", marks=pytest.mark.slow),
        pytest.param("MLPClassifier", marks=pytest.mark.slow),
        pytest.param("NeuMissClassifier", marks=pytest.mark.slow),
        pytest.param("IterativeImputer + logistic", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_model_file_predicts_the_same_probabilities(name, n_classes, tmp_path):
    if CLASSES.candidate(name).fit_many is not None:
        pytest.importorskip("jax", reason='pip install "missfit[networks]"')
    labels = ("no", "perhaps", "yes")[:n_classes]
    frame = class_frame(np.random.default_rng(2), 150, labels)
    fitted = missfit.fit_table(frame, "label", name)
    fitted.save(tmp_path / "m.skops")
    again = missfit.load_model(tmp_path / "m.skops")
    # flat trees add up as scikit-learn does; everything else is the same arrays
    np.testing.assert_allclose(
        again.predict_proba(frame), fitted.predict_proba(frame), rtol=1e-12
    )
    assert again.classes.tolist() == list(labels)
    assert again.predict(frame).tolist() == fitted.predict(frame).tolist()


def test_every_class_candidate_is_in_the_test_of_model_files():
    marks = test_a_model_file_predicts_the_same_probabilities.pytestmark
    (names,) = (mark.args[1] for mark in marks if mark.args[0] == "name")
    tried = {one if isinstance(one, str) else one.values[0] for one in names}
    assert tried == {one.name for one in CLASSES.candidates}


def test_the_predictions_file_has_the_class_and_a_probability_for_each(files, model):
    done = predict_file(model, files / "t.csv", files / "p.csv", keep=["label"])
    out = pd.read_csv(files / "p.csv")
    assert done.n_rows == len(out) == 300
    names = ["probability_bad luck", "probability_good", "probability_so-so"]
    assert out.columns.tolist() == ["row", "label", "prediction", *names]
    shares = model.predict_proba(files / "t.csv")
    np.testing.assert_allclose(out[names], shares, atol=5.1e-7)
    small = shares < 1e-4
    np.testing.assert_allclose(out[names].to_numpy()[small], shares[small], rtol=6e-3)
    assert (out["prediction"] == model.predict(files / "t.csv")).all()
    predict_file(model, files / "t.csv", files / "p.parquet")
    whole = pd.read_parquet(files / "p.parquet")
    np.testing.assert_array_equal(whole[names], shares)


def test_a_column_with_the_name_of_a_probability_cannot_be_kept(frame, files, model):
    frame.assign(probability_good=1).to_csv(files / "other.csv", index=False)
    keep = ["probability_good"]
    with pytest.raises(ValueError, match="'probability_good' cannot be kept"):
        predict_file(model, files / "other.csv", files / "p.csv", keep=keep)


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A folder with a table, the report on it, and what the command said."""
    folder = tmp_path_factory.mktemp("reported")
    class_frame(np.random.default_rng(3), 120, (0, 1)).to_csv(folder / "b.csv")
    said = ["compare", str(folder / "b.csv"), "--target", "label", "--jobs", "1"]
    said += ["--only", ",".join(CHEAP), "--out", str(folder / "report")]
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as notes,
    ):
        assert main(said) == 0
    return folder, said, out.getvalue(), notes.getvalue()


def test_compare_decides_says_so_and_speaks_of_classes(reported):
    _, _, out, notes = reported
    assert "log-loss" in out.splitlines()[0]
    assert f"Use {MEAN}: on rows that it has not seen its log-loss is" in out
    assert "always saying 0 is right in 50.0%" in out
    assert "(0 and 1): each is predicted as a class" in notes
    assert "Option: --task number" in notes
    assert "two classes" not in notes


def test_fit_and_predict_take_the_class_of_a_report(reported, capsys, tmp_path):
    folder, *_ = reported
    table, model, out = folder / "b.csv", tmp_path / "m", tmp_path / "p.csv"
    fitted = ["--from", str(folder / "report"), "--model", str(model)]
    assert main(["fit", str(table), *fitted]) == 0
    said = f"{MEAN} on 120 rows and 4 columns; log-loss 0."
    assert said in capsys.readouterr()[0]
    assert main(["predict", str(model), str(table), "--out", str(out)]) == 0
    columns = pd.read_csv(out).columns.tolist()
    assert columns == ["prediction", "probability_0", "probability_1"]


def test_the_code_of_a_report_prints_the_log_loss_that_it_says(reported):
    page = (reported[0] / "report" / "report.html").read_text()
    code = html.unescape(page.split("<pre><code>")[1].split("</code>")[0])
    assert (
        f"prints the log-loss of the recommended predictor, {run_code(code)}," in page
    )


def test_the_task_that_is_given_overrides_and_travels_with_a_report(
    reported, capsys, tmp_path
):
    folder, *_ = reported
    said = [str(folder / "b.csv"), "--target", "label", "--model", str(tmp_path / "m")]
    linear = ["--predictor", "ConstantImputedLR"]
    assert main(["fit", *said, *linear, "--task", "number"]) == 0
    out, notes = capsys.readouterr()
    assert "; R2 " in out
    assert "suspicion (two classes)" in notes
    assert "Option: --task class" in notes
    assert missfit.load_model(tmp_path / "m").classes is None
    assert said_of_table([*said, "--task", "number"])["task"] == ["number"]
    assert main(["fit", *said, *linear]) == 2
    wrong = "'ConstantImputedLR' does not predict classes"
    assert wrong in capsys.readouterr()[1]


@pytest.mark.slow
def test_a_comparison_of_classes_goes_on_where_it_was_stopped(reported, capsys):
    folder, said, *_ = reported
    first = pd.read_csv(folder / "report" / "results.csv")
    assert main(said) == 0
    assert "10 fits of an earlier run are used" in capsys.readouterr()[1]
    assert pd.read_csv(folder / "report" / "results.csv").equals(first)
    assert first["log_loss"].notna().all()


@pytest.mark.slow
def test_an_interrupt_leaves_a_report_of_the_classifiers_that_were_tried(
    files, monkeypatch, capsys
):
    def interrupt(seed):
        raise KeyboardInterrupt

    stopped = [
        one._replace(make=interrupt) if one.name == CONSTANT else one
        for one in CLASSES.candidates
    ]
    offer = CLASSES._replace(candidates=stopped)
    monkeypatch.setattr("missfit.comparison.offers.CLASSES", offer)
    said = ["compare", str(files / "t.csv"), "--target", "label", "--jobs", "1"]
    said += ["--only", ",".join([MEAN, CONSTANT]), "--out", str(files / "out")]
    assert main(said) == 130
    out, notes = capsys.readouterr()
    assert f"Use {MEAN}" in out
    assert f"{CONSTANT}: not finished before the comparison was interrupted" in notes
    assert "Do the probabilities come true?" in (files / "out/report.html").read_text()
