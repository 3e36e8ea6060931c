"""Estimators, rows and splits that the tests of all predictors share."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from conftest import hide, random_cov
from missfit import (
    EMLR,
    MICELR,
    ConditionalImputedLR,
    ConstantImputedLR,
    ExpandedLR,
    FactorizedLR,
    PatternMixtureLR,
    SelfMaskedLR,
)

FOLDS = KFold(3, shuffle=True, random_state=0)
MOMENT_BASED = [
    ConstantImputedLR(),
    FactorizedLR(order=0, alphas=(0.0,)),
    FactorizedLR(order=1, alphas=(1.0,)),
    FactorizedLR(order=2, alphas=(0.1, 10.0), cv=FOLDS),
    ExpandedLR(alphas=(1.0,)),
    ExpandedLR(alphas=(0.0,)),
    ExpandedLR(alphas=(0.01, 10.0), cv=FOLDS),
    ExpandedLR(alphas=(1.0,), min_rows=8, fallback=ConstantImputedLR()),
    EMLR(),
    EMLR(algorithm="reference", max_iter=50),
    ConditionalImputedLR(),
    PatternMixtureLR(random_state=0),
]
WEIGHTED = [*MOMENT_BASED, SelfMaskedLR(), MICELR()]
ALL = [*WEIGHTED, MICELR(bounded=False)]  # which depends on units, as the paper's does


def name_of(value):
    return str(value).replace(" ", "").replace("\n", "")


def every(estimators):
    return pytest.mark.parametrize("estimator", estimators, ids=name_of)


def rows(rng, n=300, d=3, noise=0.5, rate=0.3):
    X = rng.multivariate_normal(np.arange(d), random_cov(rng, d), n)
    y = 1 + X @ np.arange(1, d + 1) + noise * rng.standard_normal(n)
    return hide(rng, X, rate), y


def splits(groups):
    return [
        (np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(3)
    ]
