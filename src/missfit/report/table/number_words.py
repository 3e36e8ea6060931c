"""How good a predictor of numbers is, in plain words and in the first numbers."""

from __future__ import annotations

from missfit.comparison import Comparison
from missfit.report.page import number


def tiles(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return the scores that a reader looks for first."""
    score = comparison.scores[comparison.recommended]
    return [
        (
            "variance explained, R2",
            f"{score.r2:.3f}",
            f"{score.low:.3f} to {score.high:.3f}",
        ),
        (
            "typical error, RMSE",
            number(score.rmse),
            f"{number(comparison.y.std())} is the target's standard deviation",
        ),
    ]


def how_good(comparison: Comparison) -> str:
    """Say what to use, and how good it is on rows that it has not seen."""
    chosen = comparison.scores[comparison.recommended]
    return (
        f"Use {comparison.recommended}: on rows that it has not seen it explains "
        f"{chosen.r2:.1%} of the variance of {comparison.target} (95 % interval "
        f"{chosen.low:.1%} to {chosen.high:.1%}), with a typical error of "
        f"{number(chosen.rmse)}."
    )


def written(value: float) -> str:
    """Write the score of another predictor."""
    return f"{value:.1%}"


def doubt(comparison: Comparison) -> str:
    """Say that a predictor may be of no use, where that is so, or ""."""
    if comparison.scores[comparison.recommended].low > 0:
        return ""
    return (
        " But it may be no better than the mean of the target: with this table there "
        "is little to predict."
    )
