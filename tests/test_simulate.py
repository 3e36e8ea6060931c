import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from conftest import random_cov
from laws import NAMES, mask_likelihood, small_law
from missfit import simulate
from missfit.moments.patterns import all_patterns
from missfit.simulate import (
    GaussianPatternMixture,
    MARGaussian,
    MCARGaussian,
    SelfMaskedGaussian,
    SelfMaskedProbit,
    ampute,
    published,
    published_data,
    published_sizes,
)
from missfit.simulate.ampute import self_masking_probability

SETTINGS = ["mixture1", "mixture3", "selfmasked"]


@pytest.mark.parametrize("name", NAMES)
def test_complete_rows_are_the_rows_of_sample_before_masking(name):
    model = small_law(name)
    X, y = model.sample(500, random_state=3)
    complete, same_y = model.sample_complete(500, random_state=3)
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(X[seen], complete[seen])
    np.testing.assert_array_equal(y, same_y)
    assert np.isfinite(complete).all()
    assert 0 < np.isnan(X).mean() < 1


@pytest.mark.parametrize("name", NAMES)
def test_the_target_is_linear_in_the_complete_rows(name):
    model = small_law(name, noise=0.0)
    X, y = model.sample_complete(200, random_state=0)
    np.testing.assert_allclose(y, model.beta0 + X @ model.beta, rtol=1e-12)
    _, noisy = small_law(name, noise=2.0).sample_complete(200_000, random_state=0)
    mean, variance = small_law(name, noise=2.0).target_moments()
    # 5 standard errors of a mean and of a variance (kurtosis below 6)
    assert abs(noisy.mean() - mean) < 5 * np.sqrt(variance / 200_000)
    assert abs(noisy.var() / variance - 1) < 5 * np.sqrt(5 / 200_000)


@pytest.mark.parametrize("name", NAMES[1:])
def test_each_pattern_occurs_as_often_as_the_mechanism_says(name):
    model = small_law(name)
    n = 100_000
    X, _ = model.sample(n, random_state=1)
    complete, _ = model.sample_complete(n, random_state=1)
    for pattern in all_patterns(3):
        p = mask_likelihood(model, complete, pattern)
        share = (np.isnan(X) == pattern).all(axis=1).mean()
        assert abs(share - p.mean()) < 5 * np.sqrt((p * (1 - p)).mean() / n) + 1e-12


@pytest.mark.parametrize("name", ["mixture", "mcar", "selfmasked_gaussian"])
def test_pattern_probabilities_sum_to_one_and_are_the_frequencies(name):
    model = small_law(name)
    patterns, probabilities = model.pattern_probabilities()
    np.testing.assert_allclose(probabilities.sum(), 1, rtol=1e-12)
    n = 200_000
    X, _ = model.sample(n, random_state=2)
    for pattern, p in zip(patterns, probabilities, strict=True):
        share = (np.isnan(X) == pattern).all(axis=1).mean()
        assert abs(share - p) < 5 * np.sqrt(p * (1 - p) / n) + 1e-12


def test_each_pattern_of_a_mixture_has_its_own_gaussian():
    model = small_law("mixture")
    X, _ = model.sample_complete(200_000, random_state=0)
    mask = np.isnan(model.sample(200_000, random_state=0)[0])
    for i, pattern in enumerate(model.patterns):
        rows = X[(mask == pattern).all(axis=1)]
        z = (rows.mean(axis=0) - model.means[i]) / np.sqrt(
            np.diag(model.covs[i]) / len(rows)
        )
        assert np.abs(z).max() < 5
        np.testing.assert_allclose(
            np.cov(rows, rowvar=False), model.covs[i], atol=6 * 5 / np.sqrt(len(rows))
        )


def test_rates_asked_for_are_the_rates_that_come(rng):
    d, n = 4, 100_000
    mean, cov, beta = rng.standard_normal(d), random_cov(rng, d), np.ones(d)
    rate = np.array([0.1, 0.3, 0.5, 0.2])
    laws = [
        SelfMaskedProbit.with_rate(mean, cov, beta, rate=rate, slope=-2.0),
        SelfMaskedGaussian.with_rate(
            mean, cov, beta, rate=rate, centre=mean, width=10.0
        ),
        MARGaussian.with_rate(mean, cov, beta, observed=[1], rate=rate, slope=3.0),
    ]
    for law in laws:
        wanted = rate.copy()
        if isinstance(law, MARGaussian):
            wanted[1] = 0.0
        shares = np.isnan(law.sample(n, random_state=0)[0]).mean(axis=0)
        assert (np.abs(shares - wanted) < 5 * np.sqrt(0.25 / n)).all()


def test_fifty_features_need_no_enumeration(rng):
    d = 50
    model = MCARGaussian(np.zeros(d), random_cov(rng, d), np.ones(d), rate=0.5)
    assert model.pattern_probabilities() is None
    X, _ = model.sample(1000, random_state=0)
    assert 0.45 < np.isnan(X).mean() < 0.55


def test_features_that_never_or_always_miss_do_not_count_as_patterns():
    rate = [0.0, 1.0, 0.5] + [0.0] * 30
    model = MCARGaussian(np.zeros(33), np.eye(33), np.ones(33), rate=rate)
    patterns, probabilities = model.pattern_probabilities()
    assert patterns[:, :3].tolist() == [[False, True, False], [False, True, True]]
    assert probabilities.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "seed", [7, np.random.default_rng(7), np.random.RandomState(7), None]
)
def test_every_kind_of_seed_is_taken(seed):
    X, _ = small_law("mcar").sample(5, random_state=seed)
    assert X.shape == (5, 3)


def test_the_same_seed_gives_the_same_rows():
    one, two = (small_law("mar").sample(50, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(one[0], two[0])
    assert small_law("mar").sample(0)[0].shape == (0, 3)


def test_permuting_the_features_of_a_law_permutes_its_conditional_law(rng):
    # see also test_bayes: predictions do not change
    model = small_law("selfmasked_gaussian")
    order = [2, 0, 1]
    permuted = SelfMaskedGaussian(
        model.mean[order],
        model.cov[np.ix_(order, order)],
        model.beta[order],
        centre=model.centre[order],
        width=model.width[order],
        peak=model.peak[order],
    )
    patterns, p = model.pattern_probabilities()
    others, q = permuted.pattern_probabilities()
    for pattern, probability in zip(patterns, p, strict=True):
        here = (others == pattern[order]).all(axis=1)
        np.testing.assert_allclose(q[here], probability, rtol=1e-10)


def test_one_feature_is_enough():
    for model in (
        MCARGaussian([1.0], [[2.0]], [1.0], rate=0.5),
        SelfMaskedProbit([1.0], [[2.0]], [1.0], slope=1.0, bias=0.0),
        SelfMaskedGaussian([1.0], [[2.0]], [1.0], centre=0, width=1, peak=1),
        GaussianPatternMixture([[0], [1]], [0.5, 0.5], [[1.0]], [[[2.0]]], [1.0]),
    ):
        X, _y = model.sample(1000, random_state=0)
        assert X.shape == (1000, 1)
        assert 0 < np.isnan(X).mean() < 1


GOOD = {"mean": [0.0, 0.0], "cov": np.eye(2), "beta": [1.0, 1.0], "rate": 0.5}
MIX = {
    "patterns": [[0, 0], [0, 1]],
    "weights": [0.5, 0.5],
    "means": [[0.0, 0.0]],
    "covs": [np.eye(2)],
    "beta": [1.0, 1.0],
}


@pytest.mark.parametrize(
    ("law", "change", "message"),
    [
        (MCARGaussian, {"mean": [0.0, np.inf]}, "mean holds NaN or infinity"),
        (MCARGaussian, {"mean": [[0.0]]}, r"mean has shape \(1, 1\); it must be"),
        (MCARGaussian, {"cov": np.eye(3)}, r"shape \(1, 3, 3\); it must be \(1, 2, 2"),
        (MCARGaussian, {"cov": [[1, 2], [2, 1]]}, r"correlations is -1\. Add a"),
        (MCARGaussian, {"cov": np.ones((2, 2))}, "not positive definite.*drop the"),
        (MCARGaussian, {"cov": [[1, 0.5], [0, 1]]}, r"not symmetric.*\(cov \+ cov\.T"),
        (MCARGaussian, {"cov": np.zeros((2, 2))}, "variance 0 on its diagonal; every"),
        (MCARGaussian, {"beta": [1.0]}, r"beta has shape \(1,\); it must be \(2,\)"),
        (
            MCARGaussian,
            {"noise": -1.0},
            r"noise=-1\.0; it must be one finite number >=",
        ),
        (MCARGaussian, {"rate": 1.5}, r"rate holds 1\.5; it must lie between 0 and 1"),
        (GaussianPatternMixture, {"weights": [0.5, 0.6]}, r"the sum 1\.1\. Divide by"),
        (GaussianPatternMixture, {"weights": [1.5, -0.5]}, r"the smallest is -0\.5"),
        (GaussianPatternMixture, {"patterns": [[0, 0], [0, 0]]}, "given 2 times"),
        (GaussianPatternMixture, {"patterns": [[0, 2], [0, 1]]}, "array of booleans"),
        (GaussianPatternMixture, {"component": [0, 1]}, "an integer from 0 to 0"),
        (
            GaussianPatternMixture,
            {"covs": [[[1, 2], [2, 1]]]},
            "covariance 0 is not positive definite",
        ),
    ],
)
def test_bad_parameters_are_refused_with_value_rule_and_way_out(law, change, message):
    good = GOOD if law is MCARGaussian else MIX
    law(**good)
    with pytest.raises(ValueError, match=message):
        law(**{**good, **change})


def test_a_covariance_of_very_different_scales_is_fine():
    MCARGaussian([0, 0], np.diag([1e10, 1e-6]), [1, 1], rate=0.5)


def test_nobody_can_change_a_law_from_outside():
    cov = np.eye(2)
    model = MCARGaussian([0.0, 0.0], cov, [1.0, 1.0], rate=0.5)
    cov[0, 1] = cov[1, 0] = 5
    assert model.cov[0, 1] == 0
    with pytest.raises(ValueError, match="read-only"):
        model.cov[0, 1] = 5


@pytest.mark.parametrize("slope", [0.5, 5.0, 50.0, 1e4])
def test_steep_mar_curves_keep_their_rate(slope):
    law = ([0.0, 0.0], np.eye(2), [1.0, 1.0])
    model = MARGaussian.with_rate(*law, observed=[0], rate=0.4, slope=slope)
    share = np.isnan(model.sample(200_000, random_state=0)[0][:, 1]).mean()
    assert abs(share - 0.4) < 5 * np.sqrt(0.24 / 200_000)


def test_columns_may_be_given_as_a_mask():
    law = ([0.0] * 3, np.eye(3), [1.0] * 3)
    by_mask = MARGaussian.with_rate(*law, observed=[False, False, True], rate=0.4)
    assert np.isneginf(by_mask.bias).tolist() == [False, False, True]
    for wrong in ([7], [-1], [1.7]):
        with pytest.raises(ValueError, match=r"column positions between 0 and 2"):
            MARGaussian.with_rate(*law, observed=wrong, rate=0.4)


def test_laws_that_contradict_themselves_are_refused():
    two = ([0.0, 0.0], np.eye(2), [1.0, 1.0])
    with pytest.raises(ValueError, match=r"column 1 drives .* not MAR.*SelfMaskedProb"):
        MARGaussian(*two, slopes=[[0, 1], [0, 0]], bias=[0, 0])
    with pytest.raises(ValueError, match="-inf for a column that is never missing"):
        MARGaussian(*two, slopes=np.zeros((2, 2)), bias=[np.nan, 0])
    with pytest.raises(ValueError, match="between 1 and 1 of the 2 columns"):
        MARGaussian.with_rate(*two, observed=[], rate=0.5)
    with pytest.raises(
        ValueError, match=r"rate 0\.9: .* at most 0\.25.*Move the centre"
    ):
        SelfMaskedGaussian.with_rate(*two, rate=0.9, centre=0, width=np.sqrt(1 / 15))
    with pytest.raises(ValueError, match="rate holds 1; a logistic curve never"):
        MARGaussian.with_rate(*two, observed=[0], rate=1.0)
    with pytest.raises(ValueError, match="width must be > 0"):
        SelfMaskedGaussian.with_rate(*two, centre=0, width=-1, rate=0.5)
    with pytest.raises(ValueError, match="width must be > 0"):
        SelfMaskedGaussian(*two, centre=0, width=0, peak=1)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        SelfMaskedProbit.with_rate(*two, rate=0.0, slope=1.0)
    with pytest.raises(ValueError, match=r"n=-1 rows asked"):
        MCARGaussian(*two, rate=0.5).sample(-1)


# --- the paper's data ---------------------------------------------------------------


def constant_imputed_scores(X, y):
    """MSE and R2 on train and test of an OLS on (X with zeros, M)."""
    design = np.hstack([np.nan_to_num(X), np.isnan(X)])
    train, test, y_train, y_test = train_test_split(design, y, random_state=0)
    ols = LinearRegression().fit(train, y_train)
    for split, A, b in (("train", train, y_train), ("test", test, y_test)):
        mse = np.mean((b - ols.predict(A)) ** 2)
        yield split, mse, 1 - mse / np.var(b)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_authors_rows_reproduce_their_constant_imputed_scores(
    setting, published_rows
):
    dimensions, sizes = published_sizes(setting)
    checked = 0
    for d in dimensions:
        for repetition in range(5):
            X, y = published_data(setting, d, repetition, 10_000)
            for n in [size for size in sizes if size <= 10_000]:
                for split, mse, r2 in constant_imputed_scores(X[:n], y[:n]):
                    key = (setting, d, n * 3 // 4, repetition, "ConstantImputedLR")
                    their_mse, their_r2 = published_rows[(*key, split)]
                    np.testing.assert_allclose(mse, their_mse, rtol=1e-10)
                    np.testing.assert_allclose(r2, their_r2, rtol=1e-10)
                    checked += 1
    assert checked == 7 * 5 * 3 * 2


@pytest.mark.parametrize("setting", SETTINGS)
def test_sizes_are_nested(setting):
    small, small_y = published_data(setting, 4, 1, 1_000)
    large, large_y = published_data(setting, 4, 1, 5_000)
    np.testing.assert_array_equal(small, large[:1000])
    np.testing.assert_array_equal(small_y, large_y[:1000])


def test_the_paper_s_settings_are_as_described():
    for d in (4, 10):
        one, three = published("mixture1", d), published("mixture3", d)
        np.testing.assert_allclose(one.weights, 2.0**-d)
        counts = np.bincount(three.component)
        assert counts.max() - counts.min() <= 1
        share = np.bincount(three.component, three.weights)
        np.testing.assert_allclose(share, 1 / 3)
        masked = published("selfmasked", d)
        np.testing.assert_allclose(masked.slope, 0.5)
        rate = stats.norm.cdf(masked.bias / np.sqrt(1 + 0.25 * np.diag(masked.cov)))
        np.testing.assert_allclose(rate, 0.25)


def test_what_the_paper_does_not_have_is_refused_with_what_it_has():
    with pytest.raises(ValueError, match=r"unknown setting 'mixture2'.*mixture1, mix"):
        published("mixture2", 4)
    with pytest.raises(ValueError, match=r"d=1 is not in .*4, 5, 6, 7, 8, 9, 10"):
        published("mixture3", 1)
    with pytest.raises(ValueError, match=r"d=5 is not in .*4, 6, 8, 10, 12, 14, 16"):
        published("mixture1", 5)
    with pytest.raises(ValueError, match=r"n=2000 is not in .*1000, 5000, 10000"):
        published_data("mixture1", 4, 0, 2000)
    with pytest.raises(ValueError, match=r"repetition=10 is not in .*0, 1, 2, 3"):
        published_data("mixture1", 4, 10, 1000)
    with pytest.raises(ValueError, match="unknown setting"):
        published_sizes("nothing")


# --- holes for a complete table -----------------------------------------------------


@pytest.mark.parametrize("mechanism", ["MCAR", "MAR", "self-masking"])
@pytest.mark.parametrize("rate", [0.05, 0.3, 0.6])
def test_the_realised_rate_is_the_asked_one(rng, mechanism, rate):
    n = 20_000
    X = rng.lognormal(size=(n, 6))
    holes = np.isnan(ampute(X, mechanism, rate, strength=2.0, random_state=0))
    # 5 standard errors; under MAR cells share the row's kept group of columns
    tolerance = 5 * np.sqrt(0.25 / n)
    assert (np.abs(holes.mean(axis=0) - rate) < tolerance).all()
    assert abs(holes.mean() - rate) < tolerance


def test_what_is_not_hidden_is_not_changed(rng):
    X = rng.standard_normal((100, 3))
    holes = ampute(X, "MAR", 0.4, random_state=0)
    seen = ~np.isnan(holes)
    np.testing.assert_array_equal(holes[seen], X[seen])
    np.testing.assert_array_equal(holes, ampute(X, "MAR", 0.4, random_state=0))


def test_self_masking_hides_large_values_and_a_negative_strength_small_ones(rng):
    X = rng.standard_normal((20_000, 2))
    for sign in (1, -1):
        hidden = np.isnan(
            ampute(X, "self-masking", 0.3, strength=3 * sign, random_state=0)
        )
        assert sign * (X[hidden].mean() - X[~hidden].mean()) > 0.5


def test_mar_depends_on_what_stays_observed_alone(rng):
    X = rng.standard_normal((40_000, 3))
    hidden = np.isnan(
        ampute(X, "MAR", 0.4, columns=[1, 2], strength=2.0, random_state=0)
    )
    assert not hidden[:, 0].any()
    # strongly related to the observed column, not at all to the hidden value itself
    assert abs(np.corrcoef(hidden[:, 1], X[:, 0])[0, 1]) > 0.3
    assert abs(np.corrcoef(hidden[:, 1], X[:, 1])[0, 1]) < 5 / np.sqrt(len(X))


def test_mar_everywhere_is_mar(rng):
    # Given the mask, what is hidden follows the same law given the observed columns as
    # in the complete table: with X_2 = X_0 + noise, the noise of hidden cells stays
    # centred although hidden values themselves are shifted.
    n = 60_000
    X = rng.standard_normal((n, 2))
    X[:, 1] += X[:, 0]
    hidden = np.isnan(ampute(X, "MAR", 0.35, strength=3.0, random_state=0))
    only_last = hidden[:, 1] & ~hidden[:, 0]
    residual = X[only_last, 1] - X[only_last, 0]
    assert abs(residual.mean()) < 5 / np.sqrt(only_last.sum())
    assert abs(X[only_last, 1].mean() - X[:, 1].mean()) > 0.2


def test_a_frame_comes_back_as_a_frame(rng):
    frame = pd.DataFrame({"a": rng.standard_normal(100), "b": np.arange(100)})
    holes = ampute(frame, "MCAR", 0.5, random_state=0)
    assert list(holes.columns) == ["a", "b"]
    assert holes.isna().to_numpy().any()


def test_constant_columns_and_extreme_rates_are_fine():
    X = np.column_stack([np.full(50, 1e8), np.arange(50.0)])
    for mechanism in ("MCAR", "MAR", "self-masking"):
        assert np.isnan(ampute(X, mechanism, 0.3, random_state=0)).any()
        assert not np.isnan(ampute(X, mechanism, 0.0, random_state=0)).any()
    assert np.isnan(ampute(X, "MCAR", 1.0, random_state=0)).all()
    assert not np.isnan(ampute(X, "MAR", 1e-20, random_state=0)).any()


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_the_size_of_the_numbers_does_not_matter(rng, size):
    X = rng.standard_normal((500, 3))
    for mechanism in ("MAR", "self-masking"):
        plain = np.isnan(ampute(X, mechanism, 0.3, strength=3.0, random_state=0))
        sized = np.isnan(ampute(X * size, mechanism, 0.3, strength=3.0, random_state=0))
        np.testing.assert_array_equal(plain, sized)


@pytest.mark.parametrize(
    ("X", "mechanism", "rate", "options", "message"),
    [
        (
            np.ones((3, 2)),
            "mnar",
            0.5,
            {},
            "'mnar'; choose one of MCAR, MAR, self-mask",
        ),
        (np.ones(3), "MCAR", 0.5, {}, r"shape \(3,\); it must be \(rows, columns\)"),
        ([[1.0, np.nan]], "MCAR", 0.5, {}, "1 cells that are NaN.*complete table"),
        (np.ones((3, 2)), "MCAR", 1.5, {}, r"rate=1\.5; it must lie between 0 and 1"),
        (np.ones((3, 2)), "MCAR", [0.1], {}, r"rate=\[0\.1\]; it must be one finite"),
        (np.ones((3, 2)), "MAR", 0.1, {"strength": np.nan}, "strength=nan; it must be"),
        (np.ones((3, 2)), "MAR", 0.9, {}, r"at most 0\.4\. Lower it, or use mechanism"),
        (np.ones((3, 1)), "MAR", 0.1, {}, "1 column; MAR needs another"),
        (np.ones((3, 2)), "MCAR", 0.1, {"columns": [5]}, "positions between 0 and 1"),
    ],
)
def test_what_cannot_be_amputed_is_refused(X, mechanism, rate, options, message):
    with pytest.raises(ValueError, match=message):
        ampute(X, mechanism, rate, **options)


def test_the_public_names_are_there():
    for name in simulate.__all__:
        assert hasattr(simulate, name)


def test_the_probability_of_self_masking_is_how_often_a_value_is_hidden(rng):
    values = rng.normal(size=40) ** 3
    masks = [
        np.isnan(ampute(values[:, None], "MNAR", 0.3, strength=-2.0, random_state=rng))
        for _ in range(2_000)
    ]
    probability = self_masking_probability(values, 0.3, strength=-2.0)
    # 2,000 draws have a standard error of 0.011 at most: four of them
    np.testing.assert_allclose(np.mean(masks, axis=0)[:, 0], probability, atol=0.045)
