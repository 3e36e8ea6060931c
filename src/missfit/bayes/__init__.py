"""The truth: the best possible predictor of a law, its two forms and its risk.

This is Sections 3 and 4 and appendices B and C of the paper, for every law of
`missfit.simulate`.
"""

from missfit.bayes.approximation import LinearApproximation, linear_approximation
from missfit.bayes.classifier import BayesClassifier, bayes_error, bayes_log_loss
from missfit.bayes.expected import expected_target
from missfit.bayes.factorized import FactorizedForm, factorized_coefficients
from missfit.bayes.predictor import (
    BayesPredictor,
    conditional_moments,
    expanded_coefficients,
)
from missfit.bayes.risk import Estimate, bayes_r2, bayes_risk

__all__ = [
    "BayesClassifier",
    "BayesPredictor",
    "Estimate",
    "FactorizedForm",
    "LinearApproximation",
    "bayes_error",
    "bayes_log_loss",
    "bayes_r2",
    "bayes_risk",
    "conditional_moments",
    "expanded_coefficients",
    "expected_target",
    "factorized_coefficients",
    "linear_approximation",
]
