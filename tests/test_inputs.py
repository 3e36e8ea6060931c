"""What is not a number is never taken for one, by any estimator."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.linear_model import LinearRegression

import missfit
from conftest import hide

STREAMED = [
    missfit.ConstantImputedLR(),
    missfit.FactorizedLR(alphas=(1.0,)),
    missfit.ExpandedLR(alphas=(1.0,)),
    missfit.EMLR(),
    missfit.ConditionalImputedLR(),
    missfit.PatternMixtureLR(n_components=2, max_iter=20),
    missfit.MLP(width=3, weight_decay=0.1),
    missfit.NeuMiss(depth=1, weight_decay=0.1),
]
WEIGHTED = [
    *STREAMED,
    missfit.SelfMaskedLR(),
    missfit.MICELR(),
    missfit.PartialPooling(missfit.EMLR()),
    missfit.AutoRegressor(),
]
ALL = [*WEIGHTED, missfit.ConformalRegressor(missfit.EMLR())]
LINEAR = [e for e in ALL if getattr(e, "is_linear", False)]
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:.*fewer rows than"
)
DAY = np.datetime64("2020-01-01")


def every(estimators):
    return pytest.mark.parametrize(
        "estimator", estimators, ids=lambda estimator: type(estimator).__name__
    )


def rows(rng, n=60, d=3):
    X = rng.standard_normal((n, d)) @ rng.uniform(-1, 1, (d, d)) + 1
    y = X.sum(axis=1) + rng.standard_normal(n)
    return hide(rng, X, 0.3), y


# --- targets and weights -------------------------------------------------------------


@every(ALL)
def test_a_masked_target_is_refused(estimator, rng):
    X, y = rows(rng)
    hidden = np.ma.masked_array(np.where(y > 0, y, 1e6), y <= 0)
    with pytest.raises(
        ValueError, match=r"y is masked in \d+ of 60 rows.*drop the rows"
    ):
        clone(estimator).fit(X, hidden)


@every(WEIGHTED)
def test_a_masked_weight_is_refused(estimator, rng):
    X, y = rows(rng)
    weight = np.ma.masked_array(np.ones(60), np.arange(60) == 7)
    with pytest.raises(ValueError, match="the first masked or missing, in row 7"):
        clone(estimator).fit(X, y, sample_weight=weight)


@every(ALL)
@pytest.mark.parametrize("gap", [None, np.nan, pd.NA], ids=repr)
def test_a_gap_in_a_target_of_objects_is_refused(estimator, gap, rng):
    X, y = rows(rng)
    target = y.astype(object)
    target[3] = gap
    with pytest.raises(ValueError, match="Input y contains NaN"):
        clone(estimator).fit(X, target)


@every(STREAMED)
def test_a_stream_keeps_its_number_of_targets(estimator, rng):
    X, y = rows(rng)
    model = clone(estimator).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"shape \('n', 2\) where .* had \('n',\)"):
        model.partial_fit(X, np.column_stack([y, y]))
    assert model.partial_fit(X, y).predict(X).shape == (60,)


@every(STREAMED)
def test_weights_of_zero_have_the_shape_of_the_rows(estimator, rng):
    X, y = rows(rng)
    model = clone(estimator).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3, 2\)"):
        model.partial_fit(X, y, sample_weight=np.zeros((3, 2)))


# --- dates ---------------------------------------------------------------------------

DATED = [
    np.full((60, 3), DAY),
    np.full((60, 3), np.timedelta64(5, "h")),
    np.ma.masked_array(np.full((60, 3), DAY), np.eye(60, 3)),
    np.array([[DAY, 1.0, 2.0]] * 60, dtype=object),
    pd.DataFrame({"a": pd.Categorical([pd.Timestamp(DAY)] * 60), "b": 1.0, "c": 2.0}),
    pl.DataFrame({"a": [datetime.date(2020, 1, 1)] * 60, "b": 1.0, "c": 2.0}),
]


@every(ALL)
def test_dates_are_not_taken_as_integers_in_features(estimator, rng):
    _, y = rows(rng)
    for table in DATED:
        with pytest.raises(TypeError, match=r"holds (dates|durations), the first"):
            clone(estimator).fit(table, y)


@every(ALL)
def test_dates_are_not_taken_as_integers_in_the_target(estimator, rng):
    X, _ = rows(rng)
    for target in (DAY + np.arange(60), np.arange(60) * np.timedelta64(1, "h")):
        with pytest.raises(TypeError, match=r"y holds (dates|durations), the first"):
            clone(estimator).fit(X, target)


@every([e for e in LINEAR if not isinstance(e, missfit.SelfMaskedLR)])
def test_dates_are_not_taken_as_integers_at_predict(estimator, rng):
    X, y = rows(rng)
    model = clone(estimator).fit(X, y)
    for table in DATED:
        with pytest.raises(TypeError, match=r"holds (dates|durations), the first"):
            model.predict(table)


# --- masks and large values ----------------------------------------------------------


@every(LINEAR)
@pytest.mark.parametrize("kind", ["array", "list of rows", "objects"])
def test_what_a_mask_hides_never_reaches_a_prediction(estimator, kind, rng):
    X, y = rows(rng)
    expected = clone(estimator).fit(X, y).predict(X)
    junk = np.where(np.isnan(X), -999.0, X)
    if kind == "objects":
        junk = np.where(np.isnan(X), "hidden", X.astype(object))
    masked = np.ma.masked_array(junk, np.isnan(X))
    table = list(masked) if kind == "list of rows" else masked
    found = clone(estimator).fit(table, y).predict(table)
    np.testing.assert_array_equal(found, expected)


@every(ALL)
@pytest.mark.parametrize("value", [1e308, -1e200])
def test_values_whose_squares_overflow_are_refused_at_fit(estimator, value, rng):
    X, y = rows(rng)
    for place in ("X", "y"):
        table, target = X.copy(), y.copy()
        if place == "X":
            table[4, 1] = value
        else:
            target[4] = value
        with pytest.raises(ValueError, match=rf"{place} is beyond 1e\+150.*row 4"):
            clone(estimator).fit(table, target)


@every([e for e in LINEAR if not isinstance(e, missfit.PartialPooling)])
def test_a_prediction_is_finite_or_refused(estimator, rng):
    X, y = rows(rng)
    model = clone(estimator).fit(X * 1e-100, y * 1e100)
    for value, text in ((1e308, "X is beyond"), (1e140, "row 1 overflows float64")):
        new = X[:3] * 1e-100
        new[1] = value
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            with pytest.raises(ValueError, match=text):
                model.predict(new)


def test_integers_of_more_digits_than_float64_holds_are_refused(rng):
    X, y = rows(rng)
    huge = X.astype(object)
    huge[0, 0] = 10**400
    with pytest.raises(ValueError, match="X holds a number beyond the range"):
        missfit.EMLR().fit(huge, y)
    with pytest.raises(TypeError, match="int too large to convert to float"):
        missfit.EMLR().fit(X, huge[:, 0])


def test_sparse_columns_are_read_as_dense_ones(rng):
    X, y = rows(rng)
    frame = pd.DataFrame(X, columns=list("abc"))
    model = missfit.EMLR().fit(frame, y)
    sparse = frame.astype(pd.SparseDtype("float"))
    # the last bit of a sum follows the order of the values in memory
    np.testing.assert_allclose(model.predict(sparse), model.predict(frame), rtol=1e-14)


def test_a_name_stands_for_one_column(rng):
    X, y = rows(rng)
    frame = pd.DataFrame(np.column_stack([X, y]), columns=["a", "a", "b", "y"])
    with pytest.raises(ValueError, match="X has 2 columns called 'a'"):
        missfit.EMLR().fit(frame, "y")
    frame.columns = ["a", "b", "y", "y"]
    with pytest.raises(ValueError, match="X has 2 columns called 'y'"):
        missfit.EMLR().fit(frame, "y")
    frame.columns = ["a", "b", "c", "y"]
    with pytest.raises(ValueError, match="a column can be named once"):
        missfit.EMLR().fit(frame, "y", sample_weight="y")


# --- MICELR --------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-100, 1e-3, 1e4, 1e50])
def test_micelr_does_not_depend_on_units(unit, rng):
    X, y = rows(rng, n=200, d=4)
    units = np.array([unit, 1.0, 1 / unit, 1.0])
    plain = missfit.MICELR().fit(X, y).predict(X)
    moved = missfit.MICELR().fit(X * units, y).predict(X * units)
    # rounding alone: the standard units differ in their last digits
    np.testing.assert_allclose(moved, plain, rtol=0, atol=1e-9 * y.std())


@pytest.mark.parametrize("targets", [1, 2])
def test_unbounded_micelr_is_scikit_learns_imputer_and_least_squares(targets, rng):
    X, y = rows(rng, n=300, d=5)
    y = y if targets == 1 else np.column_stack([y, y**2])
    X[:, 3] = np.nan_to_num(X[:, 3])  # never missing at fit
    new = hide(rng, X[:50], 0.3)
    imputer = IterativeImputer(random_state=0)
    theirs = LinearRegression().fit(imputer.fit_transform(X), y)
    ours = missfit.MICELR(bounded=False).fit(X, y)
    assert ours.n_iter_ == imputer.n_iter_
    np.testing.assert_allclose(ours.impute(new), imputer.transform(new), rtol=1e-9)
    expected = theirs.predict(imputer.transform(new))
    np.testing.assert_allclose(ours.predict(new), expected, rtol=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)


def test_micelr_where_nothing_was_observed_predicts_the_mean(rng):
    nothing, y = np.full((20, 2), np.nan), rng.standard_normal(20)
    model = missfit.MICELR().fit(nothing, y)
    np.testing.assert_allclose(model.predict([[1.0, np.nan]]), y.mean())
