"""The factorised form of the Bayes predictor (Proposition 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from missfit.bayes.predictor import expanded_coefficients
from missfit.maps import AffineMaps
from missfit.patterns import find_keys, group_rows, pattern_keys
from missfit.tables import blocks, check_features

MAX_SUBSETS = 2**20


@dataclass(frozen=True, eq=False)
class FactorizedForm:
    """The Bayes predictor as a polynomial in X and the mask (Proposition 4.2).

    f(Z) = sum over subsets S of (zeta_0^S + sum_j zeta_j^S (1 - M_j) X_j) prod_S M_k.

    Attributes
    ----------
    subsets : bool ndarray of shape (n_subsets, d)
        The subsets S, in lexicographic order.
    intercept : ndarray of shape (n_subsets,)
        zeta_0^S.
    coef : ndarray of shape (n_subsets, d)
        zeta_j^S, zero for j in S, where the term vanishes.
    """

    subsets: NDArray[np.bool_]
    intercept: NDArray[np.float64]
    coef: NDArray[np.float64]

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Evaluate the polynomial for each row."""
        X = check_features(X, self.subsets.shape[1])
        groups = group_rows(np.isnan(X))
        intercept = np.empty(len(groups.patterns))
        coef = np.empty(groups.patterns.shape)
        for rows in blocks(len(intercept), len(self.subsets), size=2**22):
            # prod_S M_k = 1 where no element of S is observed
            outside = self.subsets.astype(float) @ ~groups.patterns[rows].T
            inside = (outside == 0).astype(float)
            intercept[rows] = self.intercept @ inside
            coef[rows] = inside.T @ self.coef
        coef[groups.patterns] = 0.0  # the factor (1 - M_j)
        maps = AffineMaps(groups.patterns, intercept, coef, np.zeros(len(intercept)))
        return maps.evaluate(X, groups.pattern_of_row())


def factorized_coefficients(model: Any, order: int | None = None) -> FactorizedForm:
    """Coefficients zeta of Proposition 4.2, by Möbius inversion of the expanded ones.

    zeta^S = sum over T in S of (-1)^|S - T| delta^T.

    Parameters
    ----------
    model : a law of `missfit.simulate` whose Bayes predictor is affine by pattern
    order : int, optional
        Keep the slopes of subsets of at most ``order`` features and the intercepts of
        at most ``order + 1`` (so that the form does not depend on where the features
        have their zero); by default all, and the form equals the Bayes predictor. Cut
        at ``order`` it is exact where at most ``order`` features are missing.
    """
    d = model.n_features
    cut = d if order is None else order
    if not 0 <= cut <= d or cut != int(cut):
        raise ValueError(
            f"order={order}, but the model has {d} features; choose 0 <= order <= {d}."
        )
    subsets = _subsets(d, min(int(cut) + 1, d))
    maps = expanded_coefficients(model, subsets)
    intercept, coef = maps.intercept.copy(), maps.coef.copy()
    keys = pattern_keys(subsets)
    for j in range(d):  # subsets with j minus the same without, one feature at a time
        with_j = np.flatnonzero(subsets[:, j])
        without = subsets[with_j]
        without[:, j] = False
        partner = find_keys(keys, pattern_keys(without))
        intercept[with_j] -= intercept[partner]
        coef[with_j] -= coef[partner]
    coef[subsets] = 0.0
    coef[subsets.sum(axis=1) > cut] = 0.0
    return FactorizedForm(subsets, intercept, coef)


def _subsets(d: int, order: int) -> NDArray[np.bool_]:
    """All subsets of at most ``order`` of d features, in lexicographic order."""
    subsets = np.zeros((1, d), dtype=bool)
    for j in range(d - 1, -1, -1):  # add feature j to those that have room
        more = subsets[subsets.sum(axis=1) < order]
        more[:, j] = True
        subsets = np.concatenate([subsets, more])
        if len(subsets) > MAX_SUBSETS:
            raise ValueError(
                f"more than {MAX_SUBSETS:,} subsets of at most {order} of {d} "
                "features; choose a lower order."
            )
    return subsets
