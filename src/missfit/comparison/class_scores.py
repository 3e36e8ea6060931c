"""AUC with its standard error, Brier score and accuracy of predicted probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from missfit.auto.heldout import Gain, paired_gain


def mean_with_error(values: NDArray[np.float64], units: NDArray | None = None) -> Gain:
    """Return a mean over rows and its standard error; rows of one unit are one."""
    return paired_gain(values, np.zeros(len(values)), np.ones(len(values)), units)


def binary_auc(
    score: NDArray[np.float64], positive: NDArray[np.bool_]
) -> tuple[float, NDArray[np.float64]]:
    """Return the AUC, and the influence of each row on it.

    The AUC is the share of the pairs of a positive and a negative row in which the
    positive one has the larger score, ties counting one half. With V_i the share of the
    rows of the other class that row i is on the right side of, the influence of a row
    is (V_i - AUC) over the share of its class (DeLong, DeLong and Clarke-Pearson 1988).
    """
    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    rank = rankdata(score)
    within = np.empty(len(score))
    within[positive] = rankdata(score[positive])
    within[~positive] = rankdata(score[~positive])
    others = rank - within  # rows of the other class below, ties one half
    share = np.where(positive, others / n_negative, 1 - others / n_positive)
    auc = float(share[positive].mean())
    of_class = np.where(positive, n_positive, n_negative) / len(score)
    return auc, (share - auc) / of_class


def auc_of(
    code: NDArray[np.intp], shares: NDArray[np.float64], units: NDArray | None = None
) -> Gain:
    """Return the AUC and its standard error.

    With two classes it is that of the second class. With more it is the mean over the
    classes of the AUC of each against all others; classes that no row has, and a class
    that all rows have, are left out. It is NaN where none is left.

    Parameters
    ----------
    code : int ndarray of shape (n,)
    shares : ndarray of shape (n, K)
        The predicted probabilities.
    units : ndarray of shape (n,), optional
        Rows that count as one observation.
    """
    count = np.bincount(code, minlength=shares.shape[1])
    told = np.flatnonzero((count > 0) & (count < len(code)))
    if shares.shape[1] == 2:
        told = told[told == 1]
    if not len(told):
        return Gain(np.nan, np.nan)
    found = [binary_auc(shares[:, k], code == k) for k in told]
    influence = np.mean([one for _, one in found], axis=0)
    auc = float(np.mean([value for value, _ in found]))
    return Gain(auc, mean_with_error(influence, units).standard_error)


def brier_losses(
    code: NDArray[np.intp], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the Brier score of each row.

    It is the squared error of the probability of the second class where there are two,
    and the sum of the squared errors over all classes where there are more, as
    scikit-learn has it.
    """
    wrong = -shares
    wrong[np.arange(len(code)), code] += 1
    total = (wrong**2).sum(axis=1)
    return total / 2 if shares.shape[1] == 2 else total


def are_right(
    code: NDArray[np.intp], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return 1 for each row whose most probable class is its class, 0 for others."""
    return (shares.argmax(axis=1) == code).astype(float)
