"""From a table in a file to a report: which predictor, how good, where it fails."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from missfit.compare import Comparison, Diagnosis, Trial, compare_table, diagnose
from missfit.compare.candidates import CANDIDATES, Candidate, candidate
from missfit.report.page import write_page
from missfit.report.snippet import reproducing_code
from missfit.report.table_report import table_report
from missfit.tables.training import read_training
from missfit.writing import whole_file

LEAST_ROWS = 50


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
    *,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    group: str | None = None,
    skip: Sequence[str] = (),
    n_folds: int = 5,
    most_rows: int = 20_000,
    n_jobs: int = 1,
    seed: int = 0,
    all_folds: bool = False,
    on_start: Callable[[Comparison, Sequence[Candidate]], None] | None = None,
    on_trial: Callable[[Comparison, Trial, float], None] | None = None,
) -> Advice:
    """Compare all predictors on a table; write report.html and results.csv to a folder.

    Parameters
    ----------
    data : str or Path
        CSV, Parquet or Feather.
    target : str
        The column to predict.
    out : str or Path
        Folder for the files.
    drop, categorical : sequence of str
        Columns to leave out, and to take as categories whatever they look like.
    group : str, optional
        Column whose equal values stay in one fold.
    skip : sequence of str
        Names of candidates not to try.
    n_folds, most_rows, n_jobs, seed : int
        As in `missfit.compare.compare_table`.
    all_folds : bool
        Finish predictors that are slow and clearly behind, too.
    on_start, on_trial : callable, optional
        As in `missfit.compare.compare_table`.
    """
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"--out {out} is a file; give a folder.")
    if n_folds < 2:
        raise ValueError(f"{n_folds} folds; at least 2.")
    if most_rows < LEAST_ROWS:
        raise ValueError(
            f"{most_rows} rows to draw; at least {LEAST_ROWS} are needed to compare."
        )
    tried = _tried(skip)
    table = read_training(
        data,
        target,
        drop=drop,
        categorical=categorical,
        group=group,
        least_rows=LEAST_ROWS,
    )
    n_rows = min(len(table.y), most_rows)
    if n_folds > n_rows:
        raise ValueError(
            f"{n_folds} folds of {n_rows} rows; give at most one fold per row."
        )
    comparison = compare_table(
        table,
        tried,
        categorical=categorical,
        n_folds=n_folds,
        most_rows=most_rows,
        n_jobs=n_jobs,
        seed=seed,
        all_folds=all_folds,
        on_start=on_start,
        on_trial=on_trial,
    )
    diagnosis = diagnose(comparison, n_jobs=n_jobs)
    code = reproducing_code(
        comparison,
        data,
        left_out=drop,
        group=group,
        categorical=categorical,
    )
    write_page(out / "report.html", table_report(comparison, diagnosis, code))
    _write_results(out / "results.csv", comparison)
    return Advice(comparison, diagnosis, out / "report.html", out / "results.csv")


def _tried(skip: Sequence[str]) -> list[Candidate]:
    """Return the candidates to try: without those to skip, or that lack an extra."""
    skipped = {candidate(name).name for name in skip}
    if find_spec("jax") is None or find_spec("optax") is None:
        skipped |= {one.name for one in CANDIDATES if one.fit_many is not None}
    tried = [one for one in CANDIDATES if one.name not in skipped]
    if not tried:
        raise ValueError("every predictor is skipped; leave at least one.")
    return tried


def _write_results(path: Path, comparison: Comparison) -> None:
    rows = list(comparison.fold_rows())
    with (
        whole_file(path) as part,
        part.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
