"""A boosted classifier as flat arrays of trees, which are safe to load from a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from missfit.auto.trees import FlatTrees


class FlatClassifier:
    """What a fitted `HistGradientBoostingClassifier` predicts, from flat trees.

    With two classes the trees add up to the log-odds of the second one; with more
    there is one sum of trees for each class, and the probabilities are their softmax.

    Parameters
    ----------
    trees : FlatTrees
        With one output, or with one for each of more than two classes.
    classes : ndarray of shape (K,)

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> X = np.arange(60.0)[:, None]
    >>> y = np.repeat(["a", "b", "c"], 20)
    >>> model = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    >>> flat = FlatClassifier.from_boosting(model)
    >>> bool((flat.predict_proba(X) == model.predict_proba(X)).all())
    True
    """

    def __init__(self, trees: FlatTrees, classes: NDArray):
        self.trees = trees
        self.classes_ = np.asarray(classes)
        self._check()

    def _check(self) -> None:
        n_outputs, n_classes = self.trees.n_outputs, len(self.classes_)
        if n_classes < 2 or n_outputs != (1 if n_classes == 2 else n_classes):
            raise ValueError(
                f"{n_outputs} sums of trees for {n_classes} classes; two classes have "
                "one, and more have one each."
            )

    @classmethod
    def from_boosting(cls, model: Any) -> FlatClassifier:
        """Return the trees of a fitted HistGradientBoostingClassifier."""
        return cls(FlatTrees.from_boosting(model), model.classes_)

    def predict_proba(self, X: NDArray) -> NDArray[np.float64]:
        """Return the probability of each class, NaN in X where missing."""
        score = self.trees.predict(X)
        if score.ndim == 2:
            return softmax(score, axis=1)
        share = expit(score)
        return np.column_stack([1 - share, share])

    def predict(self, X: NDArray) -> NDArray:
        """Return the most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the content of a file, if it is one that could have been written."""
        self.__init__(state["trees"], state["classes_"])
