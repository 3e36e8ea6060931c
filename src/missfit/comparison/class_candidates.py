"""The predictors of classes that are compared on a table: ours and their rivals.

Each is made anew for a seed, takes numbers with NaN and gives probabilities.
"""

from __future__ import annotations

from typing import Any

from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from missfit.auto.classifier import AutoClassifier
from missfit.comparison.candidates import Candidate
from missfit.estimators import (
    EMLR,
    ConditionalImputedLogistic,
    ConstantImputedLR,
    EMProbit,
    PatternClassifier,
    PatternMixtureLR,
    PatternProbit,
    SelfMaskedLR,
)
from missfit.estimators.filled_columns import FilledColumnsClassifier
from missfit.networks import MLPClassifier, NeuMissClassifier, fit_many


def _mean_logistic(_seed: int) -> Any:
    return make_pipeline(
        SimpleImputer(add_indicator=True, keep_empty_features=True),
        StandardScaler(),
        LogisticRegression(max_iter=1000),
    )


def _iterative_logistic(seed: int) -> Any:
    return make_pipeline(
        IterativeImputer(random_state=seed, keep_empty_features=True),
        StandardScaler(),
        LogisticRegression(max_iter=1000),
    )


def _boosting(seed: int) -> Any:
    # it raises on a column that is empty among the rows that it is fitted to
    return FilledColumnsClassifier(HistGradientBoostingClassifier(random_state=seed))


# The costs are CPU seconds on 2,000 rows of 30 columns in 40 patterns, over those of
# EMLR. EMProbit took 2 there, and takes far more where rows or patterns are many.
MAJORITY = Candidate(
    "majority class",
    lambda _: DummyClassifier(),
    "DummyClassifier()",
    "the most frequent class, with the shares of the classes as probabilities",
    "from sklearn.dummy import DummyClassifier",
    rival=True,
    cost=0.01,
)
CLASS_CANDIDATES = [
    MAJORITY,
    Candidate(
        "ConditionalImputedLogistic",
        lambda _: ConditionalImputedLogistic(),
        "missfit.ConditionalImputedLogistic()",
        "conditional expectations, indicators, logistic regression",
        cost=8,
    ),
    Candidate(
        "PatternClassifier(EMLR)",
        lambda _: PatternClassifier(EMLR()),
        "missfit.PatternClassifier(missfit.EMLR())",
        "one Gaussian by EM, one probit per pattern",
    ),
    Candidate(
        "PatternClassifier(ConstantImputedLR)",
        lambda _: PatternClassifier(ConstantImputedLR()),
        "missfit.PatternClassifier(missfit.ConstantImputedLR())",
        "optimal constants, indicators, a logistic link",
        cost=0.4,
    ),
    Candidate(
        "EMProbit",
        lambda _: EMProbit(),
        "missfit.EMProbit()",
        "Gaussian features and a latent target by EM",
        cost=10,
    ),
    Candidate(
        "mean + indicator logistic",
        _mean_logistic,
        "make_pipeline(SimpleImputer(add_indicator=True, keep_empty_features=True), "
        "StandardScaler(), LogisticRegression(max_iter=1000))",
        "what most people do",
        "from sklearn.impute import SimpleImputer\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "from sklearn.preprocessing import StandardScaler",
        rival=True,
        cost=0.15,
    ),
    Candidate(
        "HistGradientBoosting",
        _boosting,
        "FilledColumnsClassifier(HistGradientBoostingClassifier(random_state={seed}))",
        "trees that take NaN",
        "from missfit.estimators.filled_columns import FilledColumnsClassifier\n"
        "from sklearn.ensemble import HistGradientBoostingClassifier",
        rival=True,
        cost=6,
    ),
    Candidate(
        "IterativeImputer + logistic",
        _iterative_logistic,
        "make_pipeline(IterativeImputer(random_state={seed}, "
        "keep_empty_features=True), StandardScaler(), "
        "LogisticRegression(max_iter=1000))",
        "imputation by chained regressions",
        "from sklearn.experimental import enable_iterative_imputer\n"
        "from sklearn.impute import IterativeImputer\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "from sklearn.preprocessing import StandardScaler",
        rival=True,
        cost=10,
    ),
    Candidate(
        "PatternProbit(SelfMaskedLR)",
        lambda _: PatternProbit(SelfMaskedLR()),
        "missfit.PatternProbit(missfit.SelfMaskedLR())",
        "values that hide themselves, a probit",
        cost=10,
    ),
    Candidate(
        "PatternProbit(PatternMixtureLR)",
        lambda seed: PatternProbit(PatternMixtureLR(random_state=seed)),
        "missfit.PatternProbit(missfit.PatternMixtureLR(random_state={seed}))",
        "a few Gaussians shared by the patterns, a probit",
        cost=10,
    ),
    Candidate(
        "AutoClassifier",
        lambda seed: AutoClassifier(random_state=seed),
        "missfit.AutoClassifier(random_state={seed})",
        "the default: a linear base, boosted where it pays",
        cost=90,  # so that it is tried before those of 10
        takes_groups=True,
    ),
    Candidate(
        "MLPClassifier",
        lambda seed: MLPClassifier(random_state=seed),
        "missfit.MLPClassifier(random_state={seed})",
        "a network on values and mask",
        cost=60,
        fit_many=fit_many,
    ),
    Candidate(
        "NeuMissClassifier",
        lambda seed: NeuMissClassifier(depth=5, random_state=seed),
        "missfit.NeuMissClassifier(depth=5, random_state={seed})",
        "a network built like the Bayes predictor",
        cost=200,
        fit_many=fit_many,
    ),
]
CLASS_DEFAULT = "AutoClassifier"
# what a comparison in a hurry tries: cheap, or the best on most tables
CLASS_QUICK = (
    "majority class",
    "mean + indicator logistic",
    "PatternClassifier(EMLR)",
    "ConditionalImputedLogistic",
    "HistGradientBoosting",
    "AutoClassifier",
)
