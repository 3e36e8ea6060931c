"""The predictors of numbers that are compared on a table: ours and their rivals.

Each is made anew for a seed, takes numbers with NaN and predicts numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from missfit.auto.regressor import AutoRegressor
from missfit.estimators import (
    EMLR,
    MICELR,
    ConditionalImputedLR,
    ConstantImputedLR,
    ExpandedLR,
    FactorizedLR,
    PartialPooling,
    PatternMixtureLR,
    SelfMaskedLR,
)
from missfit.estimators.filled_columns import FilledColumns
from missfit.estimators.forward_split import ForwardSplit
from missfit.networks import MLP, NeuMiss, fit_many

RIDGES = tuple(np.logspace(-3, 4, 15))


class Candidate(NamedTuple):
    """A predictor to try.

    Attributes
    ----------
    name : str
    make : callable
        Returns an estimator for a seed.
    code, imports : str
        The Python expression that makes the estimator, and the imports it needs.
    about : str
        What the predictor is, in a few words.
    rival : bool
        Whether it is not a predictor of the library but one that people use today.
    cost : float
        The time of a fit as a rough multiple of that of EMLR, on 4,000 rows of 30
        columns. Cheap candidates are tried first, and the time that is left is
        estimated from it.
    takes_groups : bool
        Whether its fit keeps the rows of a group together.
    fit_many : callable, optional
        Fits several models, each to its own table, as one batch.
    """

    name: str
    make: Callable[[int], Any]
    code: str
    about: str
    imports: str = "import missfit"
    rival: bool = False
    cost: float = 1.0
    takes_groups: bool = False
    fit_many: Callable[[list, list], None] | None = None


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


def _boosting(seed: int) -> Any:
    # it raises on a column that is empty among the rows that it is fitted to
    return FilledColumns(HistGradientBoostingRegressor(random_state=seed))


CANDIDATES = [
    Candidate("EMLR", lambda _: EMLR(), "missfit.EMLR()", "one Gaussian by EM"),
    Candidate(
        "ConditionalImputedLR",
        lambda _: ConditionalImputedLR(),
        "missfit.ConditionalImputedLR()",
        "conditional expectations, indicators, ridge",
        cost=2,
    ),
    Candidate(
        "ConstantImputedLR",
        lambda _: ConstantImputedLR(),
        "missfit.ConstantImputedLR()",
        "optimal constants, indicators",
        cost=0.1,
    ),
    Candidate(
        "mean + indicator ridge",
        _mean_ridge,
        "make_pipeline(SimpleImputer(add_indicator=True, keep_empty_features=True), "
        "StandardScaler(), RidgeCV(np.logspace(-3, 4, 15)))",
        "what most people do",
        "import numpy as np\n"
        "from sklearn.impute import SimpleImputer\n"
        "from sklearn.linear_model import RidgeCV\n"
        "from sklearn.preprocessing import StandardScaler",
        rival=True,
        cost=0.2,
    ),
    Candidate(
        "HistGradientBoosting",
        _boosting,
        "FilledColumns(HistGradientBoostingRegressor(random_state={seed}))",
        "trees that take NaN",
        "from missfit.estimators.filled_columns import FilledColumns\n"
        "from sklearn.ensemble import HistGradientBoostingRegressor",
        rival=True,
        cost=4,
    ),
    Candidate(
        "ExpandedLR",
        lambda _: ExpandedLR(min_rows=30, fallback=ConstantImputedLR(), centred=True),
        "missfit.ExpandedLR(min_rows=30, fallback=missfit.ConstantImputedLR(), "
        "centred=True)",
        "one linear model per pattern",
        cost=0.2,
    ),
    Candidate(
        "PartialPooling",
        lambda _: PartialPooling(ConditionalImputedLR()),
        "missfit.PartialPooling(missfit.ConditionalImputedLR())",
        "conditional imputation, corrected for each pattern",
        cost=20,
    ),
    Candidate(
        "AutoRegressor",
        lambda seed: AutoRegressor(random_state=seed),
        "missfit.AutoRegressor(random_state={seed})",
        "the default: a linear base, boosted where it pays",
        cost=80,
        takes_groups=True,
    ),
    Candidate(
        "FactorizedLR",
        lambda _: FactorizedLR(),
        "missfit.FactorizedLR()",
        "slopes that change with each missing feature",
        cost=15,
    ),
    Candidate(
        "MICELR",
        lambda _: MICELR(),
        "missfit.MICELR()",
        "chained regressions, then least squares",
        cost=10,
    ),
    Candidate(
        "IterativeImputer + ridge",
        _iterative_ridge,
        "make_pipeline(IterativeImputer(random_state={seed}, "
        "keep_empty_features=True), StandardScaler(), RidgeCV(np.logspace(-3, 4, 15)))",
        "imputation by chained regressions",
        "import numpy as np\n"
        "from sklearn.experimental import enable_iterative_imputer\n"
        "from sklearn.impute import IterativeImputer\n"
        "from sklearn.linear_model import RidgeCV\n"
        "from sklearn.preprocessing import StandardScaler",
        rival=True,
        cost=10,
    ),
    Candidate(
        "SelfMaskedLR",
        lambda _: SelfMaskedLR(),
        "missfit.SelfMaskedLR()",
        "values that hide themselves",
        cost=30,
    ),
    Candidate(
        "PatternMixtureLR",
        lambda seed: PatternMixtureLR(random_state=seed),
        "missfit.PatternMixtureLR(random_state={seed})",
        "a few Gaussians shared by the patterns",
        cost=30,
    ),
    Candidate(
        "MLP",
        lambda seed: MLP(random_state=seed),
        "missfit.MLP(random_state={seed})",
        "a network on values and mask",
        cost=60,
        fit_many=fit_many,
    ),
    Candidate(
        "NeuMiss",
        lambda seed: NeuMiss(depth=5, random_state=seed),
        "missfit.NeuMiss(depth=5, random_state={seed})",
        "a network built like the Bayes predictor",
        cost=200,
        fit_many=fit_many,
    ),
]
DEFAULT = "AutoRegressor"
# what a comparison in a hurry tries: cheap, or the best on most tables
QUICK = (
    "ConstantImputedLR",
    "mean + indicator ridge",
    "EMLR",
    "ConditionalImputedLR",
    "HistGradientBoosting",
    "AutoRegressor",
)


def choosing_forward(one: Candidate) -> Candidate:
    """Return a candidate that makes its own choices forward in time, too.

    One that takes groups is given the times of the rows in their place. Networks are
    fitted fold by fold, since those have different numbers of rows to learn from.
    """
    return choosing_in_order(one._replace(fit_many=None))


def choosing_in_order(one: Candidate) -> Candidate:
    """Return a candidate that makes its own choices on rows that come later."""
    if not one.takes_groups:
        return one
    return one._replace(
        make=lambda seed: one.make(seed).set_params(cv=ForwardSplit()),
        code=f"{one.code}.set_params(cv=missfit.estimators.ForwardSplit())",
    )


def candidate(name: str) -> Candidate:
    """Return the predictor of numbers that has this name.

    >>> candidate("EMLR").make(0)
    EMLR()
    """
    return named(name, CANDIDATES)


def named(name: str, candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate that has this name."""
    for one in candidates:
        if one.name == name:
            return one
    names = ", ".join(repr(one.name) for one in candidates)
    raise ValueError(f"{name!r} is no predictor known here; choose one of {names}.")
