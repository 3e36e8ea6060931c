"""What the table of a fit looked like: patterns, ranges, levels, to be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.moments.patterns import group_rows, pattern_keys

QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
RANGED = ("number", "date")  # kinds of columns whose values have a range


@dataclass(frozen=True)
class Profile:
    """Counts of the patterns, quantiles of numbers and counts of levels of a table.

    Attributes
    ----------
    patterns : mapping of bytes to int
        The rows of each missing pattern.
    quantiles : list of (list of float or None)
        Of each column of numbers or dates the `QUANTILES` of its values, None for
        other columns and where nothing is observed.
    """

    patterns: Mapping[bytes, int]
    quantiles: list[list[float] | None]

    @classmethod
    def of(cls, X: NDArray[np.float64], encoder: Any) -> Profile:
        """Return the profile of rows after an encoder."""
        groups = group_rows(encoder.mask(X))
        keys = pattern_keys(groups.patterns).tolist()
        patterns = dict(zip(keys, groups.n_rows.tolist(), strict=True))
        return cls(patterns, [_quantiles(X, encoder, j) for j in _columns(encoder)])

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return sum(self.patterns.values())

    def ranges(self) -> NDArray[np.float64]:
        """Return the smallest and largest value of each column, NaN where it has none.

        Returns
        -------
        ndarray of shape (2, d)
        """
        ends = [
            (np.nan, np.nan) if q is None else (q[0], q[-1]) for q in self.quantiles
        ]
        return np.array(ends).reshape(-1, 2).T

    def as_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes the same profile."""
        patterns = {key.hex(): n for key, n in sorted(self.patterns.items())}
        return {"patterns": patterns, "quantiles": self.quantiles}

    @classmethod
    def from_json(cls, plain: Any, n_columns: int, n_rows: int) -> Profile:
        """Return the profile of `as_json`; raise ValueError for any other data."""
        patterns = {
            bytes.fromhex(k).rstrip(b"\0"): n for k, n in plain["patterns"].items()
        }
        if not all(type(n) is int and n > 0 for n in patterns.values()):
            raise ValueError("a pattern with no rows")
        if sum(patterns.values()) != n_rows:
            raise ValueError("patterns with other rows than the table")
        quantiles = plain["quantiles"]
        if not isinstance(quantiles, list) or len(quantiles) != n_columns:
            raise ValueError("quantiles of other columns")
        for one in quantiles:
            if one is not None:
                values = np.array(one, dtype=np.float64)
                rising = np.isfinite(values).all() and (np.diff(values) >= 0).all()
                if values.shape != (len(QUANTILES),) or not rising:
                    raise ValueError("quantiles that do not rise")
        return cls(patterns, quantiles)


def _columns(encoder: Any) -> range:
    return range(len(encoder.kinds_))


def _quantiles(X: NDArray[np.float64], encoder: Any, j: int) -> list[float] | None:
    if encoder.kinds_[j] not in RANGED:
        return None
    values = X[:, encoder.variables_ == j][:, 0]
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    return np.quantile(values, QUANTILES).tolist()
