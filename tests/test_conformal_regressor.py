"""ConformalRegressor: the published algorithms, and coverage given the pattern."""

import numpy as np
import pytest
from scipy import stats
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import hide, random_cov
from missfit import EMLR, ConformalRegressor, ConstantImputedLR
from missfit.simulate import published


@parametrize_with_checks([ConformalRegressor(EMLR(), random_state=0)])
def test_scikit_learns_suite(estimator, check):
    check(estimator)


def rows(rng, n, d=4, rate=0.3):
    X = rng.multivariate_normal(np.zeros(d), random_cov(rng, d), n)
    y = X.sum(axis=1) + rng.standard_normal(n)
    return hide(rng, X, rate), y


def interval_as_published(model, x, method):
    """Zaffran et al. 2023, Algorithms 1 and 2, for one row, by plain loops."""
    hidden, f = np.isnan(x), model.base_.predict
    low, high = [], []
    for x_k, y_k in zip(
        model.calibration_rows_, model.calibration_targets_, strict=True
    ):
        if method == "exact" and (np.isnan(x_k) & ~hidden).any():
            continue
        union = hidden | np.isnan(x_k)
        score = abs(y_k - f(np.where(union, np.nan, x_k)[None])[0])
        center = f(np.where(union, np.nan, x)[None])[0]
        low.append(center - score)
        high.append(center + score)
    n = len(low)
    rank = int(np.ceil((1 - model.alpha) * (n + 1)))
    if rank > n:
        return -np.inf, np.inf
    return -np.sort(-np.array(low))[rank - 1], np.sort(high)[rank - 1]


@pytest.mark.parametrize("method", ["exact", "nested", "auto"])
def test_several_levels_at_once_are_those_one_by_one(rng, method):
    X, y = rows(rng, 300)
    model = ConformalRegressor(EMLR(), method=method, random_state=0)
    model.fit(X[:200], y[:200])
    alphas = (0.5, 0.1, 0.05)
    lower, upper = model.predict_intervals(X[200:], alphas)
    for a, alpha in enumerate(alphas):
        low, high = model.set_params(alpha=alpha).predict_interval(X[200:])
        np.testing.assert_array_equal(lower[a], low)
        np.testing.assert_array_equal(upper[a], high)
    assert (lower[1] <= lower[0]).all()
    assert (upper[2] >= upper[1]).all()


@pytest.mark.parametrize("method", ["exact", "nested"])
@pytest.mark.parametrize("alpha", [0.1, 0.25])
@pytest.mark.parametrize(
    "base", [EMLR(), HistGradientBoostingRegressor(max_iter=5)], ids=["EMLR", "HGB"]
)
def test_intervals_are_those_of_the_published_algorithms(rng, base, method, alpha):
    X, y = rows(rng, 300)
    model = ConformalRegressor(base, alpha=alpha, method=method, random_state=0)
    model.fit(X[:250], y[:250])
    lower, upper = model.predict_interval(X[250:])
    expected = [interval_as_published(model, x, method) for x in X[250:]]
    # the same predictions, of other batches of rows: rounding
    np.testing.assert_allclose(np.c_[lower, upper], expected, rtol=1e-10, atol=1e-10)


def test_without_holes_exact_and_nested_are_split_conformal_prediction(rng):
    X, y = rows(rng, 500, rate=0.0)
    widths = []
    for method in ("exact", "nested", "auto"):
        model = ConformalRegressor(EMLR(), method=method, random_state=0).fit(X, y)
        lower, upper = model.predict_interval(X)
        np.testing.assert_allclose((lower + upper) / 2, model.predict(X))
        widths.append(upper - lower)
    scores = abs(
        model.calibration_targets_ - model.base_.predict(model.calibration_rows_)
    )
    level = 0.9 * (len(scores) + 1) / len(scores)
    expected = 2 * np.quantile(scores, level, method="inverted_cdf")
    np.testing.assert_allclose(widths, expected)


def test_the_coverage_of_exact_is_the_rank_over_rows_plus_one(rng):
    """With n calibration scores the coverage is ceil((1 - alpha)(n + 1)) / (n + 1).

    30 rows, a third of them usable for the complete pattern on average, so that the
    rank is at its coarsest; the law of y is known, so each fit's coverage is exact.
    """
    coverage, expected = [], []
    for seed in range(400):
        X = hide(rng, np.zeros((60, 2)), 0.35)
        y = rng.standard_normal(60)
        model = ConformalRegressor(
            DummyRegressor(strategy="constant", constant=0.0),
            alpha=0.2,
            method="exact",
            calibration=0.5,
            random_state=seed,
        ).fit(X, y)
        n = model.usable_rows(np.zeros((1, 2), dtype=bool))[0]
        rank = np.ceil(0.8 * (n + 1))
        lower, upper = model.predict_interval(np.zeros((1, 2)))
        coverage.append(stats.norm.cdf(upper[0]) - stats.norm.cdf(lower[0]))
        expected.append(min(rank / (n + 1), 1.0))
    # standard error of the mean of 400 about 0.1 / 20
    assert np.mean(coverage) == pytest.approx(np.mean(expected), abs=0.02)


def coverage_by_missing(rng, method, base, *, n=20_000, d=6, rate=0.3, n_test=90_000):
    X, y = rows(rng, n + n_test, d, rate)
    model = ConformalRegressor(base, method=method, random_state=1)
    model.fit(X[:n], y[:n])
    lower, upper = model.predict_interval(X[n:])
    hidden = np.isnan(X[n:])
    covered = (lower <= y[n:]) & (y[n:] <= upper)
    usable = model.usable_rows(hidden)
    count = hidden.sum(axis=1)
    groups = [
        (count == k)
        for k in range(d + 1)
        if (count == k).sum() >= 10_000 and usable[count == k].min() >= 1000
    ]
    return [covered[group].mean() for group in groups]


@pytest.mark.parametrize("base", [EMLR(), ConstantImputedLR()], ids=str)
def test_exact_covers_90_percent_in_every_group_by_number_missing(rng, base):
    coverage = coverage_by_missing(rng, "exact", base, rate=0.15)
    assert len(coverage) >= 3
    assert min(coverage) >= 0.88
    assert max(coverage) <= 0.92


def test_nested_covers_at_least_88_percent_in_every_group(rng):
    coverage = coverage_by_missing(rng, "nested", EMLR(), rate=0.15)
    assert len(coverage) >= 3
    assert min(coverage) >= 0.88


def test_intervals_that_ignore_the_pattern_fail_where_this_one_holds(rng):
    """The reason to exist: one width for all misses the patterns with many holes."""
    X, y = rows(rng, 60_000, 6, 0.3)
    model = ConformalRegressor(EMLR(), random_state=0).fit(X[:20_000], y[:20_000])
    scores = abs(
        model.calibration_targets_ - model.base_.predict(model.calibration_rows_)
    )
    one_width = np.quantile(scores, 0.9)
    X, y = X[20_000:], y[20_000:]
    many = np.isnan(X).sum(axis=1) >= 4
    lower, upper = model.predict_interval(X[many])
    ignorant = (abs(y[many] - model.predict(X[many])) <= one_width).mean()
    assert ignorant < 0.8
    assert ((lower <= y[many]) & (y[many] <= upper)).mean() > 0.88


def test_what_happens_under_mnar_is_as_documented():
    """Self-masked rows: rows hidden on purpose are not like rows that hide themselves.

    The average stays near 90 %, single patterns stray by more than the 2 points that
    MCAR allows.
    """
    law = published("selfmasked", 4)
    X, y = law.sample(60_000, random_state=3)
    model = ConformalRegressor(EMLR(), method="exact", random_state=0)
    model.fit(X[:20_000], y[:20_000])
    X, y = X[20_000:], y[20_000:]
    lower, upper = model.predict_interval(X)
    covered = (lower <= y) & (y <= upper)
    count = np.isnan(X).sum(axis=1)
    by_count = [covered[count == k].mean() for k in range(4)]
    assert max(abs(c - 0.9) for c in by_count) > 0.02
    assert 0.8 < covered.mean() < 0.97


def test_auto_is_exact_with_enough_rows_and_nested_without(rng):
    X, y = rows(rng, 2000, 3, 0.0)
    X[:, 2] = np.where(rng.random(2000) < 0.97, np.nan, X[:, 2])  # 15 complete or so
    fits = {
        method: ConformalRegressor(
            EMLR(), method=method, alpha=0.02, random_state=0
        ).fit(X, y)
        for method in ("auto", "exact", "nested")
    }
    common = np.array([[0.0, 1.0, np.nan]])
    rare = np.array([[0.0, 1.0, 2.0]])
    ends = {name: m.predict_interval(common) for name, m in fits.items()}
    assert ends["auto"] == ends["exact"]
    ends = {name: m.predict_interval(rare) for name, m in fits.items()}
    assert np.isfinite(ends["auto"]).all()
    assert np.isinf(ends["exact"]).all()  # 2 % cannot be ruled out with so few rows
    assert np.isfinite(ends["nested"]).all()


def test_a_pattern_never_seen_and_a_row_with_nothing_observed_get_intervals(rng):
    X, y = rows(rng, 2000, 3, 0.2)
    X[:, 0] = rng.standard_normal(2000)  # never missing at fit
    model = ConformalRegressor(EMLR(), random_state=0).fit(X, y)
    lower, upper = model.predict_interval([[np.nan, 0.5, 1.0], [np.nan] * 3])
    assert np.isfinite([lower, upper]).all()
    assert upper[1] - lower[1] == pytest.approx(2 * 1.645 * y.std(), rel=0.2)


def test_the_same_seed_gives_the_same_intervals_and_rows_keep_their_order(rng):
    X, y = rows(rng, 600)
    first, second = (
        ConformalRegressor(EMLR(), random_state=5).fit(X, y).predict_interval(X)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    model = ConformalRegressor(EMLR(), random_state=5).fit(X, y)
    order = rng.permutation(len(X))
    shuffled = model.predict_interval(X[order])
    np.testing.assert_allclose(shuffled, np.asarray(first)[:, order], rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"alpha": 1.5}, r"alpha=1\.5; it must be between 0 and 1"),
        ({"method": "split"}, "choose 'auto', 'exact', 'nested'"),
        ({"calibration": 0}, "must be between 0 and 1"),
    ],
)
def test_options_out_of_range_are_refused(rng, options, text):
    with pytest.raises(ValueError, match=text):
        ConformalRegressor(EMLR(), **options).fit(*rows(rng, 50))


def test_one_row_and_infinities_are_refused(rng):
    X, y = rows(rng, 50)
    with pytest.raises(ValueError, match="n_samples = 1; at least 2 rows"):
        ConformalRegressor(EMLR()).fit(X[:1], y[:1])
    model = ConformalRegressor(EMLR()).fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        model.predict_interval([[np.inf, 0, 0, 0]])


def schools(rng, n_schools):
    """Rows whose target is that of their school, which its place tells, plus noise."""
    school = np.repeat(np.arange(n_schools), 8)
    place, effect = rng.random(n_schools), rng.standard_normal(n_schools)
    X = np.column_stack([place[school], rng.standard_normal(len(school))])
    return X, effect[school] + 0.1 * rng.standard_normal(len(school)), school


def test_with_groups_the_intervals_are_those_of_new_groups(rng):
    X, y, school = schools(rng, 400)
    new, target, _ = schools(rng, 400)
    base = DecisionTreeRegressor(min_samples_leaf=2, random_state=0)
    coverage = {}
    for groups in (school, None):
        model = ConformalRegressor(base, random_state=0).fit(X, y, groups)
        lower, upper = model.predict_interval(new)
        coverage[groups is None] = np.mean((lower <= target) & (target <= upper))
        kept = np.isin(X[:, 0], model.calibration_rows_[:, 0])
        together = kept.sum() == len(model.calibration_rows_)
        assert together == (groups is not None)
    assert 0.85 < coverage[False] < 0.95  # groups kept together
    assert coverage[True] < 0.6  # rows of one school on both sides: far too narrow


def test_one_group_is_refused_with_the_way_out(rng):
    X, y = rows(rng, 50)
    model = ConformalRegressor(EMLR())
    with pytest.raises(ValueError, match=r"groups holds one value.*Leave groups out"):
        model.fit(X, y, np.zeros(50))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y, np.arange(49))
