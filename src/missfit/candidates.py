"""The predictors that a table is tried with: those of the library and their rivals.

Each is made anew for a seed, takes numbers with NaN and predicts numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from missfit.estimators import (
    EMLR,
    MICELR,
    ConstantImputedLR,
    ExpandedLR,
    FactorizedLR,
    PatternMixtureLR,
)

RIDGES = tuple(np.logspace(-3, 4, 15))


class Candidate(NamedTuple):
    """A predictor to try.

    Attributes
    ----------
    name : str
    make : callable
        From a seed to an estimator.
    code : str
        The Python that makes it, after the imports.
    about : str
        What it is, in a few words.
    rival : bool
        What people use today, not a predictor of the library.
    """

    name: str
    make: Callable[[int], Any]
    code: str
    about: str
    rival: bool = False


def _mean_ridge(_seed: int) -> Any:
    return make_pipeline(
        SimpleImputer(add_indicator=True, keep_empty_features=True),
        StandardScaler(),
        RidgeCV(RIDGES),
    )


def _iterative_ridge(seed: int) -> Any:
    return make_pipeline(
        IterativeImputer(random_state=seed, keep_empty_features=True),
        StandardScaler(),
        RidgeCV(RIDGES),
    )


CANDIDATES = [
    Candidate("EMLR", lambda _: EMLR(), "missfit.EMLR()", "one Gaussian by EM"),
    Candidate(
        "PatternMixtureLR",
        lambda seed: PatternMixtureLR(random_state=seed),
        "missfit.PatternMixtureLR()",
        "a few Gaussians shared by the patterns",
    ),
    Candidate(
        "ConstantImputedLR",
        lambda _: ConstantImputedLR(),
        "missfit.ConstantImputedLR()",
        "optimal constants, indicators",
    ),
    Candidate(
        "FactorizedLR",
        lambda _: FactorizedLR(),
        "missfit.FactorizedLR()",
        "slopes that change with each missing feature",
    ),
    Candidate(
        "ExpandedLR",
        lambda _: ExpandedLR(min_rows=30, fallback=ConstantImputedLR()),
        "missfit.ExpandedLR(min_rows=30, fallback=missfit.ConstantImputedLR())",
        "one linear model per pattern",
    ),
    Candidate("MICELR", lambda _: MICELR(), "missfit.MICELR()", "chained regressions"),
    Candidate(
        "mean + indicator ridge",
        _mean_ridge,
        "make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), RidgeCV())",
        "what most people do",
        rival=True,
    ),
    Candidate(
        "IterativeImputer + ridge",
        _iterative_ridge,
        "make_pipeline(IterativeImputer(), StandardScaler(), RidgeCV())",
        "imputation by chained regressions",
        rival=True,
    ),
    Candidate(
        "HistGradientBoosting",
        lambda seed: HistGradientBoostingRegressor(random_state=seed),
        "HistGradientBoostingRegressor()",
        "trees that take NaN",
        rival=True,
    ),
]
DEFAULT = "EMLR"


def candidate(name: str) -> Candidate:
    """Return the candidate of this name.

    >>> candidate("EMLR").make(0)
    EMLR()
    """
    for one in CANDIDATES:
        if one.name == name:
            return one
    names = ", ".join(repr(one.name) for one in CANDIDATES)
    raise ValueError(f"{name!r} is no predictor known here; choose one of {names}.")
