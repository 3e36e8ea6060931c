"""The loss to be expected under other missing patterns, by hiding values of rows.

A row with a known target and a pattern inside m, hidden as in m, is like a row of the
pattern m where values go missing at random. Where a pattern is about as frequent as it
was, its own rows stand for it, so that what they are like counts. Where it has become
more frequent, others join them, those that need the least hiding first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from missfit.moments.blocks import blocks
from missfit.moments.patterns import variable_mask

Losses = Callable[[NDArray[np.float64], NDArray[np.intp]], NDArray[np.float64]]

MOST_ROWS = 4_000  # rows that are predicted: a fifth of a second with 249 trees
# Rows that stand for a pattern which is more frequent than at fit: as many as there
# would be of it, and at least these.
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
    mask = variable_mask(X, variables)
    patterns, n_draws = _most_frequent(patterns, counts)
    rows = np.concatenate(
        [
            _stand_ins(mask, patterns[block], n_draws[block])
            for block in blocks(len(patterns), len(mask))
        ]
    )
    hidden = mask[rows] | np.repeat(patterns, n_draws, axis=0)
    loss = losses(np.where(hidden[:, variables], np.nan, X[rows]), rows)
    return float(loss.mean())


def _most_frequent(
    patterns: NDArray[np.bool_], counts: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return patterns, and how many rows stand for each: as many as can be spent.

    Of very many rare patterns some are drawn.
    """
    share = MOST_ROWS * counts / counts.sum()
    spare = np.random.default_rng(0).random(len(share))
    n_draws = np.floor(share + spare).astype(np.int64)
    return patterns[n_draws > 0], n_draws[n_draws > 0]


def _stand_ins(mask, patterns, n_draws) -> NDArray[np.intp]:
    """Return the rows that stand for patterns, those of each taken in turn."""
    outside = (mask.astype(np.float32) @ (~patterns.T).astype(np.float32)).T
    to_hide = ((~mask).astype(np.float32) @ patterns.T.astype(np.float32)).T
    # what a row lacks and the pattern has cannot be made up: it weighs most
    distance = outside * (mask.shape[1] + 1) + to_hide
    found, rng = [], np.random.default_rng(0)
    for p, n in enumerate(n_draws.tolist()):
        # among rows that are as near at random: a table may be sorted, and the first
        # rows of one sorted by region had a log-loss 26 % too large
        order = rng.permutation(len(mask))
        near = order[np.argsort(distance[p][order], kind="stable")]
        n_own = int((distance[p] == 0).sum())
        expected = len(mask) * n / MOST_ROWS
        if 2 * n_own < expected or not n_own:  # more frequent than it was
            n_inside = int((outside[p] == outside[p].min()).sum())
            n_own = max(min(n_inside, int(expected)), min(FEWEST, len(mask)))
        found.append(np.resize(near[:n_own], n))
    return np.concatenate(found)


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
