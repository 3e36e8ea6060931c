"""What every predictor promises; scikit-learn's own suite first, then what NaN adds."""

import pickle
import warnings
from inspect import signature

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import (
    KFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import missfit
from conftest import hide
from estimator_cases import ALL, WEIGHTED, every, name_of, rows, splits
from fuzz.generated_tables import generated_table, ranges_outside
from laws import small_law
from missfit import (
    EMLR,
    MICELR,
    ConditionalImputedLR,
    ConformalRegressor,
    ConstantImputedLR,
    ExpandedLR,
    FactorizedLR,
    PartialPooling,
    PatternMixtureLR,
    SelfMaskedLR,
)

pytestmark = [
    # rare patterns and few iterations are the point of some of these cases
    pytest.mark.filterwarnings("ignore:.*fewer rows than coefficients:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*standard deviations from zero:UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@parametrize_with_checks(
    [
        ConstantImputedLR(),
        ConditionalImputedLR(),
        FactorizedLR(),
        FactorizedLR(order=0),
        ExpandedLR(),
        ExpandedLR(min_rows=3, fallback=ConstantImputedLR()),
        EMLR(),
        EMLR(algorithm="reference"),
        PatternMixtureLR(random_state=0),
        PatternMixtureLR(n_components=2, max_iter=30, random_state=0),
        SelfMaskedLR(),
        MICELR(),
        MICELR(bounded=False),
    ]
)
def test_scikit_learn_s_own_suite(estimator, check):
    check(estimator)


# --- what switching NaN on switches off ---------------------------------------------


@every(ALL)
def test_infinities_are_refused_at_fit_and_at_predict(estimator, rng):
    X, y = rows(rng)
    model = clone(estimator).fit(X, y)
    bad = X.copy()
    bad[3, 1] = np.inf
    place = "infinity.*in 1 of .*row 3, column 1.*use NaN where it is not known"
    with pytest.raises(ValueError, match=place):
        model.predict(bad)
    with pytest.raises(ValueError, match=place):
        clone(estimator).fit(bad, y)
    with pytest.raises(ValueError, match="NaN"):
        clone(estimator).fit(X, np.where(np.arange(len(y)) == 2, np.nan, y))


@pytest.mark.parametrize("kind", [object, "category"])
def test_text_is_refused_with_its_column_and_the_way_out(kind, rng):
    X, y = rows(rng)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["b"] = pd.Series(["1.5", "Nice"] * (len(X) // 2), dtype=kind)
    said = "column 'b', holds text, the first 'Nice'.*TableEncoder"
    with pytest.raises(ValueError, match=said):
        EMLR().fit(frame, y)
    with pytest.raises(ValueError, match=said):
        EMLR().fit(frame[["a", "c"]].assign(b=1.0), y).predict(frame[["a", "c", "b"]])
    with pytest.raises(ValueError, match="column 1, holds text, the first 'Nice'"):
        EMLR().fit(frame.to_numpy(), y)
    with pytest.raises(ValueError, match=said):
        EMLR().fit(pl.DataFrame({"a": X[:, 0], "b": list(frame["b"])}), y)
    with pytest.raises(ValueError, match="column 1, holds text, the first 'Nice'"):
        EMLR().fit([[1.0, text] for text in frame["b"]], y)


def test_text_that_is_a_number_is_one(rng):
    X, y = rows(rng)
    texts = np.where(np.isnan(X), None, X.astype(object))
    texts[0, 0] = str(X[0, 0])
    np.testing.assert_array_equal(
        EMLR().fit(texts, y).predict(texts), EMLR().fit(X, y).predict(X)
    )


@pytest.mark.parametrize(
    "columns", [None, ["a", "b", "c"], ["low", "high", "middle"]], ids=str
)
def test_a_list_of_labels_is_no_list_of_columns(columns, rng):
    X, _ = rows(rng)
    X = X if columns is None else pd.DataFrame(X, columns=columns)
    with pytest.raises(TypeError, match=r"'low'.*needs a classifier"):
        EMLR().fit(X, ["low", "high"] * (len(X) // 2))


@every(ALL)
def test_rows_with_nothing_observed_are_fitted_and_predicted(estimator, rng):
    X, y = rows(rng)
    X[:20] = np.nan
    prediction = clone(estimator).fit(X, y).predict(np.full((2, 3), np.nan))
    assert np.isfinite(prediction).all()
    assert prediction[0] == prediction[1]
    assert abs(prediction[0] - y.mean()) < 3 * y.std()


@every(ALL)
def test_a_feature_all_missing_at_fit_is_ignored(estimator, rng):
    X, y = rows(rng)
    empty = np.column_stack([X, np.full(len(X), np.nan)])
    with_empty = clone(estimator).fit(empty, y)
    without = clone(estimator).fit(X, y)
    np.testing.assert_allclose(
        with_empty.predict(empty), without.predict(X), rtol=1e-6, atol=1e-6
    )


PAPERS_EXPANDED = [
    e
    for e in ALL
    if isinstance(e, ExpandedLR) and not e.fallback and e.alphas != (0.0,)
]


@every([e for e in ALL if e not in PAPERS_EXPANDED])
def test_a_pattern_never_seen_is_predicted_sensibly(estimator, rng):
    # 16 rows show one feature of three: 0.3 is to be had, the mean of y has 0
    X, y = rows(rng)
    unseen = (np.isnan(X) == [1, 0, 1]).all(axis=1)
    kept = ~unseen & ~np.isnan(X).all(axis=1)
    model = clone(estimator).fit(X[kept], y[kept])
    assert model.score(X[unseen], y[unseen]) > -0.2


@every(PAPERS_EXPANDED)
def test_the_paper_predicts_a_pattern_never_seen_by_the_value_at_zero(estimator, rng):
    X, y = rows(rng)
    X, y = X[~np.isnan(X[:, 0])], y[~np.isnan(X[:, 0])]
    model = clone(estimator).fit(X, y)
    unseen = model.predict([[np.nan, 5.0, 0.0], [np.nan, 1.0, np.nan]])
    np.testing.assert_array_equal(unseen, model.intercept_)


@every(ALL)
def test_a_feature_missing_only_at_predict_is_predicted_sensibly(estimator, rng):
    X, y = rows(rng, rate=0.0)
    X[:, 1:] = hide(rng, X[:, 1:], 0.3)
    model = clone(estimator).fit(X, y)
    new = X[:50].copy()
    new[:, 0] = np.nan
    prediction = model.predict(new)
    assert np.abs(prediction - y[:50]).max() < 6 * y.std()


@every([e for e in ALL if getattr(e, "min_rows", None) is None])
def test_fewer_rows_than_features(estimator, rng):
    X, y = rows(rng, n=206, d=9)
    model = clone(estimator).fit(X[:6], y[:6])
    assert np.isfinite(model.predict(X)).all()
    if isinstance(estimator, MICELR) or "reference" in str(estimator):
        return  # nothing holds them: R2 of -20 to -60
    # of new rows, beside the mean of the six; ExpandedLR knows none of their patterns
    least = -0.1 if isinstance(estimator, ExpandedLR) else 0.3
    error = np.mean((y[6:] - model.predict(X[6:])) ** 2)
    assert 1 - error / np.mean((y[6:] - y[:6].mean()) ** 2) > least


# --- columns that say nothing -------------------------------------------------------


HELD = [e for e in ALL if not isinstance(e, MICELR)]


@every(HELD)
@pytest.mark.parametrize("n_seen", [0, 1])
def test_a_feature_without_two_values_at_fit_says_nothing_at_predict(
    estimator, n_seen, rng
):
    # its prediction may not depend on the value; only on whether it is missing
    if "reference" in str(estimator) and n_seen:
        return  # singular in the end, and says so
    for _ in range(2):
        X, y = rows(rng, n=60, d=4)
        X[n_seen:, 3] = np.nan
        model = clone(estimator).fit(X, y)
        new = np.nan_to_num(X)
        new[:, 3] = 2.0
        far = new.copy()
        far[:, 3] += 1e6
        np.testing.assert_allclose(
            model.predict(far), model.predict(new), rtol=1e-6, atol=1e-6 * y.std()
        )


@pytest.mark.parametrize("seed", [218, 224])
def test_a_column_empty_at_fit_does_not_ruin_rows_that_have_it(seed):
    # EM left covariances of 1e-9 on it, and the ridge divided by them: coefficients of
    # 1e9 came out on these tables
    table = generated_table(seed)
    X, y, weight, new, _ = table
    model = ConditionalImputedLR().fit(X, y, weight)
    seen = X if weight is None else X[weight > 0]
    empty = np.isnan(seen).all(axis=0)
    assert not model.coef_[empty].any()
    assert ranges_outside(model.predict(new), y) < 10


def test_an_empty_column_does_not_change_the_number_of_components(rng):
    X, y = small_law("mixture", d=2).sample(300, random_state=0)
    more = np.column_stack([X, np.full((len(X), 4), np.nan)])
    with_empty, without = PatternMixtureLR().fit(more, y), PatternMixtureLR().fit(X, y)
    # EM stops where three steps gain less than 1e-4 of log-likelihood per row, of 300
    # rows, a step earlier or later by the rounding of BLAS: 2 x 0.03 in the BIC
    assert with_empty.bic_ == pytest.approx(without.bic_, abs=0.06)


# --- weights ------------------------------------------------------------------------


@every([*WEIGHTED, PartialPooling(EMLR())])
def test_weights_that_sum_to_one_are_refused_with_the_way_out(estimator, rng):
    X, y = rows(rng)
    weight = rng.uniform(0.5, 2.0, len(X))
    with pytest.raises(ValueError, match=r"sums to 1 over 300 rows.*len\(X\) / sum"):
        clone(estimator).fit(X, y, sample_weight=weight / weight.sum())
    way_out = weight * len(X) / weight.sum()
    model = clone(estimator).fit(X, y, sample_weight=way_out)
    assert model.score(X, y) > 0.5


@every(WEIGHTED)
def test_weights_that_fade_with_age_are_counts(estimator, rng):
    # half of the rows have weights below 1e-3, and yet there are some 25 rows
    X, y = rows(rng, n=400)
    weight = 0.96 ** np.arange(len(X))
    model = clone(estimator).fit(X, y, sample_weight=weight)
    assert model.score(X[:25], y[:25]) > 0.3


@every([e for e in ALL if "reference" not in str(e)])
def test_constant_and_collinear_features_change_little(estimator, rng):
    X, y = rows(rng, n=400)
    model = clone(estimator).fit(X, y)
    more = np.column_stack([X, np.full(len(X), 7.0), X[:, 0]])
    prediction = clone(estimator).fit(more, y).predict(more)
    assert np.isfinite(prediction).all()
    # a copy of a feature is missing where the feature is: nothing is learned from it
    spread = np.std(prediction - model.predict(X)) / y.std()
    assert spread < 0.1 or isinstance(estimator, MICELR)  # it imputes one by the other


def test_the_plain_em_says_what_to_do_about_collinear_features(rng):
    X, y = rows(rng)
    with pytest.raises(ValueError, match=r"singular.*EMLR\(algorithm='accelerated'\)"):
        EMLR(algorithm="reference").fit(np.column_stack([X, X[:, 0]]), y)


@every([e for e in WEIGHTED if not isinstance(getattr(e, "cv", 0), KFold)])
@pytest.mark.parametrize("n", [40, 300])
def test_weights_equal_repeated_rows(estimator, rng, n):
    X, y = rows(rng, n=n)
    weight = rng.integers(0, 4, n)
    weighted = clone(estimator).fit(X, y, sample_weight=weight)
    repeated = clone(estimator).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(
        weighted.predict(X), repeated.predict(X), rtol=1e-7, atol=1e-7
    )


@every(WEIGHTED)
def test_permuting_rows_changes_nothing_at_fixed_folds(estimator, rng):
    X, y = rows(rng)
    estimator = clone(estimator)
    groups = np.arange(len(X)) % 3
    order = rng.permutation(len(X))
    plain, shuffled = clone(estimator), clone(estimator)
    if hasattr(estimator, "cv"):
        plain.set_params(cv=splits(groups))
        shuffled.set_params(cv=splits(groups[order]))
    plain.fit(X, y)
    shuffled.fit(X[order], y[order])
    np.testing.assert_allclose(plain.predict(X), shuffled.predict(X), rtol=1e-6)


@every(WEIGHTED)
def test_permuting_features_changes_nothing(estimator, rng):
    X, y = rows(rng)
    order = [2, 0, 1]
    plain = clone(estimator).fit(X, y).predict(X)
    permuted = clone(estimator).fit(X[:, order], y).predict(X[:, order])
    np.testing.assert_allclose(plain, permuted, rtol=1e-6, atol=1e-6)


@every(WEIGHTED)
@pytest.mark.parametrize("scale", [1e8, 1e-8])
def test_the_units_of_a_feature_do_not_matter(estimator, rng, scale):
    X, y = rows(rng)
    moved = X * [1.0, scale, 1.0]
    plain = clone(estimator).fit(X, y).predict(X)
    scaled = clone(estimator).fit(moved, y).predict(moved)
    np.testing.assert_allclose(plain, scaled, rtol=1e-6, atol=1e-6)


@every([ConstantImputedLR(), FactorizedLR(alphas=(0.0,)), ExpandedLR(alphas=(0.0,))])
def test_large_means_lose_no_digits(estimator, rng):
    X, y = rows(rng)
    plain = clone(estimator).fit(X, y).predict(X)
    moved = clone(estimator).fit(X + 1e8, y + 1e6).predict(X + 1e8)
    np.testing.assert_allclose(moved - 1e6, plain, atol=1e-5 * y.std())


@every([ConstantImputedLR(), FactorizedLR(alphas=(0.0,)), ExpandedLR(alphas=(0.0,))])
def test_complete_data_give_ordinary_least_squares(estimator, rng):
    X, y = rows(rng, rate=0.0)
    ours = clone(estimator).fit(X, y)
    np.testing.assert_allclose(
        ours.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-9
    )


def test_complete_data_give_em_the_least_squares_regression(rng):
    X, y = rows(rng, rate=0.0)
    theirs = LinearRegression().fit(X, y)
    for model in (EMLR(), EMLR(algorithm="reference")):
        model.fit(X, y)
        np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-8)
        np.testing.assert_allclose(model.intercept_, theirs.intercept_, rtol=1e-8)


# --- inputs -------------------------------------------------------------------------


@every(ALL)
def test_several_targets_are_as_many_fits(estimator, rng):
    X, y = rows(rng)
    both = np.column_stack([y, y**2])
    one_gaussian = (EMLR, ConditionalImputedLR, PatternMixtureLR, SelfMaskedLR)
    if isinstance(estimator, one_gaussian):
        return  # one Gaussian for all targets: tested below
    model = clone(estimator)
    if hasattr(model, "alphas"):
        model.set_params(alphas=(1.0,))
    together = clone(model).fit(X, both).predict(X)
    apart = [clone(model).fit(X, target).predict(X) for target in both.T]
    np.testing.assert_allclose(together, np.column_stack(apart), rtol=1e-7)


def test_em_with_several_targets_uses_each_to_learn_about_the_features(rng):
    X, y = rows(rng, n=3000, noise=0.1)
    second = y - 2 * np.nan_to_num(X[:, 0]) + rng.standard_normal(len(y))
    model = EMLR().fit(X, np.column_stack([y, second]))
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (3000, 2)
    assert model.coef_.shape == (2, 3)
    single = EMLR().fit(X, y).predict(X)
    assert np.corrcoef(mean[:, 0], single)[0, 1] > 0.99


@every(ALL)
def test_frames_of_every_kind_are_read(estimator, rng):
    X, y = rows(rng, n=120)
    names = ["age", "height", "weight"]
    expected = clone(estimator).fit(X, y).predict(X)
    plain = pd.DataFrame(X, columns=names)
    nullable = plain.astype("Float64")
    objects = plain.astype(object).where(plain.notna(), pd.NA)
    polars = pl.DataFrame(plain.to_dict("list")).fill_nan(None)
    for frame in (plain, nullable, objects, polars):
        model = clone(estimator).fit(frame, y)
        assert model.feature_names_in_.tolist() == names
        np.testing.assert_allclose(model.predict(frame), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(plain[["height", "age", "weight"]])


@every(ALL)
def test_models_are_pickled_and_cloned(estimator, rng):
    X, y = rows(rng)
    model = clone(estimator).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


@every(ALL)
def test_pipelines_and_cross_validation_work(estimator, rng):
    X, y = rows(rng)
    pipeline = make_pipeline(StandardScaler(), clone(estimator))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.2


# --- parameters ---------------------------------------------------------------------


PUBLIC = [getattr(missfit, name) for name in missfit.__all__]
PUBLIC = [kind for kind in PUBLIC if hasattr(kind, "get_params")]
OTHER_WORDS = {  # what the parameter is called everywhere
    "base": "estimator",
    "base_estimator": "estimator",
    "seed": "random_state",
    "folds": "cv",
    "most_rows": "max_rows",
}


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.__name__)
def test_a_parameter_has_the_same_name_and_default_in_every_estimator(kind):
    parameters = signature(kind).parameters
    assert not OTHER_WORDS.keys() & parameters.keys()
    if "random_state" in parameters:
        assert parameters["random_state"].default is None


@every([*WEIGHTED, PartialPooling(EMLR()), ConformalRegressor(EMLR())])
def test_what_a_fit_learns_ends_in_an_underscore(estimator, rng):
    model = clone(estimator).fit(*rows(rng, n=100))
    learned = vars(model).keys() - model.get_params(deep=False).keys()
    assert learned
    assert all(name.endswith("_") for name in learned)


def test_a_wrapper_takes_an_estimator_and_keeps_it_fitted(rng):
    X, y = rows(rng, n=200)
    for kind in (PartialPooling, ConformalRegressor):
        model = kind(estimator=EMLR(tol=1e-3)).fit(X, y)
        assert model.get_params()["estimator__tol"] == 1e-3
        assert isinstance(model.estimator_, EMLR)
        assert not hasattr(model.estimator, "patterns_")  # it was cloned
        assert not hasattr(model, "base_")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (FactorizedLR(order=-1), r"order=-1; it must be a whole number from 0 to 3"),
        (FactorizedLR(order=4), r"order=4; it must be a whole number from 0 to 3"),
        (FactorizedLR(order="1"), r"order='1'; it must be a whole number"),
        (ExpandedLR(alphas="auto"), r"alphas='auto'; give one or more ridge strengths"),
        (ExpandedLR(min_rows="3"), r"min_rows='3'; give a number >= 0"),
        (FactorizedLR(alphas=()), r"alphas=\(\); give one or more ridge strengths"),
        (FactorizedLR(alphas=(-1.0,)), r"alphas=\(-1.0,\); give one or more"),
        (ExpandedLR(alphas=(np.inf,)), "ridge strengths must be finite"),
        (ExpandedLR(min_rows=1000), r"no pattern has min_rows=1000 rows.*Lower"),
        (EMLR(algorithm="fast"), "'fast'; choose 'accelerated' or 'reference'"),
        (EMLR(max_iter=0), "max_iter=0; it must be a number of at least 1"),
        (EMLR(max_iter="many"), "max_iter='many'; it must be a number"),
        (EMLR(tol=-1), "tol=-1; it must be a number of at least 0"),
        (EMLR(tol=[1e-3]), r"tol=\[0.001\]; it must be a number"),
        (MICELR(max_iter="10"), "max_iter='10'; it must be a number"),
        (SelfMaskedLR(max_iter=0), "max_iter=0; it must be a number of at least 1"),
        (SelfMaskedLR(tol=np.nan), "tol=nan; it must be a number of at least 0"),
        (ExpandedLR(cv=500), r"n_samples=300, fewer than the 500 folds of cv=500"),
    ],
    ids=name_of,
)
def test_bad_parameters_are_refused_at_fit(model, message, rng):
    X, y = rows(rng)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_an_absurd_number_of_coefficients_is_refused_before_any_work(rng):
    X = hide(rng, rng.standard_normal((500, 30)))
    with pytest.raises(
        ValueError, match=r"order=3 with these 30 features .* Lower the"
    ):
        FactorizedLR(order=3).fit(X, np.nansum(X, axis=1))


def test_one_row_is_enough_without_a_choice_of_strength():
    X, y = np.array([[1.0, np.nan]]), np.array([3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for model in (
            ConstantImputedLR(),
            FactorizedLR(alphas=(1.0,)),
            ExpandedLR(alphas=(1.0,)),
            EMLR(),
            PatternMixtureLR(random_state=0),
            SelfMaskedLR(),
        ):
            np.testing.assert_allclose(model.fit(X, y).predict(X), 3.0, rtol=1e-6)


# --- edges --------------------------------------------------------------------------


def test_a_constant_feature_with_fractional_weights_is_fine():
    X = np.column_stack([np.arange(6.0), np.full(6, 0.1)])
    X[0, 1] = X[1, 0] = np.nan
    weight = [0.4, 1.0, 0.1 + 0.2, 0.1 + 0.2, 0.4, 0.1 + 0.2]
    model = FactorizedLR(alphas=(1.0,)).fit(X, np.arange(6.0), weight)
    assert np.isfinite(model.predict(X)).all()
    imputation = ConstantImputedLR().fit(X, np.arange(6.0), weight).imputation_
    assert imputation[1] == pytest.approx(0.1)


def test_a_fallback_keeps_the_shape_of_the_target(rng):
    X, y = rows(rng)
    model = ExpandedLR(alphas=(1.0,), min_rows=60, fallback=EMLR())
    assert model.partial_fit(X, y[:, None]).predict(X).shape == (300, 1)
    assert model.fit(X, y).predict(X).shape == (300,)
    with pytest.raises(TypeError, match=r"takes no sample_weight"):
        ExpandedLR(alphas=(1.0,), fallback=KNeighborsRegressor()).fit(
            X, y, np.ones(300)
        )


def test_maps_of_patterns_left_to_a_fallback_are_the_fallbacks(rng):
    X, y = rows(rng)
    model = ExpandedLR(alphas=(1.0,), min_rows=60, fallback=EMLR()).fit(X, y)
    np.testing.assert_allclose(model.pattern_models_.predict(X)[:, 0], model.predict(X))
    other = ExpandedLR(alphas=(1.0,), min_rows=60, fallback=MICELR()).fit(X, y)
    assert np.isnan(other.pattern_models_.intercept).any()
    assert np.isfinite(other.predict(X)).all()


def test_a_constant_target_leaves_nothing_unexplained(rng):
    X, _ = rows(rng)
    mean, std = EMLR().fit(X, np.full(len(X), 1e-6)).predict(X, return_std=True)
    np.testing.assert_allclose(mean, 1e-6)
    assert std.max() < 1e-12


def test_warnings_point_at_the_line_that_fits(rng):
    X, y = rows(rng, n=20)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ExpandedLR(alphas=(1.0,)).fit(X, y)
        EMLR(max_iter=1).fit(X, y)
    assert [w.filename for w in seen] == [__file__, __file__]
