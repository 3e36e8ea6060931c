"""Requests that wait while the model is at work are answered together.

A call of a model costs about as much for thirty rows as for one. So one thread takes
all that waits, answers it by one call, and takes what has come meanwhile: under load
the batches grow, and without load nobody waits.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

MOST_ROWS = 1_000  # of a batch: no request waits for more than these and its own


class _Job(NamedTuple):
    rows: list[Any]
    future: asyncio.Future
    loop: asyncio.AbstractEventLoop


class Batches:
    """A thread that answers rows, those of several requests at a time.

    Parameters
    ----------
    answer : callable
        From the rows of several requests to the answer of each, or the error that is to
        be raised for it.
    """

    def __init__(self, answer: Callable[[Sequence[list[Any]]], list[Any]]):
        self._answer = answer
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="model", daemon=True)
        self._thread.start()

    async def answer(self, rows: list[Any]) -> Any:
        """Return the answer to rows when it is there."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future = loop.create_future()
        self._jobs.put(_Job(rows, future, loop))
        return await future

    def close(self) -> None:
        """End the thread when all that waits is answered."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            jobs, last = self._waiting(job)
            self._work(jobs)
            if last:
                return

    def _waiting(self, first: _Job) -> tuple[list[_Job], bool]:
        """Return a batch of jobs, and whether no more will come."""
        jobs, n_rows = [first], len(first.rows)
        while n_rows < MOST_ROWS:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return jobs, False
            if job is None:
                return jobs, True
            jobs.append(job)
            n_rows += len(job.rows)
        return jobs, False

    def _work(self, jobs: list[_Job]) -> None:
        try:
            answers = self._answer([job.rows for job in jobs])
        except Exception as error:
            answers = [error] * len(jobs)
        done = list(zip(jobs, answers, strict=True))
        for loop in {job.loop for job in jobs}:
            here = [(job, answer) for job, answer in done if job.loop is loop]
            loop.call_soon_threadsafe(_deliver, here)


def _deliver(done: list[tuple[_Job, Any]]) -> None:
    for job, answer in done:
        if job.future.done():  # its sender has gone away
            continue
        if isinstance(answer, Exception):
            job.future.set_exception(answer)
        else:
            job.future.set_result(answer)
