"""Self-masking learned: against exact likelihoods, integrals and the truth."""

import sys

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn.model_selection import train_test_split

from conftest import hide, random_cov
from laws import brute_force, small_law
from missfit import EMLR, ConditionalImputedLR, SelfMaskedLR
from missfit.bayes import BayesPredictor
from missfit.gaussian import self_masking_by_part
from missfit.gaussian.em import PenalisedGaussian, e_step
from missfit.gaussian.pattern_chunks import GaussianData
from missfit.gaussian.self_masking import (
    ObservedValues,
    RowData,
    SelfMaskedLaw,
    fit_self_masked,
    largest_change,
)
from missfit.gaussian.self_masking_by_part import fit_by_part
from missfit.moments.pattern_moments import PatternMoments
from missfit.simulate import (
    MCARGaussian,
    SelfMaskedProbit,
    published,
    published_data,
)


def test_with_flat_curves_the_e_step_is_that_of_em(rng):
    X = hide(rng, rng.multivariate_normal(np.zeros(4), random_cov(rng, 4), 200))
    y = rng.standard_normal(200)
    weight = rng.integers(1, 4, 200).astype(float)
    mean, cov = rng.standard_normal(5), random_cov(rng, 5)
    by_pattern = GaussianData(PatternMoments.from_data(X, y, weight))
    Z = (np.column_stack([X, y]) - by_pattern.shift) / by_pattern.scale
    first, second, _ = e_step(by_pattern, mean, cov)
    law = SelfMaskedLaw(mean, cov, np.zeros(4), np.zeros(4))
    ours = RowData(Z, weight, 4).expect(law)
    np.testing.assert_allclose(ours.first, first, rtol=1e-10)
    np.testing.assert_allclose(ours.second, second, rtol=1e-9, atol=1e-9)


def one_feature(n=3000):
    law = SelfMaskedProbit([0.5], [[1.5]], [1.0], slope=1.0, bias=-0.8, noise=0.7)
    return law.sample(n, random_state=0)


def minus_log_likelihood(theta, x, y):
    """Exact, with one feature: missing values integrate to Phi in closed form."""
    mu, log_s, b0, b, log_noise, bias, slope = theta
    s2, noise2 = np.exp(2 * log_s), np.exp(2 * log_noise)
    mis = np.isnan(x)
    seen, z = x[~mis], y[~mis]
    total = stats.norm.logpdf(seen, mu, np.sqrt(s2)).sum()
    total += stats.norm.logpdf(z, b0 + b * seen, np.sqrt(noise2)).sum()
    total += stats.norm.logcdf(-(bias + slope * seen)).sum()
    var_y = b * b * s2 + noise2
    total += stats.norm.logpdf(y[mis], b0 + b * mu, np.sqrt(var_y)).sum()
    m = mu + b * s2 / var_y * (y[mis] - b0 - b * mu)
    v = s2 - (b * s2) ** 2 / var_y
    r = (bias + slope * m) / np.sqrt(1 + slope**2 * v)
    return -total - stats.norm.logcdf(r).sum()


def test_one_feature_gives_the_maximum_of_the_exact_likelihood():
    # one site per row: expectation propagation is exact, the prior worth one row
    X, y = one_feature()
    model = SelfMaskedLR(tol=1e-5).fit(X, y)
    start = [0.0, 0.0, 0.0, 1.0, 0.0, -0.5, 0.5]
    best = optimize.minimize(minus_log_likelihood, start, args=(X[:, 0], y))
    mu, log_s, b0, b, log_noise, bias, slope = best.x
    # tolerances are a tenth of the standard errors or less
    assert model.masking_slope_[0] == pytest.approx(slope, abs=5e-3)
    assert model.masking_bias_[0] == pytest.approx(bias, abs=5e-3)
    assert model.mean_[0] == pytest.approx(mu, abs=3e-3)
    assert model.covariance_[0, 0] == pytest.approx(np.exp(2 * log_s), abs=5e-3)
    assert model.coef_[0] == pytest.approx(b, abs=2e-3)
    assert model.intercept_ == pytest.approx(b0, abs=2e-3)
    noise = model.predict([[0.0]], return_std=True)[1][0]
    assert noise == pytest.approx(np.exp(log_noise), abs=2e-3)


def test_the_standard_errors_are_those_of_the_exact_likelihood():
    X, y = one_feature()
    model = SelfMaskedLR(tol=1e-5).fit(X, y)
    start = [0.0, 0.0, 0.0, 1.0, 0.0, -0.5, 0.5]
    best = optimize.minimize(minus_log_likelihood, start, args=(X[:, 0], y))
    h = 1e-3 * np.eye(7)

    def f(theta):
        return minus_log_likelihood(theta, X[:, 0], y)

    at = best.x
    hessian = [
        [
            (f(at + a + b) - f(at + a - b) - f(at - a + b) + f(at - a - b)) / 4e-6
            for a in h
        ]
        for b in h
    ]
    errors = np.sqrt(np.diag(np.linalg.inv(hessian)))
    # two estimates of one information from 3,000 rows
    assert model.masking_bias_error_[0] == pytest.approx(errors[5], rel=0.1)
    assert model.masking_slope_error_[0] == pytest.approx(errors[6], rel=0.1)


def test_the_standard_errors_of_some_rows_are_those_of_all(monkeypatch):
    X, y = published("selfmasked", 4).sample(45_000, random_state=0)
    some = SelfMaskedLR().fit(X, y)
    monkeypatch.setattr("missfit.gaussian.masking_errors.MOST_ROWS", np.inf)
    every = SelfMaskedLR().fit(X, y)
    np.testing.assert_array_equal(some.masking_slope_, every.masking_slope_)
    # one row in two is asked: their information is known to sqrt(2 / 22,500)
    ratio = some.masking_slope_error_ / every.masking_slope_error_
    np.testing.assert_allclose(ratio, 1.0, atol=0.03)
    assert (ratio != 1).all()


def test_predictions_are_the_integrals_of_the_fitted_law():
    X, y = small_law("selfmasked_probit").sample(3000, random_state=0)
    model = SelfMaskedLR().fit(X, y)
    noise = model.predict([[0.0, 0.0, 0.0]], return_std=True)[1][0]
    fitted = SelfMaskedProbit(
        model.mean_[:3],
        model.covariance_[:3, :3],
        model.coef_,
        slope=model.masking_slope_,
        bias=model.masking_bias_,
        beta0=model.intercept_,
        noise=noise,
    )
    mean, std = model.predict(X[:25], return_std=True)
    truth = np.array([brute_force(fitted, x) for x in X[:25]])
    # expectation propagation: its mean is accurate, its covariance a little small
    np.testing.assert_allclose(mean, truth[:, 0], atol=5e-3 * y.std())
    np.testing.assert_allclose(std, np.sqrt(truth[:, 1]), rtol=0.02)


def test_the_curves_of_the_paper_are_recovered():
    X, y = published_data("selfmasked", 10, 0, 25_000)
    law = published("selfmasked", 10)
    model = SelfMaskedLR().fit(X, y)
    z = (model.masking_slope_ - law.slope) / model.masking_slope_error_
    assert np.abs(z).max() < 3.3  # of ten; 1 in 100 by chance
    z = (model.masking_bias_ - law.bias) / model.masking_bias_error_
    assert np.abs(z).max() < 3.3
    assert model.self_masked_
    assert model.self_masked_features_.all()


@pytest.mark.parametrize("d", [4, 10])
def test_self_masked_rows_are_predicted_as_by_the_bayes_predictor(d):
    X, y = published_data("selfmasked", d, 0, 25_000)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    model = SelfMaskedLR().fit(X, y)
    bayes = BayesPredictor(published("selfmasked", d)).predict(X_test)
    best = 1 - np.mean((y_test - bayes) ** 2) / y_test.var()
    assert model.score(X_test, y_test) > best - 5e-4
    assert EMLR().fit(X, y).score(X_test, y_test) < best - 0.01


def random_laws(seed, d=6):
    rng = np.random.default_rng(seed)
    mean, cov = rng.standard_normal(d), random_cov(rng, d)
    beta = rng.uniform(0.5, 1.5, d)
    mcar = MCARGaussian(mean, cov, beta, rate=0.3, noise=0.5)
    masked = SelfMaskedProbit.with_rate(mean, cov, beta, rate=0.3, slope=0.5, noise=0.5)
    return mcar, masked


@pytest.mark.parametrize("seed", range(3))
def test_it_says_whether_there_is_a_sign_of_self_masking(seed):
    mcar, masked = random_laws(seed)
    fits = [SelfMaskedLR().fit(*law.sample(5000, seed)) for law in (mcar, masked)]
    assert not fits[0].self_masked_
    assert not fits[0].self_masked_features_.any()
    assert fits[1].self_masked_
    assert (fits[1].masking_z_ > 0).all()


def test_complete_data_give_em(rng):
    X = rng.multivariate_normal(np.arange(3), random_cov(rng, 3), 300)
    y = X.sum(axis=1) + rng.standard_normal(300)
    model, em = SelfMaskedLR().fit(X, y), EMLR().fit(X, y)
    np.testing.assert_allclose(model.predict(X), em.predict(X), rtol=1e-8)
    assert not model.self_masked_
    assert (model.masking_bias_ == -np.inf).all()
    # and a value missing at predict is missing at random
    hidden = hide(rng, X)
    np.testing.assert_allclose(
        model.predict(hidden), em.predict(hidden), rtol=1e-4, atol=1e-4
    )


def test_features_that_are_never_or_always_missing_have_no_curve(rng):
    X, y = small_law("selfmasked_probit").sample(2000, random_state=1)
    more = np.column_stack([rng.standard_normal(2000), X, np.full(2000, np.nan)])
    model = SelfMaskedLR().fit(more, y)
    assert model.masking_bias_[0] == -np.inf
    assert model.masking_bias_[-1] == np.inf
    assert np.isnan(model.masking_slope_error_[[0, -1]]).all()
    assert not model.self_masked_features_[[0, -1]].any()
    assert model.self_masked_features_[1:-1].all()
    probability = model.masking_probability(np.zeros((1, 5)))
    assert probability[0, 0] == 0
    assert probability[0, -1] == 1
    # a feature observed at predict that never was at fit is ignored
    shown = more.copy()
    shown[:, -1] = 5.0
    np.testing.assert_array_equal(model.predict(shown), model.predict(more))
    assert model.coef_[-1] == 0


def test_everything_missing_gives_the_mean(rng):
    y = rng.standard_normal(30)
    model = SelfMaskedLR().fit(np.full((30, 2), np.nan), y)
    np.testing.assert_allclose(model.predict([[np.nan, 1.0]]), y.mean())


def test_several_targets_teach_each_other_about_the_features(rng):
    X, y = small_law("selfmasked_probit").sample(3000, random_state=2)
    both = np.column_stack([y, rng.standard_normal(3000)])
    mean, std = SelfMaskedLR().fit(X, both).predict(X, return_std=True)
    assert mean.shape == std.shape == (3000, 2)
    single = SelfMaskedLR().fit(X, y).predict(X)
    # the second target is noise: the first is predicted as without it
    assert np.mean((mean[:, 0] - single) ** 2) < 1e-4 * y.var()
    assert np.abs(mean[:, 1]).max() < 0.3


def test_the_standard_deviation_is_that_of_the_errors():
    law = small_law("selfmasked_probit")
    X, y = law.sample(40_000, random_state=3)
    model = SelfMaskedLR().fit(X[:20_000], y[:20_000])
    mean, std = model.predict(X[20_000:], return_std=True)
    z = (y[20_000:] - mean) / std
    assert np.mean(z**2) == pytest.approx(1.0, abs=0.03)
    sure = std < np.median(std)
    assert np.mean(z[sure] ** 2) == pytest.approx(1.0, abs=0.05)


def test_the_curves_are_drawn(monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    X, y = small_law("selfmasked_probit").sample(500, random_state=4)
    model = SelfMaskedLR().fit(np.column_stack([X, y]), y)
    ax = model.plot_masking()
    assert len(ax.lines) == 3  # the last feature is never missing
    x, p = ax.lines[0].get_data()
    value = model.mean_[0] + x[-1] * np.sqrt(model.covariance_[0, 0])
    shown = model.masking_probability([[value, 0, 0, 0]])[0, 0]
    assert p[-1] == pytest.approx(shown)
    assert model.plot_masking(ax) is ax
    pyplot.close("all")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "missfit\['):
        model.plot_masking()


@pytest.mark.slow
@pytest.mark.parametrize("d", [4, 6, 8, 10, 12, 14, 16])
def test_the_curves_of_many_rows_lie_within_three_standard_errors(d):
    X, y = published_data("selfmasked", d, 0, 100_000)
    law = published("selfmasked", d)
    X, _, y, _ = train_test_split(X, y, random_state=0)
    model = SelfMaskedLR().fit(X, y)
    z = (model.masking_slope_ - law.slope) / model.masking_slope_error_
    assert np.abs(z).max() < 3
    z = (model.masking_bias_ - law.bias) / model.masking_bias_error_
    assert np.abs(z).max() < 3


def test_a_fit_from_one_nearby_ends_where_the_fit_from_afar_does():
    X, y = published("selfmasked", 4).sample(3000, random_state=0)
    X = np.column_stack([X, np.full(len(X), np.nan)])  # never observed in either
    X[:1000, 0] = np.nan  # another share is missing in the part
    part = SelfMaskedLR().fit(X[:1500] * 2.0, y[:1500])
    afar = SelfMaskedLR(tol=1e-4, max_iter=300).fit(X, y)
    near = SelfMaskedLR(tol=1e-4, max_iter=300).fit(X, y, near=part)
    # no parameter moves by more than 1e-4 / sqrt(n) in a step, at a rate of .7 or so
    np.testing.assert_allclose(near.masking_slope_, afar.masking_slope_, atol=1e-4)
    np.testing.assert_allclose(near.predict(X), afar.predict(X), atol=1e-3)


def test_values_within_a_step_count_as_one_without_a_trace(rng):
    points = rng.standard_normal((4000, 2))
    points[rng.random(points.shape) < 0.3] = np.nan
    weight = rng.uniform(0.5, 2.0, 4000)
    values = ObservedValues.of(points, weight)
    assert len(values.value) < 3000
    law = SelfMaskedLaw(
        np.zeros(3), np.eye(3), np.array([-0.5, 0.3]), np.array([0.7, -1.2])
    )
    score, information = values.curves(law)
    for j in range(2):
        seen = ~np.isnan(points[:, j])
        x, w = points[seen, j], weight[seen]

        def height(theta, x=x, w=w):
            return w @ stats.norm.logcdf(-(theta[0] + theta[1] * x))

        here = np.array([law.bias[j], law.slope[j]])
        slope = optimize.approx_fprime(here, height, 1e-6)
        # numbers of order 1,000; the values are right to 2e-6, differences to 1e-6
        np.testing.assert_allclose(score[j], slope, rtol=1e-5, atol=1e-2)
        assert (np.linalg.eigvalsh(information[j]) > 0).all()


def standard_rows(n, d=6):
    X, y = published("selfmasked", d).sample(n, random_state=0)
    Z = np.column_stack([X, y])
    return (Z - np.nanmean(Z, axis=0)) / np.nanstd(Z, axis=0)


def flat_start(d):
    return SelfMaskedLaw(np.zeros(d + 1), np.eye(d + 1), np.zeros(d), np.zeros(d))


@pytest.mark.parametrize("growth", [2.0, 0.0])  # 0: no step of the part leads on
def test_a_fit_by_a_part_ends_where_that_of_all_rows_does(monkeypatch, growth):
    monkeypatch.setattr(self_masking_by_part, "PART_ROWS", 1_000)
    monkeypatch.setattr(self_masking_by_part, "MOST_GROWTH", growth)
    d, Z = 6, standard_rows(8_000)
    model = PenalisedGaussian(d, 0.3, 5e-4)
    rest = model, np.ones(d, dtype=bool)
    steps = {"max_iter": 200, "tol": 1e-7}
    plain = fit_self_masked(
        RowData(Z, np.ones(len(Z)), d), flat_start(d), *rest, **steps
    )
    ours = fit_by_part(RowData(Z, np.ones(len(Z)), d), flat_start(d), *rest, **steps)
    assert plain.converged
    assert ours.converged
    # 1e-4 is a hundredth of a standard error
    assert largest_change(ours.law, plain.law) < 1e-4
    if growth:
        assert ours.n_iter < plain.n_iter / 2


def test_a_part_of_all_rows_expects_what_all_expect_of_the_same_sites():
    d, Z = 6, standard_rows(3_000)
    data = RowData(Z, np.arange(1.0, len(Z) + 1), d)
    law = flat_start(d)._replace(slope=np.full(d, 0.5))
    data.expect(law)
    whole = data.every(1)
    whole.take_sites(data, 1)
    for ours, theirs in zip(whole.expect(law), data.expect(law), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore")  # it does not converge, which is the point
@pytest.mark.parametrize("n", [5_000, 40_000], ids=["all rows", "by a part"])
def test_where_a_threshold_hides_values_it_is_no_worse_than_imputation(n):
    # slopes have no bound but their prior there, and accelerated steps lost their way
    rng = np.random.default_rng([1, 2])
    X = rng.normal(size=(60_000, 2)) @ rng.normal(size=(2, 2)) + rng.normal(
        size=(60_000, 2)
    )
    X /= X.std(axis=0)
    y = X.sum(axis=1) + rng.normal(size=60_000)
    X = np.where(X > 1.5, np.nan, X)
    new, rows = slice(40_000, None), slice(n)
    ours, imputed = (
        model.fit(X[rows], y[rows]).score(X[new], y[new])
        for model in (SelfMaskedLR(), ConditionalImputedLR())
    )
    assert ours > imputed - 0.002


@pytest.mark.filterwarnings("ignore:EM has not converged")
def test_four_rows_of_three_targets_have_a_finite_fit():
    # EM ran to variances from 3e-10 to 1e7, whose inverse was no precision any more
    nan = np.nan
    X = [
        [nan, nan, nan, 1.31e-4, nan],
        [nan, nan, 1000, -2.35e-3, nan],
        [nan, nan, 0, nan, 903],
        [nan, 998.6, 1000, nan, nan],
    ]
    y = np.eye(3)[[0, 2, 0, 1]]
    assert np.isfinite(SelfMaskedLR().fit(X, y).predict(X)).all()
