"""The command line: one file per command; parse, call, print."""

import sys
from collections.abc import Sequence

from missfit import __version__
from missfit.terminal import patient_streams


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    The version is answered before the commands are loaded, which takes a second.
    """
    if list(sys.argv[1:] if argv is None else argv) == ["--version"]:
        with patient_streams():
            print(f"missfit {__version__}")
        return 0
    from missfit.cli.command import main as run

    return run(argv)


__all__ = ["main"]
