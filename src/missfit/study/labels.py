"""Data sets with classes: the paper's rows, cut at quantiles of the target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from missfit.bayes import BayesClassifier
from missfit.simulate import Probit, published
from missfit.study.data import SimulatedDataSet


@dataclass(frozen=True)
class LabelledDataSet(SimulatedDataSet):
    """Rows of one of the paper's settings, with a class in place of the target.

    Attributes
    ----------
    cut : tuple of float
        The quantiles of the target's law at which it is cut: (0.5,) makes two classes
        of equal size, (0.3, 0.7) three.
    """

    cut: tuple[float, ...]

    def law(self) -> Probit:
        """Return the law of the rows and their classes."""
        return _law(self.setting, self.d, self.cut)

    def table(self) -> tuple[NDArray[np.float64], NDArray]:
        """Return X, NaN where missing, and the classes 0, 1, ..."""
        X, y = super().table()
        return X, self.law().labels(y)

    def bayes(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of the Bayes classifier, shape (n, K)."""
        return BayesClassifier(self.law()).predict_proba(X)


@cache
def _law(setting: str, d: int, cut: tuple[float, ...]) -> Probit:
    law = published(setting, d)
    return Probit(law, [law.target_quantile(share) for share in cut])
