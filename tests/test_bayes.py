import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

from conftest import random_cov
from laws import NAMES, brute_force, small_law
from missfit.bayes import (
    BayesPredictor,
    bayes_r2,
    bayes_risk,
    expanded_coefficients,
    factorized_coefficients,
    linear_approximation,
)
from missfit.moments.patterns import all_patterns
from missfit.simulate import (
    GaussianPatternMixture,
    MARGaussian,
    MCARGaussian,
    SelfMaskedGaussian,
    SelfMaskedProbit,
    published,
)
from missfit.theory import n_parameters
from test_probit import genz_mean

CLOSED_FORM = NAMES[:4]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("d", [2, 3])
def test_the_predictor_is_the_integral_of_the_law(name, d):
    model = small_law(name, d)
    X, _ = model.sample(25, random_state=5)
    mean, std = BayesPredictor(model).predict(X, return_std=True)
    # Closed forms to the accuracy of the integration; EP is an approximation, here to
    # a thousandth of the target's standard deviation (about 2).
    tolerance = 3e-3 if name == "selfmasked_probit" else 1e-6
    for row, ours, spread in zip(X, mean, std, strict=True):
        expected, variance = brute_force(model, row)
        np.testing.assert_allclose(ours, expected, atol=tolerance)
        np.testing.assert_allclose(spread, np.sqrt(variance), atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_std_is_that_of_a_million_draws(name):
    model = small_law(name)
    X, y = model.sample(1_000_000, random_state=0)
    mean, std = BayesPredictor(model).predict(X, return_std=True)
    excess = (y - mean) ** 2 - std**2
    assert abs(excess.mean()) < 3 * excess.std() / 1000
    # and for the rows of each pattern on its own
    code = np.isnan(X) @ [4, 2, 1]
    for pattern in np.unique(code):
        part = excess[code == pattern]
        assert abs(part.mean()) < 4 * part.std() / np.sqrt(len(part)) + 1e-9
    risk = bayes_risk(model, random_state=1)
    error = np.hypot(risk.standard_error, ((y - mean) ** 2).std() / 1000)
    assert abs(((y - mean) ** 2).mean() - risk.value) < 3 * error


@pytest.mark.parametrize("name", NAMES)
def test_nothing_linear_in_the_rows_beats_it(name):
    # the residual is uncorrelated with every function of Z: a law of E[Y | Z]
    model = small_law(name)
    X, y = model.sample(500_000, random_state=3)
    residual = y - BayesPredictor(model).predict(X)
    mask = np.isnan(X)
    x = np.where(mask, 0.0, X)
    for feature in [*mask.T, *x.T, *(x**2).T, mask[:, 1] * x[:, 0], x[:, 0] * x[:, 1]]:
        product = residual * feature
        assert abs(product.mean()) <= 4.5 * product.std() / np.sqrt(len(y))


def permuted(model, order):
    cov = np.ix_(order, order)
    target = {"beta0": model.beta0, "noise": model.noise}
    if isinstance(model, GaussianPatternMixture):
        return GaussianPatternMixture(
            model.patterns[:, order],
            model.weights,
            model.means[:, order],
            model.covs[:, order][:, :, order],
            model.beta[order],
            component=model.component,
            **target,
        )
    extra = {}
    for name in ("rate", "slope", "bias", "centre", "width", "peak"):
        if hasattr(model, name):
            extra[name] = getattr(model, name)[order]
    if isinstance(model, MARGaussian):
        extra["slopes"] = model.slopes[cov]
    return type(model)(
        model.mean[order], model.cov[cov], model.beta[order], **extra, **target
    )


@pytest.mark.parametrize("name", NAMES)
def test_order_of_features_and_rows_changes_nothing(name, rng):
    model = small_law(name)
    X, _ = model.sample(200, random_state=0)
    plain = BayesPredictor(model).predict(X)
    order, rows = rng.permutation(3), rng.permutation(200)
    other = permuted(model, order)
    # EP visits the features in another order: equal at convergence
    tolerance = 1e-7 if name == "selfmasked_probit" else 1e-10
    np.testing.assert_allclose(
        BayesPredictor(other).predict(X[rows][:, order]), plain[rows], atol=tolerance
    )
    if name != "mar":  # MAR risks are estimated from draws, which differ
        np.testing.assert_allclose(
            bayes_risk(other, n_draws=20_000).value,
            bayes_risk(model, n_draws=20_000).value,
            rtol=1e-10 if name != "selfmasked_probit" else 0.03,
        )
    np.testing.assert_allclose(
        linear_approximation(other).risk, linear_approximation(model).risk, rtol=1e-8
    )


@pytest.mark.parametrize(
    ("name", "d"),  # MAR needs two columns
    [(n, d) for n in CLOSED_FORM for d in (1, 2, 5) if (n, d) != ("mar", 1)],
)
def test_expanded_and_factorised_forms_agree(name, d):
    model = small_law(name, d)
    X, _ = model.sample(300, random_state=0)
    expanded = expanded_coefficients(model, all_patterns(d)).predict(X)
    np.testing.assert_allclose(
        factorized_coefficients(model).predict(X), expanded, atol=1e-10
    )
    np.testing.assert_allclose(BayesPredictor(model).predict(X), expanded, atol=1e-10)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_cut_at_an_order_the_form_is_exact_up_to_as_many_missing_features(order):
    model = small_law("mixture", d=4)
    form = factorized_coefficients(model, order)
    assert form.subsets.sum(axis=1).max() == order + 1
    assert np.count_nonzero(form.intercept) + np.count_nonzero(
        form.coef
    ) == n_parameters("FactorizedLR", 4, order=order)
    X, _ = model.sample(2000, random_state=0)
    error = np.abs(form.predict(X) - BayesPredictor(model).predict(X))
    few = np.isnan(X).sum(axis=1) <= order
    assert error[few].max() < 1e-10
    # with one more missing only the slopes are off; with all missing the intercept is
    more = np.isnan(X).sum(axis=1) > order + 1
    assert order == 3 or error[more].min() > 1e-6


def test_a_cut_needs_no_enumeration_of_all_patterns(rng):
    d = 40
    model = MCARGaussian(np.zeros(d), random_cov(rng, d), np.ones(d), rate=0.02)
    form = factorized_coefficients(model, order=1)
    assert len(form.subsets) == 1 + d + d * (d - 1) // 2
    X, _ = model.sample(500, random_state=0)
    few = np.isnan(X).sum(axis=1) <= 1
    np.testing.assert_allclose(
        form.predict(X)[few], BayesPredictor(model).predict(X)[few], atol=1e-9
    )
    with pytest.raises(ValueError, match=r"more than .* subsets of at most 21 of 40"):
        factorized_coefficients(model, order=20)


@pytest.mark.parametrize("name", NAMES)
def test_the_risk_of_the_linear_approximation_is_that_of_a_million_draws(name):
    model = small_law(name)
    approximation = linear_approximation(model)
    X, y = model.sample(1_000_000, random_state=7)
    loss = (y - approximation.predict(X)) ** 2
    assert abs(loss.mean() - approximation.risk) < 3 * loss.std() / 1000
    # and it is the best: OLS on the same rows comes no lower than rounding of order d/n
    mask = np.isnan(X)
    design = np.column_stack([np.ones(len(X)), mask, np.where(mask, 0.0, X)])
    fitted = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert ((y - fitted) ** 2).mean() > loss.mean() - 1e-4 * approximation.risk
    assert approximation.risk > bayes_risk(model).value
    np.testing.assert_allclose(
        approximation.r2, 1 - approximation.risk / model.target_moments()[1]
    )


TWO = (np.zeros(2), [[1, 0.6], [0.6, 1]], np.ones(2))


@pytest.mark.parametrize(
    "model",
    [
        SelfMaskedProbit(*TWO, slope=10.0, bias=-5.0),
        SelfMaskedProbit(*TWO, slope=1e5, bias=-0.5e5),
        SelfMaskedGaussian(*TWO, centre=0.3, width=0.01, peak=1.0),
        MARGaussian.with_rate(*TWO, observed=[0], rate=0.3, slope=200.0),
    ],
    ids=["steep probit", "threshold", "narrow bump", "steep logistic"],
)
def test_steep_masking_is_integrated_accurately(model):
    approximation = linear_approximation(model)
    X, y = model.sample(1_000_000, random_state=0)
    loss = (y - approximation.predict(X)) ** 2
    assert abs(loss.mean() - approximation.risk) < 3 * loss.std() / 1000


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("shift", "scale"), [(1e8, 1.0), (0.0, 1e9), (0.0, 1e-9)])
def test_units_of_the_features_change_no_risk(name, shift, scale):
    model = small_law(name)
    moved = moved_law(model, shift, scale)
    # a mean of 1e8 standard deviations leaves 8 digits to the data
    np.testing.assert_allclose(
        linear_approximation(moved).risk, linear_approximation(model).risk, rtol=1e-6
    )
    np.testing.assert_allclose(
        bayes_risk(moved, n_draws=2000).value,
        bayes_risk(model, n_draws=2000).value,
        rtol=1e-6,
    )


def moved_law(model, shift, scale):
    """Law of shift + scale X, with the same target."""
    target = {"beta0": model.beta0 - shift / scale * model.beta.sum()}
    target["noise"] = model.noise
    beta = model.beta / scale
    if isinstance(model, GaussianPatternMixture):
        return GaussianPatternMixture(
            model.patterns,
            model.weights,
            shift + scale * model.means,
            scale**2 * model.covs,
            beta,
            **target,
        )
    law = (shift + scale * model.mean, scale**2 * model.cov, beta)
    if isinstance(model, MCARGaussian):
        return MCARGaussian(*law, rate=model.rate, **target)
    if isinstance(model, MARGaussian):
        slopes = model.slopes / scale
        bias = model.bias - slopes.sum(axis=1) * shift
        return MARGaussian(*law, slopes=slopes, bias=bias, **target)
    if isinstance(model, SelfMaskedGaussian):
        return SelfMaskedGaussian(
            *law,
            centre=shift + scale * model.centre,
            width=scale * model.width,
            peak=model.peak,
            **target,
        )
    slope = model.slope / scale
    return SelfMaskedProbit(
        *law, slope=slope, bias=model.bias - slope * shift, **target
    )


def quadrature_risk(rho, slope):
    """Bayes risk of y = x_1 + x_2 with both probit-masked, on a fine grid."""
    x = np.linspace(-7, 7, 701)
    a, b = np.meshgrid(x, x, indexing="ij")
    density = stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]]).pdf(
        np.stack([a, b], axis=-1)
    )
    density /= density.sum()
    p, q = stats.norm.cdf(slope * a), stats.norm.cdf(slope * b)
    risk = 0.0
    # one missing: integrate it out for each value of the other; both missing: both
    for weight, axis in ((p * (1 - q), 0), (q * (1 - p), 1), (p * q, (0, 1))):
        mass = density * weight
        total = mass.sum(axis=axis, keepdims=True)
        seen = total > 1e-300
        mean = np.divide(
            (mass * (a + b)).sum(axis=axis, keepdims=True),
            total,
            where=seen,
            out=np.zeros_like(total),
        )
        risk += (mass * (a + b - mean) ** 2).sum()
    return risk


@pytest.mark.parametrize(
    ("rho", "slope"), [(0.5, 3.0), (0.9, 3.0), (0.95, 8.0), (-0.9, 3.0)]
)
def test_the_risk_under_steep_probit_masking_is_that_of_integration(rho, slope):
    # expectation propagation alone is up to 20 % too low here
    model = SelfMaskedProbit(
        [0, 0], [[1, rho], [rho, 1]], [1, 1], slope=slope, bias=0.0
    )
    risk = bayes_risk(model, n_draws=400_000)
    assert abs(risk.value - quadrature_risk(rho, slope)) < 3 * risk.standard_error
    assert risk.standard_error < 0.005 * risk.value


@pytest.mark.parametrize("slope", [3.0, 10.0])
def test_the_risk_with_one_feature_that_masks_itself_is_that_of_integration(slope):
    model = SelfMaskedProbit([0], [[1]], [1], slope=slope, bias=0.0)
    x = np.linspace(-9, 9, 20_001)
    mass = stats.norm.pdf(x) * stats.norm.cdf(slope * x) * (x[1] - x[0])
    mean = mass @ x / mass.sum()
    risk = bayes_risk(model, n_draws=1_000_000)
    assert abs(risk.value - mass @ (x - mean) ** 2) < 3 * risk.standard_error
    # nothing is left to integrate: the variance is the same wherever x is missing
    variance = mass @ (x - mean) ** 2 / mass.sum()
    share = np.sqrt(variance**2 * 0.25 / 1_000_000)
    assert risk.standard_error == pytest.approx(share, rel=1e-3)


def quadrature_variance(rho, slope, beta):
    """Var of beta'x under N(0, [[1, rho], [rho, 1]]) Phi(slope x_1) Phi(slope x_2)."""
    x = np.linspace(-7, 7, 1401)
    a, b = np.meshgrid(x, x, indexing="ij")
    mass = np.exp(-(a**2 - 2 * rho * a * b + b**2) / (2 - 2 * rho**2))
    mass *= stats.norm.cdf(slope * a) * stats.norm.cdf(slope * b)
    value = beta[0] * a + beta[1] * b
    mean = (mass * value).sum() / mass.sum()
    return (mass * (value - mean) ** 2).sum() / mass.sum()


@pytest.mark.parametrize(
    ("rho", "slope", "beta", "low", "high"),
    [(0.9, 3, [1, 1], -0.09, -0.08), (0.9, 10, [1, 1], -0.14, -0.13),
     (-0.8, 12, [1, -1], 0.03, 0.05)],
)  # fmt: skip
def test_the_variance_of_propagation_is_off_in_either_direction_as_documented(
    rho, slope, beta, low, high
):
    model = SelfMaskedProbit(
        [0, 0], [[1, rho], [rho, 1]], beta, slope=float(slope), bias=0.0, noise=0.0
    )
    _, std = BayesPredictor(model).predict([[np.nan, np.nan]], return_std=True)
    assert low < std[0] ** 2 / quadrature_variance(rho, slope, beta) - 1 < high


def test_bayes_rates_of_the_mixtures_are_the_published_ones():
    import csv
    from importlib import resources

    path = resources.files("missfit") / "published" / "bayes_rates.csv"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert len(rows) == 14
    for row in rows:
        model = published(row["setting"], int(row["d"]))
        risk, r2 = bayes_risk(model), bayes_r2(model)
        np.testing.assert_allclose(risk.value, float(row["mse"]), rtol=1e-10)
        np.testing.assert_allclose(r2.value, float(row["r2"]), rtol=1e-10)
        assert risk.standard_error == r2.standard_error == 0


# R2 to four digits by an independent implementation with 1e6 draws, standard error at
# most 1.1e-4.
SELFMASKED_R2 = {4: 0.8851, 6: 0.8323, 8: 0.9169, 10: 0.8660, 12: 0.9602, 14: 0.9647}
SELFMASKED_R2[16] = 0.8911


@pytest.mark.parametrize("d", SELFMASKED_R2)
def test_bayes_r2_of_the_self_masked_setting(d):
    r2 = bayes_r2(published("selfmasked", d))
    error = np.hypot(r2.standard_error, 1.1e-4)
    assert abs(r2.value - SELFMASKED_R2[d]) < 3 * error


@pytest.mark.parametrize("d", [4, 10])
def test_probit_predictor_agrees_with_quasi_monte_carlo(d):
    # Bounds on the whole predictor: 2e-4 sd(y) RMS and 1e-5 in R2.
    model = published("selfmasked", d)
    X, _ = model.sample(300, random_state=0)
    ours = BayesPredictor(model).predict(X)
    precision = np.linalg.inv(model.cov)
    reference = np.empty(len(X))
    for i, x in enumerate(X):
        u = np.isnan(x)
        full = np.where(u, 0.0, x)
        if u.any():  # the conditional law by the precision matrix
            V = np.linalg.inv(precision[np.ix_(u, u)])
            m = -V @ precision[np.ix_(u, ~u)] @ x[~u]
            full[u] = genz_mean(m, V, model.bias[u], model.slope[u], power=12)
        reference[i] = model.beta0 + full.sum()
    sd = np.sqrt(model.target_moments()[1])
    rms = np.sqrt(np.mean((ours - reference) ** 2)) / sd
    assert rms < 2e-4
    assert rms**2 < 1e-5  # what it can cost in R2


def test_self_masking_without_slope_is_mcar(rng):
    d = 4
    law = (rng.standard_normal(d), random_cov(rng, d), rng.standard_normal(d))
    X, _ = MCARGaussian(*law, rate=0.5).sample(200, random_state=0)
    expected = BayesPredictor(MCARGaussian(*law, rate=0.5)).predict(X)
    probit = SelfMaskedProbit(*law, slope=0.0, bias=0.0)
    np.testing.assert_allclose(BayesPredictor(probit).predict(X), expected)
    bump = SelfMaskedGaussian(*law, centre=0.0, width=1e7, peak=0.5)
    np.testing.assert_allclose(BayesPredictor(bump).predict(X), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["mcar", "selfmasked_gaussian"])
def test_exact_and_simulated_risks_agree(name, monkeypatch):
    model = small_law(name, d=5)
    exact = bayes_risk(model)
    monkeypatch.setattr("missfit.simulate.selection.MAX_ENUMERATED", 1)
    simulated = bayes_risk(model)
    assert exact.standard_error == 0
    assert simulated.standard_error > 0
    assert abs(simulated.value - exact.value) < 3 * simulated.standard_error


def test_fifty_features_with_half_missing(rng):
    d = 50
    model = MCARGaussian(
        np.zeros(d), random_cov(rng, d), np.ones(d), rate=0.5, noise=1.0
    )
    X, y = model.sample(20_000, random_state=0)
    r2 = bayes_r2(model, n_draws=20_000, random_state=1)
    predictor = BayesPredictor(model)
    loss = (y - predictor.predict(X)) ** 2
    share = 1 - loss.mean() / model.target_moments()[1]
    error = np.hypot(loss.std() / np.sqrt(len(y)) / model.target_moments()[1], 1e-3)
    assert abs(share - r2.value) < 4 * error


def test_it_is_a_scikit_learn_regressor():
    model = small_law("mcar")
    predictor = clone(BayesPredictor(model))
    X, y = model.sample(20_000, random_state=0)
    assert predictor.fit(X, y) is predictor
    assert abs(predictor.score(X, y) - bayes_r2(model).value) < 0.03
    assert predictor.__sklearn_tags__().input_tags.allow_nan
    assert predictor.get_params() == {"model": predictor.model}


def test_an_empty_table_and_a_row_with_nothing_observed():
    for name in NAMES:
        predictor = BayesPredictor(small_law(name))
        assert predictor.predict(np.empty((0, 3))).shape == (0,)
    mcar = small_law("mcar")
    nothing = BayesPredictor(mcar).predict(np.full((1, 3), np.nan))
    np.testing.assert_allclose(nothing, mcar.target_moments()[0])


def test_bad_input_is_refused_with_value_rule_and_way_out():
    predictor = BayesPredictor(small_law("mcar"))
    with pytest.raises(ValueError, match=r"shape \(1, 2\); the model has 3 features"):
        predictor.predict([[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"infinite in 1 of 1 rows.*Use NaN"):
        predictor.predict([[1.0, np.inf, 2.0]])
    mixture = GaussianPatternMixture([[0, 0]], [1.0], [[0, 0]], [np.eye(2)], [1, 1])
    with pytest.raises(ValueError, match=r"features 1 of 2 missing has probability 0"):
        BayesPredictor(mixture).predict([[1.0, np.nan]])
    with pytest.raises(ValueError, match=r"order=4.*choose 0 <= order <= 3"):
        factorized_coefficients(small_law("mcar"), order=4)
    with pytest.raises(TypeError, match="SelfMaskedProbit is not affine by pattern"):
        expanded_coefficients(small_law("selfmasked_probit"), all_patterns(3))
    with pytest.raises(ValueError, match="cannot be enumerated; name the patterns"):
        expanded_coefficients(small_law("mar"))
    with pytest.raises(ValueError, match="needs at least 2"):
        bayes_risk(small_law("mar"), n_draws=1)
    maps = expanded_coefficients(small_law("mcar"), all_patterns(3)[:1])
    with pytest.raises(ValueError, match="no map for the pattern with features 0 of 3"):
        maps.predict(np.array([[np.nan, 1.0, 1.0]]))
    for call in (expanded_coefficients, bayes_risk, BayesPredictor(3).predict):
        with pytest.raises(
            TypeError, match=r"model=3; give a law of missfit\.simulate"
        ):
            call(3)
    with pytest.raises(ValueError, match=r"patterns have shape \(1, 2\).*3 features"):
        expanded_coefficients(small_law("mcar"), [[0, 1]])


def test_patterns_may_come_as_integers_in_any_order_and_some_may_have_no_weight():
    model = small_law("mcar")
    patterns = all_patterns(3)
    expected = expanded_coefficients(model, patterns)
    shuffled = expanded_coefficients(model, patterns[::-1].astype(int).tolist())
    np.testing.assert_array_equal(shuffled.patterns, patterns)
    np.testing.assert_array_equal(shuffled.coef, expected.coef)
    partial = GaussianPatternMixture(
        [[0, 0], [0, 1], [1, 0]], [0.5, 0.5, 0], [[0, 0]], [np.eye(2)], [1, 1]
    )
    assert len(expanded_coefficients(partial).patterns) == 2


def test_rows_may_hold_any_kind_of_missing_value():
    predictor = BayesPredictor(small_law("mcar"))
    expected = predictor.predict([[1.0, np.nan, 2.0]])
    nullable = pd.DataFrame([[1.0, None, 2.0]]).astype("Float64")
    masked = np.ma.masked_array([[1.0, -999.0, 2.0]], mask=[[0, 1, 0]])
    for row in ([[1, None, 2]], nullable, masked):
        np.testing.assert_array_equal(predictor.predict(row), expected)
