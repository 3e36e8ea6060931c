"""``missfit COMMAND``: read the command line, run one command, say how it ended."""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Any

from missfit import __version__
from missfit.cli.compare import add_compare
from missfit.cli.completion import SHELLS, PrintCompletion
from missfit.cli.export import add_export
from missfit.cli.fit import add_fit
from missfit.cli.options import UsageError, named_option
from missfit.cli.predict import add_predict
from missfit.cli.serve import add_serve
from missfit.cli.simulate import add_simulate
from missfit.cli.stress import add_stress
from missfit.cli.study import add_study
from missfit.cli.watch import add_watch
from missfit.terminal import PatientStream, note, patient_streams, printable

TRACEBACK = "MISSFIT_TRACEBACK"  # set it to see where an error comes from
LONGEST = 1_000  # characters of an error; a name in it may have a million
INTERRUPTED = 130
OF_TABLES = ("joblib", "matplotlib", "pandas", "pyarrow", "skops")  # missfit[table]
ADDERS = (
    add_study,
    add_simulate,
    add_compare,
    add_fit,
    add_predict,
    add_serve,
    add_watch,
    add_stress,
    add_export,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Whatever goes wrong is one line on standard error and exit code 2; an interrupt is
    exit code 130. Where the environment variable MISSFIT_TRACEBACK is set, the
    traceback is printed before that line.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with patient_streams() as out:
        try:
            argv = sys.argv[1:] if argv is None else list(argv)
            # who types `missfit` alone wants to know what there is
            arguments = command_parser().parse_args(argv or ["--help"])
            arguments.argv = argv
            code = arguments.command(arguments) or 0
        except KeyboardInterrupt:
            note("interrupted")
            return INTERRUPTED
        except Exception as error:
            _explain(error)
            return 2
        out.flush()
        return _code_of_output(code, out)


def _explain(error: Exception) -> None:
    """Print in one line what went wrong."""
    if os.environ.get(TRACEBACK):
        sys.stderr.write(printable(traceback.format_exc()))
    several = getattr(error, "errors", [])
    if several:
        note(f"{len(several)} things are wrong with the table:")
        for one in several:
            note(f"- {_cut(f'{named_option(one)}{one}')}")
        return
    text = f"{named_option(error)}{error}"
    if isinstance(error, OSError) and error.filename and error.strerror:
        text = f"{error.filename}: {error.strerror}."
    if isinstance(error, ModuleNotFoundError) and error.name in OF_TABLES:
        text += '. What this command needs comes with pip install "missfit[table]".'
    text = _cut(text)
    if isinstance(error, (UsageError, ValueError, OSError, ImportError)):
        note(text)
    elif isinstance(error, MemoryError):
        note(f"there is not enough memory for this ({text or 'no more is known'}).")
    else:
        note(
            f"an error that was not foreseen, {type(error).__name__}: {text}. Set the "
            f"environment variable {TRACEBACK}=1 and run the command again to see "
            "where it comes from."
        )


def _cut(text: str) -> str:
    """Return a text as one line of bounded length."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST] + " ..."


def _code_of_output(code: int, out: PatientStream) -> int:
    """Return 2 where output was lost, unless its reader has gone away on purpose."""
    if out.error is None or out.error.errno in (errno.EPIPE, errno.EBADF):
        return code
    note(f"standard output could not be written ({out.error.strerror or out.error}).")
    return 2


class _Parser(argparse.ArgumentParser):
    """A parser whose errors show control characters instead of sending them."""

    def error(self, message: str) -> Any:
        super().error(printable(message[:LONGEST]))


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog="missfit",
        description="Predict from tables with missing values.",
        epilog=f"Set the environment variable {TRACEBACK}=1 to see the traceback of "
        "an error. Every command explains its options: missfit COMMAND --help.",
    )
    parser.add_argument("--version", action="version", version=f"missfit {__version__}")
    parser.add_argument(
        "--completion",
        choices=SHELLS,
        action=PrintCompletion,
        help="Print a script for this shell, by which the Tab key completes commands, "
        "options and their values.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in ADDERS:
        add(commands)
    return parser
