"""Which cells a running process has taken, so that two on one folder share the work.

A claim is a file in the folder of the results that holds the keys of the cells and is
locked by its process. The system releases the lock however the process ends, so that
the claim of a process that was killed no longer counts, and the next run removes it.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from missfit.writing import hold, remove_dead, wait_for

PATTERN = ".running-*.json"


@contextmanager
def claimed(
    out: Path, wanted: Callable[[], list[str]]
) -> Iterator[tuple[list[str], int]]:
    """Yield the keys of the cells to run here, and the number that others are running.

    Parameters
    ----------
    out : path
        The folder of the results.
    wanted : function
        Returns the keys of the cells that have no result. It is called after the claims
        of others were read, so that a cell whose claim has ended since has a result.
    """
    out.mkdir(parents=True, exist_ok=True)
    with wait_for(out):
        taken = _claims_of_others(out)
        keys = wanted()
        mine = [key for key in keys if key not in taken]
        path, descriptor = _new_claim(out, mine)
    try:
        yield mine, len(keys) - len(mine)
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _claims_of_others(out: Path) -> set[str]:
    """Return the keys that living processes have claimed; remove claims of the dead."""
    taken: set[str] = set()
    for path in out.glob(PATTERN):
        if not remove_dead(path):
            with suppress(OSError, ValueError):
                taken.update(json.loads(path.read_bytes()))
    return taken


def _new_claim(out: Path, keys: list[str]) -> tuple[Path, int]:
    path = out / PATTERN.replace("*", secrets.token_hex(4))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    hold(descriptor)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(json.dumps(keys).encode())
    return path, descriptor
