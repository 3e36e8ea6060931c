"""The types that a model file may hold, and models made of these types alone."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from missfit.auto.flat_classifier import FlatClassifier
from missfit.auto.trees import FlatTrees

FLAT = {
    HistGradientBoostingRegressor: FlatTrees,
    HistGradientBoostingClassifier: FlatClassifier,
}
FLAT_TYPES = tuple(FLAT)

TRUSTED = (
    "missfit.auto.classifier.AutoClassifier",
    "missfit.auto.average.ClassAverage",
    "missfit.auto.average.LinearAverage",
    "missfit.auto.regressor.AutoRegressor",
    "missfit.estimators.conditional_imputed_logistic.ConditionalImputedLogistic",
    "missfit.estimators.conditional_imputed_lr.ConditionalImputedLR",
    "missfit.estimators.conformal_classifier.ConformalClassifier",
    "missfit.estimators.conformal_regressor.ConformalRegressor",
    "missfit.estimators.constant_imputed_lr.ConstantImputedLR",
    "missfit.estimators.em_probit.EMProbit",
    "missfit.estimators.emlr.EMLR",
    "missfit.estimators.expanded_lr.ExpandedLR",
    "missfit.auto.explanation.Explanation",
    "missfit.auto.explanation.Regime",
    "missfit.auto.explanation.Score",
    "missfit.estimators.factorized_lr.FactorizedLR",
    "missfit.auto.log_loss.LogLoss",
    "missfit.auto.objective.ScoreWords",
    "missfit.auto.objective.SquaredError",
    "missfit.auto.objective.Task",
    "missfit.auto.parts.FoldModel",
    "missfit.auto.parts.FoldModels",
    "missfit.auto.parts.Part",
    "missfit.estimators.filled_columns.FilledColumns",
    "missfit.estimators.filled_columns.FilledColumnsClassifier",
    "missfit.estimators.forward_split.ForwardSplit",
    "missfit.estimators.links.FittedLink",
    "missfit.estimators.micelr.MICELR",
    "missfit.estimators.partial_pooling.PartialPooling",
    "missfit.estimators.pattern_classifier.PatternClassifier",
    "missfit.estimators.pattern_mixture_lr.PatternMixtureLR",
    "missfit.estimators.pattern_probit.PatternProbit",
    "missfit.estimators.self_masked_lr.SelfMaskedLR",
    "missfit.estimators.table_encoder.TableEncoder",
    "missfit.auto.flat_classifier.FlatClassifier",
    "missfit.auto.trees.FlatTrees",
    "missfit.evidence.mechanism.Mechanism",
    "missfit.evidence.mechanism.Relation",
    "missfit.evidence.worth.Worth",
    "missfit.gaussian.conditional.ScaledGaussian",
    "missfit.gaussian.probit_regression.LatentRegression",
    "missfit.moments.maps.AffineMaps",
    "missfit.networks.units.Units",
    "missfit.networks.mlp.MLP",
    "missfit.networks.mlp_classifier.MLPClassifier",
    "missfit.networks.neumiss.NeuMiss",
    "missfit.networks.neumiss_classifier.NeuMissClassifier",
    "numpy.dtype",
    "sklearn.dummy.DummyClassifier",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"
    ".HistGradientBoostingClassifier",  # as a parameter, before it is fitted
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"
    ".HistGradientBoostingRegressor",
    "sklearn.impute._base.MissingIndicator",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.impute._iterative.IterativeImputer",
    "sklearn.impute._iterative._ImputerTriplet",
    "sklearn.linear_model._base.LinearRegression",
    "sklearn.linear_model._bayes.BayesianRidge",
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.linear_model._ridge.RidgeCV",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._data.StandardScaler",
)


def portable(thing: Any) -> Any:
    """Return a copy of a model with flat trees and without random states.

    A flat tree holds no index that could lead out of bounds; the state of a random
    generator is not checked by numpy, and no fitted model draws from it.
    """
    if isinstance(thing, FLAT_TYPES) and hasattr(thing, "_predictors"):
        flat: Any = FLAT[type(thing)]
        return flat.from_boosting(thing)
    if isinstance(thing, np.random.RandomState):
        return None
    if isinstance(thing, (list, tuple)):
        items = [portable(item) for item in thing]
        make: Any = getattr(type(thing), "_make", type(thing))  # of a named tuple
        return make(items)
    if isinstance(thing, BaseEstimator):
        other = copy.copy(thing)
        other.__dict__ = {name: portable(x) for name, x in vars(thing).items()}
        return other
    return thing
