"""Classes as a target: parts are added in logits, and their log-loss counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, minimize
from scipy.special import expit, log_softmax, logsumexp, softmax
from sklearn.base import BaseEstimator, is_classifier

from missfit.auto.average import ClassAverage
from missfit.auto.objective import Objective, ScoreWords, Task
from missfit.auto.trees import FlatTrees
from missfit.estimators.class_indicators import indicators
from missfit.estimators.classes import CERTAIN, both_shares, normalised
from missfit.estimators.splits import class_splits, with_two_classes

# Rows that speak for no offset. Log-loss without one, and how much less with it where
# 0, 4 and 16 rows speak against it: three classes of which one has 3 % (2,000 rows)
# .5144, .0015, .0015 and .0014; a class of 2 % that nothing tells (400 rows) .1254,
# .0019, .0018 and .0012; iris with a fifth missing .1696, -.0027, -.0011 and -.0004;
# breast cancer .0764, .0015, .0013 and .0010; less than .0001 on tables of two classes
# of similar shares.
ROWS_WITHOUT_OFFSET = 4.0


class LogLoss(Objective):
    """One of several classes is predicted, numbered 0, 1, ...; the log-loss counts.

    A guess is the log-odds of the second of two classes, of shape (n,), or one logit
    for each of more, of shape (n, K), of which only differences count.

    Parameters
    ----------
    n_classes : int
    floor : float
        The probability of a class of which a model has seen no row.
    """

    words = ScoreWords(
        "log-loss", "drop in log-loss", "lower its held-out log-loss by {}"
    )
    tasks = (Task("X and the base", True, False), Task("X", False, False))
    kind = "classifiers"
    such_as = "[ConditionalImputedLogistic(), HistGradientBoostingClassifier()]"
    # Parts that are blended in logits lose little where they are of no use: on pima
    # (614 training rows) the log-loss is .4767 with 1.5 standard errors, .4696 with 0.5
    # and .4698 with 0; on credit .4234, .4220 and .4220. Nor are their weights shrunk
    # by the evidence for them: the log-loss would be .0012 higher on pima, .0006 on
    # chile, .004 on 300 rows of a bent law, and .0013 lower on 240 rows of linear ones,
    # of which 3 in 14 are given a part.
    earned = 0.5
    # A first split of few rows tells too little to give a part up: the log-loss of ten
    # folds is .0008 lower on acath (2,803 rows), of five .0015 lower on brandsma_lang
    # cut at its median (3,122 rows), and equal to .0001 on pima and chile.
    few_rows = 3_000
    has_law_of_risk = False

    def __init__(self, n_classes: int, floor: float):
        self.n_classes = n_classes
        self.floor = floor

    def average(self, estimators: list[Any], weights: tuple[float, ...]) -> Any:
        """Return the weighted mean of the probabilities."""
        return ClassAverage(estimators, weights)

    def takes(self, candidate: Any) -> bool:
        """Whether something is a classifier."""
        return isinstance(candidate, BaseEstimator) and is_classifier(candidate)

    def guess(self, model: Any, X: NDArray) -> NDArray[np.float64]:
        """Return the logits of the classes."""
        shares = np.maximum(model.predict_proba(X), CERTAIN)
        return self.aligned(np.log(shares), model.classes_)

    def stages(self, model: Any, X: NDArray) -> Iterator[NDArray[np.float64]]:
        """Yield the logits after each round."""
        for scores in model.staged_decision_function(X):
            if scores.ndim == 1:
                scores = np.column_stack([np.zeros(len(scores)), scores])
            yield self.aligned(log_softmax(scores, axis=1), model.classes_)

    def aligned(self, logs: NDArray, classes: Sequence[int]) -> NDArray[np.float64]:
        """Return the guesses that are logarithms of shares of some of the classes."""
        if self.n_classes == 2:
            return logs[:, 1] - logs[:, 0]
        guess = np.full((len(logs), self.n_classes), np.log(self.floor))
        guess[:, classes] = logs
        return guess

    def aligned_trees(self, trees: FlatTrees, classes: Sequence[int]) -> FlatTrees:
        """Return trees with one output for each class, where a fold may lack some."""
        if self.n_classes == 2 or len(classes) == self.n_classes:
            return trees
        nothing = FlatTrees.constant(float(np.log(self.floor)), trees.n_features)
        outputs = [nothing] * self.n_classes
        if trees.n_outputs == 1:  # two classes were left
            outputs[classes[0]] = FlatTrees.constant(0.0, trees.n_features)
            outputs[classes[1]] = trees
        else:
            for k, code in enumerate(classes):
                outputs[code] = trees.output(k)
        return FlatTrees.joined(outputs, self.n_classes)

    def splits(
        self, splits: list, y: NDArray, groups: NDArray | None, seed: int | None
    ) -> list:
        """Return folds with all classes; without a seed those of two classes or more.

        Nothing can be learned from the training rows of one class.
        """
        if seed is None:
            return with_two_classes(splits, y)
        return class_splits(len(splits), y, groups, seed)

    def shares(self, guess: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of the classes, which sum to one."""
        if self.n_classes == 2:
            return both_shares(expit(guess)[:, None])
        return normalised(softmax(guess, axis=1))

    def losses(self, y: NDArray, guess: NDArray) -> NDArray[np.float64]:
        """Return minus the logarithm of the probability of each row's class."""
        if self.n_classes == 2:
            return np.logaddexp(0.0, np.where(y == 1, -guess, guess))
        return logsumexp(guess, axis=1) - guess[np.arange(len(y)), y]

    def unit(self, y: NDArray, weight: NDArray) -> float:
        """Return 1: the score is the loss."""
        return 1.0

    def score(self, loss: float, unit: float) -> float:
        """Return the log-loss."""
        return loss / unit

    def improved(self, score: float, gain: float) -> float:
        """Return a lower log-loss for a gain."""
        return score - gain

    def weights(
        self, y: NDArray, base: NDArray, additions: list[NDArray], weight: NDArray
    ) -> NDArray[np.float64]:
        """Return the weights of the least log-loss, which sum to at most one.

        An addition is what a part says instead of the base, so that the base is left
        with a weight of one less their sum, and none below zero: two parts that say
        next to nothing, each at a weight of one, would turn the base round.
        """
        share = weight / weight.sum()
        of_row = indicators(y, self.n_classes)

        def loss(weights: NDArray) -> tuple[float, NDArray[np.float64]]:
            guess = base + sum(w * a for w, a in zip(weights, additions, strict=True))
            error = self._shares(guess) - of_row
            slope = [share @ _of_rows(error * addition) for addition in additions]
            return float(share @ self.losses(y, guess)), np.array(slope)

        found = minimize(
            loss,
            np.full(len(additions), 0.5 / len(additions)),
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * len(additions),
            constraints=LinearConstraint(np.ones(len(additions)), -np.inf, 1.0),
            options={"ftol": 1e-9},
        )
        return np.clip(found.x, 0.0, 1.0)

    def offset(self, y: NDArray, guess: NDArray, weight: NDArray) -> Any:
        """Return b, one for each logit, of the least log-loss of the guesses g + b.

        So that the mean probability of each class is its share, nearly::

            sum_i w_i softmax(g_i + b)_k = sum_i w_i 1{y_i = k} - a b_k

        where a = ROWS_WITHOUT_OFFSET.
        Logits that are blended are those of a geometric mean: a class of 2 % that no
        feature tells had 1 % in 400 rows. Rows of a fold that lacks a class do not
        count: the model of all rows knows it.
        """
        of_row = self.moment_targets(y)
        if self.n_classes > 2:
            weight = weight * ~np.isclose(guess, np.log(self.floor)).any(axis=1)

        def loss(offset: NDArray) -> tuple[float, NDArray[np.float64]]:
            moved = guess + np.squeeze(offset)
            lack = weight @ (self._shares(moved) - of_row)
            total = weight @ self.losses(y, moved)
            ridge = ROWS_WITHOUT_OFFSET * offset
            return float(total + ridge @ offset / 2), lack + ridge

        start = np.zeros(1 if self.n_classes == 2 else self.n_classes)
        found = minimize(loss, start, jac=True, method="L-BFGS-B").x
        return float(found[0]) if self.n_classes == 2 else found

    def _shares(self, guess: NDArray) -> NDArray[np.float64]:
        """Return the share of the second class, or of each of more."""
        return expit(guess) if self.n_classes == 2 else softmax(guess, axis=1)

    def moment_targets(self, y: NDArray) -> NDArray[np.float64]:
        """Return the indicator of the second class, or one for each of more."""
        return indicators(y, self.n_classes)

    def fit_target(self, estimator: Any, y: NDArray) -> NDArray:
        """Return classes for a classifier, their indicators for a regressor."""
        return y if is_classifier(estimator) else self.moment_targets(y)


def _of_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values if values.ndim == 1 else values.sum(axis=1)
