"""What all laws of (X, M, Y) share: Y = beta0 + beta'X + noise (equation 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return the numpy Generator of a seed, a Generator or a RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    return np.random.default_rng(random_state)


class LinearTarget:
    """The parent of all laws: it draws X, Y = beta0 + beta'X + noise, and the mask."""

    beta: NDArray[np.float64]
    beta0: float
    noise: float

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.beta)

    def sample(
        self, n: int, random_state: RandomState = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw n rows: X with NaN where missing, and y."""
        X, mask, y = self._draw(n, random_state)
        return np.where(mask, np.nan, X), y

    def sample_complete(
        self, n: int, random_state: RandomState = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw n rows before masking; with the same seed, the rows of `sample`."""
        X, _, y = self._draw(n, random_state)
        return X, y

    def target_moments(self) -> tuple[float, float]:
        """Mean and variance of Y."""
        raise TypeError(f"{type(self).__name__} does not tell the moments of Y.")

    def target_quantile(self, share: float) -> float:
        """Return the value that Y lies below with probability ``share``.

        Y is Gaussian where X is; a law in which it is not has a quantile of its own.
        """
        if not 0 < share < 1:
            raise ValueError(f"share={share!r}; it must lie strictly between 0 and 1.")
        mean, variance = self.target_moments()
        return float(mean + np.sqrt(variance) * ndtri(share))

    def _draw(self, n: int, random_state: RandomState):
        if n < 0 or n != int(n):
            raise ValueError(f"n={n} rows asked; it must be a whole number >= 0.")
        rng = as_generator(random_state)
        X, mask = self._draw_features(int(n), rng)
        y = self.beta0 + X @ self.beta + self.noise * rng.standard_normal(len(X))
        return X, mask, y

    def _draw_features(self, n: int, rng: np.random.Generator) -> Any:
        raise TypeError(f"{type(self).__name__} defines no law of (X, M).")

    def _set(self, **arrays: Any) -> None:
        for name, value in arrays.items():
            object.__setattr__(self, name, value)
