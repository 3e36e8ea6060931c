"""Checks of the parameters of a law; errors show the value, the rule, the way out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.moments.patterns import format_pattern, group_rows


def check_number(name: str, value: Any, low: float = -np.inf) -> float:
    """Return one finite number, or say what was found."""
    number = np.asarray(value, dtype=float)
    if number.shape != () or not np.isfinite(number) or number < low:
        bound = "" if low == -np.inf else f" >= {low:g}"
        raise ValueError(f"{name}={value!r}; it must be one finite number{bound}.")
    return float(number)


def check_array(name: str, value: Any, shape: tuple) -> NDArray[np.float64]:
    """Return a finite float array of the given shape; None stands for any length."""
    array = np.array(value, dtype=float)  # a copy: nobody else can change the law
    array.setflags(write=False)
    fits = array.ndim == len(shape) and all(
        want in (None, got) for want, got in zip(shape, array.shape, strict=False)
    )
    if not fits or array.size == 0:
        wanted = tuple("any" if want is None else want for want in shape)
        raise ValueError(f"{name} has shape {array.shape}; it must be {wanted}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity; all entries must be finite.")
    return array


def check_per_feature(name: str, value: Any, d: int) -> NDArray[np.float64]:
    """Return one number per feature; a single number stands for all features."""
    array = np.asarray(value, dtype=float)
    return check_array(name, np.full(d, array) if array.ndim == 0 else array, (d,))


def check_rates(
    name: str, value: Any, d: int, *, open_interval: bool = False
) -> NDArray[np.float64]:
    """Return one probability per feature."""
    rates = check_per_feature(name, value, d)
    bad = (rates < 0) | (rates > 1) | (open_interval & ((rates == 0) | (rates == 1)))
    if bad.any():
        rule = "strictly between 0 and 1" if open_interval else "between 0 and 1"
        raise ValueError(f"{name} holds {rates[bad][0]:.6g}; it must lie {rule}.")
    return rates


def check_width(value: Any, d: int) -> NDArray[np.float64]:
    """Return one width > 0 per feature."""
    width = check_per_feature("width", value, d)
    if (width <= 0).any():
        raise ValueError(f"width must be > 0 for every feature, got {width.min()}.")
    return width


def check_covs(value: Any, shape: tuple) -> NDArray[np.float64]:
    """Return symmetric positive definite matrices."""
    covs = check_array("covariance", value, shape)
    for k, cov in enumerate(covs):
        variance = np.diag(cov)
        if (variance <= 0).any():
            raise ValueError(
                f"covariance {k} has the variance {variance.min():.3g} on its "
                "diagonal; every feature needs one > 0."
            )
        scale = np.sqrt(variance)
        correlation = cov / scale / scale[:, None]
        gap = np.abs(correlation - correlation.T).max()
        if gap > 1e-10:
            raise ValueError(
                f"covariance {k} is not symmetric: correlations differ by {gap:.3g}. "
                "Symmetrise it with (cov + cov.T) / 2."
            )
        smallest = np.linalg.eigvalsh(correlation)[0]
        if smallest <= np.finfo(float).eps * len(cov):
            raise ValueError(
                f"covariance {k} is not positive definite: the smallest eigenvalue of "
                f"its correlations is {smallest:.3g}. Add a small multiple of its "
                "diagonal, or drop the features that are combinations of others."
            )
    return covs


def check_patterns(value: Any, n_features: int | None = None) -> NDArray[np.bool_]:
    """Return distinct patterns as booleans."""
    patterns = np.asarray(value)
    if n_features is not None and patterns.shape[1:] != (n_features,):
        raise ValueError(
            f"patterns have shape {patterns.shape}; the model has {n_features} "
            f"features, so it must be (patterns, {n_features})."
        )
    if patterns.ndim != 2 or patterns.size == 0 or not np.isin(patterns, (0, 1)).all():
        raise ValueError(
            f"patterns must be a (patterns, features) array of booleans, True where "
            f"missing; got shape {patterns.shape} and dtype {patterns.dtype}."
        )
    patterns = patterns.astype(bool)
    groups = group_rows(patterns)
    if len(groups.patterns) < len(patterns):
        twice = groups.patterns[np.argmax(groups.n_rows > 1)]
        raise ValueError(
            f"the pattern with {format_pattern(twice)} is given "
            f"{groups.n_rows.max()} times; give each once and add up its weights."
        )
    return patterns


def check_probabilities(value: Any, n_patterns: int) -> NDArray[np.float64]:
    """Return probabilities that sum to one."""
    weights = check_array("weights", value, (n_patterns,))
    total = weights.sum()
    if (weights < 0).any() or abs(total - 1) > 1e-8:
        raise ValueError(
            f"weights must be probabilities: >= 0 with sum 1; the smallest is "
            f"{weights.min():.6g} and the sum {total:.10g}. Divide by the sum."
        )
    return weights / total


def check_columns(name: str, value: Any, d: int) -> NDArray[np.intp]:
    """Return column positions, given positions or a mask of d booleans."""
    columns = np.asarray(value)
    if columns.dtype == bool and columns.shape == (d,):
        return np.flatnonzero(columns)
    if columns.size == 0:
        return np.empty(0, dtype=np.intp)
    if columns.dtype.kind not in "iu" or not np.isin(columns, np.arange(d)).all():
        raise ValueError(
            f"{name}={value!r}; give column positions between 0 and {d - 1}, or a mask "
            f"of {d} booleans."
        )
    return np.unique(columns)


def check_component(value: Any, n_patterns: int, n_components: int) -> NDArray:
    """Return the component of each pattern."""
    if value is None and n_components in (1, n_patterns):
        return np.arange(n_patterns) % n_components
    component = np.asarray(value)
    if (
        component.shape != (n_patterns,)
        or component.dtype.kind not in "iu"
        or not np.isin(component, np.arange(n_components)).all()
    ):
        raise ValueError(
            f"component={value!r}; give the component of each of the {n_patterns} "
            f"patterns, an integer from 0 to {n_components - 1}."
        )
    return component.astype(np.intp)
