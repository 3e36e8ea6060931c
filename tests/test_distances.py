"""Squared distances and log-densities against exact arithmetic with fractions."""

from fractions import Fraction

import numpy as np
import pytest

from missfit.gaussian.conditional import ScaledGaussian, observed_log_density
from missfit.gaussian.distances import leading, squared_distance

EPS = np.finfo(float).eps


def exact_distance(cov, z):
    """z'C^-1 z of the very floats, by Gauss's elimination in rational numbers."""
    rows = [
        [*map(Fraction, row), Fraction(one)] for row, one in zip(cov, z, strict=True)
    ]
    square = Fraction(0)
    while rows:
        first, *rest = rows
        square += first[-1] ** 2 / first[0]
        rows = [
            [b - row[0] / first[0] * a for a, b in zip(first[1:], row[1:], strict=True)]
            for row in rest
        ]
    return square


def law_of_condition(rng, d, condition):
    """A covariance whose eigenvalues fall from 1 to 1 / condition."""
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    cov = (turn * np.geomspace(1, 1 / condition, d)) @ turn.T
    return (cov + cov.T) / 2


@pytest.mark.parametrize("condition", [1e1, 1e3, 1e6])
def test_the_distance_of_a_far_row_is_exact_to_the_last_digits(rng, condition):
    d = 12
    cov = law_of_condition(rng, d, condition)
    gap = 20 * rng.standard_normal((30, d))
    weight = gap @ np.linalg.inv(cov)
    found = squared_distance(gap, weight, cov)
    for z, s, one in zip(gap, weight, found, strict=True):
        exact = exact_distance(cov, z)
        # only the two sums round: a few units of the last place of what they add
        size = EPS * np.abs(s * z).sum()
        assert abs(Fraction(one) - exact) <= 4 * size


def test_log_densities_of_two_laws_differ_by_what_exact_arithmetic_says(rng):
    # Squares of whitened rows, by a Cholesky factor, fail here.
    d = 10
    covs = [law_of_condition(rng, d, 1e3) for _ in range(2)]
    patterns = np.zeros((2, d), bool)
    patterns[1, ::3] = True
    index = rng.integers(2, size=40)
    X = np.where(patterns[index], np.nan, 30 * rng.standard_normal((40, d)))
    one, other = (
        observed_log_density(
            ScaledGaussian(np.zeros(d), np.ones(d), np.zeros(d), cov),
            X,
            patterns,
            index,
        )
        for cov in covs
    )
    for i, row in enumerate(X):
        seen = np.flatnonzero(~np.isnan(row))
        blocks = [cov[np.ix_(seen, seen)] for cov in covs]
        squares = [exact_distance(block, row[seen]) for block in blocks]
        log_dets = [np.linalg.slogdet(block)[1] for block in blocks]
        exact = float(squares[1] - squares[0]) / 2 + (log_dets[1] - log_dets[0]) / 2
        # the two logarithms of determinants are right to 1e-13
        close = 1e-12 + 4 * EPS * float(squares[0] + squares[1])
        assert abs(one[i] - other[i] - exact) <= close


def test_products_of_leading_parts_are_sums_without_rounding(rng):
    cov = law_of_condition(rng, 30, 1e3)
    weight = rng.standard_normal((5, 30)) * 10.0 ** rng.integers(-6, 6, size=(5, 30))
    head = leading(weight, np.abs(weight).sum(axis=1, keepdims=True))
    top = leading(cov, np.abs(cov).max())
    product = head @ top
    for i in range(5):
        for k in range(30):
            exact = sum(
                Fraction(a) * Fraction(b)
                for a, b in zip(head[i], top[:, k], strict=True)
            )
            assert Fraction(product[i, k]) == exact
