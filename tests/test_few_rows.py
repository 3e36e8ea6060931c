"""Few rows for each feature, and more features than rows: what holds the Gaussian."""

import warnings

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import hide
from missfit import (
    EMLR,
    ConditionalImputedLR,
    ConstantImputedLR,
    PatternMixtureLR,
    PatternMoments,
    SelfMaskedLR,
)
from missfit.gaussian.few_rows import pull_of_covariance
from missfit.gaussian.pattern_chunks import GaussianData

LAWS = ("independent", "factors", "blocks")


def wide_rows(law, n, d, seed, *, dense=True, noise=0.5, rate=0.2):
    """Training rows and 500 new ones of a linear target, noise / signal as given."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 500, d))
    if law == "factors":
        X = 0.7 * X + rng.standard_normal((n + 500, 3)) @ rng.standard_normal((3, d))
    elif law == "blocks":
        X = X / 2 + rng.standard_normal((n + 500, d // 10 + 1))[:, np.arange(d) // 10]
    slopes = rng.standard_normal(d)
    if not dense:
        slopes[rng.permutation(d)[5:]] = 0.0
    signal = X @ slopes
    y = signal / signal.std() + np.sqrt(noise) * rng.standard_normal(n + 500)
    X = hide(rng, X, rate)
    return X[:n], y[:n], X[n:], y[n:]


def ridge_on_means_and_indicators():
    return make_pipeline(
        SimpleImputer(add_indicator=True),
        StandardScaler(),
        RidgeCV(alphas=np.logspace(-3, 5, 17)),
    )


def mean_gain(model, tables):
    """R2 on new rows above that of the ridge: the mean and the least over tables."""
    gain = []
    for X, y, X_new, y_new in tables:
        theirs = ridge_on_means_and_indicators().fit(X, y).score(X_new, y_new)
        gain.append(model.fit(X, y).score(X_new, y_new) - theirs)
    return np.mean(gain), np.min(gain)


@pytest.mark.parametrize("model", [EMLR(), ConditionalImputedLR()])
@pytest.mark.parametrize("law", LAWS)
def test_sixty_rows_of_forty_features_beat_a_ridge_on_means_and_indicators(law, model):
    # noise from a twentieth of the signal to five times as much
    tables = [
        wide_rows(law, 60, 40, seed, noise=noise)
        for seed, noise in enumerate((0.05, 0.5, 2.0, 5.0))
    ]
    mean, least = mean_gain(model, tables)
    assert mean > 0
    assert least > -0.1  # of 500 rows: 2 to 3 standard errors


@pytest.mark.slow
@pytest.mark.parametrize("model", [EMLR(), ConditionalImputedLR()])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("law", LAWS)
def test_three_hundred_rows_of_two_hundred_features_beat_that_ridge(law, dense, model):
    tables = [
        wide_rows(law, 300, 200, seed, dense=dense, noise=noise, rate=rate)
        for seed, (noise, rate) in enumerate([(0.1, 0.3), (0.5, 0.2), (3.0, 0.1)])
    ]
    mean, least = mean_gain(model, tables)
    assert mean > 0
    assert least > -0.02


def test_a_target_of_pure_noise_gets_no_slopes_worth_the_name():
    X, _, X_new, _ = wide_rows("blocks", 100, 40, 0)
    rng = np.random.default_rng(1)
    y, y_new = rng.standard_normal(100), rng.standard_normal(500)
    # the mean of 100 rows alone costs .01; least squares has -1 here
    assert EMLR().fit(X, y).score(X_new, y_new) > -0.05
    assert ConditionalImputedLR().fit(X, y).score(X_new, y_new) > -0.05


def test_an_informative_mask_is_used_with_few_rows_too():
    X, y, X_new, y_new = wide_rows("blocks", 100, 30, 0)
    effect = np.random.default_rng(1).standard_normal(30)
    y, y_new = y + np.isnan(X) @ effect, y_new + np.isnan(X_new) @ effect
    by_ridge = ridge_on_means_and_indicators().fit(X, y).score(X_new, y_new)
    model = ConditionalImputedLR().fit(X, y)
    assert model.score(X_new, y_new) > by_ridge - 0.02  # as good, near enough
    assert by_ridge > EMLR().fit(X, y).score(X_new, y_new) + 0.2  # and it is worth it


def test_on_complete_rows_the_pull_is_that_of_ledoit_and_wolf(rng):
    Z = rng.standard_normal((150, 60))
    Z[:, 1:] += 0.5 * Z[:, :-1]  # neighbours are correlated
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    data = GaussianData(PatternMoments.from_data(Z, Z[:, 0]))
    pull = pull_of_covariance(data, 60)
    _, share = ledoit_wolf(Z, assume_centered=True)
    # theirs counts the errors of the variances too, and estimates them from the rows
    assert pull.share == pytest.approx(share, rel=0.15)
    assert pull.rows == pytest.approx(150 * pull.share / (1 - pull.share))


def test_independent_features_are_left_almost_independent(rng):
    X = hide(rng, rng.standard_normal((80, 30)), 0.3)
    model = EMLR().fit(X, rng.standard_normal(80))
    unit = model.covariance_[:30, :30] / np.sqrt(
        np.outer(*[np.diag(model.covariance_)[:30]] * 2)
    )
    assert np.abs(unit - np.eye(30)).max() < 0.1  # the rows alone have .3 and more
    assert model.prior_rows_ > 80


def test_on_complete_rows_it_is_scikit_learns_ridge_of_the_strength_it_says(rng):
    X = rng.standard_normal((50, 20)) * rng.uniform(0.1, 100, 20) + 7
    y = X @ (rng.standard_normal(20) / X.std(axis=0)) + 5 * rng.standard_normal(50)
    model = EMLR().fit(X, y)
    assert model.slope_rows_ > 1
    ridge = make_pipeline(StandardScaler(), Ridge(alpha=model.slope_rows_)).fit(X, y)
    # EM ends at a tolerance; the ridge needs no steps
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), rtol=1e-6)


def test_from_twenty_rows_for_each_feature_on_the_prior_is_the_same(rng):
    X = hide(rng, rng.standard_normal((80, 4)), 0.2)
    y = np.nansum(X, axis=1) + rng.standard_normal(80)
    enough = EMLR().fit(X, y)
    assert (enough.prior_rows_, enough.slope_rows_, enough.by_em_) == (0.3, 0.0, True)
    few = EMLR().fit(X[:79], y[:79])
    assert few.prior_rows_ >= 2.0  # d / 2
    assert few.slope_rows_ > 0


@pytest.mark.parametrize("make", [EMLR, ConditionalImputedLR])
def test_units_and_origins_of_a_wide_table_do_not_matter(make):
    X, y, X_new, _ = wide_rows("blocks", 60, 40, 3)
    unit = 10.0 ** (np.arange(40) % 7 - 3)
    plain = make().fit(X, y).predict(X_new)
    other = (
        make().fit(X * unit + 5 * unit, 100 * y - 3).predict(X_new * unit + 5 * unit)
    )
    np.testing.assert_allclose(other, 100 * plain - 3, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("make", [EMLR, ConditionalImputedLR])
def test_a_weight_of_two_repeats_a_row_of_a_wide_table(make):
    X, y, X_new, _ = wide_rows("factors", 60, 40, 4)
    weight = 1.0 + np.arange(60) % 2
    weighted = make().fit(X, y, sample_weight=weight).predict(X_new)
    again = np.repeat(np.arange(60), weight.astype(int))
    repeated = make().fit(X[again], y[again]).predict(X_new)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("make", [EMLR, ConditionalImputedLR])
def test_a_wide_table_may_come_as_moments_of_its_parts(make):
    X, y, X_new, _ = wide_rows("factors", 60, 40, 5)
    parts = [PatternMoments.from_data(X[k::3], y[k::3]) for k in range(3)]
    by_parts = make().fit_moments(parts[0] + parts[1] + parts[2]).predict(X_new)
    np.testing.assert_allclose(by_parts, make().fit(X, y).predict(X_new), rtol=1e-6)


def test_several_targets_of_a_wide_table_have_strengths_of_their_own():
    X, y, *_ = wide_rows("factors", 60, 40, 6, noise=0.01)
    noise = np.random.default_rng(0).standard_normal(60)
    model = EMLR().fit(X, np.column_stack([y, noise]))
    assert model.slope_rows_[1] > 10 * model.slope_rows_[0]


def test_a_table_too_wide_for_em_is_fitted_by_pairs_and_says_so(monkeypatch):
    X, y, X_new, y_new = wide_rows("blocks", 60, 40, 7)
    by_em = EMLR().fit(X, y)
    monkeypatch.setattr("missfit.gaussian.few_rows.MOST_WORK", 0.0)
    with pytest.warns(ConvergenceWarning, match=r"EM was not run: 40 features.*pairs"):
        by_pairs = EMLR().fit(X, y)
    assert (by_em.by_em_, by_pairs.by_em_) == (True, False)
    # on ten laws of 60 x 40 and 300 x 200 it is .001 to .06 below EM
    loss = by_em.score(X_new, y_new) - by_pairs.score(X_new, y_new)
    assert abs(loss) < 0.07
    mean, std = by_pairs.predict(X_new, return_std=True)
    within = np.abs(y_new - mean) < std
    assert 0.5 < within.mean() < 0.85  # .68, with 60 rows to know it from


def test_many_rows_too_wide_for_em_are_fitted_by_pairs_and_near_em(monkeypatch):
    X, y, X_new, y_new = wide_rows("blocks", 800, 10, 9)
    by_em = EMLR().fit(X, y)
    monkeypatch.setattr("missfit.gaussian.few_rows.MOST_WORK", 0.0)
    monkeypatch.setattr("missfit.gaussian.few_rows.MUCH_WORK", 0.0)
    with pytest.warns(ConvergenceWarning, match=r"EM was not run: 10 features"):
        by_pairs = EMLR().fit(X, y)
    assert not by_pairs.by_em_
    gap = by_em.predict(X_new) - by_pairs.predict(X_new)
    assert gap.std() < 0.1 * y_new.std()  # pairs of 800 rows tell the covariances well


def test_the_seconds_expected_grow_with_rows_columns_and_what_is_missing():
    def expected(model, n, d, rate):
        X, y, *_ = wide_rows("independent", n, d, 0, rate=rate)
        return model.seconds_of_fit(PatternMoments.from_data(X, y))

    for model in (EMLR(), ConditionalImputedLR(), SelfMaskedLR()):
        least = expected(model, 300, 30, 0.2)
        assert expected(model, 600, 30, 0.2) > least
        assert expected(model, 300, 60, 0.2) > least
        assert expected(model, 300, 30, 0.4) > least
    assert ConstantImputedLR().seconds_of_fit(None) == 0  # it is never long


@pytest.mark.slow
def test_two_thousand_rows_of_a_thousand_features_are_no_worse_than_that_ridge():
    X, y, X_new, y_new = wide_rows("blocks", 2000, 1000, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = EMLR().fit(X, y)
    assert not model.by_em_
    theirs = ridge_on_means_and_indicators().fit(X, y).score(X_new, y_new)
    assert model.score(X_new, y_new) > theirs - 0.02


def test_the_pattern_mixture_starts_from_the_held_gaussian():
    X, y, X_new, _ = wide_rows("factors", 60, 40, 8, noise=2.0)
    mixture = PatternMixtureLR(n_components=1).fit(X, y)
    np.testing.assert_allclose(mixture.predict(X_new), EMLR().fit(X, y).predict(X_new))
