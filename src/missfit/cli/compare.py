"""``missfit compare DATA``: find the best predictor for a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from missfit.cli.options import (
    UsageError,
    add_table_options,
    check_place,
    jobs_of,
    positive,
    read_options,
)
from missfit.terminal import Status, note, note_lines, tell

if TYPE_CHECKING:
    from missfit.comparison.options import CompareOptions

ENOUGH = 0.1  # share of the work from which the time that is left is estimated


def add_compare(commands) -> None:
    """Add `missfit compare DATA --target COLUMN [--out DIR]`."""
    parser = commands.add_parser(
        "compare",
        help="Find the best predictor for a table and write a report.",
        description="Compare predictors on a table by cross-validation, recommend one, "
        "and write a report that can be opened in a browser.",
    )
    add_table_options(parser)
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="NAME",
        help="Do not try this predictor. The option can be given several times.",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="Run all folds of every predictor. Without this option, a slow predictor "
        "is stopped if it is clearly behind after the first folds.",
    )
    parser.add_argument(
        "--out",
        default="missfit-report",
        metavar="FOLDER",
        help="The folder for report.html and results.csv. The default is "
        "missfit-report.",
    )
    _add_sizes(parser)
    parser.set_defaults(command=_compare)


def _add_sizes(parser) -> None:
    """Add the numbers of folds, rows and processes."""
    parser.add_argument(
        "--folds",
        type=positive,
        default=5,
        metavar="N",
        help="The number of folds of the cross-validation. The default is 5.",
    )
    parser.add_argument(
        "--rows",
        type=positive,
        default=20_000,
        metavar="N",
        help="If the table has more rows than this, use this many of them, drawn at "
        "random. The default is 20000.",
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="The number of processes. The default is one per core.",
    )


def _compare(arguments) -> None:
    from missfit.report.table.recommendation import recommendation
    from missfit.workflow.compare import advise

    out = Path(arguments.out)
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file; give a folder.")
    for name in ("report.html", "results.csv"):
        check_place("--out", out / name, [arguments.data])
    with Status() as status:
        status.show(f"reading {arguments.data}")
        show = _TrialTable(status)
        advice = advise(
            arguments.data,
            arguments.target,
            out,
            _options(arguments),
            on_start=show.head,
            on_trial=show.trial,
        )
    tell(f"\n{recommendation(advice.comparison)}")
    tell(f"{advice.report} and {advice.results} written")


def _options(arguments) -> CompareOptions:
    """Return what the command line says about the comparison."""
    from missfit.comparison.options import CompareOptions

    return CompareOptions(
        reading=read_options(arguments),
        group=arguments.group,
        skip=arguments.skip,
        n_folds=arguments.folds,
        max_rows=arguments.rows,
        n_jobs=jobs_of(arguments.jobs),
        seed=arguments.seed,
        all_folds=arguments.all,
    )


class _TrialTable:
    """Prints each trial when it ends and, on a terminal, what is running."""

    def __init__(self, status):
        self.start = time.perf_counter()
        self.status = status
        self.waiting: list = []

    def head(self, comparison, candidates) -> None:
        """Print how the table was read, and the head of the results."""
        self.status.clear()
        self.waiting = list(candidates)
        note_lines((comparison.encoder.reading or comparison.encoder.reading_).table())
        for text in comparison.notes:
            note(text)
        width = max(len(one.name) for one in candidates)
        self.line = f"{{:<{width}}}  {{:>8}}  {{:>19}}  {{:>9}}  {{:>8}}"
        head = self.line.format("predictor", "R2", "95 % interval", "RMSE", "s / fit")
        tell(head)
        self._next(0.0)

    def trial(self, comparison, trial, share: float) -> None:
        """Print the line of a trial."""
        self.status.clear()
        seconds = f"{trial.seconds.mean():.2f}"
        if trial.failure or trial.left_out:
            what = "failed" if trial.failure else "left out"
            tell(self.line.format(trial.name, what, "", "", seconds))
            way_out = "" if trial.failure else "; --all runs them"
            note(f"{trial.name}: {trial.failure or trial.left_out}{way_out}")
        else:
            score = comparison.scores_of([trial])[trial.name]
            ends = f"{score.low:.4f} to {score.high:.4f}"
            values = f"{score.r2:.4f}", ends, f"{score.rmse:.4g}", seconds
            tell(self.line.format(trial.name, *values))
        self.waiting = self.waiting[1:]
        self._next(share)

    def _next(self, share: float) -> None:
        """Show what runs now, and the time that is left once it can be estimated."""
        if not self.waiting:
            self.status.show("finding the reasons for the scores, writing the report")
            return
        left = None
        if share >= ENOUGH:
            left = (time.perf_counter() - self.start) / share * (1 - share)
        self.status.show(f"[{share:4.0%}] {self.waiting[0].name}", left)
