"""``missfit predict FILE DATA``: predict the rows of a table with a model file."""

from __future__ import annotations

import errno
import sys

from missfit.cli.options import UsageError, check_new_file
from missfit.terminal import Status, note, tell


def add_predict(commands) -> None:
    """Fill in `missfit predict FILE DATA [--out FILE]`."""
    parser = commands.add_parser(
        "predict", help="predict the rows of a table with a model file"
    )
    parser.add_argument("model", help="a file that `missfit fit` wrote")
    parser.add_argument("data", help="a table: .csv, .parquet or .feather")
    parser.add_argument("--out", help="CSV file to write (default: standard output)")
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
