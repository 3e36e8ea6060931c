"""ForwardSplit: train on the past, test on what follows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_BLOCKS = 5  # of test rows, as many as the folds of other cross-validations


class ForwardSplit:
    """A splitter of scikit-learn: each block of rows is predicted from those before it.

    Rows are cut into ``n_splits`` + 1 blocks of about as many rows, in the order of
    time. The first block only trains. Every other block is tested once, by a model that
    was trained on all blocks before it. Rows of the same time are in one block. Without
    equal times these are the splits of scikit-learn's ``TimeSeriesSplit``.

    Parameters
    ----------
    n_splits : int
        Number of blocks that are tested. There are fewer where there are fewer times.

    Examples
    --------
    >>> for train, test in ForwardSplit(2).split(np.zeros((6, 1))):
    ...     print(train.tolist(), test.tolist())
    [0, 1] [2, 3]
    [0, 1, 2, 3] [4, 5]
    """

    def __init__(self, n_splits: int = N_BLOCKS):
        if n_splits < 1:
            raise ValueError(f"n_splits={n_splits!r}; at least 1 is needed.")
        self.n_splits = n_splits

    def __repr__(self) -> str:
        """Return the call that makes the splitter."""
        return f"ForwardSplit({self.n_splits})"

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits, at most."""
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield training and test rows.

        Parameters
        ----------
        X : array-like
            The rows; only their number is read.
        y : object
            Not read.
        groups : array-like of shape (n,), optional
            The time of each row, as values that can be sorted. Without it the rows are
            in the order of time.
        """
        time = np.arange(len(X)) if groups is None else np.asarray(groups)
        block = blocks_in_time(time, self.n_splits + 1)
        for k in range(1, block.max() + 1):
            yield np.flatnonzero(block < k), np.flatnonzero(block == k)


def blocks_in_time(time: NDArray, n_blocks: int) -> NDArray[np.intp]:
    """Return the block of each row: earlier rows first, equal times together.

    A block ends at the change of time that is nearest to an even share of the rows; the
    rows that are left over go to the first block, as in ``TimeSeriesSplit``.

    >>> blocks_in_time(np.array([3, 1, 1, 2, 2, 3]), 3).tolist()
    [2, 0, 0, 1, 1, 2]
    """
    _, step, counts = np.unique(time, return_inverse=True, return_counts=True)
    if len(counts) < 2:
        raise ValueError(
            f"all {len(time)} rows have the same time; at least 2 times are needed to "
            "train on the past and to test on what follows."
        )
    size = max(len(time) // n_blocks, 1)
    wanted = len(time) - size * np.arange(n_blocks - 1, 0, -1)
    ends = np.cumsum(counts)[:-1]  # where one time ends and the next one begins
    nearest = np.abs(ends[None, :] - wanted[:, None]).argmin(axis=1)
    cuts = np.unique(nearest)
    return np.searchsorted(cuts, np.arange(len(counts)))[step]
