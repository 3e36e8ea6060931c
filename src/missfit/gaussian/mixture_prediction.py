"""What a mixture of Gaussians predicts: weights of components, mean and variance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from missfit.gaussian.conditional import ScaledGaussian, observed_log_density
from missfit.moments.maps import AffineMaps

CERTAIN = 1e-9  # a pattern is of one component if all others have less; not measured


def row_weights(
    laws: Sequence[ScaledGaussian],
    prior: NDArray[np.float64],
    X: NDArray[np.float64],
    patterns: NDArray[np.bool_],
    index: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return the probability of each component for each row (n, K).

    That of its pattern times the density of what is observed, r_mk N(x_obs; k),
    normalised.

    Parameters
    ----------
    laws : sequence of K ScaledGaussian
    prior : ndarray of shape (P, K)
        r, of the patterns.
    X : ndarray of shape (n, d)
    patterns : bool ndarray of shape (P, d)
    index : int ndarray of shape (n,)
        The pattern of each row.
    """
    weight = prior[index]
    unsure = np.flatnonzero((prior.max(axis=1) < 1 - CERTAIN)[index])
    if len(unsure):
        with np.errstate(divide="ignore"):
            log_weight = np.log(weight[unsure])
        for k, law in enumerate(laws):
            log_weight[:, k] += observed_log_density(
                law, X[unsure], patterns, index[unsure]
            )
        weight[unsure] = special.softmax(log_weight, axis=1)
    return weight


def moments_of_target(
    weight: NDArray[np.float64],
    maps: Sequence[AffineMaps],
    X: NDArray[np.float64],
    index: NDArray[np.intp],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and variance of y of each row (n, t), by the maps of the components.

    ``weight`` is that of `row_weights`; the variance is that within the components and
    between them.
    """
    mean = variance = np.zeros((len(X), maps[0].intercept.shape[1]))
    for k, component in enumerate(maps):
        value, share = component.evaluate(X, index), weight[:, k, None]
        gap = value - mean  # one component more: the moments of a mixture so far
        total = weight[:, : k + 1].sum(axis=1)[:, None]
        part = np.divide(share, total, out=np.zeros_like(share), where=total > 0)
        inner = np.asarray(component.variance)[index]
        variance = (1 - part) * (variance + part * gap**2) + part * inner
        mean = mean + part * gap
    return mean, variance


def averaged_maps(share: NDArray[np.float64], maps: Sequence[AffineMaps]) -> AffineMaps:
    """Return the maps of the components averaged by shares of the patterns (P, K)."""
    variances = [np.asarray(m.variance) for m in maps]
    return AffineMaps(
        maps[0].patterns,
        np.einsum("pk,kpt->pt", share, np.stack([m.intercept for m in maps])),
        np.einsum("pk,kptd->ptd", share, np.stack([m.coef for m in maps])),
        np.einsum("pk,kpt->pt", share, np.stack(variances)),
    )
