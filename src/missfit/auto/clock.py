"""Where the seconds of a fit go, and how many are left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real

import numpy as np

# The share of a budget that is kept for the evidence on missing values and for what
# measuring a feature is worth: on four real tables these take 5 to 15 % of a fit.
KEPT = 0.15


class Clock:
    """The seconds of each stage of a fit, and the end of the budget.

    Parameters
    ----------
    budget : float, optional
        Seconds from now on.

    Attributes
    ----------
    deadline : float
        When the stages that can be cut short must end, infinite without a budget.
    end : float
        When the whole fit must end.
    seconds : dict of str to float
        The seconds of each stage so far.
    """

    def __init__(self, budget: float | None = None):
        if budget is not None and not (isinstance(budget, Real) and budget > 0):
            raise ValueError(f"time_budget={budget!r}; give seconds > 0, or None.")
        seconds = np.inf if budget is None else float(budget)
        now = time.perf_counter()
        self.deadline, self.end = now + (1 - KEPT) * seconds, now + seconds
        self.seconds: dict[str, float] = {}

    def left(self) -> float:
        """Return the seconds until the end, 0 after it."""
        return max(0.0, self.end - time.perf_counter())

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what is done inside as a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            taken = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + taken
