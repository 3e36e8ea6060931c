"""What would be tried, and that the candidates are asked, whatever their class."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import missfit
from conftest import hide, random_cov
from missfit import (
    EMLR,
    AutoRegressor,
    ConditionalImputedLR,
    FactorizedLR,
    PatternMixtureLR,
    PatternMoments,
    SelfMaskedLR,
)
from missfit.auto.candidates import default_regressors, scout_of
from missfit.auto.explanation import regime_of
from missfit.estimators.base import NanRegressor
from missfit.simulate import published

LINEAR = ["EMLR", "ConditionalImputedLR"]


def rows(rng, n=300, d=3, rate=0.3):
    X = rng.multivariate_normal(np.arange(d), random_cov(rng, d), n)
    y = 1 + X @ np.arange(1, d + 1) + 0.5 * rng.standard_normal(n)
    return hide(rng, X, rate), y


def kinds(candidates):
    return [type(candidate).__name__ for candidate in candidates]


# --- what would be tried --------------------------------------------------------------


@pytest.mark.slow
def test_what_would_be_tried_is_what_fit_tries(rng):
    X, y = rows(rng)
    model = AutoRegressor(random_state=0)
    would = model.candidates_for(X, y)
    model.fit(X, y)
    linear = [c for c in would if getattr(c, "is_linear", False)]
    assert [s.name for s in model.scores_[: len(linear)]] == kinds(linear)
    parts = [score for score in model.scores_ if "Boosting" in score.name]
    assert len(parts) == 2 * (len(would) - len(linear))
    again = AutoRegressor(would, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_asking_what_would_be_tried_fits_nothing_and_changes_nothing(rng):
    X, y = rows(rng)
    model = AutoRegressor([EMLR(), HistGradientBoostingRegressor()], random_state=0)
    for candidate in model.candidates_for(X, y):
        assert all(candidate is not given for given in model.candidates)
        with pytest.raises(NotFittedError):
            check_is_fitted(candidate)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    before = model.fit(X, y).predict(X)
    model.candidates_for(X[:, :2], y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_frames_names_and_weights_are_read_as_by_fit(rng):
    X, y = rows(rng, n=100)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    model = AutoRegressor()
    assert kinds(model.candidates_for(frame, "y")) == kinds(model.candidates_for(X, y))
    # one heavy row counts for little more than one: too few for components
    weight = np.r_[1e6, np.ones(99)]
    assert "PatternMixtureLR" not in kinds(model.candidates_for(X, y, weight))
    assert "PatternMixtureLR" in kinds(model.candidates_for(X, y))


def test_without_a_linear_candidate_the_reference_is_emlr(rng):
    X, y = rows(rng)
    model = AutoRegressor([HistGradientBoostingRegressor()])
    assert kinds(model.candidates_for(X, y))[0] == "EMLR"
    nothing = np.full_like(X, np.nan)
    assert kinds(model.candidates_for(nothing, y)) == ["EMLR"]
    with pytest.raises(ValueError, match=r"candidates=\[\]; give a list"):
        AutoRegressor([]).candidates_for(X, y)


@pytest.mark.parametrize(
    ("n", "d", "rate", "tried"),
    [
        (300, 3, 0.0, []),
        (300, 3, 0.3, ["FactorizedLR", "PartialPooling", "SelfMaskedLR", "mixture"]),
        (50, 3, 0.3, ["FactorizedLR", "SelfMaskedLR"]),
        (300, 13, 0.3, ["FactorizedLR", "SelfMaskedLR"]),
        (300, 21, 0.3, ["SelfMaskedLR"]),
        (300, 61, 0.3, []),
    ],
)
def test_the_default_candidates_suit_the_table(n, d, rate, tried, rng):
    every = default_regressors(PatternMoments.from_data(*rows(rng, n, d, rate)))
    tried = ["PatternMixtureLR" if name == "mixture" else name for name in tried]
    assert kinds(every) == [*LINEAR, *tried, "HistGradientBoostingRegressor"]


@pytest.mark.parametrize("d", [4, 12])
def test_constant_features_do_not_put_candidates_out(d, rng):
    X, y = rows(rng, 300, d, 0.3)
    padded = np.hstack([X, np.full((300, d), 5.0)])
    empty = np.hstack([X, np.full((300, d), np.nan)])
    of_all = [
        kinds(default_regressors(PatternMoments.from_data(table, y)))
        for table in (X, padded, empty)
    ]
    assert of_all[0] == of_all[1] == of_all[2]


def test_constant_features_have_no_coefficient(rng):
    X, y = rows(rng, 300, 4, 0.3)
    few, padded = (
        regime_of(PatternMoments.from_data(table, y))
        for table in (X, np.hstack([X, np.full((300, 8), 5.0)]))
    )
    assert few.rows_per_linear_coefficient == 300 / 5
    assert padded.rows_per_linear_coefficient == few.rows_per_linear_coefficient
    assert padded.rows_per_expanded_coefficient == few.rows_per_expanded_coefficient


# --- candidates are asked -------------------------------------------------------------


def test_the_default_never_looks_at_the_class_of_a_predictor():
    classes = {"PatternPredictor", "NanRegressor", *missfit.__all__}
    for path in (Path(missfit.__file__).parent / "auto").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                names = {
                    n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)
                }
                assert not names & classes, f"{path.name}: {ast.unparse(node)}"


class Outsider(NanRegressor):
    """A predictor that missfit does not know, and that answers what it is asked."""

    is_linear = True

    def __init__(self, rough=False):
        self.rough = rough

    def fit(self, X, y, sample_weight=None):
        X, y = self._check_fit(X, y)
        self.coef_ = np.linalg.lstsq(np.nan_to_num(X), y)[0]
        return self

    def predict(self, X):
        return np.nan_to_num(self._check_predict(X)) @ self.coef_

    def scout(self):
        return Outsider(rough=True)

    def self_masking_found(self):
        return True

    def risk_drops(self, X):
        return np.arange(3.0)


def test_a_predictor_of_another_class_is_asked_like_those_of_missfit(rng):
    X = rng.standard_normal((600, 3))
    y = np.nan_to_num(X := hide(rng, X)) @ [1.0, 2.0, 3.0]
    model = AutoRegressor([EMLR(), Outsider()], random_state=0).fit(X, y)
    assert isinstance(model.base_, Outsider)
    explanation = model.explain()
    assert explanation.risk_drops.tolist() == [0.0, 1.0, 2.0]
    assert "gains" in explanation.mechanism.self_evidence
    assert scout_of(Outsider(), EMLR()).name == "a part of the rows"


# --- what the predictors answer -------------------------------------------------------


def test_scouts_are_cheaper_models_of_the_same_kind():
    assert PatternMixtureLR(random_state=3).scout().get_params() == {
        **PatternMixtureLR(max_components=2).get_params(),
        "random_state": 3,
    }
    assert PatternMixtureLR(3).scout() is None
    assert SelfMaskedLR(tol=0.1).scout().tol == 0.5
    assert SelfMaskedLR(max_iter=9).scout().max_iter == 9
    assert EMLR().scout() is None
    assert scout_of(EMLR(), EMLR()) is None


def test_needing_rows_is_having_no_fit_moments():
    assert SelfMaskedLR().needs_rows
    assert missfit.MICELR().needs_rows
    assert not EMLR().needs_rows


def test_a_fit_given_the_start_is_the_fit(rng):
    moments = PatternMoments.from_data(*rows(rng))
    model = ConditionalImputedLR()
    start = model.starts_from().fit_moments(moments)
    given = model.fit_moments_given(start, moments)
    plain = ConditionalImputedLR().fit_moments(moments)
    np.testing.assert_array_equal(given.coef_, plain.coef_)
    mixture = PatternMixtureLR(2, random_state=0)
    start = mixture.starts_from().fit_moments(moments)
    given = clone(mixture).fit_moments_given(start, moments)
    # the start is written in the units of the data and back: rounding
    plain = mixture.fit_moments(moments)
    np.testing.assert_allclose(given.coef_, plain.coef_, rtol=1e-6)
    assert given.bic_ == pytest.approx(plain.bic_, rel=1e-9)


def test_a_copy_with_the_chosen_strength_fits_the_same(rng):
    X, y = rows(rng)
    for model in (FactorizedLR(alphas=(0.1, 10.0)), EMLR(max_iter=50)):
        copy = model.fit(X, y).with_chosen_strength()
        with pytest.raises(NotFittedError):
            check_is_fitted(copy)
        expected = model.predict(X)
        moments = PatternMoments.from_data(X, y)
        # sums over folds against sums over rows
        found = copy.fit_moments(moments).predict(X)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("model", [EMLR(), PatternMixtureLR(2, random_state=0)])
def test_laws_and_slopes_predict_as_the_model_does(model):
    """b0 + sum_k share_k b'E[X | x_obs, k], at the means of the patterns' maps."""
    X, y = published("mixture3", 4).sample(500, random_state=0)
    model = model.fit(X, y)
    maps = model.pattern_models_
    laws = model.laws()
    np.testing.assert_allclose(sum(share for _, share in laws), 1.0)
    for p, hidden in enumerate(maps.patterns):
        guess = model.intercept_
        x = np.where(hidden, 0.0, [1.0, -1.0, 2.0, 0.5])
        for law, share in laws:
            mean = law.shift + law.scale * law.mean
            cov = law.cov * law.scale * law.scale[:, None]
            filled = x.copy()
            inner = np.linalg.inv(cov[np.ix_(~hidden, ~hidden)])
            gap = (x - mean)[~hidden]
            filled[hidden] = mean[hidden] + cov[np.ix_(hidden, ~hidden)] @ inner @ gap
            guess = guess + share[p] * (model.coef_ @ filled)
        expected = maps.intercept[p, 0] + maps.coef[p, 0] @ x
        assert guess == pytest.approx(expected, rel=1e-8)


def test_only_a_model_of_self_masking_says_whether_it_is_found():
    masked, random = (
        SelfMaskedLR().fit(*published(setting, 4).sample(2000, random_state=0))
        for setting in ("selfmasked", "mixture1")
    )
    assert masked.self_masking_found() is True
    assert masked.why_not() == ""
    assert random.self_masking_found() is False
    assert random.why_not() == "no sign of self-masking"
    assert EMLR().self_masking_found() is None
