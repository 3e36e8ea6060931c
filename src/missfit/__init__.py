"""Predict from tables with missing values.

- `missfit.ConstantImputedLR`, `FactorizedLR`, `ExpandedLR`, `EMLR`, `MICELR`,
  `PatternMixtureLR`: scikit-learn regressors that take NaN at fit and at predict.
- `missfit.MLP`, `NeuMiss`: networks in JAX, many trained at once.
- `missfit.PatternMoments`: rows with holes, reduced to moments per missing pattern.
- `missfit.simulate`: laws whose Bayes predictor is known, and the paper's data.
- `missfit.bayes`: the Bayes predictor and the Bayes risk of these laws.
- `missfit.theory`: parameter counts, risk bounds, regimes, the network of Theorem 6.1.
"""

from missfit import bayes, simulate, theory
from missfit.estimators import (
    EMLR,
    MICELR,
    ConstantImputedLR,
    ExpandedLR,
    FactorizedLR,
    PatternMixtureLR,
)
from missfit.moments import PatternMoments
from missfit.networks import MLP, NeuMiss

__all__ = [
    "EMLR",
    "MICELR",
    "MLP",
    "ConstantImputedLR",
    "ExpandedLR",
    "FactorizedLR",
    "NeuMiss",
    "PatternMixtureLR",
    "PatternMoments",
    "bayes",
    "simulate",
    "theory",
]
__version__ = "0.1.0"
