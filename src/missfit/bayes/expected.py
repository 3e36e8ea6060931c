"""What is expected of the target of a law, be it a number or a class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from missfit.bayes.classifier import BayesClassifier
from missfit.bayes.predictor import BayesPredictor


def expected_target(model: Any, X: ArrayLike) -> NDArray[np.float64]:
    """Return E[target | Z] for each row: no prediction has a smaller squared error.

    Parameters
    ----------
    model : a law of `missfit.simulate`
        The target is a number, or a class 0, 1, 2, ... of `missfit.simulate.Probit`.
    X : array-like of shape (n, d)
        NaN where missing.

    Examples
    --------
    >>> from missfit.simulate import Probit, published
    >>> law = Probit(published("mixture1", 4))
    >>> X, label = law.sample(1000, random_state=0)
    >>> bool(abs(expected_target(law, X).mean() - label.mean()) < 0.05)
    True
    """
    if not hasattr(model, "n_classes"):
        return BayesPredictor(model).predict(X)
    shares = BayesClassifier(model).predict_proba(X)
    return shares @ np.arange(shares.shape[1])
