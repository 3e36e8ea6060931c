"""How well one column predicts the target, by its neighbours or by its levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Neighbours on each side that predict a row. Few follow a steep function, many average
# noise: of a column that explains 98.5 % two neighbours show 97.7 %, twenty 98.4 %.
WINDOWS = (1, 3, 10)


def neighbour_r2(
    x: NDArray[np.float64], y: NDArray[np.float64], seed: int = 0
) -> float:
    """Return R2 of predicting each row by the mean of its neighbours in x.

    No row predicts itself, so that a column without any relation has an R2 below 0.
    Whatever the function of x, a smooth one is followed. Rows of equal x are in random
    order, since the order of the table may be that of y.
    """
    shuffled = np.random.default_rng(seed).permutation(len(x))
    z = y[shuffled][np.argsort(x[shuffled], kind="stable")]
    spread = ((z - z.mean()) ** 2).sum()
    if len(z) < 3 or spread == 0:
        return 0.0
    total = np.append(0.0, np.cumsum(z))
    place = np.arange(len(z))
    best = -np.inf
    for window in WINDOWS:
        start = np.maximum(place - window, 0)
        stop = np.minimum(place + window + 1, len(z))
        guess = (total[stop] - total[start] - z) / (stop - start - 1)
        best = max(best, 1 - ((z - guess) ** 2).sum() / spread)
    return float(best)


def level_r2(codes: NDArray[np.intp], y: NDArray[np.float64]) -> float:
    """Return R2 of predicting each row by the mean of the other rows of its level.

    Rows that are alone with their level are predicted by the mean of all others.
    """
    count = np.bincount(codes)[codes]
    total = np.bincount(codes, y)[codes]
    n = len(y)
    spread = ((y - y.mean()) ** 2).sum()
    if n < 3 or spread == 0:
        return 0.0
    others = (y.sum() - y) / (n - 1)
    guess = np.where(count > 1, (total - y) / np.maximum(count - 1, 1), others)
    return float(1 - ((y - guess) ** 2).sum() / spread)
