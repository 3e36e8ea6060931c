"""Missing-data augmentation: calibration rows as they would look with more missing.

Hiding values of a row on purpose makes it like the rows that miss them only where
missingness does not depend on values (MCAR). What comes from here is valid there;
elsewhere it says how scores differ between patterns, and not how large they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.any_table import hide, take_rows
from missfit.moments.blocks import blocks
from missfit.moments.patterns import group_rows

BATCH = 2**22  # values given to the estimator at once
MOST_NESTED = 1000  # rows, since each meets every row to predict
# Rows for the typical score of a pattern, each of which costs a prediction. Coverage of
# single patterns in pools strayed from 90 % by (10 features, 400 and 2,000 calibration
# rows, MCAR) 8.5 and 7.7 points without scales, 5.6 and 5.3 with 20 rows, 5.2 and 3.2
# with 50, 5.0 and 2.6 with 100, 6.0 and 2.6 with 200.
NEAREST = 100


class NearScores(NamedTuple):
    """Scores that are typical of patterns, and the rows that they come from.

    Attributes
    ----------
    rows : int ndarray of shape (P, N)
        The calibration rows that need the least hiding.
    scores : ndarray of shape (P, N)
        Of these rows, hidden as in the union of the pattern and their own.
    """

    rows: NDArray[np.intp]
    scores: NDArray[np.float64]


class Augmentation(NamedTuple):
    """Calibration rows of a predictor, to be hidden.

    Attributes
    ----------
    score : callable
        From a table and the targets of its rows to scores, such as |y - f(x)|.
    table : array or frame of n rows
    mask : bool ndarray of shape (n, d)
        Where the table has missing values.
    targets : ndarray of shape (n,)
    """

    score: Callable[[Any, NDArray], NDArray[np.float64]]
    table: Any
    mask: NDArray[np.bool_]
    targets: NDArray

    def scores(self, rows: NDArray[np.intp], hidden: NDArray[np.bool_]) -> NDArray:
        """Return the scores of some rows with these values hidden."""
        scores = np.empty(len(rows))
        for block in blocks(len(rows), self.mask.shape[1], size=BATCH):
            table = hide(take_rows(self.table, rows[block]), hidden[block])
            scores[block] = self.score(table, self.targets[rows[block]])
        return scores

    def near_scores(self, patterns: NDArray[np.bool_]) -> NearScores:
        """Return the scores of the rows nearest to each pattern (P, d).

        The nearest are those that need the least hiding to have all that the pattern
        misses. They are hidden as in the union of both patterns.
        """
        n_near = min(NEAREST, len(self.targets))
        rows = np.empty((len(patterns), n_near), dtype=np.intp)
        for block in blocks(len(patterns), len(self.mask), size=BATCH):
            # what a row hides already of what the pattern shows, it keeps hidden
            more = (~patterns[block]).astype(np.float32) @ self.mask.T.astype(
                np.float32
            )
            rows[block] = np.argsort(more, axis=1, kind="stable")[:, :n_near]
        flat = rows.ravel()
        hidden = self.mask[flat] | np.repeat(patterns, n_near, axis=0)
        scores = self.scores(flat, hidden).reshape(rows.shape)
        return NearScores(rows, scores)

    def usable_rows(self, patterns: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Count the rows that observe all that each pattern (P, d) observes."""
        groups = group_rows(self.mask)
        count = np.empty(len(patterns), dtype=np.intp)
        for block in blocks(len(patterns), len(groups.patterns)):
            count[block] = _inside(groups.patterns, patterns[block]) @ groups.n_rows
        return count

    def exact_widths(
        self, patterns: NDArray[np.bool_], alphas: Sequence[float]
    ) -> NDArray[np.float64]:
        """Half the width of CP-MDA-Exact for each alpha and pattern, (A, P).

        The rows that observe all that the pattern observes, hidden as in the pattern,
        give scores; the half width is the ceil((1 - alpha)(n + 1))-th smallest.
        """
        widths = np.empty((len(alphas), len(patterns)))
        for p, rows in enumerate(self._usable(patterns)):
            hidden = np.broadcast_to(patterns[p], (len(rows), len(patterns[p])))
            scores = self.scores(rows, hidden)
            for a, alpha in enumerate(alphas):
                rank = _high_rank(alpha, len(rows))
                widths[a, p] = _smallest(scores[None], rank)[0]
        return widths

    def _usable(self, patterns: NDArray[np.bool_]) -> Iterator[NDArray[np.intp]]:
        groups = group_rows(self.mask)
        pattern_of_row = groups.pattern_of_row()
        for pattern in patterns:
            usable = _inside(groups.patterns, pattern[None])[0]
            yield np.flatnonzero(usable[pattern_of_row])

    def nested_ends(
        self,
        predict: Callable[[Any], NDArray[np.float64]],
        X: Any,
        pattern: NDArray[np.bool_],
        alphas: Sequence[float],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of CP-MDA-Nested for rows of a pattern, each (A, n).

        Every row k, hidden as in the union u_k of the pattern and its own, gives a
        score s_k; the interval reaches from the floor(alpha (n + 1))-th smallest of
        f(x under u_k) - s_k to the ceil((1 - alpha)(n + 1))-th smallest of
        f(x under u_k) + s_k.
        """
        unions = self.mask | pattern
        # rows that need the least hiding first: the choice sees masks alone
        order = np.argsort(unions.sum(axis=1), kind="stable")
        some = np.sort(order[:MOST_NESTED])
        groups = group_rows(unions[some])
        scores = self.scores(some, unions[some])
        lower, upper = np.empty((2, len(alphas), len(X)))
        step = max(len(groups.patterns) * len(pattern), len(some))
        for block in blocks(len(X), step, size=BATCH):
            rows = np.arange(block.start, block.stop)
            under = _under(predict, take_rows(X, rows), groups.patterns)
            under = under[:, groups.pattern_of_row()]  # (rows, calibration rows)
            for a, alpha in enumerate(alphas):
                low_rank = int(np.floor(alpha * (len(some) + 1) + 1e-9))
                mirrored = len(some) + 1 - low_rank
                lower[a, block] = -_smallest(scores - under, mirrored)
                rank = _high_rank(alpha, len(some))
                upper[a, block] = _smallest(scores + under, rank)
        return lower, upper


def _under(
    predict: Callable[[Any], NDArray[np.float64]], X: Any, patterns: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the predictions of rows under each of some patterns, (n, P)."""
    n = len(X)
    table = take_rows(X, np.tile(np.arange(n), len(patterns)))
    flat = predict(hide(table, np.repeat(patterns, n, axis=0)))
    return flat.reshape(len(patterns), n).T


def _inside(inner: NDArray[np.bool_], outer: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether pattern c hides nothing that pattern p shows, shape (P, C)."""
    return (~outer).astype(np.float32) @ inner.T.astype(np.float32) == 0


def _high_rank(alpha: float, n: int) -> int:
    """Return ceil((1 - alpha)(n + 1)), safe from rounding."""
    return int(np.ceil((1 - alpha) * (n + 1) - 1e-9))


def _smallest(values: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """Return the rank-th smallest of each row, infinite beyond the last."""
    if rank > values.shape[1]:
        return np.full(len(values), np.inf)
    return np.partition(values, rank - 1, axis=1)[:, rank - 1]
