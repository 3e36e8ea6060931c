"""``missfit fit DATA``: learn from a table and write a model file."""

from __future__ import annotations

from missfit.cli.options import add_table_options, check_new_file, read_options
from missfit.terminal import Status, note, note_lines, tell


def add_fit(commands) -> None:
    """Add `missfit fit DATA --target COLUMN --model FILE`."""
    from missfit.comparison.candidates import CANDIDATES, DEFAULT

    parser = commands.add_parser(
        "fit",
        help="Learn from a table and write a model file.",
        description="Fit a predictor and its prediction intervals to a table, and "
        "write them to a model file for missfit predict.",
    )
    add_table_options(parser)
    parser.add_argument(
        "--model", required=True, metavar="FILE", help="The model file to write."
    )
    parser.add_argument(
        "--predictor",
        default=DEFAULT,
        metavar="NAME",
        choices=[one.name for one in CANDIDATES],
        help="The predictor to fit. The default is "
        f"{DEFAULT}; the choices are {', '.join(one.name for one in CANDIDATES)}.",
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
    from missfit.tables.training import read_training
    from missfit.workflow.fit import fit_table, held_out_r2
    from missfit.workflow.model_file import save_model

    reading = read_options(arguments)
    check_new_file("--model", arguments.model, inputs=[arguments.data])
    with Status() as status:
        status.show(f"reading {arguments.data}")
        table = read_training(
            arguments.data,
            arguments.target,
            reading,
            group=arguments.group,
        )
        status.show(f"fitting {arguments.predictor} to {len(table.y):,} rows")
        model = fit_table(
            table,
            predictor=arguments.predictor,
            categorical=reading.categorical,
            coverage=arguments.coverage,
            seed=arguments.seed,
        )
        status.show(f"writing {arguments.model}")
        save_model(arguments.model, model)
    if table.reading is not None:
        note_lines(table.reading.table())
    for text in table.notes:
        note(text)
    tell(
        f"{arguments.model}: {model.predictor} on {len(table.y):,} rows and "
        f"{len(model.columns)} columns; R2 {held_out_r2(model):.3f} on "
        f"{len(model.regressor.calibration_targets_):,} rows held out"
    )
