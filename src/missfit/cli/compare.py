"""``missfit compare DATA``: find the best predictor for a table."""

from __future__ import annotations

import shlex
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from missfit.cli.options import (
    UsageError,
    add_table_options,
    check_place,
    jobs_of,
    names,
    positive,
    read_options,
    seconds,
)
from missfit.terminal import Status, note, tell

if TYPE_CHECKING:
    from missfit.comparison.options import CompareOptions

FILES = ("report.html", "results.csv", "missfit.json")
INTERRUPTED = 130


def add_compare(commands) -> None:
    """Add `missfit compare DATA --target COLUMN [--out DIR]`."""
    parser = commands.add_parser(
        "compare",
        help="Find the best predictor for a table and write a report. Run it again "
        "to resume it.",
        description="Compare predictors on a table by cross-validation, recommend one, "
        "and write a report that can be opened in a browser. Predictors that take "
        "little time come first. Each finished fit is kept: after Ctrl-C, which "
        "writes the report of what is there, or after any other end, the same command "
        "goes on where it stopped.",
    )
    add_table_options(parser)
    _add_choice(parser)
    parser.add_argument(
        "--out",
        default="missfit-report",
        metavar="FOLDER",
        help="The folder for report.html, results.csv and the finished fits. The "
        "default is missfit-report.",
    )
    _add_sizes(parser)
    parser.set_defaults(command=_compare)


def _add_choice(parser) -> None:
    """Add the options that choose predictors and limit their time."""
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAMES",
        help="Try only these predictors: one name, or several with commas between "
        "them. The option can be given several times.",
    )
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="NAMES",
        help="Do not try these predictors: one name, or several with commas between "
        "them. The option can be given several times.",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="Get an answer in less than a minute: try a few good predictors on fewer "
        "rows and folds.",
    )
    parser.add_argument(
        "--budget",
        type=seconds,
        metavar="TIME",
        help="The time that the comparison and its report may take, such as 90s, 10m "
        "or 1h; a number without a unit means seconds. A predictor that would take "
        "longer, as a fit to a small part of the rows shows, is left out and named. "
        "The default is 150 seconds, or 1 second for each 1,000 values of the table "
        "if that is longer.",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="Run all folds of every predictor, however long that takes. Without this "
        "option, a slow predictor is stopped if it is clearly behind after the first "
        "folds.",
    )


def _add_sizes(parser) -> None:
    """Add the numbers of folds, rows and processes."""
    parser.add_argument(
        "--folds",
        type=positive,
        metavar="N",
        help="The number of folds of the cross-validation. The default is 5, or 3 with "
        "--quick.",
    )
    parser.add_argument(
        "--rows",
        type=positive,
        metavar="N",
        help="If the table has more rows than this, use this many of them, drawn at "
        "random. The default is 20000, or 3000 with --quick.",
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="The number of processes. The default is one per core.",
    )


def _compare(arguments) -> int:
    from missfit.cli.said import fit_line, said_of_table, write_said
    from missfit.cli.trial_table import TrialTable
    from missfit.report.table.recommendation import recommendation
    from missfit.workflow.compare import advise

    out = Path(arguments.out)
    _check_out(out, arguments.data)
    options = _options(arguments)
    with Status() as status, _terminated_as_interrupted():
        status.show(f"reading {arguments.data}")
        show = TrialTable(status)
        try:
            advice = advise(
                arguments.data,
                arguments.target,
                out,
                options,
                on_start=show.head,
                on_trial=show.trial,
                command=shlex.join(["missfit", *arguments.argv]),
            )
        except KeyboardInterrupt:
            if (out / "parts").exists():
                _say_how_to_go_on()
            raise
        chosen, said = advice.comparison.recommended, said_of_table(arguments.argv)
        write_said(out, said, chosen)
    tell(f"\n{recommendation(advice.comparison)}")
    tell(f"{advice.report} and {advice.results} written")
    tell("To fit it to the whole table:")
    tell(f"  {fit_line(arguments.data, said, chosen, out / 'model.skops')}")
    if not advice.is_whole:
        note("interrupted")
        _say_how_to_go_on()
        return INTERRUPTED
    return 0


def _say_how_to_go_on() -> None:
    note("finished fits are kept: give the same command again to go on from here")


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Take SIGTERM as an interrupt, so that a report is written then, too."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old)


def _check_out(out: Path, data: str) -> None:
    """Raise where the results cannot be written, before any work is done."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file; give a folder.")
    for name in FILES:
        check_place("--out", out / name, [data])


def _options(arguments) -> CompareOptions:
    """Return what the command line says about the comparison."""
    from missfit.comparison.options import QUICK, CompareOptions

    sizes = {
        "n_folds": arguments.folds,
        "max_rows": arguments.rows,
        "budget": arguments.budget,
    }
    given = {name: value for name, value in sizes.items() if value is not None}
    return CompareOptions(
        **((QUICK if arguments.quick else {}) | given),
        reading=read_options(arguments),
        group=arguments.group,
        time=arguments.time,
        only=names(arguments.only),
        quick=arguments.quick,
        skip=names(arguments.skip),
        n_jobs=jobs_of(arguments.jobs),
        seed=arguments.seed,
        all_folds=arguments.all,
    )
