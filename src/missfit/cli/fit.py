"""``missfit fit DATA``: learn from a table and write a model file."""

from __future__ import annotations

from pathlib import Path

from missfit.cli.options import (
    UsageError,
    add_table_options,
    check_new_file,
    read_options,
)
from missfit.cli.suspicions import show_notes, show_suspicions
from missfit.terminal import Status, note_lines, tell


def add_fit(commands) -> None:
    """Add `missfit fit DATA --target COLUMN --model FILE`."""
    from missfit.comparison.offers import ALL_NAMES, CLASSES, NUMBERS

    parser = commands.add_parser(
        "fit",
        help="Learn from a table and write a model file.",
        description="Fit a predictor to a table, with its prediction intervals, or "
        "with probabilities where the target is a class, and write it to a model file "
        "for missfit predict.",
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
        choices=ALL_NAMES,
        help="The predictor to fit. The default is the recommended one of a report "
        f"(--from), or {NUMBERS.default} for numbers and {CLASSES.default} for "
        f"classes. The choices for numbers are {_names(NUMBERS)}; for classes they are "
        f"{_names(CLASSES)}.",
    )
    parser.add_argument(
        "--coverage",
        type=float,
        default=0.9,
        metavar="SHARE",
        help="The share of new rows that the prediction intervals of numbers should "
        "cover. The default is 0.9.",
    )
    parser.set_defaults(command=_fit)


def _names(offer) -> str:
    return ", ".join(one.name for one in offer.candidates)


def _fit(arguments) -> None:
    from missfit.comparison.in_order import note_on_order
    from missfit.comparison.offers import offer_of
    from missfit.suspicions import find_suspicions
    from missfit.tables.training import read_training
    from missfit.workflow.fit import fit_table

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
        offer = offer_of(table.classes)
        predictor = offer.candidate(arguments.predictor or offer.default).name
        status.show(f"fitting {predictor} to {len(table.y):,} rows")
        model = fit_table(
            table,
            predictor=predictor,
            categorical=reading.categorical,
            coverage=arguments.coverage,
            random_state=arguments.seed,
        )
        status.show(f"writing {arguments.model}")
        model.save(arguments.model)
    if table.reading is not None:
        note_lines(table.reading.table())
    show_notes([*table.notes, *note_on_order(table, [predictor])])
    show_suspicions(suspicions)
    tell(
        f"{arguments.model}: {model.predictor} on {len(table.y):,} rows and "
        f"{len(model.columns)} columns; {_held_out(model)} on "
        f"{len(model.regressor.calibration_targets_):,} rows held out"
    )


def _held_out(model) -> str:
    """Return how good a model is on the rows that were held out."""
    from missfit.workflow.fit import held_out_r2, held_out_score

    if model.classes is None:
        return f"R2 {held_out_r2(model):.3f}"
    score = held_out_score(model)
    auc = "" if score["auc"] is None else f", AUC {score['auc']:.3f}"
    return f"log-loss {score['log_loss']:.4f}{auc}, accuracy {score['accuracy']:.1%}"


def _complete(arguments) -> None:
    """Fill in what the command line leaves to a report or to the defaults."""
    from missfit.cli.said import fill_in, read_said

    predictor = None
    if arguments.report is not None:
        said, predictor = read_said(Path(arguments.report))
        fill_in(arguments, said)
    if arguments.target is None:
        raise UsageError(
            "which column is to be predicted? Give --target COLUMN, or --from FOLDER "
            "with the folder of a report."
        )
    arguments.predictor = arguments.predictor or predictor
