"""ConformalRegressor: the published algorithms, and coverage given the pattern."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import hide, random_cov
from missfit import EMLR, ConformalRegressor, ConstantImputedLR
from missfit.simulate import MARGaussian, SelfMaskedProbit, published


@parametrize_with_checks([ConformalRegressor(EMLR(), random_state=0)])
def test_scikit_learns_suite(estimator, check):
    check(estimator)


def rows(rng, n, d=4, rate=0.3):
    X = rng.multivariate_normal(np.zeros(d), random_cov(rng, d), n)
    y = X.sum(axis=1) + rng.standard_normal(n)
    return hide(rng, X, rate), y


def interval_as_published(model, x, method):
    """Zaffran et al. 2023, Algorithms 1 and 2, for one row, by plain loops."""
    hidden, f = np.isnan(x), model.estimator_.predict
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
    kinds = []
    for a, alpha in enumerate(alphas):
        model.set_params(alpha=alpha)
        low, high, kind = model.predict_interval(X[200:], return_kind=True)
        # scales of other patterns beside them in one batch: rounding
        np.testing.assert_allclose(lower[a], low, rtol=1e-12)
        np.testing.assert_allclose(upper[a], high, rtol=1e-12)
        kinds.append(kind)
    # which patterns are in a pool depends on the level, and so does the pool
    own = np.array(kinds) != "pooled patterns"
    assert (lower[1] <= lower[0])[own[0] & own[1]].all()
    assert (upper[2] >= upper[1])[own[1] & own[2]].all()


@pytest.mark.parametrize("unit", [2.0**-80, 2.0**-36, 2.0**40])
def test_intervals_know_no_unit_of_the_target(rng, unit):
    # powers of two, so that predictions and errors are multiples to the last digit
    X, y = rows(rng, 600, d=5, rate=0.5)
    model = ConformalRegressor(ConstantImputedLR(), random_state=0)
    lower, upper, kind = model.fit(X, y).predict_interval(X, return_kind=True)
    assert {"same pattern", "pooled patterns"} == set(kind)
    found = model.fit(X, unit * y).predict_interval(X)
    np.testing.assert_allclose(found, [unit * lower, unit * upper], rtol=1e-6)


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
    widths = {}
    for method in ("exact", "nested", "auto"):
        model = ConformalRegressor(EMLR(), method=method, random_state=0).fit(X, y)
        lower, upper = model.predict_interval(X)
        np.testing.assert_allclose((lower + upper) / 2, model.predict(X))
        widths[method] = upper - lower
    scores = abs(
        model.calibration_targets_ - model.estimator_.predict(model.calibration_rows_)
    )
    level = 0.9 * (len(scores) + 1) / len(scores)
    expected = 2 * np.quantile(scores, level, method="inverted_cdf")
    np.testing.assert_allclose(widths["exact"], expected)
    np.testing.assert_allclose(widths["nested"], expected)
    between = 2 * np.quantile(scores, 0.9, method="weibull")  # rank 0.9 (n + 1)
    np.testing.assert_allclose(widths["auto"], between)


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
        model.calibration_targets_ - model.estimator_.predict(model.calibration_rows_)
    )
    one_width = np.quantile(scores, 0.9)
    X, y = X[20_000:], y[20_000:]
    many = np.isnan(X).sum(axis=1) >= 4
    lower, upper = model.predict_interval(X[many])
    ignorant = (abs(y[many] - model.predict(X[many])) <= one_width).mean()
    assert ignorant < 0.8
    assert ((lower <= y[many]) & (y[many] <= upper)).mean() > 0.88


def test_what_happens_to_exact_under_mnar_is_as_documented():
    """Self-masked rows: rows hidden on purpose are not like rows that hide themselves.

    The average stays near 90 %, numbers of missing values stray by more than the 2
    points that MCAR allows. By rows of the same pattern none does.
    """
    law = published("selfmasked", 4)
    X, y = law.sample(60_000, random_state=3)
    new, target = X[20_000:], y[20_000:]
    count = np.isnan(new).sum(axis=1)
    astray, average = {}, {}
    for method in ("exact", "auto"):
        model = ConformalRegressor(EMLR(), method=method, random_state=0)
        lower, upper = model.fit(X[:20_000], y[:20_000]).predict_interval(new)
        covered = (lower <= target) & (target <= upper)
        astray[method] = max(abs(covered[count == k].mean() - 0.9) for k in range(4))
        average[method] = covered.mean()
    assert astray["exact"] > 0.05
    assert 0.8 < average["exact"] < 0.97
    assert astray["auto"] < 0.02  # 5,000 calibration rows: chance is half a point
    assert average["auto"] == pytest.approx(0.9, abs=0.01)


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


def test_one_group_is_refused_with_the_way_out(rng):
    X, y = rows(rng, 50)
    model = ConformalRegressor(EMLR())
    with pytest.raises(ValueError, match=r"groups holds one value.*Leave groups out"):
        model.fit(X, y, groups=np.zeros(50))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y, groups=np.arange(49))


ZERO = DummyRegressor(strategy="constant", constant=0.0)


def masked(patterns, repeats):
    """Rows of zeros with holes: each pattern so many times."""
    return np.repeat(np.where(np.array(patterns, dtype=bool), np.nan, 0.0), repeats, 0)


def test_the_rows_that_a_pattern_needs_follow_alpha(rng):
    """1/alpha - 1 of its own: 9 for 90 %, 19 for 95 %, 99 for 99 %; then a pool."""
    X = masked([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 0]], [400, 76, 36, 12])
    y = rng.standard_normal(len(X))
    model = ConformalRegressor(ZERO, random_state=0).fit(X, y)
    kept = np.isnan(model.calibration_rows_)
    for alpha in (0.2, 0.1, 0.05, 0.01):
        new = masked([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], 1)
        model.set_params(alpha=alpha)
        _, _, kind = model.predict_interval(new, return_kind=True)
        for row, said in zip(np.isnan(new), kind, strict=True):
            n = (kept == row).all(axis=1).sum()
            assert (said == "same pattern") == (n >= round(1 / alpha - 1))


def test_same_pattern_intervals_are_the_quantile_of_the_scores_of_the_pattern(rng):
    X, y = rows(rng, 4000, 3, 0.2)
    model = ConformalRegressor(EMLR(), random_state=0).fit(X, y)
    predictions = model.estimator_.predict(model.calibration_rows_)
    np.testing.assert_allclose(model.calibration_predictions_, predictions)
    scores = abs(model.calibration_targets_ - predictions)
    lower, upper, kind = model.predict_interval(X[:200], return_kind=True)
    assert (kind == "same pattern").any()
    kept = np.isnan(model.calibration_rows_)
    for i in np.flatnonzero(kind == "same pattern"):
        own = scores[(kept == np.isnan(X[i])).all(axis=1)]
        expected = np.quantile(own, 0.9, method="weibull")
        assert (upper[i] - lower[i]) / 2 == pytest.approx(expected)


def test_few_rows_of_a_rare_pattern_do_not_make_its_intervals_three_times_too_wide(rng):
    """36 rows are enough for 90 %: the width is that of the law, up to chance."""
    X = masked([[0, 0], [0, 1]], [1856, 144])
    y = np.where(np.isnan(X[:, 1]), 0.3, 1.0) * rng.standard_normal(len(X))
    model = ConformalRegressor(ZERO, random_state=0).fit(X, y)
    lower, upper, kind = model.predict_interval([[0, np.nan]], return_kind=True)
    assert kind.tolist() == ["same pattern"]
    # the standard deviation of a 90 % quantile of some 36 rows is a seventh of it
    assert (upper - lower)[0] / 2 == pytest.approx(0.3 * 1.645, rel=0.45)


def mechanism(name):
    law = (np.zeros(4), 0.5 + 0.5 * np.eye(4), [0.5, 1.0, 1.5, 2.0])
    if name == "MAR":
        return MARGaussian.with_rate(*law, observed=[0], rate=0.4, slope=3.0, noise=0.5)
    if name == "self-masking":
        return SelfMaskedProbit.with_rate(*law, rate=0.3, slope=2.0, noise=0.5)
    return published("mixture3", 4)


def draw(name, n, seed):
    """Rows of a mechanism; under MAR noise and missing values depend on x_0."""
    X, y = mechanism(name).sample(n, random_state=seed)
    if name == "MAR":
        y += np.exp(X[:, 0]) * np.random.default_rng(seed + 5000).standard_normal(n)
    return X, y


def coverages(name, n, seeds, alpha=0.1):
    """Shares covered over all rows and by number missing where same pattern."""
    total, n_rows = np.zeros(6), np.zeros(6)
    for seed in seeds:
        X, y = draw(name, n, seed)
        new, target = draw(name, 5000, 1000 + seed)
        model = ConformalRegressor(ConstantImputedLR(), alpha=alpha, random_state=seed)
        lower, upper, kind = model.fit(X, y).predict_interval(new, return_kind=True)
        covered = (lower <= target) & (target <= upper)
        same, count = kind == "same pattern", np.isnan(new).sum(axis=1)
        parts = [same | ~same, *(same & (count == k) for k in range(5))]
        total += [covered[part].sum() for part in parts]
        n_rows += [part.sum() for part in parts]
    return total / np.maximum(n_rows, 1), n_rows


@pytest.mark.parametrize("name", ["MAR", "self-masking", "mixture3"])
def test_ninety_percent_are_covered_whatever_makes_values_missing(name):
    coverage, n_rows = coverages(name, 8000, range(6))
    assert coverage[0] == pytest.approx(0.9, abs=0.01)
    often = n_rows[1:] > 3000
    # 6 fits with some 130 rows or more of each number: chance is about a point
    assert abs(coverage[1:][often] - 0.9).max() < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("name", ["MAR", "self-masking", "mixture3"])
@pytest.mark.parametrize("size", [400, 2000])
@pytest.mark.parametrize("alpha", [0.2, 0.1, 0.05])
def test_coverage_is_within_two_points_wherever_it_says_same_pattern(name, size, alpha):
    """A reduced version of benchmarks/coverage.py."""
    coverage, n_rows = coverages(name, 4 * size, range(60), alpha)
    assert coverage[0] == pytest.approx(1 - alpha, abs=0.02)
    often = n_rows[1:] > 60 * 50
    assert abs(coverage[1:][often] - (1 - alpha)).max() < 0.02


def test_a_pool_covers_on_average_where_hiding_on_purpose_does_not():
    """Ten features that mask themselves, 500 calibration rows: patterns are rare."""
    d = 10
    law = SelfMaskedProbit.with_rate(
        np.zeros(d), 0.5 + 0.5 * np.eye(d), np.ones(d), rate=0.3, slope=3.0, noise=0.5
    )
    coverage = {"auto": [], "exact": []}
    for seed in range(6):
        X, y = law.sample(2000, random_state=seed)
        new, target = law.sample(3000, random_state=100 + seed)
        for method in ("auto", "exact")[: 2 if seed < 2 else 1]:
            model = ConformalRegressor(
                ConstantImputedLR(), method=method, random_state=seed
            ).fit(X, y)
            lower, upper, kind = model.predict_interval(new, return_kind=True)
            rare = kind != "same pattern"
            assert rare.mean() > 0.6
            covered = (lower <= target) & (target <= upper)
            coverage[method].append(covered[rare].mean())
    # standard error 0.007
    assert np.mean(coverage["auto"]) == pytest.approx(0.9, abs=0.02)
    assert abs(np.mean(coverage["exact"]) - 0.9) > 0.05


def schools(rng, n_schools, size=8):
    """Rows whose target is that of their school, which its place tells, plus noise."""
    school = np.repeat(np.arange(n_schools), size)
    place, effect = rng.random(n_schools), rng.standard_normal(n_schools)
    X = np.column_stack([place[school], rng.standard_normal(len(school))])
    return X, effect[school] + 0.1 * rng.standard_normal(len(school)), school


def test_with_groups_the_intervals_are_those_of_new_groups(rng):
    X, y, school = schools(rng, 400)
    new, target, _ = schools(rng, 400)
    base = DecisionTreeRegressor(min_samples_leaf=2, random_state=0)
    coverage = {}
    for groups in (school, None):
        model = ConformalRegressor(base, random_state=0).fit(X, y, groups=groups)
        lower, upper = model.predict_interval(new)
        coverage[groups is None] = np.mean((lower <= target) & (target <= upper))
        kept = np.isin(X[:, 0], model.calibration_rows_[:, 0])
        together = kept.sum() == len(model.calibration_rows_)
        assert together == (groups is not None)
    assert 0.85 < coverage[False] < 0.95  # groups kept together
    assert coverage[True] < 0.6  # rows of one school on both sides: far too narrow


def test_twenty_groups_are_covered_as_asked():
    """The rows of a group are one draw: 20 groups of 50 rows are not 1,000 rows."""
    coverage = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y, school = schools(rng, 20, size=50)
        new, target, _ = schools(rng, 300)
        model = ConformalRegressor(ZERO, random_state=seed)
        lower, upper = model.fit(X, y, groups=school).predict_interval(new)
        assert np.isfinite(upper).all()
        coverage.append(np.mean((lower <= target) & (target <= upper)))
    assert np.mean(coverage) >= 0.88  # standard error 0.01


def test_eight_groups_cannot_give_90_percent_and_it_says_so(rng):
    X, y, school = schools(rng, 8)
    model = ConformalRegressor(ZERO, random_state=0)
    with pytest.warns(UserWarning, match=r"8 groups are too few .* At least 9 groups"):
        model.fit(X, y, groups=school)
    lower, upper, kind = model.predict_interval(X[:3], return_kind=True)
    assert np.isinf(upper - lower).all()
    assert kind.tolist() == ["too few"] * 3
    lower, upper = model.set_params(alpha=0.2).predict_interval(X[:3])
    assert np.isfinite(upper - lower).all()


def test_every_group_counts_the_same_however_many_rows_it_has():
    """A group of 1,000 easy rows among 199 hard ones does not make intervals narrow."""
    rng = np.random.default_rng(0)
    size = np.r_[1000, np.full(199, 2)]
    group = np.repeat(np.arange(200), size)
    y = np.where(group == 0, 0.01, 1.0) * rng.standard_normal(200)[group]
    X = np.zeros((len(y), 1))
    model = ConformalRegressor(ZERO, random_state=0).fit(X, y, groups=group)
    lower, upper = model.predict_interval([[0.0]])
    assert upper[0] - lower[0] == pytest.approx(2 * 1.645, rel=0.4)


def test_the_third_argument_is_the_weights_as_everywhere_else(rng):
    """Half of the rows are noise of hardly any weight; as groups they would be two."""
    X, y = rows(rng, 2000, 2, 0.2)
    bad = np.arange(2000) % 2 == 1
    y[bad] = 100 * rng.standard_normal(bad.sum())
    weight = np.where(bad, 1e-6, 1.0)
    model = ConformalRegressor(ConstantImputedLR(), random_state=0)
    lower, upper = model.fit(X, y, weight).predict_interval(X[~bad])
    covered = (lower <= y[~bad]) & (y[~bad] <= upper)
    assert covered.mean() == pytest.approx(0.9, abs=0.04)
    # only ratios of weights matter
    model.fit(X, y, 0.5 * weight)
    np.testing.assert_allclose(model.predict_interval(X[~bad]), (lower, upper))
    with pytest.raises(TypeError, match="positional argument"):
        model.fit(X, y, None, np.arange(2000))


def test_rows_of_weight_zero_are_as_if_they_were_not_there(rng):
    X, y = rows(rng, 600)
    kept = np.arange(600) % 3 > 0
    weighted = ConformalRegressor(EMLR(), random_state=0)
    weighted.fit(X, np.where(kept, y, 1e3), kept.astype(float))
    alone = ConformalRegressor(EMLR(), random_state=0).fit(X[kept], y[kept])
    np.testing.assert_allclose(
        weighted.predict_interval(X), alone.predict_interval(X), rtol=1e-6
    )


def test_an_estimator_without_weights_refuses_them_with_the_way_out(rng):
    X, y = rows(rng, 100, rate=0.0)
    base = make_pipeline(LinearRegression())
    with pytest.raises(TypeError, match=r"fit of Pipeline has no such argument\. Give"):
        ConformalRegressor(base).fit(X, y, np.ones(100))


def table_with_text(rng, n=1200):
    """A number, a text and a date, each missing in some rows, and the target."""
    number, town = rng.standard_normal(n), rng.choice(["Ulm", "Bonn"], n)
    y = number + 3.0 * (town == "Ulm") + 0.1 * rng.standard_normal(n)
    frame = pd.DataFrame({"number": number, "town": town})
    frame["number"] = frame["number"].where(rng.random(n) < 0.7)
    frame["town"] = frame["town"].astype(object).where(rng.random(n) < 0.7, None)
    return frame, y


def text_base():
    return make_pipeline(
        make_column_transformer(
            (SimpleImputer(), ["number"]),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["town"]),
        ),
        LinearRegression(),
    )


def test_it_goes_around_a_pipeline_with_text_columns(rng):
    frame, y = table_with_text(rng)
    model = ConformalRegressor(text_base(), random_state=0).fit(frame, y)
    lower, upper, kind = model.predict_interval(frame, return_kind=True)
    np.testing.assert_array_equal(model.predict(frame), model.estimator_.predict(frame))
    assert set(kind) == {"same pattern"}
    assert np.mean((lower <= y) & (y <= upper)) == pytest.approx(0.9, abs=0.04)
    complete = frame.notna().all(axis=1).to_numpy()
    narrow, wide = (upper - lower)[complete], (upper - lower)[~complete]
    assert narrow.max() < wide.min()  # the mask is seen through the text
    # a pattern never seen: rows are hidden in the frame itself
    never = ConformalRegressor(text_base(), random_state=0)
    never.fit(frame[complete], y[complete])
    lower, upper, kind = never.predict_interval(frame[~complete], return_kind=True)
    assert set(kind) == {"all rows"}
    assert (upper - lower).min() > 2 * narrow.max()


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT], ids=repr)
def test_every_kind_of_missing_value_is_seen_in_frames_and_arrays(rng, missing):
    frame, y = table_with_text(rng)
    expected = frame.isna().to_numpy()
    other = frame.astype(object).where(frame.notna(), missing)
    model = ConformalRegressor(ZERO, random_state=0)
    for table in (other, other.to_numpy(dtype=object)):
        model.fit(table, y)
        _, upper = model.predict_interval(table)
        for pattern in np.unique(expected, axis=0):  # one width for each pattern
            some = (expected == pattern).all(axis=1)
            assert len(np.unique(upper[some])) == 1
        assert len(np.unique(upper)) == 4


def test_null_of_polars_is_missing_and_stays_polars(rng):
    frame, y = table_with_text(rng)
    model = ConformalRegressor(text_base(), random_state=0)
    expected = model.fit(frame, y).predict_interval(frame)
    table = pl.from_pandas(frame)
    model.fit(table, y)
    assert isinstance(model.calibration_rows_, pl.DataFrame)
    np.testing.assert_allclose(model.predict_interval(table), expected)
    complete = table.drop_nulls()
    kept = frame.notna().all(axis=1).to_numpy()
    model.fit(complete, y[kept])  # hidden on purpose, in polars
    assert np.isfinite(model.predict_interval(table)).all()


class Listener(DummyRegressor):
    """Remembers what it was given."""

    def fit(self, X, y, sample_weight=None, groups=None):
        self.given_ = X, y, sample_weight, groups
        return super().fit(X, y, sample_weight)


def test_groups_and_weights_reach_a_base_that_takes_them(rng):
    X, y, school = schools(rng, 200)
    weight = y - y.min() + 1
    model = ConformalRegressor(Listener(), random_state=0)
    table, target, given_weight, given_groups = model.fit(
        X, y, weight, groups=school
    ).estimator_.given_
    np.testing.assert_array_equal(given_weight, target - y.min() + 1)
    place = {number: X[school == number][0, 0] for number in range(200)}
    assert [place[number] for number in given_groups] == table[:, 0].tolist()


def test_predict_warns_of_intervals_that_are_infinite_or_hold_under_mcar_alone(
    rng, tmp_path
):
    from missfit.tables.training import read_training
    from missfit.workflow.fit import fit_table
    from missfit.workflow.predict import predict_file

    frame = pd.DataFrame(rng.standard_normal((200, 2)), columns=["a", "b"])
    frame["y"] = frame["a"] + rng.standard_normal(200)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.assign(b=np.nan).to_csv(tmp_path / "holes.csv", index=False)
    table = read_training(tmp_path / "rows.csv", "y")
    for coverage, text in ((0.9, "hold only if which values"), (0.999, "are infinite")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # too few rows, at fit
            model = fit_table(table, predictor="EMLR", coverage=coverage)
        out = tmp_path / "out.csv"
        said = predict_file(model, tmp_path / "holes.csv", out).warnings
        assert any(text in line for line in said)
        said += predict_file(model, tmp_path / "rows.csv", out).warnings
        assert sum(text in line for line in said) == (1 if coverage == 0.9 else 2)
