"""One thread of BLAS, where matrices are small: the others would only wait."""

from __future__ import annotations

import contextlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from threadpoolctl import ThreadpoolController

# Columns up to which BLAS uses one thread. With two, on two cores, EMLR takes 7.8 s
# instead of 1.5 on 300 x 200, AutoRegressor 20 s instead of 5, AutoClassifier 11 s
# instead of 5 on 75,000 x 10.
WIDE = 300


class _OneBlasThread:
    """A context in which BLAS uses one thread, whoever else is in it.

    The number of threads belongs to the process. Two fits side by side that each set it
    and set it back would leave it at one: the second takes the limit of the first for
    the number to go back to. So the first to enter sets it, and the last to leave sets
    it back, both by one thread of our own: while a thread that has set the number is
    alive, OpenBLAS does not hear of another one (seen with 0.3.31).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._libraries: list[Any] = []
        self._before: list[tuple[Any, int]] = []
        self._setter: ThreadPoolExecutor | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._libraries = self._libraries or _blas_libraries()
                self._before = [(one, one.num_threads) for one in self._libraries]
                self._set([(one, 1) for one in self._libraries])
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._set(self._before)

    def _set(self, numbers: list[tuple[Any, int]]) -> None:
        self._setter = self._setter or ThreadPoolExecutor(1)
        for library, n_threads in numbers:
            self._setter.submit(library.set_num_threads, n_threads).result()

    def _forget(self) -> None:
        """Start anew in a forked process, to which no thread has come along."""
        self._lock, self._n_inside, self._setter = threading.Lock(), 0, None


def _blas_libraries() -> list[Any]:
    """Find numpy's and scipy's BLAS, which takes 4 ms: as long as a small fit."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


ONE_BLAS_THREAD = _OneBlasThread()


def blas_threads_for(n_columns: int) -> contextlib.AbstractContextManager[None]:
    """Return a context in which BLAS has the threads that so many columns need."""
    return ONE_BLAS_THREAD if n_columns <= WIDE else contextlib.nullcontext()
