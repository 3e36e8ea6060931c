"""``missfit stress MODEL``: what would become of a model if columns went missing."""

from __future__ import annotations

from missfit.cli.options import check_new_file
from missfit.terminal import Status, tell


def add_stress(commands) -> None:
    """Add `missfit stress MODEL [--out FILE]`."""
    parser = commands.add_parser(
        "stress",
        help="Say how well a model would predict if columns went missing.",
        description="Say how well a model would predict if each column went missing: "
        "always, twice as often as now (at least in 20 % of the rows), or as often and "
        "by its own value. This is measured on the rows that were held out when the "
        "model was fitted.",
    )
    parser.add_argument("model", help="A model file that missfit fit has written.")
    parser.add_argument(
        "--out", metavar="FILE", help="The HTML file to write a report to."
    )
    parser.set_defaults(command=_stress)


def _stress(arguments) -> None:
    from missfit.workflow.model_file import load_model
    from missfit.workflow.stress import stress

    if arguments.out:
        check_new_file("--out", arguments.out, inputs=[arguments.model])
    with Status() as status:
        status.show(f"hiding columns from {arguments.model}")
        model = load_model(arguments.model)
        found = stress(model, arguments.out)
    for line in found.lines():
        tell(line)
    if arguments.out:
        tell(f"{arguments.out}: the report")
