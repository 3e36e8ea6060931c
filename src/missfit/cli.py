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
    _add_fit(commands)
    _add_predict(commands)
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


def _add_table_options(parser) -> None:
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
    parser.add_argument("--seed", type=int, default=0, help="of chance (default 0)")


def _add_fit(commands) -> None:
    """Fill in `missfit fit DATA --target COLUMN --model FILE`."""
    from missfit.candidates import CANDIDATES, DEFAULT

    parser = commands.add_parser("fit", help="learn from a table, write a model file")
    _add_table_options(parser)
    parser.add_argument("--model", required=True, help="the model file to write")
    parser.add_argument(
        "--predictor",
        default=DEFAULT,
        metavar="NAME",
        choices=[one.name for one in CANDIDATES],
        help=f"one of {', '.join(one.name for one in CANDIDATES)} (default {DEFAULT})",
    )
    parser.add_argument(
        "--coverage",
        type=float,
        default=0.9,
        help="share of the rows that the intervals should cover (default 0.9)",
    )
    parser.set_defaults(command=_fit)


def _fit(arguments) -> None:
    from missfit.modelfile import save_model
    from missfit.serve import fit_table, held_out_r2
    from missfit.tableio import read_training

    table = read_training(
        arguments.data,
        arguments.target,
        drop=arguments.drop,
        categorical=arguments.categorical,
    )
    model = fit_table(
        table,
        predictor=arguments.predictor,
        categorical=arguments.categorical,
        coverage=arguments.coverage,
        seed=arguments.seed,
    )
    save_model(arguments.model, model)
    for note in [*table.notes, *model.encoder.describe()]:
        _say(note)
    print(
        f"{arguments.model}: {model.predictor} on {len(table.y):,} rows and "
        f"{len(model.columns)} columns; R2 {held_out_r2(model):.3f} on "
        f"{len(model.regressor.calibration_targets_):,} rows held out"
    )


def _add_predict(commands) -> None:
    """Fill in `missfit predict FILE DATA [--out FILE]`."""
    parser = commands.add_parser(
        "predict", help="predict the rows of a table with a model file"
    )
    parser.add_argument("model", help="a file that `missfit fit` wrote")
    parser.add_argument("data", help="a table: .csv, .parquet or .feather")
    parser.add_argument("--out", help="CSV file to write (default: standard output)")
    parser.set_defaults(command=_predict)


def _predict(arguments) -> None:
    from missfit.modelfile import load_model
    from missfit.serve import predict_file

    model = load_model(arguments.model)
    n_rows = predict_file(
        model,
        arguments.data,
        arguments.out,
        warn=lambda text: _say(f"warning: {text}"),
    )
    if arguments.out:
        print(f"{arguments.out}: {n_rows:,} predictions of {model.target}")


def _say(text: str) -> None:
    """Print a note that is not part of the output."""
    print(f"missfit: {text}", file=sys.stderr)
