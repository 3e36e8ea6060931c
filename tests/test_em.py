import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from conftest import hide, random_cov
from missfit import EMLR, PatternMoments
from missfit.bayes import BayesPredictor, bayes_r2
from missfit.estimators.emlr import FLOOR
from missfit.gaussian.em import PenalisedGaussian, accelerated_em, distance_left, e_step
from missfit.gaussian.pattern_chunks import GaussianData
from missfit.simulate import MCARGaussian, published_data


def textbook_e_step(Z, mean, cov):
    """Expected sums, row by row, by the formulas of any textbook."""
    k = len(mean)
    first, second, log_likelihood = np.zeros(k), np.zeros((k, k)), 0.0
    for z in Z:
        o, u = ~np.isnan(z), np.isnan(z)
        slope = cov[np.ix_(u, o)] @ np.linalg.inv(cov[np.ix_(o, o)])
        filled = np.where(o, z, 0.0) - np.where(o, mean, 0.0)
        filled[u] = slope @ (z - mean)[o]
        first += filled
        second += np.outer(filled, filled)
        second[np.ix_(u, u)] += cov[np.ix_(u, u)] - slope @ cov[np.ix_(o, u)]
        log_likelihood += stats.multivariate_normal(mean[o], cov[np.ix_(o, o)]).logpdf(
            z[o]
        )
    return first, second, log_likelihood


# patterns kept as rows, few and many at once, and condensed
@pytest.mark.parametrize(("n", "d"), [(12, 3), (150, 9), (400, 3)])
@pytest.mark.parametrize("robust", [False, True])
def test_the_e_step_is_the_textbook_one(rng, n, d, robust):
    X = hide(rng, rng.multivariate_normal(np.zeros(d), random_cov(rng, d), n) + 5)
    y = rng.standard_normal(n) + np.nansum(X, axis=1)
    data = GaussianData(PatternMoments.from_data(X, y))
    Z = (np.column_stack([X, y]) - data.shift) / data.scale
    mean, cov = 0.1 * rng.standard_normal(d + 1), random_cov(rng, d + 1)
    first, second, log_likelihood = textbook_e_step(Z, mean, cov)
    ours = e_step(data, mean, cov, robust=robust)
    np.testing.assert_allclose(ours.first, first, atol=1e-9 * n)
    np.testing.assert_allclose(ours.second, second, atol=1e-9 * n)
    if not robust:
        np.testing.assert_allclose(ours.log_likelihood, log_likelihood, rtol=1e-9)


def test_every_step_climbs(rng):
    X = hide(rng, rng.multivariate_normal(np.zeros(4), random_cov(rng, 4), 200))
    y = np.nansum(X, axis=1) + rng.standard_normal(200)
    data = GaussianData(PatternMoments.from_data(X, y))
    model = PenalisedGaussian(4, prior_rows=0.3, floor=1e-4)
    mean, cov = np.zeros(5), np.eye(5)
    heights = []
    for _ in range(30):
        expected = e_step(data, mean, cov)
        heights.append(expected.log_likelihood + model.log_prior(cov))
        mean, cov = model.m_step(expected, mean, data.n_rows)
    assert (np.diff(heights) > -1e-9).all()
    fit = accelerated_em(data, model, (np.zeros(5), np.eye(5)), max_iter=500, tol=1e-12)
    best = fit.log_likelihood + model.log_prior(fit.cov)
    assert best >= heights[-1]


def test_the_accelerated_fit_is_where_the_plain_one_goes(rng):
    # noisy y, enough rows: both maximise the same likelihood but for 0.3 pseudo-rows
    X = hide(rng, rng.multivariate_normal(np.ones(3), random_cov(rng, 3), 5000))
    y = np.nansum(X, axis=1) + rng.standard_normal(5000)
    fast = EMLR(tol=1e-10).fit(X, y)
    plain = EMLR(algorithm="reference", tol=1e-10, max_iter=5000).fit(X, y)
    assert fast.n_iter_ < plain.n_iter_
    np.testing.assert_allclose(fast.mean_, plain.mean_, atol=2e-3)
    np.testing.assert_allclose(fast.covariance_, plain.covariance_, atol=5e-3)
    assert plain.log_likelihood_ > fast.log_likelihood_ > plain.log_likelihood_ - 0.5


def test_monotone_missing_values_give_the_closed_form_of_anderson(rng):
    # x_2 missing at random given x_1: the likelihood factors, and its maximum is known
    # (Anderson 1957): the law of (x_1, y) from all rows, of x_2 given them from some.
    n = 2000
    x1 = rng.standard_normal(n)
    x2 = 0.8 * x1 + 0.6 * rng.standard_normal(n)
    y = x1 - x2 + rng.standard_normal(n)
    seen = rng.random(n) < 1 / (1 + np.exp(-2 * x1))
    X = np.column_stack([x1, np.where(seen, x2, np.nan)])
    model = EMLR(algorithm="reference", tol=1e-13, max_iter=20_000).fit(X, y)

    base = np.column_stack([x1, y])
    design = np.column_stack([np.ones(seen.sum()), base[seen]])
    coef, *_ = np.linalg.lstsq(design, x2[seen], rcond=None)
    residual = np.mean((x2[seen] - design @ coef) ** 2)
    cov_base = np.cov(base, rowvar=False, bias=True)
    mean_x2 = coef[0] + coef[1:] @ base.mean(axis=0)
    var_x2 = residual + coef[1:] @ cov_base @ coef[1:]
    np.testing.assert_allclose(model.mean_[1], mean_x2, rtol=1e-7)
    np.testing.assert_allclose(model.covariance_[1, 1], var_x2, rtol=1e-7)
    np.testing.assert_allclose(
        model.covariance_[np.ix_([0, 2], [0, 2])], cov_base, rtol=1e-9
    )
    np.testing.assert_allclose(
        model.covariance_[1, [0, 2]], cov_base @ coef[1:], rtol=1e-6
    )


def test_the_log_likelihood_is_that_of_the_observed_values(rng):
    X = hide(rng, 100 + 7 * rng.standard_normal((300, 3)))
    y = rng.standard_normal(300)
    model = EMLR().fit(X, y)
    total = 0.0
    for z in np.column_stack([X, y]):
        o = ~np.isnan(z)
        law = stats.multivariate_normal(model.mean_[o], model.covariance_[np.ix_(o, o)])
        total += law.logpdf(z[o])
    np.testing.assert_allclose(model.log_likelihood_, total, rtol=1e-9)


def test_the_prediction_is_the_conditional_expectation_of_the_fitted_gaussian(rng):
    X = hide(rng, rng.multivariate_normal(np.ones(3), random_cov(rng, 3), 500))
    y = np.nansum(X, axis=1) + rng.standard_normal(500)
    model = EMLR().fit(X, y)
    mean, std = model.predict(X[:20], return_std=True)
    mu, S = model.mean_, model.covariance_
    for x, ours, spread in zip(X[:20], mean, std, strict=True):
        o = np.append(~np.isnan(x), False)
        slope = S[3, o] @ np.linalg.inv(S[np.ix_(o, o)])
        np.testing.assert_allclose(ours, mu[3] + slope @ (x[o[:3]] - mu[o]), rtol=1e-8)
        np.testing.assert_allclose(spread**2, S[3, 3] - slope @ S[o, 3], rtol=1e-7)


def test_std_is_calibrated_where_the_model_is_right(rng):
    d = 5
    law = (rng.standard_normal(d), random_cov(rng, d), np.ones(d))
    model = MCARGaussian(*law, rate=0.4, noise=0.5)
    X, y = model.sample(20_000, random_state=0)
    mean, std = EMLR().fit(X[:10_000], y[:10_000]).predict(X[10_000:], return_std=True)
    z = (y[10_000:] - mean) / std
    assert abs(z.std() - 1) < 0.03
    coverage = np.mean(np.abs(z) < stats.norm.ppf(0.95))
    assert abs(coverage - 0.9) < 0.015


def wide_law(rng, d=50):
    cov = random_cov(rng, d)
    beta = np.ones(d)
    noise = np.sqrt(beta @ cov @ beta / 10)
    return MCARGaussian(np.zeros(d), cov, beta, rate=0.5, noise=noise)


def test_fifty_features_and_five_hundred_rows_do_not_collapse(rng):
    model = wide_law(rng)
    X, y = model.sample(500, random_state=0)
    X_test, y_test = model.sample(5000, random_state=1)
    bayes = bayes_r2(model, n_draws=5000).value
    assert EMLR().fit(X, y).score(X_test, y_test) > bayes - 0.08


@pytest.mark.slow
def test_fifty_features_and_a_hundred_thousand_rows_reach_the_bayes_predictor(rng):
    model = wide_law(rng)
    X, y = model.sample(100_000, random_state=0)
    X_test, y_test = model.sample(20_000, random_state=1)
    ours = EMLR().fit(X, y).score(X_test, y_test)
    assert ours > BayesPredictor(model).score(X_test, y_test) - 1e-3


def test_a_fit_that_stops_early_says_what_to_do(rng):
    X = hide(rng, rng.standard_normal((100, 3)))
    for algorithm in ("accelerated", "reference"):
        with pytest.warns(ConvergenceWarning, match=r"max_iter=2 .*raise max_iter"):
            EMLR(algorithm=algorithm, max_iter=2).fit(X, np.nansum(X, axis=1))


def test_a_noise_free_target_is_no_trouble(rng):
    X = rng.multivariate_normal(np.zeros(3), random_cov(rng, 3), 500)
    y = X.sum(axis=1)
    holes = hide(rng, X)
    for model in (EMLR(), EMLR(algorithm="reference")):
        model.fit(holes, y)
        np.testing.assert_allclose(model.coef_, 1.0, atol=0.1)
        mean, std = model.predict(X[:5], return_std=True)
        assert np.abs(mean - y[:5]).max() < 0.3
        assert np.isfinite(std).all()


def rows_of_factors(rng, n, d, n_factors=3, rate=0.3, noise=0.5):
    """Features that share a few factors, and a linear target."""
    loadings = rng.standard_normal((d, n_factors)) / np.sqrt(n_factors)
    X = rng.standard_normal((n, n_factors)) @ loadings.T
    X += 0.5 * rng.standard_normal((n, d))
    signal = X @ rng.standard_normal(d) / np.sqrt(d)
    y = signal + noise * signal.std() * rng.standard_normal(n)
    return hide(rng, X, rate), y


@pytest.mark.parametrize(("n", "d"), [(40, 20), (60, 60)])
def test_few_rows_in_many_dimensions_do_not_interpolate(n, d, rng):
    # a ridge on mean-imputed rows has .3 to .5 and .1 on such tables
    X, y = rows_of_factors(rng, n + 1000, d)
    model = EMLR().fit(X[:n], y[:n])
    assert model.score(X[n:], y[n:]) > 0.2
    assert model.n_iter_ < 60  # 200 and more without a pull that fits the rows


def test_pseudo_rows_are_rows_of_uncorrelated_features_with_y_at_its_mean(rng):
    # on complete rows: least squares with those rows appended
    Z = rng.standard_normal((30, 4))
    Z -= Z.mean(axis=0)
    data = GaussianData(PatternMoments.from_data(Z[:, :3], Z[:, 3]))
    model = PenalisedGaussian(3, 2.0, 1e-9, slope_rows=2.0)
    fit = accelerated_em(data, model, (np.zeros(4), np.eye(4)), max_iter=50, tol=1e-12)
    slopes = np.linalg.solve(fit.cov[:3, :3], fit.cov[:3, 3])
    standard = Z / Z.std(axis=0)
    X = np.vstack([standard[:, :3], np.sqrt(2.0) * np.eye(3)])
    by_hand = np.linalg.lstsq(X, np.append(standard[:, 3], np.zeros(3)))[0]
    np.testing.assert_allclose(slopes, by_hand, rtol=1e-9)


@pytest.mark.slow
def test_sixty_rows_of_four_hundred_features_take_few_steps(rng):
    X, y = rows_of_factors(rng, 160, 400, n_factors=10)
    model = EMLR().fit(X[:60], y[:60])
    assert model.n_iter_ <= 30
    assert model.score(X[60:], y[60:]) > 0.3


def test_missing_values_are_not_bent_to_a_target_without_noise():
    # 30 rows of 80 features can have any y: more steps fit it better, and new rows less
    gain = []
    for seed in (0, 3, 5, 7):  # of eight, those where the weakest ridge is best
        rng = np.random.default_rng(seed)
        X, y = rows_of_factors(rng, 530, 80, n_factors=25, rate=0.15, noise=0.02)
        few = EMLR().fit(X[:30], y[:30])  # no warning: it is meant to end here
        assert few.n_iter_ < 40
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            many = EMLR(tol=1e-5, max_iter=300).fit(X[:30], y[:30])
        assert many.n_iter_ == 300
        gain.append(few.score(X[30:], y[30:]) - many.score(X[30:], y[30:]))
    assert min(gain) > 0
    assert max(gain) > 0.3


def test_a_stop_far_from_the_end_is_said_where_most_values_are_missing(rng):
    X, y = rows_of_factors(rng, 1000, 6, n_factors=2, rate=0.9)
    with pytest.warns(ConvergenceWarning, match=r"may still move by .* lower tol"):
        early = EMLR().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        late = EMLR(tol=1e-9, max_iter=1000).fit(X, y)
    assert np.abs(early.covariance_ - late.covariance_).max() > 0.01
    X, y = rows_of_factors(rng, 1000, 6, n_factors=2, rate=0.5)
    EMLR().fit(X, y)  # which would raise a warning here


def test_the_distance_left_is_what_is_left(rng):
    X, y = rows_of_factors(rng, 500, 4, n_factors=2, rate=0.6)
    data = GaussianData(PatternMoments.from_data(X, y))
    model = PenalisedGaussian.of_data(data, 4, 5e-4)
    start = np.zeros(5), np.eye(5)
    end = accelerated_em(data, model, start, max_iter=5000, tol=1e-14)
    theta = start
    for _ in range(60):  # plain steps, until the slowest direction alone is left
        theta = model.m_step(e_step(data, *theta), theta[0], data.n_rows)
    stop = end._replace(mean=theta[0], cov=theta[1])
    left = max(np.abs(end.mean - theta[0]).max(), np.abs(end.cov - theta[1]).max())
    assert distance_left(data, model, stop) == pytest.approx(left, rel=0.5)


@pytest.mark.parametrize("n", [60, 2000])  # few rows for each feature, and enough
def test_a_fit_from_one_nearby_ends_where_the_fit_from_afar_does(rng, n):
    X = hide(rng, rng.multivariate_normal(np.ones(5), random_cov(rng, 5), n))
    y = np.nansum(X, axis=1) + rng.standard_normal(n)
    other = EMLR().fit(X[: n // 2] * 3.0, y[: n // 2])  # even in other units
    moments = PatternMoments.from_data(X, y)
    afar = EMLR(tol=1e-12).fit_moments(moments)
    near = EMLR(tol=1e-12).fit_moments(moments, near=other)
    # both stop where steps gain 1e-12 per row: 1e-6 of a standard deviation or so
    np.testing.assert_allclose(near.mean_, afar.mean_, atol=1e-4)
    np.testing.assert_allclose(near.covariance_, afar.covariance_, atol=1e-3)


def test_the_other_folds_take_fewer_steps_than_the_first(rng):
    X = hide(rng, rng.multivariate_normal(np.ones(5), random_cov(rng, 5), 6000))
    y = np.nansum(X, axis=1) + rng.standard_normal(6000)
    folds = [PatternMoments.from_data(X[k::3], y[k::3]) for k in range(3)]
    first = EMLR().fit_moments(folds[0] + folds[1])
    second = folds[1] + folds[2]
    near, afar = EMLR().fit_moments(second, near=first), EMLR().fit_moments(second)
    assert near.n_iter_ < afar.n_iter_
    # where three steps gain less than 1e-4 per row
    assert near.log_likelihood_ > afar.log_likelihood_ - 1e-4 * 4000


def test_a_noise_free_target_is_fitted_as_high_as_by_plain_steps():
    # leaps to a residual below the floor have a higher likelihood than any step has:
    # here they once ended .5 of log-likelihood per row below what steps reach
    X, y = published_data("mixture3", 4, 2, 1000)
    X, _, y, _ = train_test_split(X, y, random_state=0)
    data = GaussianData(PatternMoments.from_data(X, y))
    model = PenalisedGaussian.of_data(data, 4, FLOOR)
    theta = np.zeros(5), np.eye(5)
    for _ in range(300):
        expected = e_step(data, *theta)
        theta = model.m_step(expected, theta[0], data.n_rows)
    plain = e_step(data, *theta).log_likelihood
    start = np.zeros(5), np.eye(5)
    fit = accelerated_em(data, model, start, max_iter=1000, tol=1e-4)
    assert fit.converged
    assert fit.log_likelihood > plain - 1e-3 * len(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [25, 86, 0])  # 86 and 0: 1e127 and NaN before
def test_the_plain_em_with_a_feature_twice_is_right_or_refuses(seed):
    rng = np.random.default_rng(seed)
    X = rng.multivariate_normal(np.arange(3), random_cov(rng, 3), 400)
    y = 1 + X @ np.arange(1, 4) + 0.5 * rng.standard_normal(400)
    X = hide(rng, X, 0.3)
    X = np.column_stack([X, X[:, 0]])
    expected = pytest.approx(EMLR().fit(X, y).score(X, y), abs=0.001)
    try:  # which of the two it is lies in the rounding of LAPACK
        assert EMLR(algorithm="reference").fit(X, y).score(X, y) == expected
    except ValueError as error:
        if "singular" not in str(error):
            raise


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_em_ends_sooner_where_y_has_noise_and_predicts_the_same(rng, noise):
    n, d = 1500, 5
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    y = X.sum(axis=1)
    y = y + noise * y.std() * rng.standard_normal(n)
    X = hide(rng, X, 0.4)
    found, exact = EMLR().fit(X, y), EMLR(tol=1e-8).fit(X, y)
    strict = EMLR(tol=1e-5).fit(X, y)
    # without noise it is the strict end, with noise an earlier one
    assert (
        (found.n_iter_ == strict.n_iter_)
        if noise == 0
        else (found.n_iter_ < strict.n_iter_)
    )
    gap = found.predict(X) - exact.predict(X)
    assert np.mean(gap**2) < 1e-4 * y.var()


def test_a_fit_that_goes_on_from_one_nearby_takes_few_steps_and_ends_there(rng):
    X = hide(rng, rng.standard_normal((2000, 5)) + rng.standard_normal((2000, 1)), 0.4)
    y = np.nansum(X, axis=1) + rng.standard_normal(2000)
    first = EMLR().fit(X[:1500], y[:1500])
    moments = PatternMoments.from_data(X[500:], y[500:])
    near, far = EMLR().fit_moments(moments, near=first), EMLR().fit_moments(moments)
    assert near.n_iter_ < far.n_iter_
    gap = near.predict(X) - far.predict(X)
    assert np.mean(gap**2) < 1e-4 * y.var()
