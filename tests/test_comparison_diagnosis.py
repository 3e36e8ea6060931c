"""What lies behind the scores follows known laws."""

import numpy as np
import pytest

from comparison_cases import comparison_of, gaussian, table_of
from missfit import EMLR
from missfit.comparison import CompareOptions, compare_table, diagnose
from missfit.comparison.candidates import candidate
from missfit.comparison.diagnosis import (
    chance,
    count_groups,
    mask_evidence,
    self_masking_trial,
    why_missing,
    worth_of_measuring,
)
from missfit.estimators.calibration import Draws, conformal_quantile
from missfit.simulate import published


def test_what_goes_with_a_mask_is_found_and_chance_is_not(rng):
    X, y = gaussian(rng, 3000, rate=0.0)
    X[y > np.quantile(y, 0.8), 0] = np.nan  # with the target
    X[X[:, 2] > np.quantile(X[:, 2], 0.7), 1] = np.nan  # with another variable
    X[rng.random(3000) < 0.3, 2] = np.nan  # with nothing
    found = comparison_of(X, y)
    why = why_missing(found, EMLR().fit(X, y))
    evidence = {e.name: e for e in mask_evidence(found, why)}
    assert evidence["x0"].target_p == pytest.approx(1 / 300)  # the least there is
    hidden = np.isnan(X[:, 0])
    gap = (y[hidden].mean() - y[~hidden].mean()) / y.std()
    assert evidence["x0"].target_gap == pytest.approx(gap)
    assert evidence["x1"].auc > 0.8
    assert evidence["x2"].target_p > 0.01
    assert 0.45 < evidence["x2"].auc < 0.55


def test_self_masking_is_seen_where_it_is_and_not_where_it_is_not():
    two = [candidate("EMLR"), candidate("SelfMaskedLR")]
    for setting, expected in (("selfmasked", True), ("mixture1", False)):
        X, y = published(setting, 4).sample(1500, random_state=0)
        found = compare_table(table_of(X, y), two, CompareOptions(n_folds=3))
        trial = self_masking_trial(found)
        assert trial is not None
        assert trial.wins == expected
        assert why_missing(found, EMLR().fit(X, y)).self_masking == expected


def test_the_worth_of_measuring_is_that_of_the_known_law(rng):
    """Independent features: y = 2 a + b + e, a missing in 50 %, b in 20 %.

    Var(y | observed) is 1 + 4 [a missing] + 1 [b missing]: 3.2 on average, of which a
    costs 2 and b 0.2.
    """
    n = 40_000
    X = rng.standard_normal((n, 2))
    y = X @ [2, 1] + rng.standard_normal(n)
    X[rng.random(n) < 0.5, 0] = np.nan
    X[rng.random(n) < 0.2, 1] = np.nan
    linear = [candidate("EMLR"), candidate("ConstantImputedLR")]
    found = compare_table(table_of(X, y), linear, CompareOptions(max_rows=n, n_folds=2))
    worth, risk = worth_of_measuring(found, EMLR().fit(X, y))
    # the law is estimated from 40,000 rows: errors below 0.01
    assert worth.drops[0] / risk == pytest.approx(2 / 3.2, abs=0.02)
    assert worth.drops[1] / risk == pytest.approx(0.2 / 3.2, abs=0.01)


def test_rows_are_grouped_by_number_missing_with_enough_in_each():
    mask = np.zeros((200, 4), dtype=bool)
    mask[100:160, 0] = True
    mask[160:195, :2] = True
    mask[195:, :] = True
    groups = count_groups(mask)
    assert [(label, int(rows.sum())) for label, rows in groups] == [
        ("0", 100),
        ("1", 60),
        ("2 to 4", 40),
    ]
    assert sum(rows.astype(int) for _, rows in groups).tolist() == [1] * 200


def test_chance_is_the_spread_of_the_coverage_over_draws_of_both_kinds_of_rows(rng):
    n_calibrating, n_rows = 60, 80
    ones, units = np.ones(n_calibrating), np.arange(n_calibrating)
    covered = []
    for _ in range(600):
        score = rng.exponential(size=n_calibrating)
        threshold = conformal_quantile(Draws.of(score, units, ones), alpha=0.1)
        covered.append((rng.exponential(size=n_rows) <= threshold).mean())
    # the spread of 600 draws is known to 3 %; the law of the threshold is Beta
    assert chance(0.9, n_rows, n_calibrating) == pytest.approx(np.std(covered), rel=0.1)


def test_coverage_on_new_rows_is_what_was_asked(rng):
    X, y = gaussian(rng, 6000, rate=0.2)
    found = diagnose(comparison_of(X, y))
    for asked, actual, _ in found.coverage:
        # 1,200 test and 1,200 calibration rows: standard error up to 0.02
        assert actual == pytest.approx(asked, abs=0.06)
    assert all(0.84 < group[2] <= 1 for group in found.coverage_by_count)
