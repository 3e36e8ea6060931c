"""What a comparison asks of a place that keeps its finished fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from missfit.comparison.candidates import Candidate
from missfit.comparison.fits import Fit
from missfit.comparison.results import Comparison


class FitStore(Protocol):
    """Keeps the fits of a comparison, so that one that was stopped can go on.

    `missfit.workflow.saved_fits.SavedFits` keeps them in a folder.
    """

    def begin(self, comparison: Comparison) -> list[str]:
        """Learn which table and folds the fits belong to; return notes for the user."""
        ...
        ...

    def load(self, one: Candidate, part: str) -> list[Fit] | None:
        """Return the fits of a candidate to a part of the table, None if unknown."""
        ...

    def save(self, one: Candidate, part: str, fits: Sequence[Fit]) -> None:
        """Keep the fits of a candidate to a part of the table."""
        ...
