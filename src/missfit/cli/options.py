"""Options that several commands have, the values they take, places to write to."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from missfit.tables.columns import shown
from missfit.tables.options import KINDS, TASKS, ReadOptions
from missfit.terminal import note
from missfit.writing import check_writable, same_file

JOBS_PER_CORE = 4  # more processes than this wait for each other and fill the memory
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
TABLE_HELP = (
    "The table: a CSV or other text file, an Excel workbook, a Parquet or Feather file."
)


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


def seconds(text: str) -> float:
    """Return the seconds that a text is, such as 90, 90s, 1.5m or 2h.

    >>> seconds("90"), seconds("1.5m"), seconds("2h")
    (90.0, 90.0, 7200.0)
    """
    number, unit = text.strip(), 1.0
    if number[-1:] in UNITS:
        number, unit = number[:-1], UNITS[number[-1]]
    try:
        value = float(number) * unit
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is no time; give one such as 90s, 10m or 1h"
        )
    return value


def names(texts: Sequence[str]) -> list[str]:
    """Return names that were given one by one, or several with commas between them.

    >>> names(["a, b", "c"])
    ['a', 'b', 'c']
    """
    parts = [part.strip() for text in texts for part in text.split(",")]
    return list(dict.fromkeys(part for part in parts if part))


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


def add_table_options(parser, *, needs_target: bool = True) -> None:
    """Add the options of the commands that learn from a table."""
    parser.add_argument("data", help=TABLE_HELP)
    parser.add_argument(
        "--target",
        required=needs_target,
        metavar="COLUMN",
        help="The column to predict.",
    )
    parser.add_argument(
        "--task",
        choices=TASKS,
        help="What the target is: a number, or a class, for which the probability of "
        "each class is predicted. By default, text, yes and no, two different numbers "
        "and few whole numbers (0, 1, 2, up to five of them) are classes; the decision "
        "is printed.",
    )
    _add_column_options(parser)
    add_file_options(parser)
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


def _add_column_options(parser) -> None:
    """Add what a user may say of single columns."""
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="COLUMNS",
        help="Leave these columns out: one name, or several with commas between them. "
        "The option can be given several times.",
    )
    parser.add_argument(
        "--as",
        action="append",
        default=[],
        dest="kinds",
        type=column_kind,
        metavar="COLUMN=KIND",
        help="Read this column as one of "
        f"{', '.join(KINDS)}, whatever its values look like. In a column that is read "
        "as number, -999 and the like stay numbers. The option can be given several "
        "times.",
    )
    parser.add_argument(
        "--categorical",
        action="append",
        default=[],
        metavar="COLUMN",
        help="A short form of --as COLUMN=category.",
    )


def add_file_options(parser) -> None:
    """Add what a user may say of how a file is to be read."""
    parser.add_argument(
        "--na",
        action="append",
        default=[],
        metavar="MARK",
        help="A mark that stands for a missing value in this file, such as -999. The "
        "usual marks (an empty value, NA, null and others) are known. The option can "
        "be given several times.",
    )
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        help="The encoding of a text file, such as utf-8 or cp1252. It is found by "
        "trial if the option is not given.",
    )
    parser.add_argument(
        "--sheet",
        metavar="NAME",
        help="The sheet of an Excel workbook. The default is the first sheet that "
        "holds a table, not a cover sheet with a few words.",
    )


def column_kind(text: str) -> tuple[str, str]:
    """Return the column and the kind that a text such as "zip=category" names.

    >>> column_kind("a=b=number")
    ('a=b', 'number')
    """
    column, equals, kind = text.rpartition("=")
    if not (equals and column):
        raise argparse.ArgumentTypeError(
            f"{shown(text)} names no column and kind; write COLUMN=KIND, as in "
            "zip=category"
        )
    return column, kind


def read_options(arguments) -> ReadOptions:
    """Return what the command line says about how the table is to be read."""
    said = vars(arguments)
    kinds = dict.fromkeys(said.get("categorical", ()), "category")
    for column, kind in said.get("kinds", ()):
        if kinds.setdefault(column, kind) != kind:
            raise UsageError(
                f"--as {shown(column)}: the column is to be read as {kinds[column]} "
                f"and as {kind}; say one of the two."
            )
    return ReadOptions(
        na=tuple(arguments.na),
        encoding=arguments.encoding,
        sheet=arguments.sheet,
        kinds=kinds,
        drop=tuple(said.get("drop", ())),
        task=said.get("task"),
    )


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
