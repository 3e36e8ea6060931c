"""From a table in a file to a report: which predictor, how good, where it fails."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import numpy as np

from missfit.comparison import (
    CompareOptions,
    Comparison,
    Diagnosis,
    FitStore,
    Trial,
    compare_table,
    diagnose,
)
from missfit.comparison.candidates import Candidate
from missfit.comparison.costs import GROWTH
from missfit.comparison.diagnosis import (
    IMPORTANCE_SECONDS,
    errors_by_count,
    errors_by_pattern,
)
from missfit.comparison.learning_curve import has_curve
from missfit.comparison.offers import Offer, offer_of
from missfit.comparison.options import LEAST_ROWS
from missfit.comparison.own import check_names, chosen, refuse_without_shares
from missfit.comparison.trials import REFITS, drawn_rows
from missfit.report.page import write_page
from missfit.report.table.code import reproducing_code
from missfit.report.table.report import table_report
from missfit.tables.training import TrainingTable, read_training
from missfit.workflow.provenance import provenance_of
from missfit.workflow.saved_fits import SavedFits
from missfit.writing import whole_file

FIRST_LOOK = 15.0  # seconds that the report after an interrupt may take
LEAST_ROWS_DRAWN = 400  # that the report of a hurry rests on, beside the scores


class Advice(NamedTuple):
    """What `advise` found, and the files that it wrote.

    Attributes
    ----------
    comparison : Comparison
    diagnosis : Diagnosis
    report, results : Path
        The files.
    is_whole : bool
        Whether every candidate was tried or judged; not after an interrupt.
    """

    comparison: Comparison
    diagnosis: Diagnosis
    report: Path
    results: Path
    is_whole: bool = True


def advise(
    data: str | Path,
    target: str,
    out: str | Path,
    options: CompareOptions | None = None,
    *,
    on_start: Callable[[Comparison, Sequence[Candidate]], None] | None = None,
    on_trial: Callable[[Comparison, Trial, float | None], None] | None = None,
    command: str = "",
) -> Advice:
    """Compare predictors on a table; write report.html and results.csv to a folder.

    Each finished fit is kept in the folder ``parts`` there, and the same call goes on
    where an earlier one was stopped. A comparison that comes to its end removes the
    fits that the folder holds of other tables and options; their report and results are
    kept as report-before.html and results-before.csv. An interrupt
    (`KeyboardInterrupt`) ends the comparison, and the report is written of what is
    there, if there is anything.

    Parameters
    ----------
    data : str or Path
        The table, a file that `missfit.tables.training.read_training` reads.
    target : str
        The column to predict.
    out : str or Path
        The folder that the files are written to.
    options : CompareOptions, optional
        Which columns are used, and how the predictors are compared.
    on_start, on_trial : callable, optional
        Called as by `missfit.comparison.compare_table`.
    command : str
        The command or call that asked for this; the report shows it.
    """
    start = monotonic()
    options, out = options or CompareOptions(), Path(out)
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file; give a folder.")
    options.check()
    check_names(options.only, options.skip)
    table = _table(data, target, options)
    tried = chosen_candidates(options, offer_of(table.classes))
    clock = Clock(options.seconds_for(*table.X.shape), start)
    store = SavedFits(out / "parts")
    comparison, is_whole = interruptible(
        table,
        tried,
        replace(options, budget=clock.left),
        store=store,
        on_start=on_start,
        on_trial=on_trial,
    )
    if not is_whole:
        clock = Clock(FIRST_LOOK)
    try:
        diagnosis = _diagnosis(comparison, options.n_jobs, clock.left)
    except KeyboardInterrupt:
        if not is_whole:  # the second time
            raise
        is_whole, diagnosis = False, _diagnosis(comparison, 1, FIRST_LOOK)
    code = reproducing_code(comparison, data, options)
    seconds = monotonic() - start
    origin = provenance_of(data, comparison, command=command, seconds=seconds)
    page = table_report(comparison, diagnosis, code, origin=origin)
    files = out / "report.html", out / "results.csv"
    if not store.report_is_of_this:
        for path in files:
            _keep(path)
    write_page(files[0], page)
    _write_results(files[1], comparison)
    store.say_reported()
    if is_whole:
        store.forget_others()
    return Advice(comparison, diagnosis, *files, is_whole)


def _keep(path: Path) -> None:
    """Rename what a comparison of something else has written, if it is there."""
    if path.exists():
        path.replace(path.with_name(f"{path.stem}-before{path.suffix}"))


class Clock:
    """The time that is left of a budget; without one there is no end."""

    def __init__(self, seconds: float | None, start: float | None = None):
        start = monotonic() if start is None else start
        self.end = None if seconds is None else start + seconds

    @property
    def left(self) -> float | None:
        """Return the seconds that are left, None without an end."""
        return None if self.end is None else max(0.0, self.end - monotonic())


def interruptible(
    table: TrainingTable,
    candidates: Sequence[Candidate],
    options: CompareOptions,
    *,
    store: FitStore | None = None,
    on_start: Callable[[Comparison, Sequence[Candidate]], None] | None = None,
    on_trial: Callable[[Comparison, Trial, float | None], None] | None = None,
) -> tuple[Comparison, bool]:
    """Return a comparison, and whether it came to its end.

    After an interrupt it holds what was finished. Where that is nothing, the interrupt
    goes on.
    """
    begun: list[Comparison] = []

    def start(whole: Comparison, queue: Sequence[Candidate]) -> None:
        begun.append(whole)
        if on_start:
            on_start(whole, queue)

    try:
        found = compare_table(
            table, candidates, options, store=store, on_start=start, on_trial=on_trial
        )
        return found, True
    except KeyboardInterrupt:
        if not (begun and begun[0].sound):
            raise
    found, nothing = begun[0], begun[0].task.nothing(len(begun[0].y))
    done = {trial.name for trial in found.trials}
    for one in candidates:
        if one.name not in done:
            why = "not finished before the comparison was interrupted"
            found.trials.append(Trial(one, nothing, np.empty(0), left_out=why))
            if on_trial:
                on_trial(found, found.trials[-1], None)
    return found, False


def _diagnosis(comparison: Comparison, n_jobs: int, seconds: float | None) -> Diagnosis:
    """Return what lies behind a comparison, from fewer rows where there is no time."""
    if seconds is None:
        return diagnose(comparison, n_jobs=n_jobs)
    n_rows, end = len(comparison.y), monotonic() + seconds
    fit = comparison.trial(comparison.recommended).fit_seconds or 0.0
    # the rows that a fit can take, by the growth of its time
    share = (seconds / (REFITS * fit)) ** (1 / GROWTH) if fit else 1.0
    n_drawn = max(LEAST_ROWS_DRAWN, int(min(1.0, share) * n_rows))
    limit = min(IMPORTANCE_SECONDS, seconds / REFITS)
    if n_drawn >= n_rows:
        found = diagnose(
            comparison,
            n_jobs=n_jobs,
            with_curve=share >= 1,
            seconds=limit,
            end=end,
        )
        if not found.curve and has_curve(comparison):
            comparison.notes.append("to save time, there is no learning curve")
        return found
    comparison.notes.append(
        f"to save time, what the report shows beside the scores rests on {n_drawn:,} "
        "rows drawn at random, and there is no learning curve"
    )
    rows = drawn_rows(n_rows, n_drawn, comparison.seed)
    part = comparison.at_rows(rows)
    found = diagnose(part, n_jobs=n_jobs, with_curve=False, seconds=limit)
    rate = dict(zip(comparison.names, comparison.mask.mean(axis=0), strict=True))
    return replace(
        found,
        # shares of the whole table, as everywhere else in the report
        masks=[one._replace(rate=float(rate[one.name])) for one in found.masks],
        by_count=errors_by_count(comparison),
        by_pattern=errors_by_pattern(comparison),
    )


def _table(data: str | Path, target: str, options: CompareOptions) -> TrainingTable:
    """Read a table that has enough rows for the folds."""
    table = read_training(
        data,
        target,
        options.reading,
        group=options.group,
        time=options.time,
        least_rows=LEAST_ROWS,
    )
    options.check_rows(len(table.y))
    return table


def chosen_candidates(
    options: CompareOptions, offer: Offer, own: Sequence[Candidate] = ()
) -> list[Candidate]:
    """Return the candidates whose packages are installed and that are to be tried.

    Those of the user come first.

    >>> options = CompareOptions(only=["EMLR", "ExpandedLR"], skip=["EMLR"])
    >>> [one.name for one in chosen_candidates(options, offer_of(None))]
    ['ExpandedLR']
    """
    if offer.gives_shares:
        refuse_without_shares(own)
    there = list(offer.candidates)
    if find_spec("jax") is None or find_spec("optax") is None:
        there = [one for one in there if one.fit_many is None]
    offer.refuse_others([*options.only, *options.skip])
    only = options.only or (offer.quick if options.quick else ())
    if not options.only and only:
        only = [*(one.name for one in own), *only]
    return chosen([*own, *there], only, options.skip)


def _write_results(path: Path, comparison: Comparison) -> None:
    """Write the scores of each candidate and fold as CSV, whole or not at all."""
    rows = list(comparison.fold_rows())
    with (
        whole_file(path) as part,
        part.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
