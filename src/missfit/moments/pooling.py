"""Moments of sets of rows, and how those of several sets become those of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SetMoments:
    """Count, mean and scatter of some sets of rows."""

    count: NDArray[np.float64]
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        """Iterate over count, mean and scatter."""
        return iter((self.count, self.mean, self.scatter))

    def append(self, other: SetMoments) -> SetMoments:
        """Return the moments of these sets, then those of the others."""
        if not len(other.count):
            return self
        return SetMoments(
            *(np.concatenate(pair) for pair in zip(self, other, strict=True))
        )


def no_moments(n_columns: int) -> SetMoments:
    """Return the moments of no set at all."""
    return SetMoments(
        np.empty(0), np.empty((0, n_columns)), np.empty((0, n_columns, n_columns))
    )


@np.errstate(over="ignore", invalid="ignore")  # rows.refuse_overflow sees it
def pool(
    group: NDArray[np.intp], pieces: SetMoments
) -> tuple[NDArray[np.intp], SetMoments]:
    """Pool the moments of pieces that share a group: (distinct groups, moments).

    mean = sum n_i mean_i / n and scatter = sum scatter_i + sum n_i e_i e_i' with
    e_i = mean_i - mean; differences of means only, so that large means lose no digits.
    """
    distinct, first, index = np.unique(group, return_index=True, return_inverse=True)
    if len(distinct) == len(group):
        return distinct, SetMoments(*(part[first] for part in pieces))
    # the heaviest piece of a group comes first: its mean is the reference
    order = np.lexsort([-pieces.count, index])
    index = index[order]
    starts = np.flatnonzero(np.diff(index, prepend=-1))
    n, mean, scatter = (part[order] for part in pieces)
    count = np.add.reduceat(n, starts)
    gap = mean - mean[starts][index]
    shift = np.add.reduceat(n[:, None] * gap, starts) / count[:, None]
    gap -= shift[index]
    scatter += n[:, None, None] * gap[:, :, None] * gap[:, None, :]
    pooled = SetMoments(
        count, mean[starts] + shift, np.add.reduceat(scatter, starts, axis=0)
    )
    return distinct, pooled
