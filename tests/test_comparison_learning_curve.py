"""The learning curve of the recommended predictor."""

from time import monotonic

import numpy as np
import pytest

from comparison_cases import bootstrapped_r2, comparison_of, gaussian
from missfit.comparison import diagnose
from missfit.comparison.learning_curve import curve_seconds, learning_curve


def test_the_learning_curve_rises_to_the_score_of_the_comparison(rng):
    X, y = gaussian(rng, 2000, d=8)
    found = comparison_of(X, y)
    curve = learning_curve(found, repeats=5)
    assert [point.n_rows for point in curve] == [160, 400, 800, 1600]
    assert curve[0].score < curve[-1].score
    # with all rows it is the cross-validation itself
    assert curve[-1].score == pytest.approx(
        found.scores[found.recommended].r2, abs=1e-6
    )


def test_the_error_of_a_point_of_the_curve_is_that_of_a_bootstrap(rng):
    X, y = gaussian(rng, 600)
    found = comparison_of(X, y)
    *_, before, last = learning_curve(found, repeats=5)
    guess = found.trial(found.recommended).predictions
    r2 = bootstrapped_r2(rng, y, guess)
    # 2,000 draws know a standard deviation to 2 %, the delta method's is to first order
    assert last.error == pytest.approx(np.std(r2), rel=0.1)
    assert last.gain == pytest.approx(last.score - before.score, abs=1e-9)
    assert 0 < last.gain_error < last.error  # they meet the same rows


def test_the_curve_of_a_small_table_has_no_point_twice(rng):
    curve = learning_curve(comparison_of(*gaussian(rng, 60)))
    assert [point.n_rows for point in curve] == [20, 24, 48]


def test_the_curve_is_drawn_where_there_is_time_for_it(rng):
    found = comparison_of(*gaussian(rng, 200))
    found.trial(found.recommended).seconds[:] = 10.0
    # two folds of .1, .25 and .5 of the rows: .18, .35 and .59 of a fit by n^.75
    assert curve_seconds(found) == pytest.approx(22.5, abs=0.1)
    assert curve_seconds(found, n_jobs=2) == pytest.approx(11.25, abs=0.1)
    now = monotonic()
    assert not diagnose(found, end=now + 20).curve
    assert diagnose(found, end=now + 60).curve
