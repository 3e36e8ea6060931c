import numpy as np

from conftest import hide
from missfit import PatternMoments
from missfit.moments import part_of_rows
from missfit.moments.part_of_rows import one_row_in


def table(rng, n=1000, d=7):
    X = rng.standard_normal((n, d))
    return PatternMoments.from_data(hide(rng, X, 0.3), X.sum(axis=1))


def test_one_row_in_one_is_the_table(rng):
    moments = table(rng)
    same = one_row_in(1, moments)
    assert same.patterns.tolist() == moments.patterns.tolist()
    np.testing.assert_allclose(same.count, moments.count)
    np.testing.assert_allclose(same.mean, moments.mean, atol=1e-12)
    np.testing.assert_allclose(same.scatter, moments.scatter, atol=1e-9)


def test_one_row_in_many_keeps_the_shares_of_frequent_and_rare_patterns(rng):
    moments = table(rng)
    rare = np.setdiff1d(np.arange(len(moments)), moments.condensed)
    assert len(rare)  # and some are kept as moments
    some = one_row_in(5, moments)
    n_rare = moments.count[rare].sum()
    assert abs(some.count.sum() - moments.count.sum() / 5) <= 1
    assert len(some.rows.X) == np.ceil(n_rare / 5)


def test_there_is_no_part_of_a_table_with_few_rows_of_rare_patterns(rng, monkeypatch):
    moments = table(rng)
    assert part_of_rows.part_of_rows(moments) is None
    monkeypatch.setattr(part_of_rows, "SOME_ROWS", len(moments.rows.X) // 2)
    assert part_of_rows.part_of_rows(moments) is not None
