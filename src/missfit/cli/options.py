"""Options that several commands have, the values they take, places to write to."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from missfit.tables.columns import shown
from missfit.terminal import note
from missfit.writing import check_writable, same_file

JOBS_PER_CORE = 4  # more processes than this wait for each other and fill the memory
TABLE_HELP = "The table: a CSV, Parquet or Feather file."


class UsageError(Exception):
    """A mistake that the user can mend: it is printed as one line, with exit code 2."""


def positive(text: str) -> int:
    """Return the whole number >= 1 that a text is."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number >= 1")
    return value


def seed(text: str) -> int:
    """Return the seed that a text is: a whole number that numpy takes."""
    if not (text.isascii() and text.isdecimal()) or int(text[:20]) >= 2**32:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not between 0 and 2^32 - 1")
    return int(text)


def jobs_of(wanted: int | None) -> int:
    """Return the number of processes: one per core, or those wanted up to a limit."""
    cores = os.cpu_count() or 1
    most = JOBS_PER_CORE * cores
    if wanted is not None and wanted > most:
        note(
            f"--jobs {wanted}: only {most} processes are run, since this machine has "
            f"{cores} cores"
        )
    return cores if wanted is None else min(wanted, most)


def check_new_file(
    option: str, path: str | Path, *, inputs: Sequence[str | Path] = ()
) -> None:
    """Raise where a new file cannot be written, before any work is done.

    Its folder must exist, and it must not be one of the inputs.
    """
    path = Path(path)
    if path.is_dir():
        raise UsageError(f"{option} {path} is a folder; give a file.")
    if not path.parent.is_dir():
        raise UsageError(
            f"{option} {path}: there is no folder {path.parent}; make it first, or "
            "give a file elsewhere."
        )
    check_place(option, path, inputs)


def check_place(option: str, path: Path, inputs: Sequence[str | Path] = ()) -> None:
    """Raise where a file cannot be written or is an input, before any work is done."""
    read = same_file(path, inputs)
    if read is not None:
        raise UsageError(
            f"{option} {path} would overwrite {read}, which this command reads; give "
            "another name."
        )
    try:
        check_writable(path)
    except OSError as error:
        raise UsageError(f"{option}: {error}") from error


def add_table_options(parser) -> None:
    """Add the options of the commands that learn from a table."""
    parser.add_argument("data", help=TABLE_HELP)
    parser.add_argument("--target", required=True, help="The column to predict.")
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="COLUMN",
        help="Leave this column out. The option can be given several times.",
    )
    parser.add_argument(
        "--categorical",
        action="append",
        default=[],
        metavar="COLUMN",
        help="Treat the values of this column as categories, even if they look like "
        "numbers or dates. The option can be given several times.",
    )
    parser.add_argument(
        "--group",
        metavar="COLUMN",
        help="Hold out rows together that have the same value in this column. The "
        "column itself is not used to predict.",
    )
    parser.add_argument(
        "--time",
        metavar="COLUMN",
        help="Learn from the past and test on what follows. This column holds the time "
        "of each row, as dates or numbers, and is not used to predict.",
    )
    add_seed(parser)


def add_seed(parser) -> None:
    """Add the option of the seed."""
    parser.add_argument(
        "--seed",
        type=seed,
        default=0,
        metavar="N",
        help="Seed of the random numbers: the same seed gives the same result. The "
        "default is 0.",
    )


def named_option(error: Exception) -> str:
    """Return the option and column that an error on a table is about, or "".

    The rooms that read tables know the role of a column, not the option that gave it.
    """
    role, column = getattr(error, "role", ""), getattr(error, "column", "")
    return f"--{role} {shown(column)}: " if role and column else ""
