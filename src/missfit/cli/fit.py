"""``missfit fit DATA``: learn from a table and write a model file."""

from __future__ import annotations

from pathlib import Path

from missfit.cli.options import (
    UsageError,
    add_table_options,
    check_new_file,
    read_options,
)
from missfit.cli.suspicions import show_suspicions
from missfit.terminal import Status, note, note_lines, tell


def add_fit(commands) -> None:
    """Add `missfit fit DATA --target COLUMN --model FILE`."""
    from missfit.comparison.candidates import CANDIDATES, DEFAULT

    known = [one.name for one in CANDIDATES]
    parser = commands.add_parser(
        "fit",
        help="Learn from a table and write a model file.",
        description="Fit a predictor and its prediction intervals to a table, and "
        "write them to a model file for missfit predict.",
    )
    add_table_options(parser, needs_target=False)
    parser.add_argument(
        "--from",
        dest="report",
        metavar="FOLDER",
        help="The folder of a report of missfit compare: take the target, the "
        "recommended predictor and the options of the table from there. Options that "
        "are given here as well count instead of those of the report.",
    )
    parser.add_argument(
        "--model", required=True, metavar="FILE", help="The model file to write."
    )
    parser.add_argument(
        "--predictor",
        metavar="NAME",
        choices=known,
        help="The predictor to fit. The default is the recommended one of a report "
        f"(--from), or {DEFAULT}; the choices are {', '.join(known)}.",
    )
    parser.add_argument(
        "--coverage",
        type=float,
        default=0.9,
        metavar="SHARE",
        help="The share of new rows that the prediction intervals should cover. The "
        "default is 0.9.",
    )
    parser.set_defaults(command=_fit)


def _fit(arguments) -> None:
    from missfit.suspicions import find_suspicions
    from missfit.tables.training import read_training
    from missfit.workflow.fit import fit_table, held_out_r2

    _complete(arguments)
    reading = read_options(arguments)
    check_new_file("--model", arguments.model, inputs=[arguments.data])
    with Status() as status:
        status.show(f"reading {arguments.data}")
        table = read_training(
            arguments.data,
            arguments.target,
            reading,
            group=arguments.group,
            time=arguments.time,
        )
        suspicions = find_suspicions(
            table, categorical=reading.categorical, seed=arguments.seed
        )
        status.show(f"fitting {arguments.predictor} to {len(table.y):,} rows")
        model = fit_table(
            table,
            predictor=arguments.predictor,
            categorical=reading.categorical,
            coverage=arguments.coverage,
            random_state=arguments.seed,
        )
        status.show(f"writing {arguments.model}")
        model.save(arguments.model)
    if table.reading is not None:
        note_lines(table.reading.table())
    for text in table.notes:
        note(text)
    show_suspicions(suspicions)
    tell(
        f"{arguments.model}: {model.predictor} on {len(table.y):,} rows and "
        f"{len(model.columns)} columns; R2 {held_out_r2(model):.3f} on "
        f"{len(model.regressor.calibration_targets_):,} rows held out"
    )


def _complete(arguments) -> None:
    """Fill in what the command line leaves to a report or to the defaults."""
    from missfit.cli.said import fill_in, read_said
    from missfit.comparison.candidates import DEFAULT, candidate

    predictor = DEFAULT
    if arguments.report is not None:
        said, predictor = read_said(Path(arguments.report))
        fill_in(arguments, said)
    if arguments.target is None:
        raise UsageError(
            "which column is to be predicted? Give --target COLUMN, or --from FOLDER "
            "with the folder of a report."
        )
    arguments.predictor = candidate(arguments.predictor or predictor).name
