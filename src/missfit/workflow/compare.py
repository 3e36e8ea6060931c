"""From a table in a file to a report: which predictor, how good, where it fails."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from missfit.comparison import (
    CompareOptions,
    Comparison,
    Diagnosis,
    Trial,
    compare_table,
    diagnose,
)
from missfit.comparison.candidates import CANDIDATES, Candidate, candidate
from missfit.comparison.options import LEAST_ROWS
from missfit.report.page import write_page
from missfit.report.table.code import reproducing_code
from missfit.report.table.report import table_report
from missfit.tables.training import TrainingTable, read_training
from missfit.workflow.provenance import provenance_of
from missfit.writing import whole_file


class Advice(NamedTuple):
    """What `advise` found, and the files that it wrote."""

    comparison: Comparison
    diagnosis: Diagnosis
    report: Path
    results: Path


def advise(
    data: str | Path,
    target: str,
    out: str | Path,
    options: CompareOptions | None = None,
    *,
    on_start: Callable[[Comparison, Sequence[Candidate]], None] | None = None,
    on_trial: Callable[[Comparison, Trial, float], None] | None = None,
    command: str = "",
) -> Advice:
    """Compare all predictors on a table; write report.html and results.csv to a folder.

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
    start = time.perf_counter()
    options, out = options or CompareOptions(), Path(out)
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file; give a folder.")
    options.check()
    tried = candidates_without(options.skip)
    table = _table(data, target, options)
    comparison = compare_table(
        table, tried, options, on_start=on_start, on_trial=on_trial
    )
    diagnosis = diagnose(comparison, n_jobs=options.n_jobs)
    code = reproducing_code(comparison, data, options)
    seconds = time.perf_counter() - start
    origin = provenance_of(data, table, command=command, seconds=seconds)
    page = table_report(comparison, diagnosis, code, origin=origin)
    write_page(out / "report.html", page)
    _write_results(out / "results.csv", comparison)
    return Advice(comparison, diagnosis, out / "report.html", out / "results.csv")


def _table(data: str | Path, target: str, options: CompareOptions) -> TrainingTable:
    """Read a table that has enough rows for the folds."""
    table = read_training(
        data,
        target,
        drop=options.drop,
        categorical=options.categorical,
        group=options.group,
        least_rows=LEAST_ROWS,
    )
    options.check_rows(len(table.y))
    return table


def candidates_without(skip: Sequence[str]) -> list[Candidate]:
    """Return the candidates whose packages are installed, without those to skip."""
    skipped = {candidate(name).name for name in skip}
    if find_spec("jax") is None or find_spec("optax") is None:
        skipped |= {one.name for one in CANDIDATES if one.fit_many is not None}
    tried = [one for one in CANDIDATES if one.name not in skipped]
    if not tried:
        raise ValueError("every predictor is skipped; leave at least one.")
    return tried


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
