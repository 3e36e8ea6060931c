"""What is odd about the target: two values, or a long tail."""

from __future__ import annotations

import numpy as np
from scipy.stats import skew

from missfit.suspicions.look import Look
from missfit.suspicions.suspicion import Remedy, Suspicion
from missfit.tables.columns import shown

# Skewness from which on a tail carries the squared error: an exponential law has 2.
SKEWED = 2.0
CALMED = 0.5  # what a logarithm leaves of the skewness, at most, to be worth it


def classes(look: Look) -> list[Suspicion]:
    """Return whether the target has two values."""
    values = np.unique(look.y)
    if len(values) != 2:
        return []
    low, high = (f"{value:.10g}" for value in values)
    share = float((look.y == values[1]).mean())
    is_share = set(values.tolist()) == {0.0, 1.0}
    means = (
        f"a prediction is about the probability of {high}"
        if is_share
        else f"a prediction lies between {low} and {high}, nearer to the likelier one"
    )
    return [
        Suspicion(
            "two classes",
            (),
            f"{shown(look.target)} has two values, {low} and {high} ({share:.0%} of "
            f"the rows). missfit predicts numbers: {means}, R2 is the share of its "
            "variance that is explained, and an interval says little.",
        )
    ]


def tails(look: Look) -> list[Suspicion]:
    """Return whether the target is far from symmetric and its logarithm is not."""
    y = look.y - look.y.mean()
    if look.is_two_valued or not y.any():
        return []
    skewness = float(skew(y / np.abs(y).max()))
    if skewness < SKEWED or look.y.min() < 0:
        return []
    has_zeros = bool((look.y == 0).any())
    logarithm = np.log1p(look.y) if has_zeros else np.log(look.y)
    left = float(skew(logarithm))
    if abs(left) > CALMED * skewness:
        return []
    top = np.sort(y**2)[-max(1, len(y) // 100) :].sum() / (y**2).sum()
    what = "logarithm of 1 + y" if has_zeros else "logarithm"
    return [
        Suspicion(
            "long tail",
            (),
            f"{shown(look.target)} has a long tail: its skewness is {skewness:.1f} "
            f"(that of its {what}: {left:.1f}), and 1 % of the rows make {top:.0%} of "
            "its variance. If relative errors matter, its logarithm is easier to "
            "predict.",
            Remedy("log"),
        )
    ]
