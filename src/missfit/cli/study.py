"""``missfit study NAME``: run the paper's study, or one of your own."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from missfit.cli.options import UsageError, check_place, jobs_of, positive
from missfit.terminal import tell


def add_study(commands) -> None:
    """Add `missfit study NAME [--out DIR] [--jobs N] ...`."""
    parser = commands.add_parser(
        "study",
        help="Run the paper's study, or one of your own. Run it again to resume it.",
        description="Run all cells of a study, and write its table, its figures and "
        "its report. Finished cells are kept: the same command goes on where it "
        "stopped. A .toml file is code: it names Python modules, also modules beside "
        "it, that are imported and run. Run only files that you trust.",
    )
    parser.add_argument(
        "name",
        nargs="?",
        help="The name of a study (see --list), or a .toml file.",
    )
    parser.add_argument(
        "--list", action="store_true", help="List the studies that can be named."
    )
    _add_choice(parser)
    _add_run(parser)
    parser.set_defaults(command=_study)


def _add_choice(parser) -> None:
    """Add the options that choose some cells of a study."""
    parser.add_argument(
        "--methods",
        nargs="?",
        const="",
        metavar="NAME,...",
        help="Run only these methods; MLP stands for every MLP. Without names, list "
        "the methods of the study.",
    )
    parser.add_argument(
        "--max-rows",
        type=positive,
        metavar="N",
        help="Leave out data sets with more than N rows.",
    )


def _add_run(parser) -> None:
    """Add the options that say how a study is run, and what is written."""
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="The folder to write to. The default is out/NAME.",
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="The number of cells that run at a time. The default is one per core.",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="The address of a Dask scheduler to run the cells on.",
    )
    parser.add_argument(
        "--published",
        action="store_true",
        help="Mark the published means in the figures.",
    )
    parser.add_argument(
        "--collect",
        action="store_true",
        help="Run nothing, and write the table, the figures and the report of the "
        "cells that are finished.",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="Run nothing, and print the number of cells and the estimated time and "
        "memory.",
    )


def _study(arguments) -> int:
    from missfit import study

    if arguments.list:
        _print_studies(study.study_names())
        return 0
    _check_name(arguments)
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


def _check_name(arguments) -> None:
    """Raise where no study is named; only a list of methods needs none."""
    if arguments.name is not None or arguments.methods == "":
        return
    if arguments.methods is None:
        raise UsageError("which study? Give a name (see --list) or a .toml file.")
    raise UsageError(
        f"which study? --methods {arguments.methods} chooses methods of a study; put "
        "the name of the study first."
    )


def _check_out(item, out: Path) -> None:
    """Raise where the results cannot be written, before any work is done."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file; give a folder.")
    tables = [data.path for data in item.data if hasattr(data, "path")]
    for name in ("results.parquet", "report.html", "findings.md"):
        check_place("--out", out / name, list(dict.fromkeys(tables)))


def _finish_study(whole, out: Path, published: bool) -> int:
    """Write the table, the figures and the report; print a summary."""
    from missfit import study
    from missfit.report.study import write_report

    collected = study.collect(whole, out, published=published)
    report = out / "report.html"
    command = shlex.join(["missfit", *sys.argv[1:]])
    write_report(whole, collected, report, published=published, command=command)
    tell(study.summary(collected))
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
