"""``missfit study NAME``: run the paper's study, or one of your own."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from missfit.cli.options import UsageError, check_place, jobs_of, positive
from missfit.terminal import tell


def add_study(commands) -> None:
    """Fill in `missfit study NAME [--out DIR] [--jobs N] ...`."""
    parser = commands.add_parser(
        "study",
        help="run the paper's study, or one of your own; run again to resume",
        description="Run a study: its cells, the tidy table, the figures, the report. "
        "What is finished is kept: the same command goes on where it stopped. A .toml "
        "file is code: it names Python modules, beside it too, that are imported and "
        "run. Run only files that you trust.",
    )
    parser.add_argument("name", nargs="?", help="a name (see --list) or a .toml file")
    parser.add_argument("--out", type=Path, help="folder (default out/NAME)")
    parser.add_argument("--jobs", type=positive, help="cells at a time")
    parser.add_argument("--scheduler", help="address of a Dask scheduler to run on")
    parser.add_argument(
        "--methods",
        nargs="?",
        const="",
        metavar="NAME,...",
        help="run only these (MLP is every MLP); without names, list them",
    )
    parser.add_argument(
        "--max-rows", type=positive, metavar="N", help="leave out larger data sets"
    )
    parser.add_argument(
        "--published", action="store_true", help="mark the published means in figures"
    )
    parser.add_argument(
        "--collect",
        action="store_true",
        help="run nothing: table, figures and report of what is there",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="cells, estimated time and memory"
    )
    parser.add_argument("--list", action="store_true", help="the studies there are")
    parser.set_defaults(command=_study)


def _study(arguments) -> int:
    from missfit import study

    if arguments.list:
        _print_studies(study.study_names())
        return 0
    if arguments.name is None:
        if arguments.methods is None:
            raise UsageError("which study? Give a name (see --list) or a .toml file.")
        if arguments.methods:
            raise UsageError(
                f"which study? --methods {arguments.methods} chooses in one; put its "
                "name first."
            )
    whole = study.load(arguments.name or "paper")
    if arguments.methods == "":
        _print_methods(whole)
        return 0
    names = arguments.methods and [m.strip() for m in arguments.methods.split(",")]
    chosen = whole.only(methods=names, max_rows=arguments.max_rows)
    out = arguments.out or Path("out") / whole.name
    jobs = jobs_of(arguments.jobs)
    if arguments.dry_run:
        _print_cost(chosen, out, jobs)
        return 0
    _check_out(whole, out)
    if not arguments.collect:
        study.run(chosen, out, jobs=jobs, scheduler=arguments.scheduler)
    return _finish_study(whole, out, arguments.published)


def _check_out(item, out: Path) -> None:
    """Raise before any work where the results cannot be written."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file; give a folder.")
    tables = [data.path for data in item.data if hasattr(data, "path")]
    for name in ("results.parquet", "report.html", "findings.md"):
        check_place("--out", out / name, list(dict.fromkeys(tables)))


def _finish_study(whole, out: Path, published: bool) -> int:
    """Write the table, the figures and the report; say how it went."""
    from missfit import study
    from missfit.report.study import write_report

    collected = study.collect(whole, out, published=published)
    report = out / "report.html"
    command = shlex.join(["missfit", *sys.argv[1:]])
    write_report(whole, collected, report, published=published, command=command)
    tell(study.summary(collected.table))
    tell(f"table: {out / 'results.parquet'}, {len(collected.table):,} rows")
    tell(f"report: {report}")
    n_run = collected.n_cells - collected.n_missing
    failed = f"{collected.n_failed:,} failed" if collected.n_failed else "none failed"
    tell(f"{n_run:,} of {collected.n_cells:,} cells run, {failed}")
    return 1 if collected.n_failed else 0


def _print_studies(names: list[str]) -> None:
    from missfit import study

    for name in names:
        item = study.load(name)
        tell(f"{name:<10}{len(item.cells()):>8,} cells   {item.title}")


def _print_methods(item) -> None:
    for name in item.method_names():
        kinds = {m.estimator: None for m in item.methods if m.name == name}
        tell(f"{name:<20}{', '.join(kinds)}")


def _print_cost(chosen, out: Path, jobs: int) -> None:
    from missfit.study.estimate import cost
    from missfit.study.run import pending_cells
    from missfit.terminal import duration

    chosen.check()
    n_cells = len(chosen.cells())
    left = cost(pending_cells(chosen, out), jobs)
    tell(f"{n_cells:,} cells, {n_cells - left.n_cells:,} of them finished in {out}")
    tell(
        f"{left.n_cells - left.n_networks:,} to run on {jobs} cores: about "
        f"{duration(left.seconds)}"
    )
    if left.n_networks:
        tell(
            f"{left.n_networks:,} networks to train: about "
            f"{duration(left.network_seconds)} on a CPU; an accelerator is tens of "
            "times faster"
        )
    tell(f"memory: about {left.n_bytes / 2**30:.1f} GB")
