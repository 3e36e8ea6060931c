"""Parts of a table that stand for all of it, for first fits that cost little."""

from __future__ import annotations

import numpy as np

from missfit.moments.pattern_moments import PatternMoments

# Rows of a first fit, where twice as many and more share their pattern with few others.
# Fewer are no help: EM takes more steps with 2,000 rows of 46 features than with 7,600,
# and ends at a lower likelihood after it.
SOME_ROWS = 10_000


def part_of_rows(moments: PatternMoments) -> PatternMoments | None:
    """Return the moments of one in many rows; None where there are not so many."""
    step = len(moments.rows.X) // SOME_ROWS
    return one_row_in(step, moments) if step >= 2 else None


def one_row_in(step: int, moments: PatternMoments) -> PatternMoments:
    """Return the moments of every so manieth row of the patterns kept as rows.

    Those of the patterns kept as moments count for as much less.
    """
    n_rows = len(moments.rows.X)
    rows = moments.rows.take(np.arange(0, n_rows, step))
    chosen = moments.condensed
    condensed = PatternMoments(
        moments.patterns[chosen],
        moments.count[chosen] / step,
        np.arange(len(chosen)),
        moments.condensed_mean,
        moments.condensed_scatter / step,
        moments.rows.take(np.arange(0)),
        np.empty(0, dtype=np.intp),
    )
    return condensed + PatternMoments.from_data(*rows)
