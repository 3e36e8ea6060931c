"""Rows dealt chunk by chunk go to the folds that scikit-learn cuts in memory."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit, check_cv

from missfit.estimators.splits import deal_chunks, deal_rows, n_folds_of


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
    with pytest.raises(ValueError, match="fewer than the 5 folds"):
        deal_rows(4, 5)
