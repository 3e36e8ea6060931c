"""The rivals in a comparison: what people use today."""

from __future__ import annotations

from missfit.comparison import Comparison


def rivals_by_score(comparison: Comparison) -> list[str]:
    """Return the names of the rivals that have a score, the best one first."""
    names = [trial.name for trial in comparison.sound if trial.candidate.rival]
    return sorted(names, key=lambda name: comparison.scores[name].behind)
