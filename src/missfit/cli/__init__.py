"""The command line: one file per command; parse, call, print."""

from missfit.cli.command import main

__all__ = ["main"]
