"""What the commands share: options, the values they take, places to write to."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from missfit.tables.columns import shown
from missfit.terminal import note
from missfit.writing import check_writable, same_file

JOBS_PER_CORE = 4  # more processes than this wait for each other and fill the memory


class UsageError(Exception):
    """What the user can mend: printed as one line, exit code 2."""


def positive(text: str) -> int:
    """Read a whole number >= 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number >= 1")
    return value


def seed(text: str) -> int:
    """Read a seed, as numpy takes it."""
    if not (text.isascii() and text.isdecimal()) or int(text[:20]) >= 2**32:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not between 0 and 2^32 - 1")
    return int(text)


def jobs_of(wanted: int | None) -> int:
    """Return how many processes to run: one per core, or as many as make sense."""
    cores = os.cpu_count() or 1
    most = JOBS_PER_CORE * cores
    if wanted is not None and wanted > most:
        note(f"--jobs {wanted}: {most} are run, since there are {cores} cores")
    return cores if wanted is None else min(wanted, most)


def check_new_file(
    option: str, path: str | Path, *, inputs: Sequence[str | Path] = ()
) -> None:
    """Raise before any work where a file cannot be written, or is one that is read."""
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
    """Raise before any work where a file cannot be written, or is one that is read."""
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
    """Options of the commands that learn from a table."""
    parser.add_argument("data", help="a table: .csv, .parquet or .feather")
    parser.add_argument("--target", required=True, help="the column to predict")
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="COLUMN",
        help="leave a column out (may be given several times)",
    )
    parser.add_argument(
        "--categorical",
        action="append",
        default=[],
        metavar="COLUMN",
        help="take a column as categories, whatever it looks like (several times)",
    )
    parser.add_argument(
        "--group",
        metavar="COLUMN",
        help="rows that share its value are held out together; it is no feature",
    )
    parser.add_argument("--seed", type=seed, default=0, help="of chance (default 0)")
