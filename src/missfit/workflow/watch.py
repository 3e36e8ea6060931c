"""What is new in the rows to predict: levels, missingness, patterns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.calibration import ALL, TOO_FEW
from missfit.moments.patterns import group_rows, pattern_keys
from missfit.tables.column_reading import Misfits
from missfit.tables.columns import Column, shown
from missfit.tables.reading import frame_columns, refuse_misfits
from missfit.workflow.changes import Seen
from missfit.workflow.model_file import TableModel
from missfit.workflow.verdict import Verdict, verdict

MOST_PATTERNS, MOST_LEVELS = 100_000, 1_000  # that are counted one by one
LEAST_DRIFT = 0.1  # share of the rows; smaller changes are not worth a warning
CERTAIN = 4.0  # standard errors from which a change is not taken for chance


class Watch:
    """Counts what is new in the rows to predict, and says what the user should know.

    Parameters
    ----------
    model : TableModel
        The model that the rows are compared with.
    """

    def __init__(self, model: TableModel):
        self.model = model
        self.n_rows = 0
        d = len(model.columns)
        self.count = np.zeros(d, dtype=np.int64)  # missing, as the model meets it
        self.patterns: Counter[bytes] = Counter()
        self.levels: dict[str, Counter[str]] = {}
        self.misfits: dict[str, Misfits] = {}  # by column
        self.kinds: Counter[str] = Counter()  # what calibrated the intervals
        self.limits = np.full((2, d), np.nan)
        if model.profile is not None:
            self.limits = model.profile.ranges()
        self.beyond = np.zeros((2, d), dtype=np.int64)
        self.ends = np.array([np.full(d, np.inf), np.full(d, -np.inf)])

    def see(
        self, frame: Any, X: NDArray[np.float64], misfits: Sequence[Misfits] = ()
    ) -> None:
        """Count the rows of a chunk: as they were read, as numbers, and what is odd."""
        columns = [column for _, column in frame_columns(frame)]
        self.see_columns(columns, X, misfits)

    def see_columns(
        self,
        columns: Sequence[Column],
        X: NDArray[np.float64],
        misfits: Sequence[Misfits] = (),
    ) -> None:
        """Count rows that are taken apart already."""
        for one in misfits:
            moved = one.after(self.n_rows)
            before = self.misfits.get(one.name)
            self.misfits[one.name] = before + moved if before else moved
        mask = self.model.encoder.mask(X)
        self.n_rows += len(X)
        self.count += mask.sum(axis=0)
        groups = group_rows(mask)
        keys = pattern_keys(groups.patterns).tolist()
        if len(self.patterns) < MOST_PATTERNS:
            self.patterns.update(dict(zip(keys, groups.n_rows.tolist(), strict=True)))
        for name, levels in self.model.encoder.unknown_counts(columns).items():
            known = self.levels.setdefault(name, Counter())
            if len(known) < MOST_LEVELS:
                known.update(levels)
        self._see_ends(X)

    def _see_ends(self, X: NDArray[np.float64]) -> None:
        """Count the values beyond those of the fit, and keep the furthest."""
        first = np.unique(self.model.encoder.variables_, return_index=True)[1]
        values = X[:, first]
        low, high = self.limits
        self.beyond += [(values < low).sum(axis=0), (values > high).sum(axis=0)]
        self.ends[0] = np.fmin(self.ends[0], np.fmin.reduce(values, axis=0))
        self.ends[1] = np.fmax(self.ends[1], np.fmax.reduce(values, axis=0))

    @property
    def n_unseen(self) -> int:
        """Return the number of rows with a pattern never seen at fit."""
        known = self.model.missingness.keys
        return sum(n for key, n in self.patterns.items() if key not in known)

    def seen(self) -> Seen:
        """Return what the tests of `missfit.workflow.changes` compare."""
        strange = np.zeros(len(self.count), dtype=np.int64)
        for name, levels in self.levels.items():
            strange[self.model.columns.index(name)] = sum(levels.values())
        missing = self.count - strange
        return Seen(
            self.n_rows,
            missing,
            self.n_rows - missing,
            self.patterns,
            self.beyond.copy(),
            self.ends.copy(),
            {name: dict(levels) for name, levels in self.levels.items()},
        )

    def verdict(self) -> Verdict:
        """Return what the changes mean for this model; it must have a profile."""
        return verdict(self.model, self.seen())

    def warnings(self) -> Iterator[str]:
        """Yield what the user should know of these rows."""
        yield from self.odd_values()
        yield from self._new_levels()
        drift = list(self._drift())
        yield from drift
        if drift and self.model.profile is not None:
            yield self.verdict().words()
        yield from self._weak_intervals()

    def refuse_misfits(self) -> None:
        """Raise where half of the values of a column or more do not fit its kind."""
        observed = self.n_rows - self.count
        for name, one in self.misfits.items():
            n_observed = int(observed[self.model.columns.index(name)]) + one.n_rows
            refuse_misfits([one._replace(n_observed=n_observed)])

    def odd_values(self) -> Iterator[str]:
        """Yield what does not fit its column."""
        for name, one in self.misfits.items():
            yield (
                f"column {shown(name)} has {one}, taken as missing: correct them, or "
                "leave them empty"
            )

    def _new_levels(self) -> Iterator[str]:
        for name, levels in self.levels.items():
            some = ", ".join(shown(level) for level in sorted(levels)[:3])
            more = f" and {len(levels) - 3} more" if len(levels) > 3 else ""
            yield (
                f"column {shown(name)} has levels never seen at fit ({some}{more}), "
                "taken as missing: correct them, or fit again with rows that hold them"
            )

    def _weak_intervals(self) -> Iterator[str]:
        if self.kinds[TOO_FEW]:
            yield (
                f"the intervals of {self.kinds[TOO_FEW]:,} rows are infinite, since "
                "the model was fitted to too few rows (or groups) for its coverage: "
                "fit again with more of them, or with a lower coverage"
            )
        if self.kinds[ALL] > LEAST_DRIFT * self.n_rows:
            yield (
                f"{self.kinds[ALL] / self.n_rows:.0%} of these rows have a combination "
                "of missing columns so rare at fit that their intervals hold only if "
                "which values are missing does not depend on the values: fit again "
                "with more rows like these"
            )

    def _drift(self) -> Iterator[str]:
        old = self.model.missingness
        if not self.n_rows:
            return
        for j, name in enumerate(self.model.columns):
            change = _change(old.count[j], old.n_rows, self.count[j], self.n_rows)
            if change:
                yield (
                    f"column {shown(name)} is missing in {change[1]:.0%} of these "
                    f"rows, in {change[0]:.0%} at fit: the missingness has drifted. "
                    "Find out why; if it stays, fit again with rows like these"
                )
        change = _change(old.n_single, old.n_rows, self.n_unseen, self.n_rows)
        if change and change[1] > change[0]:
            yield (
                f"{change[1]:.0%} of these rows have a combination of missing columns "
                f"never seen at fit ({change[0]:.0%} were to be expected)"
            )


def _change(old: int, n_old: int, new: int, n_new: int) -> tuple[float, float] | None:
    """Return both shares where they differ by more than chance and more than a little.

    >>> _change(100, 1000, 400, 1000), _change(100, 1000, 2, 3)
    ((0.1, 0.4), None)
    """
    p, q = old / n_old, new / n_new
    pooled = (old + new) / (n_old + n_new)
    error = np.sqrt(pooled * (1 - pooled) * (1 / n_old + 1 / n_new))
    if abs(p - q) < LEAST_DRIFT or abs(p - q) < CERTAIN * error:
        return None
    return float(p), float(q)
