"""How work on many items is cut into blocks, and on how many threads it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from joblib import cpu_count

BLOCK_DOUBLES = 2**18  # 2 MB: what is worked on at once stays in the cache


def blocks(
    n_items: int, doubles_each: int, *, size: int = BLOCK_DOUBLES
) -> Iterator[slice]:
    """Cut items into consecutive blocks of bounded memory, at least one item each.

    >>> list(blocks(5, doubles_each=4, size=8))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, size // max(1, doubles_each))
    for start in range(0, n_items, step):
        yield slice(start, min(start + step, n_items))


def each_block(work: Callable[[Any], None], some: Sequence[Any]) -> None:
    """Do the work of every block, on as many threads as there may be.

    It pays where the work is numpy's, which lets go of the interpreter lock.
    """
    n_workers = min(len(some), n_threads())
    if n_workers <= 1:
        for block in some:
            work(block)
        return
    with ThreadPoolExecutor(n_workers) as pool:
        list(pool.map(work, some))


def n_threads() -> int:
    """Threads that a computation may take: OMP_NUM_THREADS, or what the process has.

    The number that is set for numpy's own threads holds for those of missfit too, so
    that jobs side by side do not take each other's processors.
    """
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return int(wanted) if wanted.isdigit() and int(wanted) else cpu_count()
