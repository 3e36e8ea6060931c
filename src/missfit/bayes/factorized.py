"""The factorised form of the Bayes predictor (Proposition 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from missfit.bayes.predictor import expanded_coefficients
from missfit.moments.maps import factorized_maps
from missfit.moments.patterns import find_keys, group_rows, pattern_keys, subsets_up_to
from missfit.tables.arrays import check_features


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
        maps = factorized_maps(
            self.subsets, self.intercept[:, None], self.coef[:, None], groups.patterns
        )
        return maps.evaluate(X, groups.pattern_of_row())[:, 0]


def factorized_coefficients(model: Any, order: int | None = None) -> FactorizedForm:
    """Return the zeta of Proposition 4.2, by Möbius inversion of the expanded form.

    zeta^S = sum over T in S of (-1)^|S - T| delta^T.

    Parameters
    ----------
    model : a law of `missfit.simulate` whose Bayes predictor is affine by pattern
    order : int, optional
        Keep the slopes of subsets of at most ``order`` features and the intercepts of
        subsets of at most ``order + 1`` (so that the form does not depend on where the
        features have their zero). By default all are kept, and the form equals the
        Bayes predictor. Otherwise it is exact where at most ``order`` features are
        missing.
    """
    d = model.n_features
    cut = d if order is None else order
    if not 0 <= cut <= d or cut != int(cut):
        raise ValueError(
            f"order={order}, but the model has {d} features; choose 0 <= order <= {d}."
        )
    subsets = subsets_up_to(d, min(int(cut) + 1, d))
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
