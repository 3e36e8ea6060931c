"""The loss to be expected under other missing patterns, by hiding values of rows.

A row with a known target and a pattern inside m, hidden as in m, is like a row of the
pattern m where values go missing at random. Rows and new patterns are matched so that
each row is used as often as any other and as little as possible is hidden: what rows of
a pattern are like, which often have other losses, is kept. Rows that lack what new ones
have are left out, and the nearest others take their place.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from missfit.moments.patterns import variable_mask

Losses = Callable[[NDArray[np.float64], NDArray[np.intp]], NDArray[np.float64]]

MOST_ROWS = 4_000  # rows that are predicted: a fifth of a second with 249 trees
# Rows and patterns that are matched at a time: 5 ms, and a fifth of a second for 2,000
AT_A_TIME = 500
# Nearest rows among which one is drawn for a pattern that no row is left for
FEWEST = 50


def expected_loss(
    losses: Losses,
    X: NDArray[np.float64],
    variables: NDArray[np.intp],
    patterns: NDArray[np.bool_],
    counts: NDArray[np.int64],
) -> float:
    """Return the mean loss to be expected of rows with these patterns.

    Parameters
    ----------
    losses : callable
        From rows as the model meets them, and their places in X, to their losses.
    X : ndarray of shape (n, k)
        Rows with known targets that the model was not fitted to, NaN where missing.
    variables : int ndarray of shape (k,)
        The variable of each column of X.
    patterns : bool ndarray of shape (P, n_variables)
    counts : int ndarray of shape (P,)
        The number of rows of each pattern.
    """
    mask, rng = variable_mask(X, variables), np.random.default_rng(0)
    n_rounds = max(1, MOST_ROWS // len(mask))
    order = np.concatenate([rng.permutation(len(mask)) for _ in range(n_rounds)])
    order = order[:MOST_ROWS]
    drawn = patterns[_drawn(counts, len(order), rng)]
    n_blocks = -(-len(order) // AT_A_TIME)
    blocks = zip(
        np.array_split(order, n_blocks), np.array_split(drawn, n_blocks), strict=True
    )
    rows = np.concatenate([_stand_ins(mask, own, new, rng) for own, new in blocks])
    hidden = mask[rows] | drawn
    loss = losses(np.where(hidden[:, variables], np.nan, X[rows]), rows)
    return float(loss.mean())


def _drawn(
    counts: NDArray[np.int64], n: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return ``n`` patterns in random order, each as often as its count says."""
    places = (np.arange(n) + rng.random()) / n * counts.sum()
    found = np.searchsorted(np.cumsum(counts), places, side="right")
    return rng.permutation(np.minimum(found, len(counts) - 1))


def _stand_ins(mask, rows, patterns, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the row that stands for each pattern, as far as can be each row once.

    Parameters
    ----------
    mask : bool ndarray of shape (n, n_variables)
    rows : int ndarray of shape (m,)
        Some of the rows.
    patterns : bool ndarray of shape (m, n_variables)
    rng : Generator
    """
    outside, to_hide = _differences(mask, patterns)
    # what a row lacks and a pattern has cannot be made up: it weighs most. Of two rows
    # that can stand for either of two patterns, both rather lose one value.
    most = mask.shape[1] ** 2 + 1.0
    cost = outside[:, rows] * most * len(rows) + to_hide[:, rows] ** 2
    found = rows[linear_sum_assignment(cost)[1]]
    lacking = outside[np.arange(len(patterns)), found] > outside.min(axis=1)
    for p in np.flatnonzero(lacking):
        # at random among rows that are as near: a table may be sorted
        order = rng.permutation(len(mask))
        distance = outside[p][order] * most + to_hide[p][order]
        n_near = max(int((distance == distance.min()).sum()), min(FEWEST, len(mask)))
        near = order[np.argsort(distance, kind="stable")[:n_near]]
        found[p] = rng.choice(near)
    return found


def _differences(mask, patterns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each row lacks and a pattern has, and what would have to be hidden.

    As numbers of variables, of shape (patterns, rows).
    """
    lost, seen = mask.T.astype(np.float32), (~mask).T.astype(np.float32)
    lacking = (~patterns).astype(np.float32) @ lost
    to_hide = patterns.astype(np.float32) @ seen
    return lacking.astype(float), to_hide.astype(float)


def loss_with_more_missing(
    losses: Losses,
    X: NDArray[np.float64],
    variables: NDArray[np.intp],
    variable: int,
    share: float,
) -> float:
    """Return the mean loss if a share of the rows that have a variable lost it.

    Parameters
    ----------
    losses, X, variables
        As for `expected_loss`.
    variable : int
    share : float
        Of the rows that have it.
    """
    everything = np.arange(len(X))
    has = ~variable_mask(X, variables)[:, variable]
    loss = losses(X, everything)
    without = np.where(variables == variable, np.nan, X[has])
    loss[has] = (1 - share) * loss[has] + share * losses(without, everything[has])
    return float(loss.mean())
