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
from missfit.terminal import Status, note, tell


def add_predict(commands) -> None:
    """Add `missfit predict FILE DATA [--out FILE]`."""
    parser = commands.add_parser(
        "predict",
        help="Predict the rows of a table with a model file.",
        description="Predict the rows of a table with a model file. The output has "
        "the columns prediction, lower and upper, and one line for each row.",
    )
    parser.add_argument("model", help="A model file that missfit fit has written.")
    parser.add_argument("data", help=TABLE_HELP)
    add_file_options(parser)
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="The CSV file to write. The default is standard output.",
    )
    parser.set_defaults(command=_predict)


def _predict(arguments) -> None:
    from missfit.workflow.model_file import load_model
    from missfit.workflow.predict import predict_file

    if arguments.out:
        inputs = [arguments.model, arguments.data]
        check_new_file("--out", arguments.out, inputs=inputs)
    elif _is_closed(sys.stdout):
        raise UsageError("standard output is closed; give a file: --out FILE.")
    with Status() as status:
        status.show(f"loading {arguments.model}")
        model = load_model(arguments.model)
        status.show(f"predicting the rows of {arguments.data}")
        notes: list[str] = []
        n_rows = predict_file(
            model,
            arguments.data,
            arguments.out,
            read_options(arguments),
            warn=notes.append,
            on_rows=lambda n: status.update(
                f"predicted {n:,} rows of {arguments.data}"
            ),
            on_end=status.clear,
        )
    for text in notes:
        note(f"warning: {text}")
    if arguments.out:
        tell(f"{arguments.out}: {n_rows:,} predictions of {model.target}")


def _is_closed(stream) -> bool:
    lost = getattr(stream, "error", None)
    return lost is not None and lost.errno == errno.EBADF
