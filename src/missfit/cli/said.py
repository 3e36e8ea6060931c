"""What a command line said of a table: kept in a report's folder, and given again.

`missfit compare` writes it as JSON, and `missfit fit` reads it there. It holds the
texts of options as the user wrote them, so that they are read by the same parser again.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from missfit import __version__
from missfit.cli.options import UsageError, add_table_options
from missfit.tables.columns import shown
from missfit.writing import whole_file

NAME = "missfit.json"
MOST_BYTES = 1_000_000  # of the file; a table with 10,000 columns needs a tenth of it

Said = dict[str, list[str]]


class _Parser(argparse.ArgumentParser):
    """The options of a table; an error is one of the file that they come from."""

    def error(self, message: str) -> Any:
        raise UsageError(message)


def _table_parser(*, as_text: bool) -> argparse.ArgumentParser:
    """Return a parser of the options of a table, without the file."""
    parser = _Parser(add_help=False)
    add_table_options(parser, needs_target=False)
    for action in list(parser._actions):
        if not action.option_strings:
            parser._remove_action(action)
        elif as_text:
            action.type, action.default = None, None
    return parser


def said_of_table(argv: Sequence[str]) -> Said:
    """Return the options of a table that a command line gives, by name, as texts.

    >>> said_of_table(["compare", "t.csv", "--target", "y", "--jobs", "2", "--drop=a"])
    {'target': ['y'], 'drop': ['a']}
    """
    parser = _table_parser(as_text=True)
    given = vars(parser.parse_known_args(list(argv))[0])
    said: Said = {}
    for action in parser._actions:
        value = given[action.dest]
        if value is not None:
            said[_name(action)] = value if isinstance(value, list) else [value]
    return said


def _name(action: argparse.Action) -> str:
    return action.option_strings[-1].removeprefix("--")


def as_options(said: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the options as arguments of a command line.

    >>> as_options({"target": ["y"], "drop": ["a", "-b"]})
    ['--target', 'y', '--drop', 'a', '--drop=-b']
    """
    parts: list[str] = []
    for name, texts in said.items():
        for text in texts:
            plain = text and not text.startswith("-")
            parts += [f"--{name}", text] if plain else [f"--{name}={text}"]
    return parts


def fit_line(data: str, said: Said, predictor: str, model: Path) -> str:
    """Return the command that fits a predictor to the table of a comparison."""
    chosen = ["--predictor", predictor, "--model", str(model)]
    path = data if not data.startswith("-") else f"./{data}"
    return shlex.join(["missfit", "fit", path, *as_options(said), *chosen])


def write_said(folder: Path, said: Said, predictor: str) -> None:
    """Write what was said of a table, and the predictor that is recommended for it."""
    content = {"missfit": __version__, "predictor": predictor, "options": said}
    with whole_file(folder / NAME) as part:
        part.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def read_said(folder: Path) -> tuple[Said, str]:
    """Return what was said of a table, and the predictor recommended, from a folder."""
    path = folder / NAME
    if not folder.is_dir():
        raise UsageError(f"--from {shown(str(folder))}: there is no such folder.")
    if not path.is_file():
        raise UsageError(
            f"--from {shown(str(folder))}: there is no {NAME} in it; give the folder "
            "of a report that missfit compare wrote."
        )
    content = _parsed(path)
    options: Any = content.get("options")
    predictor = content.get("predictor")
    if not (_is_said(options) and isinstance(predictor, str)):
        raise UsageError(
            f"--from {shown(str(folder))}: {NAME} is damaged; give the options of the "
            "table one by one, or run missfit compare again."
        )
    return options, predictor


def _parsed(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, an empty one if it is damaged or too large."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        content = json.loads(data) if len(data) <= MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _is_said(options: Any) -> bool:
    return isinstance(options, dict) and all(
        isinstance(texts, list) and all(isinstance(text, str) for text in texts)
        for texts in options.values()
    )


def fill_in(arguments: argparse.Namespace, said: Said) -> None:
    """Give the options of a table that the command line does not give.

    What the command line gives itself stays as it is.
    """
    given = said_of_table(arguments.argv)
    parser = _table_parser(as_text=False)
    known = {_name(action): action.dest for action in parser._actions}
    for name, texts in said.items():
        if name not in known:
            raise UsageError(
                f"{NAME} names an option that missfit fit does not have, "
                f"{shown('--' + name)}; was it written by a newer version?"
            )
        if name not in given:
            found = parser.parse_args(as_options({name: texts}))
            setattr(arguments, known[name], getattr(found, known[name]))
