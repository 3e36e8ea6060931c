"""Which candidates a table can afford, by what they are expected to cost."""

from __future__ import annotations

from typing import Any, NamedTuple

from missfit.moments.pattern_moments import PatternMoments

# Seconds that all fits of one candidate may take on one core, without a budget of time
# or with a smaller one. SelfMaskedLR may take as long on 100,000 rows of 50 features,
# half of them missing, where it is the best by far; ConditionalImputedLR is expected to
# take 40 at 2,000 x 1,000 and 260 at 2,000 x 2,000.
AFFORDED = 240.0
# Seconds of the linear candidates, of which a fit warns before it begins: with the
# boosting and the explanation it then takes more than a minute. At 2,000 x 1,000 they
# are expected to take 55, and took 58 of the 82 of the fit.
LONG = 45.0


class Costs(NamedTuple):
    """The linear candidates that are tried, and why others are not.

    Attributes
    ----------
    tried : list of estimators
        The reference first: it is tried whatever it costs.
    left_out : list of (estimator, str)
        The others, each with the reason.
    seconds : float
        What those that are tried are expected to take on one core, together.
    """

    tried: list[Any]
    left_out: list[tuple[Any, str]]
    seconds: float


def affordable(
    linear: list[Any], moments: PatternMoments, n_fits: int, time_budget: float | None
) -> Costs:
    """Return which linear candidates are tried.

    A candidate is left out where its fits to the splits and to all rows are expected
    to take more than `AFFORDED` seconds, and more than the budget of time. What is
    expected follows from the number of rows, columns and patterns alone, never from a
    clock: the same table has the same candidates on every machine.

    Parameters
    ----------
    linear : list of estimators
        The reference first.
    moments : PatternMoments
        Of all rows.
    n_fits : int
        How often each candidate is fitted.
    time_budget : float, optional
    """
    most = max(AFFORDED, time_budget or 0.0)
    tried, left_out, total = [], [], 0.0
    for model in linear:
        seconds = n_fits * model.seconds_of_fit(moments)
        if tried and seconds > most:
            left_out.append((model, _reason(seconds, most)))
        else:
            tried.append(model)
            total += seconds
    return Costs(tried, left_out, total)


def _reason(seconds: float, most: float) -> str:
    return (
        f"left out: about {seconds:,.0f} s expected, more than {most:.0f}; "
        f"time_budget={seconds + 1:.0f} lets it in"
    )


def said_before(seconds: float, moments: PatternMoments) -> str:
    """Return what a long fit says before it begins; nothing of a short one."""
    if seconds <= LONG:
        return ""
    n_rows = round(float(moments.count.sum()), 2)
    return (
        f"{n_rows:,.9g} rows of {moments.n_features:,} columns in "
        f"{len(moments):,} missing patterns: the linear candidates are expected to "
        f"take about {seconds:.0f} s on one core. Fewer columns, candidates=[EMLR()] "
        "or a time_budget make the fit shorter; explain() says what was left out."
    )
