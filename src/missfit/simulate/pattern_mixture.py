"""The law of Assumption 4.1: every missing pattern has a Gaussian of its own."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root_scalar
from scipy.special import ndtr, ndtri

from missfit.moments.patterns import group_rows
from missfit.simulate.checks import (
    check_array,
    check_component,
    check_covs,
    check_number,
    check_patterns,
    check_probabilities,
)
from missfit.simulate.linear_target import LinearTarget


@dataclass(frozen=True, eq=False)
class GaussianPatternMixture(LinearTarget):
    """Assumption 4.1: X | M = m is Gaussian, with a law that depends on m.

    Each pattern belongs to one of K Gaussian components. With K = 1 values are missing
    completely at random (the paper's *mixture 1*), K = 3 is its *mixture 3*, and with
    as many components as patterns this is the general case.

    Parameters
    ----------
    patterns : array-like of shape (P, d)
        The patterns that occur, True where missing; kept in lexicographic order.
    weights : array-like of shape (P,)
        Their probabilities.
    means : array-like of shape (K, d)
    covs : array-like of shape (K, d, d)
    beta : array-like of shape (d,)
    component : array-like of shape (P,), optional
        The component of each pattern. By default all patterns belong to one component
        where K = 1, and each has its own where K = P.
    beta0, noise : float

    Examples
    --------
    >>> model = GaussianPatternMixture(
    ...     patterns=[[0, 0], [0, 1]], weights=[0.5, 0.5],
    ...     means=[[0, 0]], covs=[[[1, 0.5], [0.5, 1]]], beta=[1, 1])
    >>> X, y = model.sample(4, random_state=0)
    >>> X.shape, y.shape
    ((4, 2), (4,))
    """

    patterns: NDArray[np.bool_]
    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    covs: NDArray[np.float64]
    beta: NDArray[np.float64]
    _: KW_ONLY
    component: Any = None
    beta0: float = 0.0
    noise: float = 0.0

    def __post_init__(self):
        patterns = check_patterns(self.patterns)
        n_patterns, d = patterns.shape
        means = check_array("means", self.means, (None, d))
        covs = check_covs(self.covs, (len(means), d, d))
        weights = check_probabilities(self.weights, n_patterns)
        component = check_component(self.component, n_patterns, len(means))
        order = group_rows(patterns).order
        self._set(
            patterns=patterns[order],
            weights=weights[order],
            means=means,
            covs=covs,
            beta=check_array("beta", self.beta, (d,)),
            component=component[order],
            beta0=check_number("beta0", self.beta0),
            noise=check_number("noise", self.noise, low=0.0),
        )

    def pattern_probabilities(self) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Patterns and their probabilities."""
        return self.patterns, self.weights

    def target_moments(self) -> tuple[float, float]:
        """Mean and variance of Y."""
        share, centre, spread = self._target_components()
        mean = share @ centre
        return float(mean), float(share @ (spread + (centre - mean) ** 2))

    def target_quantile(self, share: float) -> float:
        """Return the value that Y lies below with probability ``share``."""
        if not 0 < share < 1:
            raise ValueError(f"share={share!r}; it must lie strictly between 0 and 1.")
        weight, centre, spread = self._target_components()
        weight, centre, spread = (a[weight > 0] for a in (weight, centre, spread))
        sd = np.sqrt(spread)
        ends = centre + sd * ndtri(share)  # the quantiles of the parts enclose it
        low, high = ends.min(), ends.max()
        if low == high:
            return float(low)

        def excess(y):
            return weight @ ndtr((y - centre) / sd) - share

        return root_scalar(excess, bracket=(low, high)).root

    def _target_components(self):
        """Weights, means and variances of the Gaussians that Y is a mixture of."""
        share = np.bincount(self.component, self.weights, minlength=len(self.means))
        centre = self.beta0 + self.means @ self.beta
        spread = np.einsum("i,kij,j->k", self.beta, self.covs, self.beta)
        return share, centre, spread + self.noise**2

    def _draw_features(self, n, rng):
        index = rng.choice(len(self.weights), size=n, p=self.weights)
        component = self.component[index]
        X = rng.standard_normal((n, self.n_features))
        for k, root in enumerate(np.linalg.cholesky(self.covs)):
            rows = component == k
            X[rows] = X[rows] @ root.T + self.means[k]
        return X, self.patterns[index]
