"""``missfit watch MODEL DATA``: what has changed in new rows, and what it means."""

from __future__ import annotations

from missfit.cli.options import (
    TABLE_HELP,
    add_file_options,
    check_new_file,
    read_options,
)
from missfit.terminal import Status, note, tell

CHANGED = 1  # the exit code where something has changed


def add_watch(commands) -> None:
    """Add `missfit watch MODEL DATA [--out FILE]`."""
    parser = commands.add_parser(
        "watch",
        help="Compare new rows with those that a model was fitted to.",
        description="Compare new rows with those that a model was fitted to: which "
        "columns are missing more or less often, combinations of missing columns never "
        "seen, values out of range, new levels, and which error is to be expected of "
        "the model under what is missing now. The exit code is 1 where something has "
        "changed. Where nothing has, that happens in at most 1 % of the cases.",
    )
    parser.add_argument("model", help="A model file that missfit fit has written.")
    parser.add_argument("data", help=TABLE_HELP)
    add_file_options(parser)
    parser.add_argument(
        "--out", metavar="FILE", help="The HTML file to write a report to."
    )
    parser.set_defaults(command=_watch)


def _watch(arguments) -> int:
    from missfit.workflow.model_file import load_model
    from missfit.workflow.watch_file import watch_file

    if arguments.out:
        inputs = [arguments.model, arguments.data]
        check_new_file("--out", arguments.out, inputs=inputs)
    with Status() as status:
        status.show(f"comparing {arguments.data} with {arguments.model}")
        model, options = load_model(arguments.model), read_options(arguments)
        found = watch_file(model, arguments.data, arguments.out, options)
    for text in found.warnings:
        note(f"warning: {text}")
    for line in found.verdict.lines():
        tell(line)
    if arguments.out:
        tell(f"{arguments.out}: the report")
    return CHANGED if found.verdict.changes else 0
