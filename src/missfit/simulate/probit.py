"""Laws with classes for a target: a linear target, cut at thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.simulate.linear_target import RandomState


@dataclass(frozen=True, eq=False)
class Probit:
    """A law of classes: how many thresholds lie below the target of another law.

    With one threshold t the label is 1 where Y = beta0 + beta'X + noise is above t, and
    0 elsewhere. With several thresholds the classes 0, 1, 2, ... are ordered. Where Y
    is Gaussian given what is observed, P(label = 1 | Z) = Phi((f*(Z) - t) / s(Z)), with
    the Bayes predictor f* of Y and its standard deviation s: a linear probit for each
    missing pattern.

    Parameters
    ----------
    model : a law of `missfit.simulate`
        The law of X, of the mask and of the number that is cut.
    threshold : float or sequence of float, default=0.0
        Where it is cut, in increasing order. ``model.target_quantile`` finds the
        threshold above which a share of the rows lies.

    Examples
    --------
    >>> from missfit.simulate import published
    >>> law = published("mixture1", 4)
    >>> X, label = Probit(law, law.target_quantile(0.9)).sample(1000, random_state=0)
    >>> float(label.mean())
    0.099
    """

    model: Any
    threshold: Any = 0.0

    def __post_init__(self):
        if not hasattr(self.model, "n_features") or isinstance(self.model, Probit):
            raise TypeError(
                f"model={self.model!r}; give a law of missfit.simulate whose target is "
                "a number."
            )
        cuts = np.atleast_1d(np.asarray(self.threshold, dtype=float))
        if cuts.ndim != 1 or not len(cuts) or not np.isfinite(cuts).all():
            raise ValueError(
                f"threshold={self.threshold!r}; give a finite number or a list of them."
            )
        if (np.diff(cuts) <= 0).any():
            raise ValueError(
                f"threshold={self.threshold!r}; the thresholds must increase."
            )

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """The thresholds as an array of one dimension."""
        return np.atleast_1d(np.asarray(self.threshold, dtype=float))

    @property
    def n_classes(self) -> int:
        """Number of classes: one more than there are thresholds."""
        return len(self.thresholds) + 1

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.model.n_features

    def pattern_probabilities(self) -> Any:
        """Patterns and their probabilities, None where they are too many."""
        return self.model.pattern_probabilities()

    def sample(
        self, n: int, random_state: RandomState = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Draw n rows: X with NaN where missing, and labels."""
        X, y = self.model.sample(n, random_state)
        return X, self.labels(y)

    def sample_complete(
        self, n: int, random_state: RandomState = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Draw n rows before masking; with the same seed, the rows of `sample`."""
        X, y = self.model.sample_complete(n, random_state)
        return X, self.labels(y)

    def labels(self, y: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of thresholds below each value of y."""
        return np.searchsorted(self.thresholds, y, side="left").astype(np.int64)
