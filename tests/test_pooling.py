import numpy as np

from missfit.moments.pooling import SetMoments, no_moments, pool
from missfit.moments.rows import Rows
from missfit.moments.runs import cut_runs, run_moments


def numpys_moments(sets):
    """Count, mean and scatter of some sets of rows, by numpy's mean and covariance."""
    return SetMoments(
        np.array([float(len(Z)) for Z in sets]),
        np.stack([Z.mean(axis=0) for Z in sets]),
        np.stack([len(Z) * np.cov(Z.T, bias=True) for Z in sets]),
    )


def test_pooled_moments_are_numpys_of_all_rows_of_a_group(rng):
    sets = [
        rng.standard_normal((n, 3)) + shift for n, shift in [(9, 0), (4, 5), (7, 1)]
    ]
    group = np.array([4, 2, 4])
    distinct, pooled = pool(group, numpys_moments(sets))
    assert distinct.tolist() == [2, 4]
    expected = numpys_moments([sets[1], np.concatenate([sets[0], sets[2]])])
    for found, part in zip(pooled, expected, strict=True):
        np.testing.assert_allclose(found, part, atol=1e-12)  # rounding


def test_nothing_is_the_identity_of_append(rng):
    some = numpys_moments([rng.standard_normal((5, 2))])
    for both in (some.append(no_moments(2)), no_moments(2).append(some)):
        for found, part in zip(both, some, strict=True):
            np.testing.assert_array_equal(found, part)


def test_moments_of_runs_are_numpys_whatever_their_lengths(rng):
    lengths = [1, 60_000, 3, 17]  # the second is cut into several pieces
    starts = np.append(0, np.cumsum(lengths))
    X = rng.standard_normal((starts[-1], 2)) + 3
    rows = Rows(X, rng.standard_normal((len(X), 1)), np.ones(len(X)))
    chosen = np.array([1, 2, 3])
    runs = cut_runs(np.zeros((4, 2), dtype=bool), starts, chosen)
    assert runs.length.sum() == sum(lengths[1:])
    assert len(runs.start) > 3
    order = rng.permutation(len(X))
    found, pooled = pool(runs.pattern, run_moments(runs, rows, order))
    assert found.tolist() == chosen.tolist()
    Z = np.hstack([X, rows.y])[order]
    expected = numpys_moments([Z[starts[p] : starts[p + 1]] for p in chosen])
    for part, by_numpy in zip(pooled, expected, strict=True):
        np.testing.assert_allclose(part, by_numpy, rtol=1e-9, atol=1e-8)  # of sums
