"""Scores of a comparison, their intervals, and what is recommended."""

import dataclasses

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import r2_score

from comparison_cases import comparison_of, gaussian, made, trial_of
from missfit.comparison import diagnose
from missfit.comparison.learning_curve import learning_curve
from missfit.moments.patterns import group_rows
from missfit.report.table.recommendation import recommendation
from missfit.report.table.report import table_report


def test_r2_does_not_depend_on_the_mean_of_the_target(rng):
    X, y = gaussian(rng, 300)
    far = y + 1e9
    found = comparison_of(X, far)
    plain = comparison_of(X, y)
    for trial in found.trials:
        score = found.scores[trial.name]
        # sums of squares about the mean by scikit-learn; y + 1e9 is known to 1e-7
        assert score.r2 == pytest.approx(r2_score(far, trial.predictions), abs=1e-9)
        np.testing.assert_allclose(score, plain.scores[trial.name], atol=1e-5)
    for one, other in zip(learning_curve(found), learning_curve(plain), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_the_interval_of_r2_is_that_of_another_bootstrap(rng):
    X, y = gaussian(rng, 400)
    found = comparison_of(X, y)
    guess = found.trial("EMLR").predictions
    other = stats.bootstrap(
        (y, guess), r2_score, paired=True, vectorized=False, method="percentile",
        n_resamples=600, rng=0,
    ).confidence_interval  # fmt: skip
    score = found.scores["EMLR"]
    # the ends of 400 and 600 draws differ by about a tenth of the width
    width = other.high - other.low
    assert score.low == pytest.approx(other.low, abs=0.25 * width)
    assert score.high == pytest.approx(other.high, abs=0.25 * width)


def test_the_quickest_within_a_standard_error_of_the_best_is_recommended(rng):
    y = rng.standard_normal(1000)
    error = rng.standard_normal(1000)
    best = trial_of("best", y + 0.5 * error, 9.0)
    close = trial_of("close", y - 0.5 * rng.permutation(error), 1.0)
    far = trial_of("far", y + 0.7 * error, 0.1)
    found = made(y, [best, close, far])
    assert found.best in ("best", "close")
    assert found.recommended == "close"
    assert found.scores["far"].behind_low > 0  # surely worse
    assert "Use close" in recommendation(found)


@pytest.mark.parametrize(
    ("why", "is_said"),
    [
        ("left out: all folds would take 80 s, and 3 s are left of the time", True),
        ("not finished before the comparison was interrupted", True),
        ("left out after 2 of 5 folds: R2 0.1 there, 0.2 ± 0.1 behind one", False),
    ],
)
def test_a_recommendation_without_the_default_says_that_it_was_not_tried(
    rng, why, is_said
):
    y = rng.standard_normal(200)
    default = trial_of("AutoRegressor", np.full(200, np.nan), 9.0)
    default = dataclasses.replace(default, left_out=why)
    found = made(y, [trial_of("one", y + 1, 1.0), default])
    assert ("no time for AutoRegressor" in recommendation(found)) is is_said


def test_patterns_are_found_once_and_a_score_does_not_depend_on_other_trials(
    rng, monkeypatch
):
    X, y = gaussian(rng, 200)
    found = comparison_of(X, y)
    calls = []

    def counted(mask):
        calls.append(mask.shape)
        return group_rows(mask)

    monkeypatch.setattr("missfit.comparison.results.group_rows", counted)
    diagnosis = diagnose(found)
    table_report(found, diagnosis, "")
    assert calls == [(200, 3)]
    one = found.trials[0]
    # alone or beside others, a trial has the same R2 and the same interval
    assert found.scores_of([one])[one.name][:3] == pytest.approx(
        found.scores[one.name][:3], rel=1e-12
    )
