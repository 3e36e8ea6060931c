"""Which missing value of a row is worth asking for next.

For a pattern m that lacks variable j, the drop is the mean loss of predicting with the
values that m leaves, minus the mean loss with x_j as well. Both are measured on rows
with known targets that have x_j, and whose other values are hidden as in m. It is
assumed that rows that lack x_j are like those that have it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.moments.patterns import variable_mask

# Rows for all variables together, and for each of them. A row costs two predictions, so
# that 26 variables and 249 trees take half a second.
ALL_ROWS, FEW_ROWS = 6_000, 100

Losses = Callable[[NDArray[np.float64], NDArray[np.intp]], NDArray[np.float64]]


class NextValue(NamedTuple):
    """What each missing value of a pattern would change.

    Attributes
    ----------
    now : float
        The mean loss with the values that the pattern leaves.
    drops : ndarray of shape (n_variables,)
        The fall of the mean loss if a variable were known too; NaN for variables that
        are known already, or that no row with a known target has.
    standard_errors : ndarray of shape (n_variables,)
    """

    now: float
    drops: NDArray[np.float64]
    standard_errors: NDArray[np.float64]

    def ranked(self) -> list[int]:
        """Return the variables whose drop is above two errors, the largest first."""
        sure = np.nan_to_num(self.drops) > 2 * np.nan_to_num(self.standard_errors)
        order = np.argsort(-np.nan_to_num(self.drops), kind="stable")
        return [int(j) for j in order if sure[j]]


def next_value(
    losses: Losses,
    X: NDArray[np.float64],
    variables: NDArray[np.intp],
    pattern: NDArray[np.bool_],
) -> NextValue:
    """Measure what each missing value of a pattern would change.

    Parameters
    ----------
    losses : callable
        From rows as the model meets them, and their places in X, to their losses.
    X : ndarray of shape (n, k)
        Rows with known targets that the model was not fitted to, NaN where missing.
    variables : int ndarray of shape (k,)
        The variable of each column of X.
    pattern : bool ndarray of shape (n_variables,)
        True where a variable is missing.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = 2 * X[:, 0] + X[:, 1]
    >>> def losses(rows, places):  # of a model that knows the law
    ...     return (np.nan_to_num(rows) @ [2, 1] - y[places]) ** 2
    >>> found = next_value(losses, X, np.arange(2), np.array([True, True]))
    >>> found.ranked()
    [0, 1]
    """
    mask = variable_mask(X, variables)
    lacking = np.flatnonzero(pattern & ~mask.all(axis=0))
    n_rows = max(FEW_ROWS, ALL_ROWS // (1 + len(lacking)))
    stages = [_nearest(mask, pattern, j)[:n_rows] for j in (None, *lacking.tolist())]
    rows = np.concatenate(stages)
    hidden = mask[rows] | pattern
    known = np.repeat(np.append(-1, lacking), [len(stage) for stage in stages])
    more = hidden & (np.arange(len(pattern)) != known[:, None])
    places = np.concatenate([rows, rows])
    hide = np.concatenate([hidden, more])[:, variables]
    loss = losses(np.where(hide, np.nan, X[places]), places)
    falls = np.split(
        loss[: len(rows)] - loss[len(rows) :], np.cumsum([len(s) for s in stages])[:-1]
    )
    drops, errors = np.full((2, len(pattern)), np.nan)
    for j, fall in zip(lacking, falls[1:], strict=True):
        drops[j] = fall.mean()
        errors[j] = fall.std() / np.sqrt(len(fall))
    return NextValue(float(loss[: len(stages[0])].mean()), drops, errors)


def _nearest(
    mask: NDArray[np.bool_], pattern: NDArray[np.bool_], j: int | None
) -> NDArray[np.intp]:
    """Return rows that have j, first those that lack the least that the pattern has."""
    beside = (mask & ~pattern).sum(axis=1)
    having = np.arange(len(mask)) if j is None else np.flatnonzero(~mask[:, j])
    return having[np.argsort(beside[having], kind="stable")]
