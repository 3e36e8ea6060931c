import csv
import os
import sys
from pathlib import Path

# One thread for each of the processes that run tests side by side: those of boosting
# wait for each other where cores are taken (54 seconds for a fit that takes one).
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest

PUBLISHED = Path(
    os.environ.get(
        "MISSFIT_PUBLISHED",
        Path(__file__).parents[2] / "shared" / "published",
    )
)
CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture
def rng():
    return np.random.default_rng(20200826)


@pytest.fixture(scope="session")
def published_rows():
    """The authors' single rows, by (setting, d, n, repetition, method, split)."""
    path = PUBLISHED / "rows_repetitions_0_to_4.csv"
    if not path.exists():
        pytest.skip(f"{path.name} is not at hand; set MISSFIT_PUBLISHED to its folder")
    with path.open() as file:
        return {
            (
                row["setting"],
                int(row["d"]),
                int(row["n"]),
                int(row["repetition"]),
                row["method"],
                row["split"],
            ): (float(row["mse"]), float(row["r2"]))
            for row in csv.DictReader(file)
        }


@pytest.fixture(scope="module")
def browser():
    """A browser, for one file: while it is open, asyncio cannot be used."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason='pip install "missfit[dev]"'
    )
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not there; `make browser` installs it")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


def random_cov(rng, d):
    B = rng.standard_normal((d, max(1, d // 2)))
    return B @ B.T + np.diag(rng.uniform(0.1, 1, d))


def hide(rng, X, rate=0.4):
    """Put holes into a copy of X, completely at random."""
    return np.where(rng.random(X.shape) < rate, np.nan, X)


def with_file_size_limit(n_bytes, *line):
    """A command that cannot write files longer than this: a full disk, near enough.

    By a process in between, since a fork of this one is not safe once jax has threads.
    """
    code = (
        "import os, resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({n_bytes}, {n_bytes}))\n"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    return [sys.executable, "-c", code, *line]
