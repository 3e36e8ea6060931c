"""The fits of candidates to the folds of a comparison, in parallel; each is kept."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor

from missfit.comparison.candidates import Candidate
from missfit.comparison.fits import Fit, fit_and_predict, fit_batch
from missfit.comparison.results import Comparison
from missfit.comparison.store import FitStore
from missfit.processes import quiet_restarts


class FoldFits:
    """Fits candidates to folds, and gives each fit to the store as soon as it ends.

    It is a context that holds the processes.

    Parameters
    ----------
    whole : Comparison
    n_jobs : int
        Number of processes.
    store : FitStore, optional
        Where fits are kept; those that it has are not made again.
    """

    def __init__(self, whole: Comparison, n_jobs: int, store: FitStore | None = None):
        self.whole, self.n_jobs, self.store = whole, n_jobs, store
        self._parallel: Any = Parallel(n_jobs, return_as="generator_unordered")

    def __enter__(self) -> FoldFits:
        with ExitStack() as entered:
            entered.enter_context(quiet_restarts())
            entered.enter_context(self._parallel)
            self._entered = entered.pop_all()
        return self

    def __exit__(self, kind, *error) -> None:
        self._entered.__exit__(kind, *error)
        if kind is not None and self.n_jobs > 1:
            # an interrupt: what runs in the processes would go on beside the report
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of workers that stopped
                get_reusable_executor().shutdown(wait=False, kill_workers=True)

    def of(self, one: Candidate, folds: range) -> list[Fit]:
        """Return the fits of a candidate to the rows outside each of some folds."""
        if not folds:
            return []
        if one.fit_many is not None:  # networks of all folds train as one batch
            part = _batch_name(folds)
            fits = self._known(one, part, folds)
            if fits is None:
                fits = self._batch(one, folds)
                self._keep(one, part, fits)
            return fits
        known = {k: self._known(one, f"fold {k}", [k]) for k in folds}
        found = {k: fits[0] for k, fits in known.items() if fits is not None}
        for k, fit in self._each(one, [k for k in folds if k not in found]):
            self._keep(one, f"fold {k}", [fit])
            found[k] = fit
        return [found[k] for k in folds]

    def has(self, one: Candidate) -> bool:
        """Return whether the store has the fits of a candidate to all folds."""
        folds = range(self.whole.n_folds)
        if one.fit_many is not None:
            return self._known(one, _batch_name(folds), folds) is not None
        return all(self._known(one, f"fold {k}", [k]) is not None for k in folds)

    def small(self, one: Candidate, n_rows: int) -> Fit:
        """Return a fit to some rows that are drawn, which tells the time it takes.

        It predicts as many other rows as a fold beside so few rows would have.
        """
        part = f"{n_rows} rows"
        fits = None if self.store is None else self.store.load(one, part)
        if fits is None:
            X, y, test, seed, groups, task = self._drawn(n_rows)
            if one.fit_many is not None:
                fits = fit_batch(one, [X], y, [test], seed, task)
            else:
                call = delayed(fit_and_predict)(one, X, y, test, seed, groups, task)
                fits = list(self._parallel([call]))
            self._keep(one, part, fits)
        return fits[0]

    def _drawn(self, n_rows: int) -> tuple:
        """Return what `fit_and_predict` takes: so many training rows, and some more."""
        whole = self.whole
        order = np.random.default_rng(whole.seed).permutation(len(whole.y))
        rows = np.sort(order[: n_rows + n_rows // whole.n_folds])  # as in time
        groups = None if whole.fit_groups is None else whole.fit_groups[rows]
        test = np.arange(len(rows)) >= n_rows
        X, y = whole.X[rows], whole.y[rows]
        return X, y, test, whole.seed, groups, whole.task

    def _batch(self, one: Candidate, folds: range) -> list[Fit]:
        whole = self.whole
        tests = [whole.fold == k for k in folds]
        tables = [whole.fold_tables[k] for k in folds]
        return fit_batch(one, tables, whole.y, tests, whole.seed, whole.task)

    def _each(self, one: Candidate, folds: Iterable[int]) -> Iterator[tuple[int, Fit]]:
        """Yield the number of a fold and its fit, in the order in which they end."""
        yield from self._parallel(
            delayed(_numbered)(k, one, *self.whole.examples(k)) for k in folds
        )

    def _known(self, one: Candidate, part: str, folds: Sequence[int]):
        """Return the fits that the store has, None where one is not of this table."""
        fits = None if self.store is None else self.store.load(one, part)
        if fits is None or len(fits) != len(folds):
            return None
        sizes = [int((self.whole.fold == k).sum()) for k in folds]
        same = [
            np.shape(fit.predictions) == self.whole.task.nothing(n).shape
            for fit, n in zip(fits, sizes, strict=True)
        ]
        return fits if all(same) else None

    def _keep(self, one: Candidate, part: str, fits: Sequence[Fit]) -> None:
        if self.store is not None:
            self.store.save(one, part, fits)


def _numbered(k: int, *arguments: Any) -> tuple[int, Fit]:
    return k, fit_and_predict(*arguments)


def _batch_name(folds: range) -> str:
    return "folds " + " ".join(map(str, folds))
