"""The least that a number may be which a user gives to an estimator."""

from __future__ import annotations

from numbers import Real
from typing import Any


def check_least(model: Any, **least: float) -> None:
    """Raise where a parameter of a model is no number, or is below its least.

    >>> from missfit import EMLR
    >>> check_least(EMLR(max_iter="many"), max_iter=1)
    Traceback (most recent call last):
    ...
    ValueError: max_iter='many'; it must be a number of at least 1.
    """
    for name, low in least.items():
        value = getattr(model, name)
        if not isinstance(value, Real) or not float(value) >= low:  # NaN is below
            raise ValueError(
                f"{name}={value!r}; it must be a number of at least {low}."
            )
