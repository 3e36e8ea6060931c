"""``missfit simulate SETTING``: write a table of one of the paper's settings."""

from __future__ import annotations

from pathlib import Path

from missfit.cli.options import UsageError, add_seed, check_new_file, positive
from missfit.processes import memory_bytes
from missfit.terminal import tell


def add_simulate(commands) -> None:
    """Add `missfit simulate SETTING --d D --n N --out FILE`."""
    parser = commands.add_parser(
        "simulate",
        help="Simulate a table from one of the paper's settings.",
        description="Draw a table with missing values from one of the paper's "
        "settings, and write it to a file.",
    )
    parser.add_argument(
        "setting",
        choices=["mixture1", "mixture3", "selfmasked"],
        help="The setting of the paper: mixture1, mixture3 or selfmasked.",
    )
    parser.add_argument(
        "--d", type=positive, required=True, help="The number of features."
    )
    parser.add_argument("--n", type=positive, required=True, help="The number of rows.")
    add_seed(parser)
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="The file to write. Its name ends in .csv or .parquet.",
    )
    parser.set_defaults(command=_simulate)


def _simulate(arguments) -> None:
    import pandas as pd

    from missfit import simulate
    from missfit.writing import whole_file

    out = arguments.out
    if out.suffix not in (".csv", ".parquet"):
        raise UsageError(f"--out {out}: the name must end in .csv or .parquet.")
    check_new_file("--out", out)
    _check_memory(arguments.n, arguments.d)
    model = simulate.published(arguments.setting, arguments.d)
    X, y = model.sample(arguments.n, random_state=arguments.seed)
    frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(arguments.d)])
    frame["y"] = y
    with whole_file(out) as part:
        if out.suffix == ".parquet":
            frame.to_parquet(part, index=False)
        else:
            frame.to_csv(part, index=False)
    tell(f"{out}: {len(frame)} rows, {arguments.d} features and y")


def _check_memory(n_rows: int, d: int) -> None:
    """Raise where a table does not fit into memory, before memory fills."""
    # X, y and the frame of both, and X before its values are hidden
    needed = 4 * 8 * n_rows * (d + 1)
    there = memory_bytes()
    if needed > there:
        raise UsageError(
            f"--n {n_rows}: the table takes about {needed / 2**30:,.0f} GB of memory, "
            f"and there are {there / 2**30:,.0f}; draw fewer rows."
        )
