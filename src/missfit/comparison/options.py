"""What a comparison may be told: columns, folds, rows, processes and a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from missfit.tables.options import ReadOptions

# Seconds of a comparison for which no budget is given: so many for a table of up to
# 150,000 values, and one more for each 1,000 values beyond.
SHORTEST, VALUES_PER_SECOND = 150.0, 1000
# What `quick` means beside the candidates: 34 seconds on 20,000 rows of 30 columns and
# 2 idle cores (benchmarks/deadline.py).
QUICK = {"n_folds": 3, "max_rows": 3_000, "budget": 50.0}
LEAST_ROWS = 50  # of a table to compare: 10 in each test fold of the default 5


@dataclass(frozen=True)
class CompareOptions:
    """How predictors are compared on a table.

    Attributes
    ----------
    reading : ReadOptions
        How a file is read: columns that are left out or are categories, marks of
        missing values, and the like. For a table that has been read already, only its
        categories count.
    group : str, optional
        Column of a file that names the group of each row; the rows of one group are in
        one fold. A table that has been read already holds its groups.
    time : str, optional
        Column of a file that holds the time of each row; each fold is then predicted
        from the rows before it. A table that has been read already holds its times.
    only, skip : sequence of str
        Names of the candidates that are tried (all if empty), and of those that are
        not.
    quick : bool
        Whether only a few candidates are tried, where ``only`` names none: those that
        are cheap, or the best on most tables. `missfit.compare` and the command line
        also take the folds, the rows and the budget of `QUICK` then.
    n_folds : int
        Number of folds of the cross-validation.
    max_rows : int
        A table with more rows is compared on this many of them, drawn by
        `missfit.comparison.trials.drawn_rows`.
    n_jobs : int
        Number of processes.
    seed : int
        Seed of the folds, of the rows that are drawn and of the candidates.
    all_folds : bool
        Whether a slow candidate is fitted to all folds even if its first folds show
        that it is clearly behind.
    budget : float, optional
        Seconds for the whole comparison and its report. A candidate that would take
        longer than what is left is not tried. See `seconds_for`.

    Examples
    --------
    >>> CompareOptions(skip=["NeuMiss"], n_folds=3).n_folds
    3
    """

    reading: ReadOptions = field(default_factory=ReadOptions)
    group: str | None = None
    time: str | None = None
    only: Sequence[str] = ()
    skip: Sequence[str] = ()
    n_folds: int = 5
    max_rows: int = 20_000
    n_jobs: int = 1
    seed: int = 0
    all_folds: bool = False
    budget: float | None = None
    quick: bool = False

    def seconds_for(self, n_rows: int, n_columns: int) -> float | None:
        """Return how long the comparison of such a table may take, None for any time.

        >>> [CompareOptions().seconds_for(n, 30) for n in (100, 10_000, 10_000_000)]
        [150.0, 300.0, 600.0]
        """
        if self.budget is not None or self.all_folds:
            return self.budget
        n_values = min(n_rows, self.max_rows) * n_columns
        return max(SHORTEST, n_values / VALUES_PER_SECOND)

    def check(self) -> None:
        """Raise a ValueError where no table could be compared like this."""
        if self.n_folds < 2:
            raise ValueError(f"{self.n_folds} folds; at least 2 are needed.")
        if self.max_rows < LEAST_ROWS:
            raise ValueError(
                f"{self.max_rows} rows to draw; at least {LEAST_ROWS} are needed to "
                "compare predictors."
            )

    def check_rows(self, n_rows: int) -> None:
        """Raise a ValueError where a table of this many rows has too few for folds."""
        n_rows = min(n_rows, self.max_rows)
        if self.n_folds > n_rows:
            raise ValueError(
                f"{self.n_folds} folds of {n_rows} rows; give at most one fold per row."
            )
