"""What joblib says of the processes that work side by side."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


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
