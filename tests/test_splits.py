"""One reading of cv: rows in memory and in chunks go to the folds of scikit-learn."""

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    check_cv,
)

from chunked_rows import chunks_of, rows
from missfit import (
    EMLR,
    MLP,
    AutoRegressor,
    ExpandedLR,
    FactorizedLR,
    PartialPooling,
)
from missfit.estimators.splits import (
    are_folds,
    deal_chunks,
    deal_rows,
    default_splits,
    n_folds_of,
    row_splits,
)

X, Y = np.zeros((24, 2)), np.arange(24.0)
PAIRS = list(KFold(4, shuffle=True, random_state=2).split(X))


def assert_equal(splits, expected):
    assert len(splits) == len(expected)
    for ours, theirs in zip(splits, expected, strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])


# --- rows in memory -------------------------------------------------------------------


@pytest.mark.parametrize(
    "cv",
    [
        None,
        2,
        np.int64(7),
        24,
        KFold(3, shuffle=True, random_state=1),
        ShuffleSplit(5, random_state=0),
        RepeatedKFold(n_splits=5, n_repeats=9, random_state=0),
        LeaveOneOut(),
        PAIRS,
        [(train.tolist(), test.tolist()) for train, test in PAIRS],
    ],
    ids=lambda cv: repr(cv)[:30],
)
def test_a_cv_argument_means_what_it_means_in_scikit_learn(cv):
    assert_equal(row_splits(cv, X, Y), list(check_cv(cv).split(X, Y)))


def test_a_seed_shuffles_a_number_of_folds_and_keeps_groups_together():
    shuffled = KFold(3, shuffle=True, random_state=5)
    assert_equal(row_splits(3, X, Y, seed=5), list(shuffled.split(X)))
    groups = np.repeat(np.arange(8), 3)
    found = row_splits(3, X, Y, groups=groups, seed=5)
    grouped = GroupKFold(3, shuffle=True, random_state=5)
    assert_equal(found, list(grouped.split(X, Y, groups)))
    for train, test in found:
        assert not set(groups[train]) & set(groups[test])


@pytest.mark.parametrize(("n", "n_folds"), [(5, 5), (4999, 5), (5000, 3), (4, 0)])
def test_without_cv_there_are_five_folds_then_three_and_none_for_too_few_rows(
    n, n_folds
):
    found = default_splits(np.zeros((n, 1)))
    assert_equal(found, list(KFold(n_folds).split(np.zeros(n))) if n_folds else [])


def test_without_cv_groups_are_what_is_counted():
    groups = np.arange(24) % 4
    assert default_splits(X, groups=groups, seed=0) == []
    assert len(default_splits(X, groups=np.arange(24) % 6, seed=0)) == 5


def test_splits_without_weight_in_a_part_do_not_count():
    weight = np.r_[np.zeros(8), np.ones(16)]
    assert_equal(row_splits(3, X, Y, weight=weight), list(KFold(3).split(X))[1:])
    one = np.r_[np.ones(1), np.zeros(23)]
    assert default_splits(X, weight=one) == []
    with pytest.raises(ValueError, match=r"leaves no split with rows .*or cv=None\."):
        row_splits(3, X, weight=one, instead="cv=None")


def test_a_partition_is_told_from_other_splits():
    assert are_folds(list(KFold(5).split(X)), 24)
    assert are_folds(PAIRS, 24)
    assert not are_folds([], 24)
    assert not are_folds(PAIRS[1:], 24)
    assert not are_folds(list(ShuffleSplit(4, test_size=0.25).split(X)), 24)
    assert not are_folds([(train[1:], test) for train, test in PAIRS], 24)


# --- rows in chunks -------------------------------------------------------------------


@pytest.mark.parametrize("n", [10, 11, 103])
@pytest.mark.parametrize("size", [1, 7, 200])
@pytest.mark.parametrize("cv", [2, 5, None, KFold(3, shuffle=True, random_state=1)])
def test_rows_dealt_by_chunk_are_in_the_folds_of_scikit_learn(n, size, cv):
    deal = deal_rows(n, cv)
    fold = np.full(n, -1)
    for number, start in enumerate(range(0, n, size)):
        stop = min(start + size, n)
        for k, which in deal.pieces(number, start, stop):
            assert (fold[start:stop][which] == -1).all()  # each row once
            fold[start:stop][which] = k
    splits = list(check_cv(cv).split(np.empty((n, 1))))
    assert deal.n_folds == len(splits)
    for k, (_, test) in enumerate(splits):
        np.testing.assert_array_equal(np.flatnonzero(fold == k), np.sort(test))


def test_chunks_are_dealt_in_turn():
    deal = deal_chunks(3)
    assert [deal.pieces(i, 0, 5)[0][0] for i in range(4)] == [0, 1, 2, 0]


def test_what_is_no_partition_is_refused():
    with pytest.raises(ValueError, match="does not cut the rows into folds"):
        deal_rows(20, ShuffleSplit(3, random_state=0))
    with pytest.raises(ValueError, match="number of folds"):
        n_folds_of(KFold(3, shuffle=True))


# --- one rule for all -----------------------------------------------------------------


def fit_mlp(cv, X, y):
    pytest.importorskip("jax", reason="JAX is not installed")
    return MLP(cv=cv).fit(X, y)


FITS = {
    "FactorizedLR": lambda cv, X, y: FactorizedLR(cv=cv).fit(X, y),
    "ExpandedLR, a stream": lambda cv, X, y: ExpandedLR(cv=cv).fit(chunks_of(4, X, y)),
    "PartialPooling": lambda cv, X, y: PartialPooling(EMLR(), cv=cv).fit(X, y),
    "AutoRegressor": lambda cv, X, y: AutoRegressor([EMLR()], cv=cv).fit(X, y),
    "MLP": fit_mlp,
}
IN_MEMORY = {name: fit for name, fit in FITS.items() if "stream" not in name}
every_fit = pytest.mark.parametrize("fit", FITS.values(), ids=FITS.keys())


@every_fit
@pytest.mark.parametrize("cv", [9, KFold(9)], ids=["number", "splitter"])
def test_fewer_rows_than_folds_are_refused_in_the_same_words_by_all(fit, cv, rng):
    text = r"n_samples=8, fewer than the 9 folds of cv=.*\. Give fewer folds, or "
    with pytest.raises(ValueError, match=text):
        fit(cv, *rows(rng, n=8))


@every_fit
@pytest.mark.parametrize("cv", [1, 0, True])
def test_a_number_of_folds_below_two_is_refused_in_the_same_words_by_all(fit, cv, rng):
    with pytest.raises(ValueError, match=rf"cv={cv}; give a number of folds >= 2"):
        fit(cv, *rows(rng, n=40))


@pytest.mark.parametrize("fit", IN_MEMORY.values(), ids=IN_MEMORY.keys())
def test_splits_without_rows_in_a_part_are_refused_in_the_same_words_by_all(fit, rng):
    cv = [(np.arange(20), np.arange(0))]
    with pytest.raises(ValueError, match="leaves no split with rows"):
        fit(cv, *rows(rng, n=20))


def test_fewer_groups_than_folds_are_refused(rng):
    X, y = rows(rng, n=60)
    with pytest.raises(ValueError, match=r"3 groups, fewer than the 5 folds of cv=5"):
        AutoRegressor([EMLR()], cv=5).fit(X, y, groups=np.arange(60) % 3)
