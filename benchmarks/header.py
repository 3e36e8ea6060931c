"""Print when, with what and where a table was measured, as the pages say it."""

import os
import platform
import subprocess
from datetime import date
from pathlib import Path

import numpy as np

import missfit


def commit():
    """Return the short hash, with + where files differ from it.

    A copy without git has it from the variable MISSFIT_COMMIT.
    """
    if "MISSFIT_COMMIT" in os.environ:
        return os.environ["MISSFIT_COMMIT"]
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True
        ).stdout.strip()
        changed = subprocess.run(
            [*git, "status", "--porcelain", "-uno"], capture_output=True, text=True
        ).stdout
    except FileNotFoundError:
        return "unknown"
    return (head or "unknown") + ("+" if changed else "")


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
