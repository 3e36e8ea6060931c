"""``missfit export MODEL --to FILE``: write a model file as ONNX."""

from __future__ import annotations

from pathlib import Path

from missfit.cli.options import UsageError, check_new_file
from missfit.terminal import Status, note, tell
from missfit.writing import same_file


def add_export(commands) -> None:
    """Add `missfit export MODEL --to FILE`."""
    parser = commands.add_parser(
        "export",
        help="Write a model file as ONNX, for programs without Python.",
        description="Write the model of a model file as an ONNX file, which "
        "onnxruntime runs from Python, C#, Java, JavaScript and others. It predicts "
        "what missfit predict does, whatever is missing in a row. It has one input "
        "for each column of the table and the outputs prediction, lower and upper. "
        "Networks cannot be exported.",
    )
    parser.add_argument("model", help="A model file that missfit fit has written.")
    parser.add_argument(
        "--to", required=True, metavar="FILE", help="The ONNX file to write."
    )
    parser.add_argument(
        "--schema",
        metavar="FILE",
        help="Also write a JSON file that describes the inputs and outputs: names, "
        "types, levels of categories and which texts are missing values. The ONNX "
        "file holds the same text in its metadata.",
    )
    parser.add_argument(
        "--dtype",
        choices=("float64", "float32"),
        default="float64",
        help="The type of the inputs that hold numbers. The default is float64. The "
        "predictions are computed in float64 in any case.",
    )
    parser.set_defaults(command=_export)


def _export(arguments) -> None:
    from missfit.onnx_export.export import SOME_KNOWN, exported
    from missfit.workflow.model_file import load_model

    places = [("--to", arguments.to), ("--schema", arguments.schema)]
    for option, place in places:
        if place:
            check_new_file(option, place, inputs=[arguments.model])
    if arguments.schema and _is_same(arguments.to, arguments.schema):
        raise UsageError(
            f"--to and --schema are both {arguments.to}; give two different files."
        )
    with Status() as status:
        status.show(f"loading {arguments.model}")
        model = load_model(arguments.model)
        status.show(f"writing {arguments.to}")
        content, schema = exported(
            model, arguments.to, dtype=arguments.dtype, schema=arguments.schema
        )
    size = len(content) / 1e3
    tell(f"{arguments.to}: {model.predictor} for {model.target}, {size:,.0f} kB")
    if schema["intervals"] == SOME_KNOWN:
        note(f"the intervals (or sets of classes) are {SOME_KNOWN}")


def _is_same(one: str, other: str) -> bool:
    same_name = Path(one).resolve() == Path(other).resolve()
    return same_name or same_file(one, [other]) is not None
