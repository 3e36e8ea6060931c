"""The command line: parse, call one public function, print."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import missfit


class UsageError(Exception):
    """What the user can mend: printed as one line, exit code 2."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    A `UsageError`, a ValueError or an OSError is one line on stderr and exit code 2,
    an interrupt exit code 130; anything else is a bug and keeps its traceback.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        return arguments.command(arguments) or 0
    except (UsageError, ValueError, OSError, ImportError) as error:
        text = " ".join(str(error).split())
        print(f"missfit: {text}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("missfit: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="missfit", description="Predict from tables with missing values."
    )
    parser.add_argument(
        "--version", action="version", version=f"missfit {missfit.__version__}"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_simulate(commands)
    return parser


def _add_simulate(commands) -> None:
    """Fill in `missfit simulate SETTING --d D --n N --out FILE`."""
    parser = commands.add_parser(
        "simulate", help="write a table simulated from one of the paper's settings"
    )
    parser.add_argument("setting", choices=["mixture1", "mixture3", "selfmasked"])
    parser.add_argument("--d", type=int, required=True, help="number of features")
    parser.add_argument("--n", type=int, required=True, help="number of rows")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default 0)")
    parser.add_argument("--out", required=True, help="file to write, .csv or .parquet")
    parser.set_defaults(command=_simulate)


def _simulate(arguments) -> None:
    from pathlib import Path

    import pandas as pd

    model = missfit.simulate.published(arguments.setting, arguments.d)
    X, y = model.sample(arguments.n, random_state=arguments.seed)
    frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(arguments.d)])
    frame["y"] = y
    out = Path(arguments.out)
    if out.suffix == ".parquet":
        frame.to_parquet(out, index=False)
    elif out.suffix == ".csv":
        frame.to_csv(out, index=False)
    else:
        raise UsageError(f"--out {out}: the name must end in .csv or .parquet")
    print(f"{out}: {len(frame)} rows, {arguments.d} features and y")
