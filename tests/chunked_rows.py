"""Rows in chunks, the models that are fitted to them, and what must be the same."""

import numpy as np
import pytest

from conftest import hide, random_cov
from missfit import EMLR, ConstantImputedLR, ExpandedLR, FactorizedLR

MODELS = [
    ConstantImputedLR(),
    FactorizedLR(order=1),
    ExpandedLR(),
    ExpandedLR(alphas=(1.0,), min_rows=8, fallback=ConstantImputedLR()),
    EMLR(),
]
every = pytest.mark.parametrize("model", MODELS, ids=lambda m: repr(m)[:40])


def rows(rng, n=3000, d=4):
    X = rng.multivariate_normal(np.arange(d), random_cov(rng, d), n)
    y = 1 + X.sum(axis=1) + 0.3 * rng.standard_normal(n)
    return hide(rng, X, 0.3), y


def chunks_of(size, *columns):
    for start in range(0, len(columns[0]), size):
        yield tuple(column[start : start + size] for column in columns)


def assert_same(model, expected, X, y):
    """Coefficients to 1e-10 and EM's predictions to 1e-6 sd(y), the bars of a stream.

    Sums of other chunks round differently; EM stops by a tolerance of its own.
    """
    tolerance = (1e-6 if isinstance(model, EMLR) else 1e-10) * y.std()
    np.testing.assert_allclose(
        model.predict(X), expected.predict(X), rtol=0, atol=tolerance
    )
    ours, theirs = model.pattern_models_, expected.pattern_models_
    np.testing.assert_array_equal(ours.patterns, theirs.patterns)
    np.testing.assert_allclose(
        model.pattern_count_, expected.pattern_count_, rtol=1e-12
    )
    if not isinstance(model, EMLR):
        np.testing.assert_allclose(ours.coef, theirs.coef, rtol=1e-10, atol=1e-10)
