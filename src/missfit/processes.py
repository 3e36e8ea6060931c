"""The machine's memory, and what joblib says of processes side by side."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


def memory_bytes() -> float:
    """Return the memory of this machine, infinite where it does not say (Windows)."""
    if not hasattr(os, "sysconf"):
        return math.inf
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def quiet_restarts() -> Iterator[None]:
    """Say nothing where joblib replaces a process that has grown by 300 MB.

    Its work is done again in another process, so that nothing is lost. The warning
    speaks of a memory leak, and comes from tables of 300 rows and 200 columns already.
    """
    with warnings.catch_warnings():
        message = "A worker stopped while some jobs were given to the executor"
        warnings.filterwarnings("ignore", message, UserWarning)
        yield
