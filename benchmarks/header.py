"""Print when, with what and where a table was measured, as the pages say it."""

import os
import platform
import subprocess
from datetime import date
from pathlib import Path

import numpy as np

import missfit


def commit():
    """Return the last commit of the package, with + where files differ from it.

    Commits of pages and tests do not change what is measured, so that they do not
    count. A copy without git has the commit from the variable MISSFIT_COMMIT.
    """
    if "MISSFIT_COMMIT" in os.environ:
        return os.environ["MISSFIT_COMMIT"]
    git = ["git", "-C", str(Path(__file__).parents[1])]
    measured = ["--", "src"]
    try:
        last = subprocess.run(
            [*git, "log", "-1", "--format=%h", *measured],
            capture_output=True,
            text=True,
        ).stdout.strip()
        changed = subprocess.run(
            [*git, "status", "--porcelain", *measured], capture_output=True, text=True
        ).stdout
    except FileNotFoundError:
        return "unknown"
    return (last or "unknown") + ("+" if changed else "")


def cpu():
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def header():
    """Return a sentence for the page: day, commit, versions, machine, load."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"Measured on {date.today()} at commit {commit()} (missfit "
        f"{missfit.__version__}, Python {platform.python_version()}, numpy "
        f"{np.__version__}; {os.cpu_count()} cores of {cpu()}{load})."
    )


if __name__ == "__main__":
    print(header())
