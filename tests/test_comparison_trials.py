"""Trials: honest predictions on folds, failures and slow candidates."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from comparison_cases import MEAN, QUICK, gaussian, many_levels, table_of
from missfit import TableEncoder
from missfit.comparison import CompareOptions, compare_table
from missfit.comparison.candidates import Candidate, candidate
from missfit.tables.training import TrainingTable


def test_the_predictions_are_those_of_scikit_learns_cross_validation(rng):
    X, y = gaussian(rng, 300)
    # 25 levels, some of which are not in every training part
    frame = table_of(X, y).X.assign(
        city=rng.choice(["a", "b", None], 300), code=many_levels(rng, 300)
    )
    found = compare_table(
        TrainingTable(frame, y, "y", None, []), QUICK, CompareOptions(seed=3)
    )
    folds = KFold(5, shuffle=True, random_state=3)
    for trial in found.trials:
        model = make_pipeline(TableEncoder(), trial.candidate.make(3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = cross_val_predict(model, frame, y, cv=folds)
        np.testing.assert_allclose(trial.predictions, expected, rtol=1e-8, atol=1e-8)
        score = found.scores[trial.name]
        assert score.r2 == pytest.approx(r2_score(y, expected))
        assert score.mae == pytest.approx(mean_absolute_error(y, expected))
        assert score.low < score.r2 < score.high


def test_a_table_too_large_for_a_predictor_is_no_failure_of_it(rng):
    X, y = gaussian(rng, 60, 110)
    only = ["ConstantImputedLR", "FactorizedLR"]
    found = compare_table(table_of(X, y), [candidate(name) for name in only])
    trial = found.trial("FactorizedLR")
    assert not trial.failure
    assert trial.left_out.startswith(
        "the table is too large for it: order=1 with these 110 features has"
    )


def test_models_fitted_as_one_batch_meet_the_tables_of_their_own_folds(rng):
    def fit_each(models, tables):
        for model, (X, target) in zip(models, tables, strict=True):
            model.fit(X, target)

    X, y = gaussian(rng, 100)
    frame = table_of(X, y).X.assign(code=many_levels(rng, 100))
    batch = QUICK[0]._replace(name="batch", fit_many=fit_each)
    table = TrainingTable(frame, y, "y", None, [])
    found = compare_table(table, [QUICK[0], batch])
    assert len({part.shape[1] for part in found.fold_tables}) > 1
    np.testing.assert_array_equal(*(trial.predictions for trial in found.trials))


def test_groups_stay_together_and_widen_the_interval(rng):
    school = np.repeat(np.arange(40), 10)
    X, y = gaussian(rng, 400)
    y = y + 2 * rng.standard_normal(40)[school]
    found = compare_table(table_of(X, y, school), QUICK[:1])
    for one in range(40):
        assert len(np.unique(found.fold[school == one])) == 1
    apart = compare_table(table_of(X, y), QUICK[:1])
    width = [c.scores["EMLR"].high - c.scores["EMLR"].low for c in (found, apart)]
    assert width[0] > 1.3 * width[1]


def test_a_candidate_that_fails_is_a_result_and_not_the_end(rng):
    def broken(seed):
        raise RuntimeError("no such thing")

    X, y = gaussian(rng, 100)
    bad = Candidate("bad", broken, "", "")
    found = compare_table(table_of(X, y), [bad, QUICK[0]])
    assert found.trials[0].failure == "RuntimeError: no such thing"
    assert found.recommended == "EMLR"
    with pytest.raises(ValueError, match="no predictor could be fitted: RuntimeError"):
        compare_table(table_of(X, y), [bad])


def test_a_slow_candidate_that_is_clearly_behind_is_left_out_and_says_so(
    rng, monkeypatch
):
    monkeypatch.setattr("missfit.comparison.trials.PATIENCE", 0.0)
    X, y = gaussian(rng, 400)
    tried = [QUICK[0], MEAN, QUICK[1]]
    found = compare_table(table_of(X, y), tried)
    mean = found.trial("mean")
    first = found.fold == 0
    np.testing.assert_allclose(mean.predictions[first], y[~first].mean())
    assert np.isnan(mean.predictions[~first]).all()
    r2 = r2_score(y[first], mean.predictions[first])
    gap = r2_score(y[first], found.trial("EMLR").predictions[first]) - r2
    assert f"after 1 of 5 folds: R2 {r2:.4f} there, {gap:.4f} ± " in mean.left_out
    assert "behind EMLR; the others would take about 0 s" in mean.left_out
    assert [trial.name for trial in found.sound] == ["EMLR", "ConstantImputedLR"]
    lines = [row for row in found.fold_rows() if row["predictor"] == "mean"]
    assert [row["fold"] for row in lines] == [0]
    whole = compare_table(table_of(X, y), tried, CompareOptions(all_folds=True))
    assert not whole.trial("mean").left_out


def test_many_rows_are_drawn_from(rng):
    X, y = gaussian(rng, 500)
    found = compare_table(table_of(X, y), QUICK[:1], CompareOptions(max_rows=200))
    assert len(found.y) == 200
    assert found.notes == ["200 of 500 rows drawn at random"]
