"""What is typical of a pattern, so that scores of rare patterns can be put together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.calibration import OF_ERRORS, Ties


class TypicalScores(NamedTuple):
    r"""The scores that are typical of each of P patterns, in ascending order.

    The place of a score s among the n that are typical of its pattern, s_(1) <= ... <=
    s_(n), is F(s) = i/n at s_(i), 0 at 0 and linear between them; above the largest it
    is s / s_(n). Where s is one of several that are equal, it is the lowest of theirs.
    F rises with s, so that a threshold for places is one for scores.

    Attributes
    ----------
    ordered : ndarray of shape (P, N)
        Infinite behind the last that is known.
    number : int ndarray of shape (P,)
        How many are known, one or more.
    ties : Ties
        Which scores are equal.
    """

    ordered: NDArray[np.float64]
    number: NDArray[np.intp]
    ties: Ties

    @classmethod
    def of(
        cls,
        scores: NDArray[np.float64],
        known: NDArray[np.bool_],
        least: float,
        ties: Ties = OF_ERRORS,
    ) -> TypicalScores:
        """Order those scores (P, N) that are known; the largest is ``least`` or more.

        >>> typical = TypicalScores.of(np.array([[3.0, 1, 2, 9]]), np.arange(4) < 3, 0)
        >>> typical.places(np.array([[0.5]])[0]), typical.places(np.array([6.0]))
        (array([0.16666667]), array([2.]))
        >>> typical.scores_at(np.array([0.5])), typical.scores_at(np.array([np.inf]))
        (array([1.5]), array([inf]))
        """
        known = np.broadcast_to(known, scores.shape)
        ordered = np.sort(np.where(known, scores, np.inf), axis=1)
        number = known.sum(axis=1)
        at = np.arange(len(ordered)), number - 1
        ordered[at] = np.maximum(ordered[at], least)
        return cls(ordered, number, ties)

    def places(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the place of one score (P,) of each pattern."""
        below = (self.ordered < self.ties.lowest(scores)[:, None]).sum(axis=1)
        low, high = self._at(below), self._at(np.minimum(below + 1, self.number))
        with np.errstate(divide="ignore", invalid="ignore"):
            between = np.where(high > low, (scores - low) / (high - low), 1.0)
        inside = (below + np.clip(between, 0.0, 1.0)) / self.number
        return np.where(below < self.number, inside, scores / self._at(self.number))

    def highest_places(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the highest of the places of one score (P,) of each pattern.

        Where no other score equals it, that is its place.

        >>> typical = TypicalScores.of(np.array([[0.3, 0.6, 0.6, 0.9]]), np.True_, 0)
        >>> typical.places(np.array([0.6])), typical.highest_places(np.array([0.6]))
        (array([0.5]), array([0.75]))
        """
        highest = self.ties.highest(scores)[:, None]
        up_to = (self.ordered <= highest).sum(axis=1) / self.number
        return np.maximum(self.places(scores), up_to)

    def tied_share(
        self, scores: NDArray[np.float64], places: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the share of rows with one score (P,) that are within a place (P,).

        The place of such a row is drawn between its lowest and its highest.
        """
        low, high = self.places(scores), self.highest_places(scores)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(high > low, (places - low) / (high - low), 1.0)
        return np.clip(share, 0.0, 1.0)

    def scores_at(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score at one place (P,) of each pattern."""
        rank = np.minimum(places, 1.0) * self.number
        below = np.floor(rank).astype(np.intp)
        low, high = self._at(below), self._at(np.minimum(below + 1, self.number))
        return np.maximum(places, 1.0) * (low + (rank - below) * (high - low))

    def _at(self, rank: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the score of a rank (P,), 0 being the rank before the first."""
        found = self.ordered[np.arange(len(rank)), np.maximum(rank - 1, 0)]
        return np.where(rank > 0, found, 0.0)
