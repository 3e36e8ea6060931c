"""Claims about missingness: they hold their level, and say the same everywhere."""

import importlib.util
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.ensemble import HistGradientBoostingRegressor

from conftest import hide, random_cov
from missfit import EMLR, AutoRegressor
from missfit.comparison import CompareOptions, compare_table
from missfit.comparison.candidates import candidate
from missfit.comparison.diagnosis import why_missing, worth_of_measuring
from missfit.evidence.mechanism import (
    FEWEST_ROWS,
    Mechanism,
    Relation,
    columns_to_test,
    drawn,
    feature_test,
    mechanism,
    rows_of,
    rows_to_test,
    target_test,
)
from missfit.evidence.permutation import Deal, Pairs, max_test, null_errors
from missfit.evidence.predictable_masks import mask_aucs
from missfit.evidence.residuals import errors_without
from missfit.evidence.self_masking import SelfMaskingTrial, with_self_masking
from missfit.evidence.words import sentences
from missfit.evidence.worth import Fold, heldout_worth, law_drops
from missfit.tables.training import TrainingTable


def levels():
    """The benchmark: its tables are those of the slow test too."""
    path = Path(__file__).parents[1] / "benchmarks" / "levels.py"
    spec = importlib.util.spec_from_file_location("levels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LEVELS = levels()


def law_of(X, y):
    em = EMLR().fit(X, y)
    return em.mean_, em.covariance_


def found_in(X, y, **more):
    return mechanism(rows_of(X, y, **more), law_of(X, y))


# --- levels and power ---------------------------------------------------------------


@pytest.mark.parametrize("kind", ["lognormal", "binary"])
def test_of_values_missing_completely_at_random_explain_claims_nothing(kind):
    claims = 0
    for seed in range(12):
        X, y = LEVELS.table(kind, 300, 0.05, "none", seed=seed)
        found = AutoRegressor([EMLR()], random_state=0).fit(X, y).explain().mechanism
        claims += bool(found.target or found.features or found.residual)
    # at 1 % two of 12 sets have a chance of 0.6 %; Welch's tests claim in 6 of them
    assert claims <= 1


def test_groups_without_an_effect_are_no_evidence_and_ignoring_them_is():
    grouped, ignored = 0, 0
    for seed in range(12):
        X, y, groups = LEVELS.grouped_table("gaussian", seed=seed)
        grouped += found_in(X, y, groups=groups).mcar_rejected
        ignored += found_in(X, y).mcar_rejected
    assert grouped <= 1
    assert ignored >= 8


def test_an_effect_inside_groups_is_found(rng):
    X, y, groups = LEVELS.grouped_table("gaussian", seed=0)
    X[:, 1] = np.where(rng.random(len(y)) < 0.3, np.nan, 0.0)
    y = y + 3 * np.isnan(X[:, 1])
    found = found_in(X, y, groups=groups)
    assert [r.feature for r in found.residual] == [1]
    assert found.residual[0].z > 0


@pytest.mark.parametrize("kind", LEVELS.KINDS)
def test_real_effects_are_claimed(kind):
    columns = {"another column": 2, "y": 0, "self": 1}
    for effect, claim in columns.items():
        X, y = LEVELS.table(kind, 1000, 0.3, effect, seed=1)
        assert LEVELS.claimed(X, y)[claim]


@pytest.mark.slow
@pytest.mark.parametrize("kind", LEVELS.KINDS)
@pytest.mark.parametrize("size", LEVELS.SIZES)
def test_each_claim_holds_its_level(kind, size):
    made = np.mean(
        [
            LEVELS.one_set(LEVELS.table, (kind, *size, "none"), seed, seed < 20)
            for seed in range(100)
        ],
        axis=0,
    )
    # at 1 % five of 100 sets have a chance of 0.3 %
    assert (made[:4] <= 0.04).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", LEVELS.KINDS)
def test_self_masking_is_possible_where_it_is_and_nowhere_else(kind):
    for effect, expected in (
        ("self", True),
        ("none", False),
        ("another column", False),
    ):
        made = [
            [*LEVELS.explained(*rows), *LEVELS.reported(*rows)]
            for rows in (
                LEVELS.table(kind, 1000, 0.3, effect, seed=seed) for seed in range(8)
            )
        ]
        share = np.mean(made, axis=0)
        if expected:
            assert (share[[1, 3]] >= 0.8).all()
            assert kind != "gaussian" or (share >= 0.8).all()
        else:
            assert (share <= 0.13).all()


# --- statistics against other implementations ---------------------------------------


def test_the_statistic_is_that_of_mann_and_whitney(rng):
    X, y = rng.standard_normal((80, 1)), rng.integers(0, 6, 80).astype(float)
    X[rng.random(80) < 0.3] = np.nan
    hidden = np.isnan(X[:, 0])
    known = stats.mannwhitneyu(
        y[hidden], y[~hidden], method="asymptotic", use_continuity=False
    )
    z, _ = target_test(rows_of(X, y))
    assert 2 * stats.norm.sf(abs(z[0])) == pytest.approx(known.pvalue, rel=1e-9)


def test_the_p_value_of_one_pair_is_that_of_all_permutations(rng):
    values = rng.standard_normal(9)
    mask = (np.arange(9) < 4).astype(float)
    known = stats.permutation_test(
        (values[:4], values[4:]),
        lambda a, b, axis: np.abs(a.mean(axis=axis) - b.mean(axis=axis)),
        alternative="greater",
        vectorized=True,
    )
    centred = (values - values.mean())[:, None]
    pairs = Pairs(centred, mask[:, None], np.ones((1, 1), dtype=bool))
    p = np.mean([max_test([pairs], seed)[0].p[0, 0] for seed in range(40)])
    # 299 deals or ten that reach it, 40 times: a standard error below 0.02
    assert p == pytest.approx(known.pvalue, abs=0.08)


def test_the_error_of_a_statistic_is_its_spread_over_deals(rng):
    groups = np.repeat(np.arange(30), rng.integers(2, 9, 30))
    level = rng.standard_normal(30)[groups]
    values = (level + rng.standard_normal(len(groups)))[:, None]
    values -= values.mean()
    mask = ((level[::-1] + rng.standard_normal(len(groups))) > 0.5).astype(float)
    tested = np.ones((1, 1), dtype=bool)
    for given in (None, groups):
        pairs = Pairs(values, mask[:, None], tested, given)
        deal = Deal(given, len(mask))
        dealt = [float(mask[deal.rows(rng)] @ values[:, 0]) for _ in range(2000)]
        # groups of different sizes change what is dealt: a tenth
        assert null_errors(pairs)[0, 0] == pytest.approx(np.std(dealt), rel=0.1)


def test_errors_without_a_feature_are_those_of_hiding_it(rng):
    X = rng.multivariate_normal(np.arange(5), random_cov(rng, 5), 200)
    y = X.sum(axis=1) + rng.standard_normal(200)
    X = hide(rng, X, 0.3)
    X[np.isnan(X[:, 3:]).any(axis=1), 3:] = np.nan  # the last two together
    em = EMLR().fit(X, y)
    block = np.array([0, 1, 2, 3, 3])
    errors = errors_without(X, y, (em.mean_, em.covariance_), block)
    for k in range(4):
        mean, std = em.predict(np.where(block == k, np.nan, X), return_std=True)
        # a ridge of 1e-9 of the variances
        np.testing.assert_allclose(errors[:, k], (y - mean) / std, atol=1e-6)


def test_masks_are_compared_only_where_the_other_feature_is_observed(rng):
    """Where k is never seen without j, there is nothing to compare."""
    X = rng.standard_normal((200, 2))
    X[:60] = np.nan
    outcomes = feature_test(rows_of(X, rng.standard_normal(200)))
    assert all(np.isnan(found.z).all() for _, found in outcomes)


# --- weights, groups, sizes ---------------------------------------------------------


def test_weights_count_up_to_a_factor(rng):
    X, y = LEVELS.table("gaussian", 400, 0.3, "y", seed=0)
    weight = rng.uniform(0.5, 2.0, 400)
    one, other = (found_in(X, y, weight=c * weight) for c in (1.0, 1e-6))
    assert [r[:2] for r in one.target] == [r[:2] for r in other.target]
    np.testing.assert_allclose(
        [r.z for r in one.target], [r.z for r in other.target], rtol=1e-9
    )


def test_rows_of_nearly_no_weight_are_no_evidence(rng):
    X, y = LEVELS.table("gaussian", 600, 0.3, "none", seed=0)
    light = np.arange(600) < 300
    y[light & np.isnan(X[:, 2])] += 10
    assert found_in(X, y).target
    weight = np.where(light, 1e-6, 1.0)
    assert not found_in(X, y, weight=weight).target


def test_of_many_columns_those_with_most_of_both_sides_are_paired(rng, monkeypatch):
    monkeypatch.setattr("missfit.evidence.mechanism.MOST_COLUMNS", 4)
    X = rng.standard_normal((300, 6))
    y = rng.standard_normal(300)
    hidden = rng.random(X.shape) < [0.02, 0.3, 0.3, 0.02, 0.3, 0.3]
    hidden[:, 4] = X[:, 5] > 0.5  # a value of x5 hides x4
    X = np.where(hidden, np.nan, X)
    rows = rows_of(X, y)
    assert columns_to_test(rows).tolist() == [1, 2, 4, 5]
    found = found_in(X, y)
    assert (found.features[0].feature, found.features[0].other) == (4, 5)
    assert found.n_paired == 4
    assert len(found.target_p) == 6
    said = sentences(found, list("abcdef"))[0]
    assert "of 4 variables were tested" in said
    monkeypatch.undo()
    assert found_in(X, y).n_paired == 0


def test_rows_are_drawn_group_by_group():
    groups = np.repeat(np.arange(10), 20)
    rows = rows_of(np.zeros((200, 1)), np.zeros(200), groups=groups)
    some = drawn(rows, 60)
    assert len(some.y) == 60
    assert np.unique(some.groups).size == 3


def test_fewer_rows_are_tested_where_columns_are_many_or_time_is_short():
    few, many = (rows_of(np.zeros((9, d)), np.zeros(9)) for d in (4, 50))
    assert rows_to_test(few) > rows_to_test(many) > rows_to_test(many, 0.3)
    assert rows_to_test(many, 0.0) == FEWEST_ROWS


def test_nothing_missing_is_no_evidence(rng):
    X = rng.standard_normal((50, 2))
    found = found_in(X, X[:, 0])
    assert not found.mcar_rejected
    assert np.isnan(found.target_p).all()


def test_masks_are_not_predicted_from_rows_of_the_same_group():
    """A value that names the group tells the group's mask, which is no effect."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 20)
    X = np.column_stack([rng.standard_normal(40)[groups], rng.standard_normal(800)])
    X[(rng.random(40) < 0.5)[groups], 1] = np.nan
    assert mask_aucs(rows_of(X, groups * 0.0))[1] > 0.95
    assert mask_aucs(rows_of(X, groups * 0.0, groups=groups))[1] < 0.75


# --- one voice ----------------------------------------------------------------------


def test_self_masking_is_never_claimed_against_the_tests_of_the_rows():
    trials = [
        SelfMaskingTrial("EMLR", gain, 0.01, beaten, slopes)
        for gain, beaten, slopes in product(
            (-0.1, 0.005, 0.1), ("", "other"), (None, False, True)
        )
    ]
    for trial in trials:
        nothing = with_self_masking(Mechanism([], [], [], None, ""), trial)
        assert not nothing.self_masking
        assert not nothing.self_possible
        assert "no sign" in nothing.self_evidence
        signs = Mechanism([], [Relation(0, None, 5.0)], [], None, "")
        found = with_self_masking(signs, trial)
        assert found.self_possible == (trial.gain > 0.01)
        assert found.self_masking <= found.self_possible
        assert not (found.self_masking and (trial.beaten_by or not trial.wins))


@pytest.mark.parametrize("effect", ["none", "y", "another column"])
def test_explain_and_the_report_say_the_same(effect):
    X, y = LEVELS.table("gaussian", 500, 0.3, effect, seed=2)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(5)])
    model = AutoRegressor([EMLR()], random_state=0).fit(frame, y)
    table = TrainingTable(frame, y, "y", None, [])
    comparison = compare_table(table, [candidate("EMLR")])
    said = sentences(why_missing(comparison, EMLR().fit(X, y)), comparison.names)
    for sentence in said:
        assert sentence in str(model.explain())
    assert ("not missing completely" in said[0]) == (effect != "none")


# --- worth measuring ----------------------------------------------------------------


def squares(n, rng):
    """y = 2 x0^2 + e, x0 missing in half of the rows.

    The variance of 2 x0^2 is 8, so that knowing x0 where it is missing lowers the mean
    squared error by 8 / 2 of a variance of 9: R2 rises by 0.444.
    """
    X = rng.standard_normal((n, 3))
    y = 2 * X[:, 0] ** 2 + rng.standard_normal(n)
    X[rng.random(n) < 0.5, 0] = np.nan
    X[rng.random(n) < 0.2, 1] = np.nan
    return X, y


def test_worth_measuring_counts_what_is_not_linear(rng):
    X, y = squares(6000, rng)
    tried = [EMLR(), HistGradientBoostingRegressor(learning_rate=0.1)]
    explanation = AutoRegressor(tried, random_state=0).fit(X, y).explain()
    share = explanation.risk_drops / explanation.target_variance
    # boosting falls short of the truth by some 0.02, and the error is 0.02
    assert share[0] == pytest.approx(4 / 9, abs=0.07)
    assert explanation.ranking == ["x0"]
    assert "held-out rows" in str(explanation)


def test_the_report_s_worth_of_measuring_counts_what_is_not_linear(rng):
    X, y = squares(4000, rng)
    frame = pd.DataFrame(X, columns=list("abc"))
    tried = [candidate("EMLR"), candidate("HistGradientBoosting")]
    found = compare_table(
        TrainingTable(frame, y, "y", None, []), tried, CompareOptions(n_folds=3)
    )
    worth, risk = worth_of_measuring(found, EMLR().fit(found.X, found.y))
    # of an error of 5, of which x0 would save 4; boosting errs by some more
    assert worth.drops[0] / risk == pytest.approx(4 / 5, abs=0.12)
    assert worth.ranked(1e-4 * risk) == [0]


def test_held_out_rows_and_the_law_agree_on_a_linear_model(rng):
    d, n = 4, 8000
    X = rng.multivariate_normal(np.zeros(d), random_cov(rng, d), n)
    y = X @ [2.0, 1.0, 1.0, 0.5] + rng.standard_normal(n)
    X = hide(rng, X, [0.5, 0.3, 0.3, 0.1])
    em = EMLR().fit(X[: n // 2], y[: n // 2])
    mask = np.isnan(X)
    patterns, count = np.unique(mask, axis=0, return_counts=True)
    exact = law_drops([em.feature_law()], count[None] / n, em.coef_, patterns)
    fold = Fold(em.predict, np.arange(n // 2, n))
    worth = heldout_worth(rows_of(X, y), [fold])
    assert (np.abs(worth.drops - exact) < 4 * worth.standard_errors).all()
    assert (worth.standard_errors < 0.1 * exact.max()).all()


def test_a_variable_of_several_columns_is_measured_as_one(rng):
    """The drop of a block is that of the Bayes risk: Var(y | observed) by hand."""
    cov = random_cov(rng, 3)
    X = rng.multivariate_normal(np.zeros(3), cov, 500)
    em = EMLR().fit(X, X.sum(axis=1) + rng.standard_normal(500))
    variables = np.array([0, 0, 1])
    patterns = np.array([[True, True, False], [True, True, True]])
    share = np.array([0.5, 0.5])
    drops = law_drops([em.feature_law()], share[None], em.coef_, patterns, variables)

    def risk(hidden):
        return em.predict(np.where(hidden, np.nan, 0.0), return_std=True)[1] ** 2

    for j in range(2):
        known = share @ (risk(patterns) - risk(patterns & (variables != j)))
        assert drops[j] == pytest.approx(known, rel=1e-6)
