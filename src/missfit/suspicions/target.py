"""What is odd about the target: two values, rare classes, or a long tail."""

from __future__ import annotations

import numpy as np
from scipy.stats import skew

from missfit.suspicions.look import Look
from missfit.suspicions.suspicion import Remedy, Suspicion
from missfit.tables.columns import shown

# Skewness from which on a tail carries the squared error: an exponential law has 2.
SKEWED = 2.0
CALMED = 0.5  # what a logarithm leaves of the skewness, at most, to be worth it


FEWEST_OF_A_CLASS = 30  # rows: 6 in each of five folds
MOST_OF_A_CLASS = 0.9  # share of the rows from which on accuracy tells little
MOST_LISTED = 4  # rare classes that are named


def two_values(look: Look) -> list[Suspicion]:
    """Return whether a target that is predicted as a number has two values."""
    values = np.unique(look.y)
    if look.code is not None or len(values) != 2:
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
            f"the rows), and is predicted as a number: {means}, R2 is the share of its "
            "variance that is explained, and an interval says little. Are the two "
            "values classes?",
            Remedy("task", ("class",)),
        )
    ]


def rare_classes(look: Look) -> list[Suspicion]:
    """Return which classes have too few rows to learn, or so many that one is all."""
    if look.code is None:
        return []
    count = np.bincount(look.code, minlength=len(look.classes))
    share = count / len(look.y)
    found = []
    rare = [int(k) for k in np.argsort(count) if count[k] < FEWEST_OF_A_CLASS]
    if rare:
        named = [f"{shown(look.classes[k])} ({count[k]:,})" for k in rare[:MOST_LISTED]]
        more = len(rare) - len(named)
        names = ", ".join(named) + (f" and {more} more" if more > 0 else "")
        found.append(
            Suspicion(
                "rare class",
                (),
                f"{len(rare)} of the {len(look.classes)} classes of "
                f"{shown(look.target)} {'have' if len(rare) > 1 else 'has'} fewer than "
                f"{FEWEST_OF_A_CLASS} of {look.of}: {names}. So few rows are hardly "
                "enough to learn a class, or to judge how well it is predicted. Join "
                "such classes with others, or collect more rows of them.",
            )
        )
    top = int(share.argmax())
    if share[top] >= MOST_OF_A_CLASS:
        label = shown(look.classes[top])
        found.append(
            Suspicion(
                "one class prevails",
                (),
                f"{shown(look.target)} is {label} in {share[top]:.1%} of the rows: to "
                "say so always is right as often, whatever the accuracy of a "
                "predictor. Look at log-loss and AUC instead.",
            )
        )
    return found


def tails(look: Look) -> list[Suspicion]:
    """Return whether the target is far from symmetric and its logarithm is not."""
    y = look.y - look.y.mean()
    if look.code is not None or look.is_two_valued or not y.any():
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
