"""AffineMaps: one affine function of the observed features per missing pattern.

Every linear predictor of the paper has this form (Proposition 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from missfit.patterns import find_keys, format_pattern, group_rows, pattern_keys
from missfit.tables import blocks


@dataclass(frozen=True, eq=False)
class AffineMaps:
    """The predictor f(x) = intercept_m + coef_m' x_obs of each pattern m.

    Attributes
    ----------
    patterns : bool ndarray of shape (P, d)
        Distinct patterns in lexicographic order, True where missing.
    intercept : ndarray of shape (P,)
    coef : ndarray of shape (P, d)
        Zero at the missing features.
    variance : ndarray of shape (P,)
        Variance of what is predicted about the prediction.
    """

    patterns: NDArray[np.bool_]
    intercept: NDArray[np.float64]
    coef: NDArray[np.float64]
    variance: NDArray[np.float64]

    def at(self, patterns: NDArray[np.bool_]) -> AffineMaps:
        """Return the maps of the given patterns; each must be in the table."""
        index = find_keys(pattern_keys(self.patterns), pattern_keys(patterns))
        if (index < 0).any():
            unknown = format_pattern(patterns[np.argmax(index < 0)])
            raise ValueError(
                f"no map for the pattern with {unknown}: the table has "
                f"{len(self.patterns)} patterns."
            )
        return AffineMaps(
            patterns, self.intercept[index], self.coef[index], self.variance[index]
        )

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return f(x) for each row; each row's pattern must be in the table."""
        groups = group_rows(np.isnan(X))
        return self.at(groups.patterns).evaluate(X, groups.pattern_of_row())

    def evaluate(
        self, X: NDArray[np.float64], index: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return f(x) for each row, ``index`` being the map of each row."""
        prediction = self.intercept.take(index)
        for rows in blocks(len(X), X.shape[1]):
            x = np.where(np.isnan(X[rows]), 0.0, X[rows])
            coef = self.coef.take(index[rows], axis=0)
            prediction[rows] += np.einsum("ij,ij->i", coef, x)
        return prediction
