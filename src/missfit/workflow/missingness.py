"""What was missing in the rows that a model was fitted to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from missfit.moments.patterns import group_rows, pattern_keys, unpacked_patterns


@dataclass(frozen=True)
class Missingness:
    """What was missing at fit, to compare new rows with.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    count : int ndarray of shape (d,)
        Number of rows in which each variable was missing.
    keys : set of bytes
        The patterns seen.
    n_single : int
        Number of patterns seen in one row only; divided by ``n_rows`` it estimates the
        share of new rows with a pattern never seen (Good and Turing).
    """

    n_rows: int
    count: NDArray[np.int64]
    keys: frozenset[bytes]
    n_single: int

    @classmethod
    def of(cls, mask: NDArray[np.bool_]) -> Missingness:
        """Return what a mask of shape (n, d) shows."""
        groups = group_rows(mask)
        return cls(
            len(mask),
            mask.sum(axis=0),
            frozenset(pattern_keys(groups.patterns).tolist()),
            int((groups.n_rows == 1).sum()),
        )

    def patterns(self, n_variables: int) -> NDArray[np.bool_]:
        """Return the patterns seen, one bit for each of so many variables.

        >>> mask = np.array([[True, False], [False, False]])
        >>> Missingness.of(mask).patterns(2).astype(int).tolist()
        [[0, 0], [1, 0]]
        """
        return unpacked_patterns(sorted(self.keys), n_variables)
