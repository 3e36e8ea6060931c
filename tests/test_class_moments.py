"""Rows that stand for moments have the means of the classes and the spread of f."""

import numpy as np
import pytest

from missfit import EMLR, PatternMoments
from missfit.estimators.class_indicators import indicators
from missfit.estimators.class_moments import joined, likeness


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_means_and_spread_are_those_of_the_rows(rng, n_classes):
    X = rng.normal(size=(3_000, 3))
    code = np.digitize(
        X.sum(axis=1) + rng.normal(size=len(X)), [0.5, 2][: n_classes - 1]
    )
    X[rng.random(X.shape) < 0.3] = np.nan
    weight = rng.integers(0, 3, len(X)).astype(float)
    moments = PatternMoments.from_data(X, indicators(code, n_classes), weight)
    model = EMLR().fit_moments(moments)
    like = likeness(moments, model.maps(moments.patterns), n_classes)
    f = model.predict(X).reshape(len(X), -1)
    for pattern in moments.patterns:
        here = (np.isnan(X) == pattern).all(axis=1)
        there = (np.isnan(like.rows.X) == pattern).all(axis=1)
        for k in range(n_classes):
            rows, points = here & (code == k), there & (like.rows.code == k)
            n = weight[rows].sum()
            assert like.rows.weight[points].sum() == pytest.approx(n, abs=1e-9)
            if n:  # exact, whatever is drawn: points come in pairs
                mean = np.average(f[rows], axis=0, weights=weight[rows])
                found = np.average(
                    like.prediction[points], axis=0, weights=like.rows.weight[points]
                )
                np.testing.assert_allclose(found, mean, atol=1e-9)
    # on average: some 20,000 points, so that a tenth is more than ten standard errors
    np.testing.assert_allclose(
        np.cov(like.prediction.T, aweights=like.rows.weight),
        np.cov(f.T, aweights=weight),
        rtol=0.1,
        atol=1e-3,
    )
    twice = joined([like, like])
    assert len(twice.prediction) == 2 * len(like.prediction) == len(twice.rows.X)
