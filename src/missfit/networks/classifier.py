"""What the networks share as classifiers: the cross-entropy of the classes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from missfit.estimators.class_indicators import indicators
from missfit.estimators.classes import (
    CERTAIN,
    NanClassifier,
    classes_and_codes,
    refuse_one_class,
)
from missfit.moments.rows import Rows, check_scale
from missfit.networks.batch import fit_many
from missfit.networks.estimator import NetworkEstimator
from missfit.networks.job import Split, stratified_splits
from missfit.networks.network import Params
from missfit.tables.chunks import named_columns


class NetworkClassifier(NanClassifier, NetworkEstimator):
    """A network that predicts the probabilities of classes.

    It has one output, the log-odds of the second class, where there are two, and else
    a score for each class, of which the softmax are the probabilities.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The features, NaN where missing. Rows that come in chunks are given to
            `partial_fit`.
        y : array-like of shape (n,), or str
            The labels, or the name of their column.
        sample_weight : array-like of shape (n,), or str, optional
            Weights of the rows in the cross-entropy; or the name of their column.
        """
        self._refuse_chunks(X)
        fit_many([self], [tuple(named_columns(X, y, sample_weight))])
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train one more epoch, on the rows given, from where the network is.

        The first call sets the classes, takes the units of the features from its rows,
        and takes the first weight decay.

        Parameters
        ----------
        X, y, sample_weight
            Some rows, as in `fit`.
        classes : sequence
            All labels, at the first call; those of its rows by default.
        """

        def read(trial: Any, first: bool) -> Rows:
            known = None if first else trial.classes_
            if first:
                known, _ = classes_and_codes(y if classes is None else classes)
                refuse_one_class(known, np.arange(len(known)))
            return trial._check_rows(X, y, sample_weight, known=known, reset=first)

        return self._train_on(read)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, NaN in X where missing.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)

        Returns
        -------
        ndarray of shape (n, K)
        """
        scores = both_scores(self._outputs(self._check_predict(X)))
        shares = np.clip(softmax(scores, axis=1), CERTAIN, None)
        return shares / shares.sum(axis=1, keepdims=True)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the log-odds of the second of two classes, or a score for each.

        Returns
        -------
        ndarray of shape (n,), or (n, K) with more than two classes
        """
        outputs = self._outputs(self._check_predict(X))
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def _check_rows(
        self, X: Any, y: Any, sample_weight: Any = None, **known: Any
    ) -> Rows:
        rows = self._labelled_rows(X, y, sample_weight, **known)
        code: Any = rows.code
        check_scale(rows.X, code)
        weight = np.ones(len(code)) if rows.weight is None else rows.weight
        return Rows(rows.X, code, weight)

    def _splits(self, rows: Rows) -> list[Split]:
        """Return the splits that choose, with all classes in every fold if it can be.

        As everywhere in scikit-learn, a number of folds means stratified ones.
        """
        if not isinstance(self.cv, Integral):
            return super()._splits(rows)
        return stratified_splits(int(self.cv), rows.y, rows.weight)

    def _set_target_units(self, rows: Rows) -> None:
        """Set nothing: indicators have no unit."""

    def _targets(self, y: NDArray) -> NDArray:
        return indicators(y, len(self.classes_)).reshape(len(y), -1)

    def _loss(self) -> Any:
        from missfit.networks.functions import cross_entropy  # it needs jax

        return cross_entropy

    def _score(self, params: Params, inputs, targets, weight) -> float:
        """Minus the log-loss on some rows."""
        logs = log_softmax(both_scores(self._evaluate(params, inputs)), axis=1)
        if targets.shape[1] == 1:
            targets = np.hstack([1 - targets, targets])
        return float(weight @ (targets * logs).sum(axis=1) / weight.sum())


def both_scores(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a score for each class: 0 for the first where there is one output.

    >>> both_scores(np.array([[2.0]])).tolist()
    [[0.0, 2.0]]
    """
    if outputs.shape[1] > 1:
        return outputs
    return np.hstack([np.zeros_like(outputs), outputs])
