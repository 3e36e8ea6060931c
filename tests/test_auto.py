"""AutoRegressor: what it chooses, that it chooses honestly, and what it says of it."""

import inspect
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

import missfit
from conftest import hide, random_cov
from missfit import (
    EMLR,
    AutoRegressor,
    ConditionalImputedLR,
    ConstantImputedLR,
    ExpandedLR,
    FactorizedLR,
    PatternMixtureLR,
    SelfMaskedLR,
)
from missfit.auto import candidates, regressor
from missfit.auto.candidates import boosting
from missfit.bayes import BayesPredictor, bayes_risk
from missfit.evidence.worth import law_drops
from missfit.simulate import MARGaussian, MCARGaussian, SelfMaskedProbit, published

# Folds of repeated rows are not the folds of weighted rows, and the bins of boosting
# do not know of weights: scikit-learn marks HistGradientBoostingRegressor alike.
NOT_EQUIVALENT = {
    "check_sample_weight_equivalence_on_dense_data": "folds and bins are of rows"
}
QUICK = [EMLR(), ConditionalImputedLR(), HistGradientBoostingRegressor()]


@parametrize_with_checks(
    [AutoRegressor([EMLR(), HistGradientBoostingRegressor(max_iter=20)], cv=3)],
    expected_failed_checks=lambda _: NOT_EQUIVALENT,
)
def test_scikit_learn_s_own_suite(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [AutoRegressor()], expected_failed_checks=lambda _: NOT_EQUIVALENT
)
def test_scikit_learn_s_own_suite_with_all_candidates(estimator, check):
    check(estimator)


def rows(rng, n=400, d=3, noise=0.5, rate=0.3):
    X = rng.multivariate_normal(np.arange(d), random_cov(rng, d), n)
    y = 1 + X @ np.arange(1, d + 1) + noise * rng.standard_normal(n)
    return hide(rng, X, rate), y


def quick(**parameters):
    return AutoRegressor(QUICK, random_state=0, **parameters)


# --- what it chooses ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "family"),
    [
        ("mixture1", EMLR),
        ("mixture3", PatternMixtureLR),
        ("selfmasked", SelfMaskedLR),
    ],
)
def test_the_right_family_is_found(setting, family):
    law = published(setting, 4)
    X, y = law.sample(3000, random_state=1)
    model = AutoRegressor(random_state=0).fit(X, y)
    assert isinstance(model.base_, family)
    X, y = law.sample(20_000, random_state=2)
    bayes = BayesPredictor(law).score(X, y)
    # with 3,000 rows; the families that are not chosen stay 0.02 and more below
    assert model.score(X, y) > bayes - 0.01


@pytest.mark.slow
def test_boosting_is_kept_where_y_is_not_linear_and_left_out_where_it_is(rng):
    X = hide(rng, rng.standard_normal((4000, 3)), 0.2)
    filled = np.nan_to_num(X)
    noise = 0.3 * rng.standard_normal(4000)
    curved = quick().fit(X[:3000], (filled[:, 0] ** 2 + noise)[:3000])
    assert curved.parts_
    score = curved.score(X[3000:], (filled[:, 0] ** 2 + noise)[3000:])
    plain = HistGradientBoostingRegressor(random_state=0)
    plain.fit(X[:3000], (filled[:, 0] ** 2 + noise)[:3000])
    assert score > plain.score(X[3000:], (filled[:, 0] ** 2 + noise)[3000:]) - 0.01
    linear = quick().fit(X[:3000], (rng.standard_normal(4000) + filled[:, 0])[:3000])
    assert not linear.parts_


def test_noise_is_predicted_by_its_mean(rng):
    X, y = hide(rng, rng.standard_normal((1000, 5))), rng.standard_normal(1000)
    model = AutoRegressor(random_state=0).fit(X[:500], y[:500])
    # least squares with 5 slopes on 500 rows of noise loses 5 / 500 of the variance
    assert model.score(X[500:], y[500:]) > -0.03


def test_the_scores_are_those_of_plain_refits_on_the_same_folds(rng):
    X, y = rows(rng, n=450)
    cv = KFold(3, shuffle=True, random_state=5)
    # EM to its end: later folds start from the first one's fit
    linear = [EMLR(tol=1e-12), ConstantImputedLR(), ExpandedLR(alphas=(1.0,))]
    model = AutoRegressor(linear, cv=cv).fit(X, y)
    # a line for their mean may follow
    for estimator, score in zip(linear, model.scores_[:3], strict=True):
        error = np.empty(len(y))
        for train, test in cv.split(X):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of rare patterns
                fitted = clone(estimator).fit(X[train], y[train])
            error[test] = y[test] - fitted.predict(X[test])
        assert score.r2 == pytest.approx(1 - np.mean(error**2) / y.var(), abs=1e-6)


# --- weights ------------------------------------------------------------------------


def curved(rng, n):
    """Rows that boosting predicts well and no linear base does."""
    X = rng.standard_normal((n, 3))
    y = 2 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(n)
    return hide(rng, X, 0.05), y


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 3])
def test_rows_that_hardly_weigh_do_not_choose_for_those_that_do(seed):
    rng = np.random.default_rng(seed)
    X, y = curved(rng, 250)
    X_test, y_test = curved(rng, 1000)
    noise = rng.standard_normal((250, 3)), 30 * rng.standard_normal(250)
    both = np.r_[X, noise[0]], np.r_[y, noise[1]]
    weight = np.r_[np.ones(250), np.full(250, 1e-4)]
    model = AutoRegressor([EMLR(), boosting()], cv=3, random_state=0)
    alone = model.fit(X, y).score(X_test, y_test)
    # the noise keeps 1e-4 * 900 = 0.09 of squared error, 2 % of the variance of y
    assert model.fit(*both, weight).score(X_test, y_test) > alone - 0.05


def test_weights_mean_the_same_up_to_a_factor(rng, monkeypatch):
    X, y = curved(rng, 200)
    weight = rng.choice([0.0, 0.1, 1.0, 5.0], 200)
    model = quick(cv=2)
    expected = model.fit(X, y, weight).predict(X)
    for factor in (2.0**-40, 2.0**20):  # powers of 2, so that rounding is the same
        again = model.fit(X, y, factor * weight).predict(X)
        np.testing.assert_array_equal(again, expected)
    monkeypatch.setattr(regressor, "SAMPLE_ROWS", 150)
    linear = AutoRegressor([ConditionalImputedLR()], random_state=0)
    one, two = (
        linear.fit(chunks(X, y, factor * weight)).predict(X) for factor in (1.0, 1e-6)
    )
    np.testing.assert_allclose(one, two, rtol=1e-8)


def test_the_base_is_fitted_to_all_rows_of_a_source(rng, monkeypatch):
    monkeypatch.setattr(regressor, "SAMPLE_ROWS", 150)
    X, y = rows(rng, n=400)
    for base in (EMLR(), ConditionalImputedLR(), FactorizedLR(alphas=(1.0,))):
        model = AutoRegressor([base], random_state=0).fit(chunks(X, y, np.ones(400)))
        np.testing.assert_allclose(
            model.predict(X), clone(base).fit(X, y).predict(X), rtol=1e-6
        )


def chunks(X, y, weight, n_chunks=4):
    parts = (np.array_split(values, n_chunks) for values in (X, y, weight))
    return zip(*parts, strict=True)


# --- chance -------------------------------------------------------------------------


def test_random_state_is_none_by_default_in_every_estimator():
    """As in scikit-learn: a fit repeats itself only where it is asked to."""
    defaults = {}
    for name in missfit.__all__:
        thing = getattr(missfit, name)
        if isinstance(thing, type) and hasattr(thing, "get_params"):
            parameters = inspect.signature(thing).parameters
            if "random_state" in parameters:
                defaults[name] = parameters["random_state"].default
    assert len(defaults) >= 5
    assert set(defaults.values()) == {None}


def test_random_state_rules_which_rows_of_a_source_are_drawn(rng, monkeypatch):
    monkeypatch.setattr(regressor, "SAMPLE_ROWS", 200)
    X, y = rows(rng, n=1000)
    # without a shuffle of the folds the scores depend on the rows drawn alone
    scores = [
        AutoRegressor([EMLR()], cv=KFold(3), random_state=seed)
        .fit(chunks(X, y, np.ones(1000)))
        .scores_[0]
        .r2
        for seed in (0, 0, 1)
    ]
    assert scores[0] == scores[1]
    assert scores[0] != scores[2]


def test_random_state_rules_the_candidates_too(rng):
    X, y = curved(rng, 300)
    forest = RandomForestRegressor(5)
    one, two = (
        AutoRegressor([EMLR(), forest], random_state=0).fit(X, y) for _ in range(2)
    )
    assert one.parts_
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    assert forest.random_state is None


@pytest.mark.slow
def test_groups_are_held_out_together(rng):
    # y is a property of the group that boosting can learn by heart from X
    n, size = 600, 6
    groups = np.arange(n) // size
    X = np.repeat(rng.standard_normal((n // size, 4)), size, axis=0)
    X += 1e-3 * rng.standard_normal((n, 4))
    y = np.repeat(rng.standard_normal(n // size), size)
    fooled, honest = quick().fit(X, y), quick().fit(X, y, groups=groups)
    by_splits = quick(cv=GroupKFold(5, shuffle=True, random_state=0))
    by_splits.fit(X, y, groups=groups)
    assert max(score.r2 for score in fooled.scores_) > 0.5
    for model in (honest, by_splits):  # there is nothing to learn for another group
        assert max(score.r2 for score in model.scores_) < 0.05
    new = rng.standard_normal((2000, 4))
    error = [np.mean(model.predict(new) ** 2) for model in (fooled, honest)]
    # four slopes that 100 groups have told leave 4 / 100 even where there is nothing
    assert error[1] < 0.08
    assert error[1] < 0.6 * error[0]


def test_any_cv_argument_is_understood(rng):
    X, y = rows(rng)
    for cv in (4, ShuffleSplit(3, test_size=0.3, random_state=0), [(X[:, 0] > 0)]):
        if isinstance(cv, list):
            here = np.flatnonzero(cv[0])
            cv = [(here, np.setdiff1d(np.arange(len(X)), here))]
        assert quick(cv=cv).fit(X, y).score(X, y) > 0.3


def test_repeated_fits_are_equal_and_refits_forget(rng):
    X, y = rows(rng)
    one = AutoRegressor(random_state=3).fit(X, y)
    two = AutoRegressor(random_state=3).fit(X[:200], y[:200]).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_a_budget_of_time_leaves_candidates_out(rng):
    X, y = rows(rng)
    model = AutoRegressor(time_budget=1e-9, random_state=0).fit(X, y)
    assert isinstance(model.base_, EMLR)
    assert not model.parts_
    verdicts = [score.verdict for score in model.scores_]
    assert verdicts[0] == "chosen"
    assert set(verdicts[1:]) == {"skipped: out of time"}


def test_parts_that_had_time_for_the_first_split_alone_predict_and_are_explained(
    rng, monkeypatch
):
    monkeypatch.setattr("missfit.auto.boosting._has_time", lambda *_: False)
    X = rng.standard_normal((400, 2))
    y = 2 * X[:, 0] ** 2 + 2 * X[:, 1] + 0.3 * rng.standard_normal(400)
    X[rng.random(400) < 0.3, 0] = np.nan
    model = AutoRegressor([EMLR(), boosting()], time_budget=1e6, random_state=0)
    model.fit(X, y)
    assert {part.model.n_models for part in model.parts_} == {1}
    assert model.score(X, y) > model.base_.score(X, y) + 0.2
    drops = model.explain().risk_drops
    assert drops[0] > 0.1 > abs(drops[1])  # by the held-out rows of that split


def test_some_rows_tell_whether_a_candidate_that_costs_by_the_row_has_hope(
    monkeypatch,
):
    monkeypatch.setattr(candidates, "SOME_ROWS", 500)
    sizes = []

    class Counted(SelfMaskedLR):
        def fit(self, X, y, sample_weight=None, **near):
            sizes.append(len(X))
            return super().fit(X, y, sample_weight, **near)

    X, y = published("selfmasked", 4).sample(4000, random_state=0)
    model = AutoRegressor([EMLR(), Counted()], random_state=0).fit(X, y)
    assert isinstance(model.base_, SelfMaskedLR)
    assert sizes[:2] == [500, 3200]
    sizes.clear()
    X, y = published("mixture1", 4).sample(4000, random_state=0)
    model = AutoRegressor([EMLR(), Counted()], random_state=0).fit(X, y)
    assert isinstance(model.base_, EMLR)
    assert sizes == [500]
    assert model.explain().mechanism.self_masking is False


def test_a_candidate_that_fails_does_not_stop_the_others(rng):
    X, y = rows(rng)
    X = np.column_stack([X, X[:, 0]])
    model = AutoRegressor([EMLR(), EMLR(algorithm="reference")]).fit(X, y)
    assert "singular" in model.scores_[1].verdict
    with pytest.raises(ValueError, match=r"no candidate could be fitted.*singular"):
        AutoRegressor([EMLR(algorithm="reference")]).fit(X, y)


# --- inputs -------------------------------------------------------------------------


class FailsOnAllRows(ConditionalImputedLR):
    """It fits the rows of every split, and not all of them."""

    def _fit_given(self, start, moments, near=None):
        if moments.count.sum() in (400, 2_400):
            raise np.linalg.LinAlgError("singular matrix")
        super()._fit_given(start, moments, near)


@pytest.mark.parametrize("n", [400, 2_400], ids=["few", "many"])
def test_a_winner_that_cannot_be_fitted_to_all_rows_leaves_the_reference(n, rng):
    X = rng.normal(size=(n, 3))
    X[rng.random(n) < 0.5, 0] = np.nan
    shift = 3 * np.isnan(X[:, 0])  # which only the indicators tell
    y = X[:, 1] + shift + rng.normal(size=n)
    model = AutoRegressor(candidates=[EMLR(), FailsOnAllRows()], random_state=0)
    said = model.fit(X, y).explain()
    assert said.choice == "EMLR"
    assert type(model.base_) is EMLR
    assert np.var(y - model.predict(X)) < np.var(y)
    assert "failed on all rows: singular matrix" in str(said)


@pytest.mark.parametrize("n", [1, 2, 9, 12])
def test_few_rows(n, rng):
    X, y = rows(rng, n=n)
    model = AutoRegressor(random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert str(n) in str(model.explain())


def test_complete_data_give_least_squares_where_y_is_linear(rng):
    X, y = rows(rng, rate=0.0, n=2000)
    model = AutoRegressor(random_state=0).fit(X, y)
    expected = Ridge(1e-6).fit(X, y).predict(X)
    np.testing.assert_allclose(model.predict(X), expected, atol=0.05 * y.std())
    assert "Nothing is missing" in str(model.explain())


def test_everything_missing_gives_the_mean(rng):
    y = rng.standard_normal(50)
    model = AutoRegressor(random_state=0).fit(np.full((50, 3), np.nan), y)
    np.testing.assert_allclose(model.predict(np.ones((2, 3))), y.mean())
    str(model.explain())


def test_one_feature_and_a_constant_target(rng):
    X, y = rows(rng, d=1)
    assert AutoRegressor(random_state=0).fit(X, y).score(X, y) > 0.3
    constant = AutoRegressor(random_state=0).fit(X, np.full(len(X), 2.0))
    np.testing.assert_allclose(constant.predict(X), 2.0)
    str(constant.explain())


def test_a_feature_empty_in_a_fold_or_everywhere_is_taken(rng):
    X, y = rows(rng, n=100)
    X[:, 1] = np.nan
    X[1:, 2] = np.nan  # observed in one row: empty in one training part
    model = quick(cv=KFold(3)).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_unseen_patterns_and_empty_rows_are_predicted(rng):
    X, y = rows(rng, rate=0.0)
    X[:, 1:] = hide(rng, X[:, 1:], 0.3)
    model = AutoRegressor(random_state=0).fit(X, y)
    new = np.array([[np.nan, 1.0, np.nan], [np.nan] * 3])
    assert (np.abs(model.predict(new) - y.mean()) < 4 * y.std()).all()


def test_infinities_are_refused(rng):
    X, y = rows(rng)
    model = quick().fit(X, y)
    bad = np.where(np.arange(len(X))[:, None] == 3, np.inf, X)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(bad)
    with pytest.raises(ValueError, match="infinity"):
        quick().fit(bad, y)
    with pytest.raises(ValueError, match="NaN"):
        quick().fit(X, np.where(np.arange(len(y)) == 2, np.nan, y))
    # a fit that fails leaves the model as it was
    before = model.predict(X)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(bad, y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_zero_weights_leave_rows_out(rng):
    X, y = rows(rng)
    weight = np.r_[np.ones(300), np.zeros(100)]
    weighted = quick().fit(X, y, weight)
    alone = quick().fit(X[:300], y[:300])
    np.testing.assert_allclose(weighted.predict(X), alone.predict(X))
    with pytest.raises(ValueError, match="zero for all rows"):
        quick().fit(X, y, np.zeros(400))


def test_scale_and_order_of_features_do_not_matter_to_the_choice(rng):
    X, y = rows(rng)
    plain = quick().fit(X, y)
    moved = quick().fit(X[:, ::-1] * 1e8, y)
    np.testing.assert_allclose(
        moved.predict(X[:, ::-1] * 1e8), plain.predict(X), rtol=1e-5, atol=1e-5
    )


def test_frames_and_pickles(rng):
    X, y = rows(rng, n=200)
    frame = pd.DataFrame(X, columns=["age", "height", "weight"]).astype("Float64")
    model = quick().fit(frame, y)
    np.testing.assert_allclose(model.predict(frame), quick().fit(X, y).predict(X))
    assert set(model.explain().ranking) == {"age", "height", "weight"}
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert str(again.explain()) == str(model.explain())
    with pytest.raises(NotFittedError):
        clone(model).explain()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cv": 1}, r"cv=1; give a number of folds >= 2"),
        ({"cv": 500}, r"n_samples=400, fewer than the 500 folds of cv=500"),
        ({"time_budget": 0}, r"time_budget=0; give seconds > 0"),
        ({"candidates": []}, r"candidates=\[\]; give a list of regressors"),
        ({"candidates": 3}, r"candidates=3; give a list of regressors"),
        ({"candidates": ["EMLR"]}, r"give a list of regressors"),
    ],
)
def test_bad_parameters_are_refused(parameters, message, rng):
    X, y = rows(rng)
    with pytest.raises(ValueError, match=message):
        AutoRegressor(**parameters).fit(X, y)


def test_several_targets_are_refused_with_the_way_out(rng):
    X, y = rows(rng)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        AutoRegressor().fit(X, np.column_stack([y, y]))


def test_columns_that_boosting_cannot_take_are_left_out_of_each_fold(rng):
    """Empty everywhere, or in a fold; one value, two values, a constant."""
    X, y = curved(rng, 60)
    odd = np.full((60, 5), np.nan)
    odd[3, 1] = 1.0
    odd[[0, 59], 2] = 1.0, 2.0
    odd[:20, 3] = rng.standard_normal(20)  # empty where the first fold is held out
    odd[::2, 4] = 7.0
    cv = [(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))]
    model = AutoRegressor([EMLR(), boosting()], cv=cv, random_state=0)
    model.fit(np.hstack([X, odd]), y)
    new = np.hstack([X, np.nan_to_num(odd, nan=1.5)])
    predicted = model.predict(np.vstack([new, np.full(8, np.nan)]))
    assert y.min() - np.ptp(y) < predicted.min() < predicted.max()
    assert predicted.max() < y.max() + np.ptp(y)


# --- what it says -------------------------------------------------------------------


def test_what_left_early_is_scored_by_its_gain_on_common_rows(rng):
    """The first of two folds is easier: its R2 alone would rank a loser first."""
    X, y = rows(rng, n=2000, d=5, noise=0.0, rate=0.4)
    y[1000:] += 3 * y.std() * rng.standard_normal(1000)
    halves = np.arange(1000), np.arange(1000, 2000)
    cv = [halves[::-1], halves]
    candidates = [EMLR(), ConstantImputedLR(), boosting()]
    model = AutoRegressor(candidates, cv=cv, random_state=0).fit(X, y)
    reference, left, *flexible = model.scores_
    assert left.verdict == "behind"
    assert left.gain < 0
    for score in (left, *flexible):
        assert score.r2 - reference.r2 == pytest.approx(score.gain, abs=1e-12)
    assert "HistGradientBoosting" in str(model.explain())


def law_of(kind, seed, d=10):
    """A law with noisy y whose features differ in how much they matter."""
    rng = np.random.default_rng(seed)
    mean, cov, beta = np.zeros(d), random_cov(rng, d), rng.uniform(0.2, 2.0, d)
    noise = 0.5 * np.sqrt(beta @ cov @ beta)
    target = {"beta0": 1.0, "noise": noise}
    if kind == "MCAR":
        return MCARGaussian(mean, cov, beta, rate=rng.uniform(0.1, 0.5, d), **target)
    if kind == "MAR":
        return MARGaussian.with_rate(
            mean, cov, beta, observed=[0, 1, 2], rate=0.3, slope=1.0, **target
        )
    return SelfMaskedProbit.with_rate(mean, cov, beta, rate=0.3, slope=0.5, **target)


def explained(kind, seed):
    candidates = [EMLR(), SelfMaskedLR()]
    X, y = law_of(kind, seed).sample(10_000, random_state=seed)
    return AutoRegressor(candidates, random_state=0).fit(X, y).explain()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "least", "most"), [("MCAR", 0, 2), ("self", 18, 20)])
def test_self_masking_is_claimed_where_it_is(kind, least, most):
    claims = [explained(kind, seed).mechanism.self_masking for seed in range(20)]
    assert least <= sum(claims) <= most


def test_the_evidence_tells_the_mechanisms_apart():
    mcar, mar, masked = (explained(kind, 50) for kind in ("MCAR", "MAR", "self"))
    # the tests hold the level 1 % for each family
    assert not mcar.mechanism.features
    assert not mcar.mechanism.self_masking
    assert mar.mechanism.features
    assert {r.other for r in mar.mechanism.features[:3]} <= {0, 1, 2}
    assert not mar.mechanism.self_masking
    assert masked.mechanism.self_masking
    assert masked.mechanism.target
    assert masked.mechanism.residual
    assert "depends on: yes" in str(masked)


def test_drops_in_risk_are_exact_given_the_law():
    law = law_of("MCAR", 3, d=6)
    patterns, share = law.pattern_probabilities()
    scaled = EMLR().fit(*law.sample(50, random_state=0)).feature_law()
    exact_law = scaled._replace(
        shift=np.zeros(6), scale=np.ones(6), mean=np.zeros(6), cov=law.cov
    )
    drops = law_drops([exact_law], share[None], law.beta, patterns)
    np.testing.assert_allclose(drops, exact_drops(law), rtol=1e-8)


def exact_drops(law):
    """Bayes risk now, less the Bayes risk with feature j never missing."""
    now = bayes_risk(law).value
    drops = []
    for j in range(law.n_features):
        rate = np.where(np.arange(law.n_features) == j, 0.0, law.rate)
        drops.append(now - bayes_risk(replace(law, rate=rate)).value)
    return np.array(drops)


@pytest.mark.parametrize("seed", range(3))
def test_the_features_worth_measuring_are_ranked_as_by_the_bayes_risk(seed):
    law = law_of("MCAR", seed)
    X, y = law.sample(10_000, random_state=seed)
    explanation = AutoRegressor([EMLR()], random_state=0).fit(X, y).explain()
    assert spearmanr(explanation.risk_drops, exact_drops(law)).statistic >= 0.9


def test_under_self_masking_the_ranking_knows_what_the_mask_says():
    law = law_of("self", 101, d=5)
    X, y = law.sample(10_000, random_state=101)
    model = AutoRegressor([EMLR(), SelfMaskedLR()], random_state=0).fit(X, y)
    assert isinstance(model.base_, SelfMaskedLR)
    now = bayes_risk(law, n_draws=20_000).value
    drops = []
    for j in range(5):
        never = np.arange(5) == j
        measured = replace(
            law,
            bias=np.where(never, -30.0, law.bias),
            slope=np.where(never, 0.0, law.slope),
        )
        drops.append(now - bayes_risk(measured, n_draws=20_000).value)
    # a Gaussian for the posterior, and 20,000 draws for the risks
    np.testing.assert_allclose(model.explain().risk_drops, drops, rtol=0.2)


def test_the_explanation_reads_as_a_page(rng):
    X, y = rows(rng)
    linear = [EMLR(), FactorizedLR(alphas=(1.0,))]
    model = AutoRegressor([*linear, *QUICK[2:]], random_state=0).fit(X, y)
    text = str(model.explain())
    assert "400 rows, 3 features" in text
    for name in ("EMLR", "FactorizedLR", "HistGradientBoostingRegressor on residuals"):
        assert name in text
    assert "Chosen: EMLR" in text
    assert "Worth measuring" in text
    assert model.explain().regime.patterns == 8


def test_a_fold_may_train_on_nothing_observed(rng):
    # one row holds the only value: the fold that tests it has no column to boost
    X = np.full((40, 2), np.nan)
    X[3, 0] = 1.0
    y = rng.standard_normal(40)
    model = AutoRegressor(random_state=0).fit(X, y)
    assert np.abs(model.predict(X) - y.mean()).max() < np.ptp(y)
