"""Predictors: scikit-learn regressors that take NaN at fit and at predict."""

from missfit.estimators.constant_imputed_lr import ConstantImputedLR
from missfit.estimators.emlr import EMLR
from missfit.estimators.expanded_lr import ExpandedLR
from missfit.estimators.factorized_lr import FactorizedLR
from missfit.estimators.micelr import MICELR
from missfit.estimators.pattern_mixture_lr import PatternMixtureLR

__all__ = [
    "EMLR",
    "MICELR",
    "ConstantImputedLR",
    "ExpandedLR",
    "FactorizedLR",
    "PatternMixtureLR",
]
