"""Classifiers compared: scores beside those of scikit-learn, folds, rare classes."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    log_loss,
    roc_auc_score,
)
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from class_cases import CHEAP, LINEAR, class_comparison, class_frame
from missfit import TableEncoder
from missfit.comparison import compare_table, diagnose
from missfit.comparison.class_candidates import MAJORITY
from missfit.comparison.class_scores import auc_of, binary_auc
from missfit.comparison.class_task import ClassTask
from missfit.comparison.folds import folds_of
from missfit.comparison.offers import CLASSES, NUMBERS
from missfit.comparison.scoreboard import score_frame
from missfit.estimators.classes import ABSENT
from missfit.tables.training import read_training

MEAN = "mean + indicator logistic"


@pytest.fixture(scope="module")
def two():
    return class_frame(np.random.default_rng(0), 400)


@pytest.fixture(scope="module")
def compared(two):
    return class_comparison(two)


def test_the_scores_are_those_of_scikit_learn(two, compared):
    model = make_pipeline(TableEncoder(), CLASSES.candidate(MEAN).make(0))
    X, label = two.drop(columns="label"), two["label"].to_numpy(str)
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    shares = cross_val_predict(model, X, label, cv=cv, method="predict_proba")
    score = compared.scores[MEAN]
    assert score.log_loss == pytest.approx(log_loss(label, shares), abs=1e-9)
    assert score.auc == pytest.approx(roc_auc_score(label == "yes", shares[:, 1]))
    brier = brier_score_loss(label == "yes", shares[:, 1])
    assert score.brier == pytest.approx(brier)
    said = np.array(["no", "yes"])[shares.argmax(axis=1)]
    assert score.accuracy == pytest.approx(accuracy_score(label, said))
    assert score.low < score.log_loss < score.high
    assert compared.best == MEAN
    assert compared.recommended == MEAN


def test_the_majority_class_has_the_log_loss_of_the_shares_of_the_classes(compared):
    # the shares of training rows, and stratified folds: equal to a thousandth
    share = np.bincount(compared.y.astype(int)) / len(compared.y)
    entropy = -(share * np.log(share)).sum()
    score = compared.scores["majority class"]
    assert score.log_loss == pytest.approx(entropy, abs=1e-3)
    assert score.accuracy == pytest.approx(share.max(), abs=0.01)
    behind = score.log_loss - compared.scores[MEAN].log_loss
    assert score.behind == pytest.approx(behind)


@pytest.mark.parametrize("n_classes", [3, 20])
def test_scores_of_many_classes_are_those_of_scikit_learn(n_classes):
    rng = np.random.default_rng(1)
    code = rng.integers(0, n_classes, 500)
    shares = rng.dirichlet(np.ones(n_classes), 500)
    task = ClassTask(tuple(range(n_classes)))
    score = task.score([0.0] * 7, code.astype(float), shares, None)
    auc = roc_auc_score(code, shares, multi_class="ovr", average="macro")
    assert score.auc == pytest.approx(auc)
    assert score.brier == pytest.approx(brier_score_loss(code, shares))
    assert task.loss(code.astype(float), shares).mean() == pytest.approx(
        log_loss(code, shares)
    )


def test_the_standard_error_of_the_auc_is_its_spread_over_samples():
    # 400 tables of 150 rows: the spread itself is known to 4 %, so 15 % are 4 errors
    rng = np.random.default_rng(2)
    found = []
    for _ in range(400):
        positive = rng.random(150) < 0.3
        score = rng.standard_normal(150) + positive
        shares = np.column_stack([1 - norm.cdf(score), norm.cdf(score)])
        found.append(auc_of(positive.astype(int), shares))
    auc, error = np.array(found).T
    assert error.mean() == pytest.approx(auc.std(), rel=0.15)
    assert auc.mean() == pytest.approx(norm.cdf(1 / np.sqrt(2)), abs=0.01)


def test_copies_of_rows_in_groups_leave_the_standard_error_of_the_auc():
    rng = np.random.default_rng(3)
    code = rng.integers(0, 2, 200)
    share = np.clip(rng.normal(0.4 + 0.2 * code, 0.2), 0.01, 0.99)
    shares = np.column_stack([1 - share, share])
    once = auc_of(code, shares)
    rows = np.repeat(np.arange(200), 4)
    assert auc_of(code[rows], shares[rows], rows) == pytest.approx(once)
    assert auc_of(code[rows], shares[rows]).standard_error < 0.6 * once.standard_error


def test_equal_scores_have_an_auc_of_one_half_and_no_error():
    code = np.repeat([0, 1], 10)
    auc, influence = binary_auc(np.zeros(20), code == 1)
    assert auc == 0.5
    np.testing.assert_allclose(influence, 0)


def test_each_class_has_its_share_of_every_fold():
    classes = np.repeat([0, 1, 2], [50, 30, 20])
    fold = folds_of(100, 5, 0, classes=classes)
    for k in range(5):
        assert np.bincount(classes[fold == k]).tolist() == [10, 6, 4]
    # a class with fewer rows than folds is in some of them; none is left out
    assert set(folds_of(12, 5, 0, classes=np.repeat([0, 1], [10, 2]))) == set(range(5))
    # where no class has a row for each fold, folds are drawn from all rows
    assert len(set(folds_of(8, 5, 0, classes=np.arange(8) % 4))) == 5


@pytest.mark.parametrize(
    ("labels", "shares"),
    [
        (("common", "rare", "usual"), (0.58, 0.02, 0.40)),
        (tuple(f"class {k:02}" for k in range(20)), None),
    ],
    ids=["three classes, one of 2 %", "twenty classes"],
)
def test_rare_and_many_classes_are_compared_and_diagnosed(labels, shares):
    frame = class_frame(np.random.default_rng(4), 400, labels, shares)
    found = class_comparison(frame, LINEAR, n_folds=3)
    assert not any(trial.failure for trial in found.trials)
    assert found.task.classes == tuple(sorted(labels))
    for trial in found.sound:
        np.testing.assert_allclose(trial.predictions.sum(axis=1), 1)
        score = found.scores[trial.name]
        assert np.isfinite(score).all()
    assert found.best != "majority class"
    diagnosis = diagnose(found, with_curve=False, seconds=1.0)
    assert len(diagnosis.importance.drops) == 3
    assert diagnosis.importance.drops[0] > 0.05  # the column with the largest slope
    assert diagnosis.coverage == []


def test_a_class_that_no_training_row_has_gets_a_small_probability():
    frame = class_frame(np.random.default_rng(5), 150)
    frame["place"] = np.arange(150) // 5
    frame.loc[frame["place"] == 7, "label"] = "unheard of"  # in one group alone
    found = class_comparison(frame, group="place")
    trial = found.trial(MEAN)
    rows = found.groups == "7"
    assert found.task.classes == ("no", "unheard of", "yes")
    np.testing.assert_allclose(trial.predictions[rows, 1], ABSENT, rtol=2e-3)
    assert np.isfinite(found.scores[MEAN].log_loss)


def test_training_rows_of_one_class_predict_that_class():
    frame = class_frame(np.random.default_rng(6), 120)
    frame["day"] = np.arange(120)
    frame.loc[:40, "label"] = "no"  # the first part in time is learned from alone
    found = class_comparison(frame, time="day", n_folds=4)
    assert not any(trial.failure for trial in found.trials)
    first = found.fold == 0
    shares = found.trial(MEAN).predictions[first]
    np.testing.assert_allclose(shares[:, 1], ABSENT, rtol=2e-3)
    assert (found.fold == -1).any()
    assert np.isfinite(found.scores[MEAN]).all()


def test_groups_are_one_observation_of_the_log_loss():
    frame = class_frame(np.random.default_rng(7), 100)
    copies = frame.loc[np.repeat(np.arange(100), 3)].reset_index(drop=True)
    copies["row"] = np.repeat([f"r{k}" for k in range(100)], 3)
    alone = class_comparison(frame).scores[MEAN]
    grouped = class_comparison(copies, group="row").scores[MEAN]
    width = alone.high - alone.low
    assert grouped.high - grouped.low == pytest.approx(width, rel=0.35)
    assert grouped.accuracy_error == pytest.approx(alone.accuracy_error, rel=0.2)


def test_the_frame_of_scores_has_those_of_classes(compared):
    frame = score_frame(compared)
    assert frame.columns.tolist() == [
        *("predictor", "log-loss", "low", "high", "behind", "behind_error", "AUC"),
        *("AUC_error", "Brier", "Brier_error", "accuracy", "accuracy_error"),
        *("seconds", "note"),
    ]
    assert frame["predictor"].tolist() == [MEAN, "majority class"]
    records = pd.DataFrame(compared.fold_rows())
    assert len(records) == 5 * len(CHEAP)
    weighted = np.average(
        records["log_loss"][records["predictor"] == MEAN],
        weights=records["rows"][records["predictor"] == MEAN],
    )
    assert weighted == pytest.approx(compared.scores[MEAN].log_loss)


def test_a_predictor_of_the_other_task_is_refused_by_name():
    with pytest.raises(ValueError, match=r"'EMLR' does not predict classes.*EMProbit"):
        CLASSES.candidate("EMLR")
    with pytest.raises(ValueError, match="'EMProbit' does not predict numbers"):
        NUMBERS.candidate("EMProbit")


def test_a_slow_classifier_far_behind_is_left_out_by_its_log_loss(two, monkeypatch):
    monkeypatch.setattr("missfit.comparison.trials.PATIENCE", 0.0)
    table = read_training(two, "label")
    slow = MAJORITY._replace(name="slow", cost=5)
    found = compare_table(table, [CLASSES.candidate(MEAN), slow])
    left_out = found.trial("slow").left_out
    loss = found.task.loss(found.y, found.trial("slow").predictions)
    done = found.fold == 0
    assert left_out.startswith("left out after 1 of 5 folds: log-loss ")
    assert f"log-loss {loss[done].mean():.4f} there" in left_out
    assert np.isnan(loss[~done]).all()
    assert f"behind {MEAN}" in left_out
