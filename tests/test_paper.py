"""Each claim of the paper as one test, named as the claim."""

from math import comb

import numpy as np
import pytest
from scipy import linalg, optimize, stats

from laws import brute_force, small_law
from missfit.bayes import (
    BayesPredictor,
    bayes_risk,
    expanded_coefficients,
    factorized_coefficients,
    linear_approximation,
)
from missfit.moments.patterns import all_patterns
from missfit.simulate import GaussianPatternMixture, MCARGaussian, published
from missfit.theory import (
    NonlinearSubmodel,
    bayes_mlp,
    clip,
    constant_imputation_risk_bound,
    expanded_risk_bound,
    expanded_risk_lower_bound,
    n_affine_regions,
    n_parameters,
)


def zeros_and_mask(X):
    mask = np.isnan(X)
    return np.column_stack([np.ones(len(X)), mask, np.where(mask, 0.0, X)])


def ols(design, y):
    return np.linalg.lstsq(design, y, rcond=None)[0]


def test_title_the_excess_risk_of_constant_imputation_does_not_vanish():
    # mixture3, d = 6: with a million rows, OLS on (zeros, mask) has the risk of
    # Definition 4.1, far above the Bayes risk; more rows cannot help.
    model = published("mixture3", 6)
    bayes, best_linear = bayes_risk(model).value, linear_approximation(model).risk
    X, y = model.sample(1_000_000, random_state=0)
    X_test, y_test = model.sample(1_000_000, random_state=1)
    loss = (y_test - zeros_and_mask(X_test) @ ols(zeros_and_mask(X), y)) ** 2
    standard_error = loss.std() / 1000
    assert abs(loss.mean() - best_linear) < 3 * standard_error
    assert loss.mean() - 5 * standard_error > 2 * bayes
    optimal = (y_test - BayesPredictor(model).predict(X_test)) ** 2
    assert abs(optimal.mean() - bayes) < 3 * optimal.std() / 1000


def test_proposition_3_1_ols_on_zeros_and_mask_gives_the_optimal_constants():
    # Against a joint minimisation over coefficients and constants that knows nothing
    # of the mask as a feature.
    X, y = small_law("mixture").sample(400, random_state=0)
    coef = ols(zeros_and_mask(X), y)
    beta, constants = coef[4:], coef[1:4] / coef[4:]
    mask = np.isnan(X)

    def residual(theta):
        imputed = np.where(mask, theta[4:], X)
        return y - theta[0] - imputed @ theta[1:4]

    start = np.concatenate([[y.mean()], np.ones(3), np.nanmean(X, axis=0)])
    joint = optimize.least_squares(residual, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    np.testing.assert_allclose(joint.x[1:4], beta, rtol=1e-6)
    np.testing.assert_allclose(joint.x[4:], constants, rtol=1e-5)
    imputed = np.column_stack([np.ones(len(X)), np.where(mask, constants, X)])
    np.testing.assert_allclose(
        imputed @ ols(imputed, y), zeros_and_mask(X) @ coef, rtol=1e-9
    )


def test_example_3_1_a_submodel_of_a_linear_model_need_not_be_linear():
    model = NonlinearSubmodel(rate=1.0, spread=1.0)
    X, y = model.sample(400_000, random_state=0)
    x1 = X[:, 0]
    assert np.isnan(X[:, 1]).all()
    np.testing.assert_allclose(BayesPredictor(model).predict(X), x1 + np.exp(x1))
    # the average of y in thin slices of x1 follows x1 + exp(x1), not a line
    for edge in (-1.5, 0.0, 1.0, 1.5):
        here = np.abs(x1 - edge) < 0.02
        centred = y[here] - x1[here] - np.exp(x1[here])
        assert abs(centred.mean()) < 4 * centred.std() / np.sqrt(here.sum())
    line = np.column_stack([np.ones(len(X)), x1])
    loss = np.mean((y - line @ ols(line, y)) ** 2)
    assert loss > 10 * bayes_risk(model).value


def test_proposition_4_1_the_bayes_predictor_is_linear_in_the_expanded_features():
    # Against numerical integration, row by row, and against the design W written out.
    model = small_law("mixture")
    X, _ = model.sample(60, random_state=0)
    maps = expanded_coefficients(model)
    blocks = []
    for m in all_patterns(3):
        here = (np.isnan(X) == m).all(axis=1)
        block = np.column_stack([np.ones(len(X)), X[:, ~m]])
        blocks.append(np.where(here[:, None], block, 0.0))
    W = np.hstack(blocks)
    delta = np.concatenate(
        [
            np.append(b0, b[~m])
            for m, b0, b in zip(maps.patterns, maps.intercept, maps.coef, strict=True)
        ]
    )
    assert W.shape[1] == len(delta) == n_parameters("ExpandedLR", 3)
    np.testing.assert_allclose(W @ delta, BayesPredictor(model).predict(X), atol=1e-12)
    for row, value in zip(X, W @ delta, strict=True):
        np.testing.assert_allclose(brute_force(model, row)[0], value, atol=1e-6)


def test_proposition_4_2_the_factorised_form_equals_the_expanded_one():
    model = published("mixture3", 10)
    X, _ = model.sample(20_000, random_state=0)
    form = factorized_coefficients(model)
    np.testing.assert_allclose(
        form.predict(X), BayesPredictor(model).predict(X), atol=1e-10
    )
    # the polynomial of the statement, written out for a few rows
    for x in X[:5]:
        M = np.isnan(x).astype(float)
        terms = form.intercept + form.coef @ np.where(np.isnan(x), 0.0, x)
        products = np.where(form.subsets, M, 1.0).prod(axis=1)
        np.testing.assert_allclose(
            terms @ products, BayesPredictor(model).predict(x[None])[0], atol=1e-10
        )
    n_nonzero_places = len(form.subsets) + np.sum(~form.subsets)
    assert n_nonzero_places == n_parameters("ExpandedLR", 10)


def test_proposition_4_2_the_noise_given_z_is_gaussian_with_variance_t_m():
    model = published("mixture3", 4)
    X, y = model.sample(50_000, random_state=0)
    mean, std = BayesPredictor(model).predict(X, return_std=True)
    hidden = np.isnan(X).any(axis=1)
    z = (y[hidden] - mean[hidden]) / std[hidden]
    assert stats.kstest(z, "norm").pvalue > 1e-3
    # without missing values and noise there is nothing left to guess
    np.testing.assert_allclose(y[~hidden], mean[~hidden], atol=1e-9)
    assert std[~hidden].max() == 0


@pytest.mark.parametrize("d", range(1, 12))
def test_equation_4_the_expanded_model_has_2_to_the_d_minus_1_times_d_plus_2_params(d):
    assert sum(comb(d, k) * (k + 1) for k in range(d + 1)) == 2 ** (d - 1) * (d + 2)
    assert n_parameters("ExpandedLR", d) == 2**d * (d + 2) / 2


def test_definition_4_1_the_linear_approximation_is_the_limit_of_constant_imputation():
    model = small_law("mixture")
    best = linear_approximation(model)
    X, y = model.sample(2_000_000, random_state=0)
    fitted = ols(zeros_and_mask(X), y)
    limit = np.concatenate([[best.intercept], best.mask_coef, best.coef])
    design = zeros_and_mask(X)
    residual = y - design @ limit
    # sandwich standard errors of the OLS coefficients
    bread = np.linalg.inv(design.T @ design)
    meat = (design * residual[:, None] ** 2).T @ design
    error = np.sqrt(np.diag(bread @ meat @ bread))
    assert (np.abs(fitted - limit) < 4 * error).all()


def expanded_experiment(n, d, sigma, L, rng):
    """Excess risk of clipped OLS per pattern on bounded rows (Assumption 5.1)."""
    delta = rng.uniform(-1, 1, (2**d, d + 1)) * L / (d + 1)
    patterns = all_patterns(d)

    def rows(n):
        X = rng.uniform(-1, 1, (n, d))
        index = rng.integers(2**d, size=n)
        x = np.where(patterns[index], 0.0, X)
        f = delta[index, 0] + (delta[index, 1:] * x).sum(axis=1)
        return x, index, f

    x, index, f = rows(n)
    y = f + sigma * rng.standard_normal(n)
    x_test, index_test, f_test = rows(20_000)
    prediction = np.zeros(len(f_test))
    for m in range(2**d):
        here, there = index == m, index_test == m
        design = np.column_stack([np.ones(here.sum()), x[here][:, ~patterns[m]]])
        target = np.column_stack([np.ones(there.sum()), x_test[there][:, ~patterns[m]]])
        prediction[there] = target @ ols(design, y[here])
    expanded = np.mean((clip(prediction, L) - f_test) ** 2)
    simple = ols(np.column_stack([np.ones(n), patterns[index], x]), y)
    design = np.column_stack([np.ones(len(f_test)), patterns[index_test], x_test])
    constant = np.mean((clip(design @ simple, L) - f_test) ** 2)
    return expanded, constant


@pytest.fixture(scope="module")
def simulated_risks():
    rng = np.random.default_rng(0)
    d, sigma, L = 3, 0.5, 1.0
    sizes = (250, 1000, 4000)
    excess = {
        n: np.mean(
            [expanded_experiment(n, d, sigma, L, rng) for _ in range(60)], axis=0
        )
        for n in sizes
    }
    return d, sigma**2, L, excess


def test_theorem_5_1_the_expanded_model_has_excess_risk_of_order_2_to_the_d_over_n(
    simulated_risks,
):
    d, noise_variance, L, excess = simulated_risks
    for n, (expanded, _) in excess.items():
        risk = noise_variance + expanded
        assert risk <= expanded_risk_bound(n, d, noise_variance=noise_variance, L=L)
        # each pattern's OLS has variance sigma^2 (observed + 1) / n_m: c1 = sigma^2
        assert risk >= expanded_risk_lower_bound(
            n, d, noise_variance=noise_variance, c1=noise_variance
        )
    rates = [n * expanded for n, (expanded, _) in excess.items()]
    assert max(rates) / min(rates) < 1.6  # the rate 1/n, neither faster nor slower


def test_theorem_5_2_constant_imputation_has_a_bias_that_rows_do_not_remove(
    simulated_risks,
):
    d, noise_variance, L, excess = simulated_risks
    for n, (_, constant) in excess.items():
        assert noise_variance + constant <= constant_imputation_risk_bound(
            n, d, noise_variance=noise_variance, L=L
        )
    sizes = sorted(excess)
    smallest, largest = excess[sizes[0]], excess[sizes[-1]]
    assert largest[1] > 0.5 * smallest[1]  # constant imputation stays where it is
    assert largest[0] < 0.1 * smallest[0]  # the expanded model goes on


def test_section_5_few_rows_favour_constant_imputation_and_many_the_expanded_model(
    simulated_risks,
):
    *_, excess = simulated_risks
    rng = np.random.default_rng(1)
    few = np.mean(
        [expanded_experiment(60, 3, 0.5, 1.0, rng) for _ in range(60)], axis=0
    )
    assert few[1] < few[0]
    many = excess[max(excess)]
    assert many[0] < many[1]


def bounded_rows(rng, n, d, bound):
    X = rng.uniform(-bound, bound, (n, d))
    return np.where(rng.random((n, d)) < 0.5, np.nan, X)


@pytest.mark.parametrize("setting", ["mixture1", "mixture3"])
def test_theorem_6_1_case_1_a_relu_network_of_2_to_the_d_units_is_the_bayes_predictor(
    setting, rng
):
    model = published(setting, 6)
    network = bayes_mlp(model, bound=5.0)
    assert len(network.hidden_bias) == 2**6
    slopes = expanded_coefficients(model)
    assert (slopes.coef != 0).sum() == (~slopes.patterns).sum()  # no zero slope: case 1
    X = bounded_rows(rng, 1_000_000, 6, 5.0)
    np.testing.assert_allclose(
        network.predict(X), BayesPredictor(model).predict(X), atol=1e-6
    )


def test_theorem_6_1_case_2_features_of_zero_slope_do_not_confuse_the_patterns(rng):
    # Feature 0 is useless and independent, so its slope is zero in every pattern;
    # patterns that differ in it alone must still be told apart: their biases differ.
    d = 6
    patterns = all_patterns(d)
    cov = linalg.block_diag([[1.0]], np.eye(d - 1) * 0.5 + 0.5)
    means = np.zeros((2, d))
    means[1, 1:] = 2.0
    model = GaussianPatternMixture(
        patterns,
        np.full(2**d, 2.0**-d),
        means,
        np.stack([cov, cov]),
        np.append(0.0, np.ones(d - 1)),
        component=patterns[:, 0].astype(int),
    )
    assert not expanded_coefficients(model).coef[:, 0].any()
    X = bounded_rows(rng, 1_000_000, d, 4.0)
    np.testing.assert_allclose(
        bayes_mlp(model, bound=4.0).predict(X),
        BayesPredictor(model).predict(X),
        atol=1e-6,
    )


def test_theorem_6_1_each_hidden_unit_is_active_on_its_own_pattern_alone(rng):
    network = bayes_mlp(published("mixture3", 4), bound=3.0)
    patterns = all_patterns(4)
    for k, m in enumerate(patterns):
        X = np.where(m, 0.0, rng.uniform(-3, 3, (1000, 4)))
        inputs = np.hstack([X, np.tile(m, (1000, 1))])
        active = inputs @ network.hidden_weights.T + network.hidden_bias > 0
        assert active[:, k].all()
        assert not np.delete(active, k, axis=1).any()


@pytest.mark.parametrize(("width", "d"), [(3, 1), (3, 2), (5, 2)])
def test_section_6_2_a_network_has_at_most_sum_of_binomials_regions(width, d, rng):
    # Count the activation patterns of random hyperplanes on a fine grid: never more
    # than the bound, and generic planes attain it.
    bound = n_affine_regions(width, d)
    axis = np.linspace(-30, 30, 1501 if d == 2 else 100_001)
    grid = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
    most = 0
    for _ in range(10):
        active = grid @ rng.standard_normal((d, width)) + rng.standard_normal(width) > 0
        most = max(most, len(np.unique(active @ 2 ** np.arange(width))))
    assert most == bound
    assert n_affine_regions(d, d) == 2**d


def test_proposition_c_1_the_bayes_risk_is_the_paper_s_sum_over_patterns():
    # Lambda_m in all its nine terms, as printed, against our beta' T beta.
    model = small_law("mixture")
    total = model.noise**2
    for i, m in enumerate(model.patterns):
        mu, S, o = model.means[i], model.covs[i], ~m
        beta = model.beta[m]
        regression = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
        gamma = beta @ regression
        gamma0 = beta @ (mu[m] - regression @ mu[o])
        a, b = gamma @ mu[o], beta @ mu[m]
        quadratic = (
            gamma @ S[np.ix_(o, o)] @ gamma
            + beta @ S[np.ix_(m, m)] @ beta
            - 2 * gamma @ S[np.ix_(o, m)] @ beta
        )
        rest = gamma0**2 + a**2 + b**2 + 2 * gamma0 * a - 2 * gamma0 * b - 2 * a * b
        total += model.weights[i] * (quadratic + rest)
    np.testing.assert_allclose(bayes_risk(model).value, total, rtol=1e-10)


def test_section_4_mcar_is_the_mixture_with_one_component():
    d = 4
    mixture = published("mixture1", d)
    mcar = MCARGaussian(
        mixture.means[0], mixture.covs[0], mixture.beta, rate=0.5, beta0=1.0
    )
    np.testing.assert_allclose(bayes_risk(mcar).value, bayes_risk(mixture).value)
    X, _ = mcar.sample(500, random_state=0)
    np.testing.assert_allclose(
        BayesPredictor(mcar).predict(X), BayesPredictor(mixture).predict(X)
    )
