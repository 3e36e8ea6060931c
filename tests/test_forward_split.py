"""ForwardSplit: the past trains, what follows is tested, and equal times stay whole."""

import numpy as np
import pytest
from sklearn.model_selection import TimeSeriesSplit, cross_val_score

from missfit import EMLR, AutoRegressor, ConformalRegressor, ConstantImputedLR
from missfit.estimators import ForwardSplit


@pytest.mark.parametrize("n", [12, 23, 100])
@pytest.mark.parametrize("n_splits", [1, 2, 5])
def test_distinct_times_give_the_splits_of_scikit_learn(rng, n, n_splits):
    time = rng.permutation(n)
    rows = np.argsort(time)
    if n_splits > 1:
        expected = list(TimeSeriesSplit(n_splits).split(np.zeros((n, 1))))
    else:
        expected = [(np.arange(n - n // 2), np.arange(n - n // 2, n))]
    found = list(ForwardSplit(n_splits).split(np.zeros((n, 1)), groups=time))
    assert len(found) == len(expected)
    for (train, test), (past, following) in zip(found, expected, strict=True):
        assert set(train) == set(rows[past])
        assert set(test) == set(rows[following])


@pytest.mark.parametrize("n_times", [2, 3, 7, 40])
def test_equal_times_are_never_parted_and_each_row_is_tested_at_most_once(rng, n_times):
    time = rng.choice(np.append(np.arange(n_times), 0), 200)  # the first twice as often
    tested = np.zeros(200, dtype=int)
    n_splits = 0
    for train, test in ForwardSplit(5).split(np.zeros((200, 1)), groups=time):
        assert time[train].max() < time[test].min()
        assert len(train) == (time < time[test].min()).sum()
        tested[test] += 1
        n_splits += 1
    assert 1 <= n_splits <= min(5, len(np.unique(time)) - 1)
    assert tested.max() == 1
    assert (tested == 0).sum() == (time < time[tested > 0].min()).sum()


def test_one_time_alone_is_refused():
    with pytest.raises(ValueError, match="all 9 rows have the same time; at least 2"):
        list(ForwardSplit().split(np.zeros((9, 1)), groups=np.ones(9)))
    with pytest.raises(ValueError, match="n_splits=0; at least 1"):
        ForwardSplit(0)


def series(rng, n=400):
    """A target that follows its features, and steps up in the last quarter."""
    X = rng.standard_normal((n, 3))
    y = X.sum(axis=1) + 0.3 * rng.standard_normal(n)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


def test_scikit_learn_takes_it_as_cv(rng):
    X, y = series(rng)
    ours = cross_val_score(ConstantImputedLR(), X, y, cv=ForwardSplit(4))
    theirs = cross_val_score(ConstantImputedLR(), X, y, cv=TimeSeriesSplit(4))
    assert ours == pytest.approx(theirs)


@pytest.mark.parametrize("cv", [ForwardSplit(4), TimeSeriesSplit(4)])
def test_intervals_calibrate_by_rows_predicted_from_the_past(rng, cv):
    X, y = series(rng)
    model = ConformalRegressor(ConstantImputedLR(), cv=cv, random_state=0).fit(X, y)
    expected = {}
    for train, test in cv.split(X):
        guess = ConstantImputedLR().fit(X[train], y[train]).predict(X[test])
        expected |= dict(zip(y[test], guess, strict=True))
    found = zip(model.calibration_targets_, model.calibration_predictions_, strict=True)
    assert dict(found) == pytest.approx(expected)
    everything = ConstantImputedLR().fit(X, y)
    assert model.predict(X[:5]) == pytest.approx(everything.predict(X[:5]))


def test_intervals_by_time_know_of_drift_that_shuffled_rows_do_not_show(rng):
    # a walk: the past is a poor guide, rows next door are a good one
    n = 600
    y = np.cumsum(rng.standard_normal(n))
    X = np.arange(n)[:, None] // 10 * 1.0
    near = ConformalRegressor(_Nearest(), random_state=0).fit(X, y)
    past = ConformalRegressor(_Nearest(), cv=ForwardSplit(), random_state=0).fit(X, y)
    width = [np.ptp(model.predict_interval(X[:1])) for model in (near, past)]
    assert width[1] > 3 * width[0]


class _Nearest(ConstantImputedLR):
    """Predicts the mean target of the nearest rows."""

    def fit(self, X, y):
        self.X_, self.y_ = X[:, 0], y
        return self

    def predict(self, X):
        gap = abs(self.X_[None, :] - X[:, :1])
        near = gap == gap.min(axis=1, keepdims=True)
        return (near * self.y_).sum(axis=1) / near.sum(axis=1)


def test_times_are_no_groups_of_the_calibration(rng):
    # 8 times are fewer than the 9 groups that 90 % need, but each row is one draw
    X, y = series(rng)
    time = np.arange(400) // 50
    model = ConformalRegressor(EMLR(), cv=ForwardSplit(3), random_state=0)
    lower, upper = model.fit(X, y, groups=time).predict_interval(X)
    assert np.isfinite(upper - lower).all()
    assert len(np.unique(model.calibration_groups_)) == len(model.calibration_groups_)


def test_a_number_of_folds_cross_fits_the_calibration(rng):
    X, y = series(rng)
    model = ConformalRegressor(ConstantImputedLR(), cv=5, random_state=0).fit(X, y)
    assert sorted(model.calibration_targets_) == pytest.approx(sorted(y))


@pytest.mark.parametrize("cv", [ForwardSplit(3), TimeSeriesSplit(3)])
def test_the_default_chooses_by_what_follows(cv):
    """Its choice meets only rows that are held out, and predictions are sound.

    The first half and the second half have opposite slopes: by shuffled folds a line
    with slope 0 looks as good as any, and forward it does not.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(300)
    X[rng.random(300) < 0.3, 1] = np.nan
    candidates = [ConstantImputedLR(), EMLR()]
    model = AutoRegressor(candidates, cv=cv, random_state=0).fit(X, y)
    held_out = np.concatenate([test for _, test in cv.split(X)])
    error = []
    for train, test in cv.split(X):
        guess = ConstantImputedLR().fit(X[train], y[train]).predict(X[test])
        error.append(y[test] - guess)
    loss = (np.concatenate(error) ** 2).mean()
    r2 = 1 - loss / y[held_out].var()
    assert model.scores_[0].r2 == pytest.approx(r2, abs=1e-6)
    assert np.isfinite(model.predict(X)).all()
