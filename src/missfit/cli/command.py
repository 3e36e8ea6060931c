"""The command line: parse, call one public function, print."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import missfit

ENOUGH = 0.1  # share of the work that the time left is told from


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
    _add_study(commands)
    _add_simulate(commands)
    _add_compare(commands)
    _add_fit(commands)
    _add_predict(commands)
    return parser


def _add_study(commands) -> None:
    """Fill in `missfit study NAME [--out DIR] [--jobs N] ...`."""
    parser = commands.add_parser(
        "study",
        help="run the paper's study, or one of your own; run again to resume",
        description="Run a study: its cells, the tidy table, the figures, the report. "
        "What is finished is kept: the same command goes on where it stopped.",
    )
    parser.add_argument("name", nargs="?", help="a name (see --list) or a .toml file")
    parser.add_argument("--out", type=Path, help="folder (default out/NAME)")
    parser.add_argument("--jobs", type=_positive, help="cells at a time")
    parser.add_argument("--scheduler", help="address of a Dask scheduler to run on")
    parser.add_argument(
        "--methods",
        nargs="?",
        const="",
        metavar="NAME,...",
        help="run only these (MLP is every MLP); without names, list them",
    )
    parser.add_argument(
        "--max-rows", type=_positive, metavar="N", help="leave out larger data sets"
    )
    parser.add_argument(
        "--published", action="store_true", help="mark the published means in figures"
    )
    parser.add_argument(
        "--collect",
        action="store_true",
        help="run nothing: table, figures and report of what is there",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="cells, estimated time and memory"
    )
    parser.add_argument("--list", action="store_true", help="the studies there are")
    parser.set_defaults(command=_study)


def _study(arguments) -> int:
    from missfit import study

    if arguments.list:
        _print_studies(study.study_names())
        return 0
    if arguments.name is None:
        if arguments.methods is None:
            raise UsageError("which study? Give a name (see --list) or a .toml file.")
        if arguments.methods:
            raise UsageError(
                f"which study? --methods {arguments.methods} chooses in one; put its "
                "name first."
            )
    whole = study.load(arguments.name or "paper")
    if arguments.methods == "":
        _print_methods(whole)
        return 0
    names = arguments.methods and [m.strip() for m in arguments.methods.split(",")]
    chosen = whole.only(methods=names, max_rows=arguments.max_rows)
    out = arguments.out or Path("out") / whole.name
    if arguments.dry_run:
        _print_cost(chosen, out, arguments.jobs)
        return 0
    if not arguments.collect:
        study.run(chosen, out, jobs=arguments.jobs, scheduler=arguments.scheduler)
    return _finish_study(whole, chosen, out, arguments.published)


def _finish_study(whole, chosen, out: Path, published: bool) -> int:
    """Write the table, the figures and the report; say how it went."""
    from missfit import study
    from missfit.report.study import write_report

    collected = study.collect(whole, out, published=published)
    report = out / "report.html"
    command = shlex.join(["missfit", *sys.argv[1:]])
    write_report(whole, collected, report, published=published, command=command)
    print(study.summary(collected.table))
    print(f"table: {out / 'results.parquet'}, {len(collected.table):,} rows")
    print(f"report: {report}")
    n_run = collected.n_cells - collected.n_missing
    failed = f"{collected.n_failed:,} failed" if collected.n_failed else "none failed"
    print(f"{n_run:,} of {collected.n_cells:,} cells run, {failed}")
    return 1 if collected.n_failed else 0


def _print_studies(names: list[str]) -> None:
    from missfit import study

    for name in names:
        item = study.load(name)
        print(f"{name:<10}{len(item.cells()):>8,} cells   {item.title}")


def _print_methods(item) -> None:
    for name in item.method_names():
        kinds = {m.estimator: None for m in item.methods if m.name == name}
        print(f"{name:<20}{', '.join(kinds)}")


def _print_cost(chosen, out: Path, jobs: int | None) -> None:
    from missfit.study.estimate import cost
    from missfit.study.run import n_jobs, pending_cells
    from missfit.terminal import duration

    chosen.check()
    jobs = n_jobs(jobs)
    n_cells = len(chosen.cells())
    left = cost(pending_cells(chosen, out), jobs)
    print(f"{n_cells:,} cells, {n_cells - left.n_cells:,} of them finished in {out}")
    print(
        f"{left.n_cells - left.n_networks:,} to run on {jobs} cores: about "
        f"{duration(left.seconds)}"
    )
    if left.n_networks:
        print(
            f"{left.n_networks:,} networks to train: about "
            f"{duration(left.network_seconds)} on a CPU; an accelerator is tens of "
            "times faster"
        )
    print(f"memory: about {left.n_bytes / 2**30:.1f} GB")


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number >= 1")
    return value


def _add_simulate(commands) -> None:
    """Fill in `missfit simulate SETTING --d D --n N --out FILE`."""
    parser = commands.add_parser(
        "simulate", help="write a table simulated from one of the paper's settings"
    )
    parser.add_argument("setting", choices=["mixture1", "mixture3", "selfmasked"])
    parser.add_argument("--d", type=_positive, required=True, help="number of features")
    parser.add_argument("--n", type=_positive, required=True, help="number of rows")
    parser.add_argument("--seed", type=_seed, default=0, help="of the draw (default 0)")
    parser.add_argument(
        "--out", type=Path, required=True, help="file to write, .csv or .parquet"
    )
    parser.set_defaults(command=_simulate)


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 2^32 - 1")
    return int(text)


def _simulate(arguments) -> None:
    import pandas as pd

    from missfit.files import whole_file

    out = arguments.out
    if out.suffix not in (".csv", ".parquet"):
        raise UsageError(f"--out {out}: the name must end in .csv or .parquet")
    _check_new_file("--out", out)
    model = missfit.simulate.published(arguments.setting, arguments.d)
    X, y = model.sample(arguments.n, random_state=arguments.seed)
    frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(arguments.d)])
    frame["y"] = y
    with whole_file(out) as part:
        if out.suffix == ".parquet":
            frame.to_parquet(part, index=False)
        else:
            frame.to_csv(part, index=False)
    print(f"{out}: {len(frame)} rows, {arguments.d} features and y")


def _check_new_file(option: str, path: str | Path) -> None:
    """Raise before any work where a file could not be written."""
    path = Path(path)
    if path.is_dir():
        raise UsageError(f"{option} {path} is a folder; give a file.")
    if not path.parent.is_dir():
        raise UsageError(
            f"{option} {path}: there is no folder {path.parent}; make it first, or "
            "give a file elsewhere."
        )


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
    parser.add_argument(
        "--group",
        metavar="COLUMN",
        help="rows that share its value are held out together; it is no feature",
    )
    parser.add_argument("--seed", type=int, default=0, help="of chance (default 0)")


def _add_compare(commands) -> None:
    """Fill in `missfit compare DATA --target COLUMN [--out DIR]`."""
    parser = commands.add_parser(
        "compare", help="find the predictor for a table; write a report"
    )
    _add_table_options(parser)
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="NAME",
        help="a predictor not to try (several times)",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="finish also what is slow and, after the first folds, clearly behind",
    )
    parser.add_argument(
        "--out",
        default="missfit-report",
        help="folder for report.html and results.csv (default missfit-report)",
    )
    parser.add_argument("--folds", type=int, default=5, help="default 5")
    parser.add_argument(
        "--rows", type=int, default=20_000, help="use at most so many (default 20000)"
    )
    parser.add_argument(
        "--jobs", type=int, default=None, help="processes (default: one per core)"
    )
    parser.set_defaults(command=_compare)


def _compare(arguments) -> None:
    from missfit.advise import advise
    from missfit.report.table_report import recommendation
    from missfit.terminal import Status

    with Status() as status:
        status.show(f"reading {arguments.data}")
        show = _TrialTable(status)
        advice = advise(
            arguments.data,
            arguments.target,
            arguments.out,
            drop=arguments.drop,
            categorical=arguments.categorical,
            group=arguments.group,
            skip=arguments.skip,
            n_folds=arguments.folds,
            most_rows=arguments.rows,
            n_jobs=arguments.jobs or os.cpu_count() or 1,
            seed=arguments.seed,
            all_folds=arguments.all,
            on_start=show.head,
            on_trial=show.trial,
        )
    print(f"\n{recommendation(advice.comparison)}")
    print(f"{advice.report} and {advice.results} written")


class _TrialTable:
    """Prints trials as they end, and, on a terminal, what is going on meanwhile."""

    def __init__(self, status):
        self.start = time.perf_counter()
        self.status = status
        self.waiting: list = []

    def head(self, comparison, candidates) -> None:
        """Say how the table was read, and print the head of the results."""
        self.status.clear()
        self.waiting = list(candidates)
        for note in [*comparison.notes, *comparison.encoder.describe()]:
            _say(note)
        width = max(len(one.name) for one in candidates)
        self.line = f"{{:<{width}}}  {{:>8}}  {{:>19}}  {{:>9}}  {{:>8}}"
        head = self.line.format("predictor", "R2", "95 % interval", "RMSE", "s / fit")
        print(head, flush=True)
        self._next(0.0)

    def trial(self, comparison, trial, share: float) -> None:
        """Print the line of a trial."""
        self.status.clear()
        seconds = f"{trial.seconds.mean():.2f}"
        if trial.failure or trial.left_out:
            what = "failed" if trial.failure else "left out"
            print(self.line.format(trial.name, what, "", "", seconds), flush=True)
            way_out = "" if trial.failure else "; --all runs them"
            _say(f"{trial.name}: {trial.failure or trial.left_out}{way_out}")
        else:
            score = comparison.scores_of([trial])[trial.name]
            ends = f"{score.low:.4f} to {score.high:.4f}"
            values = f"{score.r2:.4f}", ends, f"{score.rmse:.4g}", seconds
            print(self.line.format(trial.name, *values), flush=True)
        self.waiting = self.waiting[1:]
        self._next(share)

    def _next(self, share: float) -> None:
        """Say what runs now, and how long the rest may take once enough is known."""
        if not self.waiting:
            self.status.show("looking behind the scores, writing the report")
            return
        left = None
        if share >= ENOUGH:
            left = (time.perf_counter() - self.start) / share * (1 - share)
        self.status.show(f"[{share:4.0%}] {self.waiting[0].name}", left)


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
    from missfit.terminal import Status

    _check_new_file("--model", arguments.model)
    with Status() as status:
        status.show(f"reading {arguments.data}")
        table = read_training(
            arguments.data,
            arguments.target,
            drop=arguments.drop,
            categorical=arguments.categorical,
            group=arguments.group,
        )
        status.show(f"fitting {arguments.predictor} to {len(table.y):,} rows")
        model = fit_table(
            table,
            predictor=arguments.predictor,
            categorical=arguments.categorical,
            coverage=arguments.coverage,
            seed=arguments.seed,
        )
        status.show(f"writing {arguments.model}")
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
    from missfit.terminal import Status

    if arguments.out:
        _check_new_file("--out", arguments.out)
    with Status() as status:
        status.show(f"loading {arguments.model}")
        model = load_model(arguments.model)
        status.show(f"predicting the rows of {arguments.data}")
        notes: list[str] = []
        n_rows = predict_file(
            model,
            arguments.data,
            arguments.out,
            warn=notes.append,
            on_rows=lambda n: status.update(
                f"predicted {n:,} rows of {arguments.data}"
            ),
            on_end=status.clear,
        )
    for text in notes:
        _say(f"warning: {text}")
    if arguments.out:
        print(f"{arguments.out}: {n_rows:,} predictions of {model.target}")


def _say(text: str) -> None:
    """Print a note that is not part of the output."""
    print(f"missfit: {text}", file=sys.stderr)
