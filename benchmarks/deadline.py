"""How long `missfit compare` takes: quick on 20,000 x 30, in full on 300 x 200.

    python benchmarks/deadline.py [quick] [wide]

Each is a run of its own, with two processes and one thread each. The seconds of the
processor say more than those of the clock on a machine that does other things as well.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from header import header

TABLES = {"quick": (20_000, 30, ["--quick"]), "wide": (300, 200, [])}
LIMITS = {"quick": 60, "wide": 180}  # seconds that are promised


def write_table(path, n, d):
    """Write a table of d variables that share d / 3 factors, 15 % of them missing."""
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((d, d // 3))
    X = rng.standard_normal((n, d // 3)) @ loadings.T
    X += 0.5 * rng.standard_normal((n, d))
    y = X[:, :5].sum(axis=1) + 2 * np.sin(X[:, 0]) + rng.standard_normal(n)
    X[rng.random(X.shape) < 0.15] = np.nan
    names = [f"x{j}" for j in range(d)]
    pd.DataFrame(X, columns=names).assign(y=y).round(4).to_csv(path, index=False)


def run(name):
    """Print what one comparison prints, and how long it took."""
    n, d, options = TABLES[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{n}x{d}.csv"
        write_table(path, n, d)
        line = [sys.executable, "-m", "missfit", "compare", str(path), "--target", "y"]
        line += ["--jobs", "2", "--out", f"{folder}/out", *options]
        start, used = time.monotonic(), processor()
        subprocess.run(
            line,
            check=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        passed, used = time.monotonic() - start, processor() - used
        print(
            f"\n{name}: {n:,} x {d}: {passed:.0f} s, {used:.0f} s of the processor; "
            f"promised: {LIMITS[name]} s\n"
        )


def processor():
    """Return the seconds of the processor that ended children have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    print(header())
    for one in sys.argv[1:] or TABLES:
        run(one)
