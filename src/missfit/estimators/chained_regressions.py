"""Imputation by chained regressions, of weighted rows."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import BayesianRidge

TOL = 1e-3  # of the largest value: where IterativeImputer stops too


class Chain(NamedTuple):
    """Regressions of each feature on all others, one round after another.

    With no weights it does what scikit-learn's IterativeImputer does (which takes
    none): BayesianRidge, features in the order of how often they are missing, means to
    begin with, and for new rows the same rounds again.

    Attributes
    ----------
    start : ndarray of shape (d,)
        What stands for a missing value before the first round.
    bounds : ndarray of shape (2, d)
        Smallest and largest value to impute.
    order : int ndarray of shape (d,)
    intercept : ndarray of shape (rounds, d)
    coef : ndarray of shape (rounds, d, d)
        ``coef[r, j]`` is the regression of feature j in round r, 0 for itself.
    """

    start: NDArray[np.float64]
    bounds: NDArray[np.float64]
    order: NDArray[np.intp]
    intercept: NDArray[np.float64]
    coef: NDArray[np.float64]

    def impute(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows with their missing values filled."""
        missing = np.isnan(X)
        filled = np.where(missing, self.start, X)
        for intercept, coef in zip(self.intercept, self.coef, strict=True):
            for j in self.order:
                rows = missing[:, j]
                value = intercept[j] + filled[rows] @ coef[j]
                filled[rows, j] = np.clip(value, *self.bounds[:, j])
        return filled


def fit_chain(
    X: NDArray, weight: NDArray | None, bounds: NDArray, max_iter: int
) -> tuple[Chain, NDArray[np.float64]]:
    """Return the chain of regressions, and the rows that it was fitted to, filled.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Every feature is observed in some row.
    weight : ndarray of shape (n,), optional
        All > 0.
    bounds : ndarray of shape (2, d)
    max_iter : int
        Most rounds. They end sooner where one changes the sum of no row by more than
        `TOL` of the largest value observed.
    """
    missing = np.isnan(X)
    share = np.ones(len(X)) if weight is None else weight
    start = share @ np.where(missing, 0.0, X) / (share @ ~missing)
    order = np.argsort(share @ missing, kind="stable")
    filled = np.where(missing, start, X)
    rounds: list[tuple[NDArray, NDArray]] = []
    enough = TOL * np.abs(X).max(initial=0.0, where=~missing)
    while X.shape[1] > 1 and len(rounds) < max_iter:
        before = filled.copy()
        rounds.append(_fit_round(filled, missing, weight, bounds, order))
        if np.abs(filled - before).sum(axis=1).max() < enough:
            break
    else:
        if X.shape[1] > 1:
            warnings.warn(
                f"the chained regressions have not settled in max_iter={max_iter} "
                "rounds; raise max_iter to be sure.",
                ConvergenceWarning,
                stacklevel=4,
            )
    d = X.shape[1]
    intercept = np.reshape([intercept for intercept, _ in rounds], (len(rounds), d))
    coef = np.reshape([coef for _, coef in rounds], (len(rounds), d, d))
    return Chain(start, bounds, order, intercept, coef), filled


def _fit_round(
    filled: NDArray, missing: NDArray, weight: NDArray | None, bounds, order
) -> tuple[NDArray, NDArray]:
    """Regress each feature on all others, and fill its missing values, in place."""
    d = filled.shape[1]
    intercept, coef = np.zeros(d), np.zeros((d, d))
    for j in order:
        others, seen = np.arange(d) != j, ~missing[:, j]
        regression = BayesianRidge().fit(
            filled[seen][:, others],
            filled[seen, j],
            sample_weight=None if weight is None else weight[seen],
        )
        intercept[j], coef[j, others] = regression.intercept_, regression.coef_
        value = regression.predict(filled[~seen][:, others]) if not seen.all() else []
        filled[~seen, j] = np.clip(value, *bounds[:, j])
    return intercept, coef
