"""Suspicions on the command line: each a line with the option that answers it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from missfit.suspicions import Remedy, Suspicion
from missfit.terminal import note


def show_suspicions(suspicions: Sequence[Suspicion]) -> None:
    """Print suspicions before the scores, on standard error."""
    for one in suspicions:
        note(f"suspicion ({one.kind}): {one.sentence}{answer(one.remedy)}")


def show_notes(notes: Sequence[str]) -> None:
    """Print what was done with a table, and the option that does it otherwise."""
    for text in notes:
        note(with_option(text))


def with_option(text: str) -> str:
    """Return a note; where it says how to set the task, with the option for it.

    >>> with_option("To predict it as a number, set the task to number")
    'To predict it as a number, set the task to number. Option: --task number'
    """
    _, told, task = text.partition("set the task to ")
    return f"{text}. Option: --task {task}" if told else text


def answer(remedy: Remedy | None) -> str:
    """Return the option that answers a suspicion, as the end of a line, or "".

    >>> answer(Remedy("drop", ("a", "b c")))
    " Option: --drop a --drop 'b c'"
    """
    if remedy is None or remedy.action == "log":
        return ""
    if remedy.action == "time" and not remedy.columns:
        return " Add a column with the time of each row and name it by --time."
    if remedy.action == "keep":
        several = len(remedy.columns) > 1
        named = "COLUMN" if several else remedy.columns[0]
        more = " for each such column" if several else ""
        return f" Option: {_argument('--as', f'{named}=number')}{more}"
    given = (_argument(f"--{remedy.action}", name) for name in remedy.columns)
    return f" Option: {' '.join(given)}"


def _argument(option: str, value: str) -> str:
    """Return an option with its value, which may begin with a dash.

    >>> _argument("--drop", "-x")
    '--drop=-x'
    """
    quoted = shlex.quote(value)
    return f"{option}={quoted}" if value.startswith("-") else f"{option} {quoted}"
