"""AffineMaps: one affine function of the observed features per missing pattern.

Every linear predictor of the paper has this form (Proposition 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from missfit.moments.blocks import blocks
from missfit.moments.patterns import (
    find_keys,
    format_pattern,
    group_rows,
    pattern_keys,
    subsets_inside,
)


@dataclass(frozen=True, eq=False)
class AffineMaps:
    """The predictor f(x) = intercept_m + coef_m' x_obs of each pattern m.

    Attributes
    ----------
    patterns : bool ndarray of shape (P, d)
        Distinct patterns in lexicographic order, True where missing.
    intercept : ndarray of shape (P,) or (P, t)
        One number per pattern, or one per pattern and target.
    coef : ndarray of shape (P, d) or (P, t, d)
        Zero at the missing features.
    variance : ndarray of shape (P,) or (P, t), optional
        Variance of the target about the prediction, where it is known.
    """

    patterns: NDArray[np.bool_]
    intercept: NDArray[np.float64]
    coef: NDArray[np.float64]
    variance: NDArray[np.float64] | None = None

    def at(self, patterns: NDArray[np.bool_]) -> AffineMaps:
        """Return the maps of the given patterns; each must be in the table."""
        index = find_keys(pattern_keys(self.patterns), pattern_keys(patterns))
        if (index < 0).any():
            unknown = format_pattern(patterns[np.argmax(index < 0)])
            raise ValueError(
                f"no map for the pattern with {unknown}: the table has "
                f"{len(self.patterns)} patterns."
            )
        variance = None if self.variance is None else self.variance[index]
        return AffineMaps(patterns, self.intercept[index], self.coef[index], variance)

    def shifted(self, shift: NDArray[np.float64]) -> AffineMaps:
        """Return the functions f(x - shift)."""
        return replace(self, intercept=self.intercept - self.coef @ shift)

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return f(x) for each row; each row's pattern must be in the table."""
        groups = group_rows(np.isnan(X))
        return self.at(groups.patterns).evaluate(X, groups.pattern_of_row())

    def evaluate(
        self, X: NDArray[np.float64], index: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return f(x) for each row, ``index`` being the map of each row."""
        prediction = self.intercept.take(index, axis=0)
        for rows in blocks(len(X), self.coef[0].size if len(self.coef) else 1):
            x = np.where(np.isnan(X[rows]), 0.0, X[rows])
            coef = self.coef.take(index[rows], axis=0)
            prediction[rows] += np.einsum("i...j,ij->i...", coef, x)
        return prediction


def factorized_maps(
    subsets: NDArray[np.bool_],
    intercept: NDArray[np.float64],
    coef: NDArray[np.float64],
    patterns: NDArray[np.bool_],
) -> AffineMaps:
    """Affine maps of the polynomial of Proposition 4.2.

    The intercept of pattern m is the sum of zeta_0^S over the subsets S of mis(m), and
    likewise its slopes; the factor (1 - M_j) drops the missing features.

    Parameters
    ----------
    subsets : bool ndarray of shape (n_subsets, d)
    intercept : ndarray of shape (n_subsets, t)
    coef : ndarray of shape (n_subsets, t, d)
    patterns : bool ndarray of shape (P, d)
    """
    t, d = coef.shape[1:]
    maps = AffineMaps(
        patterns, np.empty((len(patterns), t)), np.empty((len(patterns), t, d))
    )
    flat = coef.reshape(len(coef), t * d)
    for block in blocks(len(patterns), len(subsets), size=2**22):
        inside = subsets_inside(subsets, patterns[block])
        maps.intercept[block] = inside @ intercept
        maps.coef[block] = (inside @ flat).reshape(-1, t, d)
    np.copyto(maps.coef, 0.0, where=patterns[:, None, :])
    return maps
