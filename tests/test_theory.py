from math import comb

import numpy as np
import pytest

from laws import small_law
from missfit.bayes import BayesPredictor, bayes_r2, bayes_risk
from missfit.simulate import MCARGaussian, published
from missfit.theory import (
    NonlinearSubmodel,
    bayes_mlp,
    bounds_crossover,
    clip,
    constant_imputation_risk_bound,
    expanded_risk_bound,
    expanded_risk_lower_bound,
    n_affine_regions,
    n_parameters,
    regime,
)


@pytest.mark.parametrize("d", [1, 2, 5, 10, 16])
def test_counts_are_those_of_the_arrays_that_hold_the_parameters(d):
    patterns = sum(comb(d, k) * (k + 1) for k in range(d + 1))
    assert n_parameters("ExpandedLR", d) == patterns
    assert n_parameters("ConstantImputedLR", d) == 1 + d + d
    assert n_parameters("EMLR", d) == (d + 1) + d + d * (d + 1) // 2
    assert n_parameters("MLP", d, width=7) == 7 * 2 * d + 7 + 7 + 1
    assert n_parameters("NeuMiss", d) == d + d * d + d + 1
    assert n_parameters("MICELR", d) == d * d + d + 1
    assert n_parameters("FactorizedLR", d, order=0) == 2 * d + 1
    assert n_parameters("FactorizedLR", d, order=d) == patterns


def test_the_papers_own_examples():
    assert n_parameters("ExpandedLR", 10) == 6144  # Section 7
    # Section 6: the network of 2^d units has (d + 1) 2^(d + 1) + 1 parameters
    assert n_parameters("MLP", 6, width=2**6) == 7 * 2**7 + 1
    assert n_affine_regions(5, 5) == 2**5


def test_bounds_are_the_formulas_of_the_theorems():
    n, d, s2, L, c = 1000, 3, 2.0, 1.5, 0.7
    rate = c * L**2 * (1 + np.log(n)) / n
    common = {"noise_variance": s2, "L": L, "c": c}
    assert expanded_risk_bound(n, d, **common) == pytest.approx(s2 + 20 * rate)
    assert constant_imputation_risk_bound(n, d, **common) == pytest.approx(
        s2 + 6 * rate + 64 * 16 * L**2
    )
    # max(sigma^2, L^2) is sigma^2 where the noise dominates
    loud = {"noise_variance": 9.0, "L": L, "c": c}
    assert expanded_risk_bound(n, d, **loud) == pytest.approx(9 + 20 * rate * 9 / L**2)
    assert expanded_risk_lower_bound(
        n, d, noise_variance=s2, c1=0.5, share=0.25
    ) == pytest.approx(s2 + 0.5 * 2 / 1001)


def test_the_bounds_cross_where_they_are_equal_and_at_a_rate_of_2_to_the_d_over_d():
    common = {"noise_variance": 1.0, "L": 1.0, "c": 1e4}
    crossings = {d: bounds_crossover(d, **common) for d in (6, 10, 14)}
    for d, n in crossings.items():
        assert expanded_risk_bound(n, d, **common) == pytest.approx(
            constant_imputation_risk_bound(n, d, **common)
        )
    ratio = crossings[14] / crossings[10]
    assert 0.5 < ratio / ((2**14 / 14) / (2**10 / 10)) < 2
    assert bounds_crossover(4, noise_variance=1.0, L=1.0) == 1.0


def test_clipping_keeps_what_is_within_the_level():
    np.testing.assert_array_equal(clip([-5, -1, 0, 2, 9], 2), [-2, -1, 0, 2, 2])
    with pytest.raises(ValueError, match=r"L=0; the clipping level must be > 0"):
        clip([1.0], 0)


def test_regimes_are_those_that_the_paper_reads_off_at_d_10():
    assert regime(750, 10).name == "small"
    assert regime(7_500, 10).name == "medium"
    assert regime(37_500, 10).name == "large"
    assert "Bayes rate is within reach" in regime(100_000, 10).reason
    assert regime(75_000, 10).rows_per_parameter == pytest.approx(75_000 / 6144)


@pytest.mark.parametrize(
    ("name", "d"),
    [("mar", 2), ("mar", 4)]  # MAR needs two columns
    + [(n, d) for n in ("mixture", "mcar", "selfmasked_gaussian") for d in (1, 2, 4)],
)
def test_the_network_equals_the_predictor_of_every_affine_law(name, d):
    model = small_law(name, d)
    X, _ = model.sample(2000, random_state=0)
    np.testing.assert_allclose(
        bayes_mlp(model).predict(X), BayesPredictor(model).predict(X), atol=1e-9
    )


def test_the_network_refuses_rows_outside_its_support():
    network = bayes_mlp(small_law("mcar"), bound=2.0)
    assert network.bound == 2.0
    with pytest.raises(ValueError, match=r"size 3; .* \|x\| <= 2\. .*bound=3\) or"):
        network.predict([[3.0, np.nan, 0.0]])
    with pytest.raises(ValueError, match="17 features need 2\\^17 hidden units"):
        bayes_mlp(MCARGaussian(np.zeros(17), np.eye(17), np.ones(17), rate=0.5))
    with pytest.raises(ValueError, match="bound=-1"):
        bayes_mlp(small_law("mcar"), bound=-1)
    with pytest.raises(TypeError, match="not affine by pattern"):
        bayes_mlp(published("selfmasked", 4))
    with pytest.raises(TypeError, match="NonlinearSubmodel is not affine"):
        bayes_mlp(NonlinearSubmodel())


def test_the_nonlinear_submodel_knows_its_risk_and_moments():
    model = NonlinearSubmodel(rate=0.4, spread=0.6, noise_2=0.3, noise=0.2)
    X, y = model.sample(1_000_000, random_state=0)
    mean, std = BayesPredictor(model).predict(X, return_std=True)
    loss = (y - mean) ** 2
    assert abs(loss.mean() - bayes_risk(model).value) < 3 * loss.std() / 1000
    z = (y - mean) / std
    assert abs(z.std() - 1) < 3e-3
    centre, variance = model.target_moments()
    assert abs(y.mean() - centre) < 4 * y.std() / 1000
    assert abs(y.var() / variance - 1) < 0.02
    assert bayes_r2(model).standard_error == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: n_parameters("Ridge", 3),
            "unknown predictor 'Ridge'; known: Constant",
        ),
        (lambda: n_parameters("MLP", 3), "width=None; MLP needs width="),
        (lambda: n_parameters("FactorizedLR", 3), "order=None; FactorizedLR needs"),
        (lambda: n_parameters("EMLR", 0), "d=0 features"),
        (lambda: regime(0, 3), "n=0; it must be > 0"),
        (
            lambda: expanded_risk_bound(0.1, 2, noise_variance=1, L=1),
            "n=0.1 rows; the bounds hold for n >= 1",
        ),
        (
            lambda: expanded_risk_bound(10, 2, noise_variance=-1, L=1),
            "noise_variance=-1; it must be >= 0",
        ),
        (
            lambda: expanded_risk_lower_bound(10, 2, noise_variance=1, c1=1, share=3),
            "share=3; a share of the patterns",
        ),
        (lambda: bayes_mlp(small_law("mcar"), bound=np.inf), "bound=inf; it must be"),
        (lambda: NonlinearSubmodel(rate=2), "rate=2; it must lie between"),
        (lambda: NonlinearSubmodel(noise=-1), "noise=-1 must be >= 0"),
        (
            lambda: BayesPredictor(NonlinearSubmodel()).predict([[np.nan, 1.0]]),
            "X_1 is missing in 1 rows; in Example 3.1",
        ),
        (
            lambda: expanded_risk_bound(10, 2, noise_variance=1, L=-1),
            "L=-1; it must be > 0",
        ),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
