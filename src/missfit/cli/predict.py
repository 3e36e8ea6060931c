"""``missfit predict FILE DATA``: predict the rows of a table with a model file."""

from __future__ import annotations

import errno
import sys

from missfit.cli.options import (
    TABLE_HELP,
    UsageError,
    add_file_options,
    check_new_file,
    read_options,
)
from missfit.tables.columns import shown
from missfit.tables.problems import listed
from missfit.terminal import Status, note, tell


def add_predict(commands) -> None:
    """Add `missfit predict FILE DATA [--out FILE]`."""
    parser = commands.add_parser(
        "predict",
        help="Predict the rows of a table with a model file.",
        description="Predict the rows of a table with a model file. The output has "
        "one line for each row, in the order of the table, and the columns prediction, "
        "lower and upper; or, where the target is a class, prediction and one column "
        "for each class with its probability, such as probability_yes. In CSV the "
        "numbers are rounded to about a ten-thousandth of the typical error, and "
        "probabilities to six decimals; in Parquet they keep all digits.",
    )
    parser.add_argument("model", help="A model file that missfit fit has written.")
    parser.add_argument("data", help=TABLE_HELP)
    add_file_options(parser)
    parser.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="COLUMNS",
        help="Copy these columns of the table to the output, in front of the "
        "predictions: one name, or several with commas between them. A column named "
        "row comes first; row 1 is the first row below the header. The option can be "
        "given several times.",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="The file to write: Parquet if its name ends with .parquet, otherwise "
        "CSV. The default is standard output.",
    )
    parser.set_defaults(command=_predict)


def _predict(arguments) -> None:
    from missfit.workflow.model_file import load_model
    from missfit.workflow.predict import predict_file, unused_columns

    if arguments.out:
        inputs = [arguments.model, arguments.data]
        check_new_file("--out", arguments.out, inputs=inputs)
    elif _is_closed(sys.stdout):
        raise UsageError("standard output is closed; give a file: --out FILE.")
    with Status() as status:
        status.show(f"loading {arguments.model}")
        model = load_model(arguments.model)
        status.show(f"predicting the rows of {arguments.data}")
        options = read_options(arguments)
        done = predict_file(
            model,
            arguments.data,
            arguments.out,
            options,
            keep=arguments.keep,
            on_rows=lambda n: status.update(
                f"predicted {n:,} rows of {arguments.data}"
            ),
            on_end=status.clear,
        )
    unused = unused_columns(model, arguments.data, options)
    if unused:
        note(f"not used to predict: {listed([shown(name) for name in unused])}")
    for text in done.warnings:
        note(f"warning: {text}")
    if arguments.out:
        tell(f"{arguments.out}: {done.n_rows:,} predictions of {model.target}")


def _is_closed(stream) -> bool:
    lost = getattr(stream, "error", None)
    return lost is not None and lost.errno == errno.EBADF
