"""Predictors: scikit-learn regressors that take NaN at fit and at predict."""

from missfit.estimators.conditional_imputed_logistic import (
    ConditionalImputedLogistic,
)
from missfit.estimators.conditional_imputed_lr import ConditionalImputedLR
from missfit.estimators.conformal_classifier import ConformalClassifier
from missfit.estimators.conformal_regressor import ConformalRegressor
from missfit.estimators.constant_imputed_lr import ConstantImputedLR
from missfit.estimators.em_probit import EMProbit
from missfit.estimators.emlr import EMLR
from missfit.estimators.expanded_lr import ExpandedLR
from missfit.estimators.factorized_lr import FactorizedLR
from missfit.estimators.forward_split import ForwardSplit
from missfit.estimators.micelr import MICELR
from missfit.estimators.partial_pooling import PartialPooling
from missfit.estimators.pattern_classifier import PatternClassifier
from missfit.estimators.pattern_mixture_lr import PatternMixtureLR
from missfit.estimators.pattern_probit import PatternProbit
from missfit.estimators.self_masked_lr import SelfMaskedLR
from missfit.estimators.table_encoder import TableEncoder

__all__ = [
    "EMLR",
    "MICELR",
    "ConditionalImputedLR",
    "ConditionalImputedLogistic",
    "ConformalClassifier",
    "ConformalRegressor",
    "ConstantImputedLR",
    "EMProbit",
    "ExpandedLR",
    "FactorizedLR",
    "ForwardSplit",
    "PartialPooling",
    "PatternClassifier",
    "PatternMixtureLR",
    "PatternProbit",
    "SelfMaskedLR",
    "TableEncoder",
]
