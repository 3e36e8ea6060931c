"""``missfit compare DATA``: which predictor for this table."""

from __future__ import annotations

import time
from pathlib import Path

from missfit.cli.options import (
    UsageError,
    add_table_options,
    check_place,
    jobs_of,
    positive,
)
from missfit.terminal import Status, note, tell

ENOUGH = 0.1  # share of the work that the time left is told from


def add_compare(commands) -> None:
    """Fill in `missfit compare DATA --target COLUMN [--out DIR]`."""
    parser = commands.add_parser(
        "compare", help="find the predictor for a table; write a report"
    )
    add_table_options(parser)
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="NAME",
        help="a predictor not to try (several times)",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="finish also what is slow and, after the first folds, clearly behind",
    )
    parser.add_argument(
        "--out",
        default="missfit-report",
        help="folder for report.html and results.csv (default missfit-report)",
    )
    parser.add_argument("--folds", type=positive, default=5, help="default 5")
    parser.add_argument(
        "--rows",
        type=positive,
        default=20_000,
        help="use at most so many (default 20000)",
    )
    parser.add_argument(
        "--jobs", type=positive, help="processes (default: one per core)"
    )
    parser.set_defaults(command=_compare)


def _compare(arguments) -> None:
    from missfit.report.table_report import recommendation
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
            drop=arguments.drop,
            categorical=arguments.categorical,
            group=arguments.group,
            skip=arguments.skip,
            n_folds=arguments.folds,
            most_rows=arguments.rows,
            n_jobs=jobs_of(arguments.jobs),
            seed=arguments.seed,
            all_folds=arguments.all,
            on_start=show.head,
            on_trial=show.trial,
        )
    tell(f"\n{recommendation(advice.comparison)}")
    tell(f"{advice.report} and {advice.results} written")


class _TrialTable:
    """Prints trials as they end, and, on a terminal, what is going on meanwhile."""

    def __init__(self, status):
        self.start = time.perf_counter()
        self.status = status
        self.waiting: list = []

    def head(self, comparison, candidates) -> None:
        """Say how the table was read, and print the head of the results."""
        self.status.clear()
        self.waiting = list(candidates)
        for text in [*comparison.notes, *comparison.encoder.describe()]:
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
        """Say what runs now, and how long the rest may take once enough is known."""
        if not self.waiting:
            self.status.show("looking behind the scores, writing the report")
            return
        left = None
        if share >= ENOUGH:
            left = (time.perf_counter() - self.start) / share * (1 - share)
        self.status.show(f"[{share:4.0%}] {self.waiting[0].name}", left)
