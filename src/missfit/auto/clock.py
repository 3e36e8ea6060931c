"""Where the seconds of a fit go, and how many are left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

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
    seconds : dict of str to float
        The seconds of each stage so far.
    """

    def __init__(self, budget: float | None = None):
        if budget is not None and not budget > 0:
            raise ValueError(f"time_budget={budget!r}; give seconds > 0, or None.")
        left = np.inf if budget is None else (1 - KEPT) * float(budget)
        self.deadline = time.perf_counter() + left
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what is done inside as a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            taken = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + taken
