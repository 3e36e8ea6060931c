"""Run the cells of a study that have no result yet, in parallel, and record them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TextIO

from threadpoolctl import threadpool_limits

from missfit.networks.network import bucket
from missfit.part_files import PartFile
from missfit.processes import quiet_restarts
from missfit.study.claims import claimed
from missfit.study.estimate import (
    batch_bytes,
    cell_seconds,
    n_cores,
    network_bytes,
    network_units,
)
from missfit.study.fit import device, failure, fit_cells, fit_networks, is_network
from missfit.study.grid import Cell, Study
from missfit.study.imported import StudyError
from missfit.study.progress import Progress
from missfit.study.records import finished, read_records

CPU_BATCH_SECONDS = 60.0  # of a batch of networks: the most that a kill can cost
KILLED = (
    "the process that ran this cell was killed twice, the second time alone: it may "
    "need more memory than there is"
)

Keep = Callable[[list[dict]], None]


def run(
    study: Study,
    out: str | Path,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    stream: TextIO | None = None,
) -> None:
    """Run the cells that have no result in ``out`` yet.

    Cells that failed before are tried again. A cell that fails is recorded with its
    error, and the rest goes on.

    Parameters
    ----------
    study : Study
    out : path
        Folder of the results; its ``parts`` are only ever added to. Cells that another
        process is running there are left to it.
    jobs : int, optional
        The number of cells to run at a time here, by default one per core.
    scheduler : str, optional
        Address of a Dask scheduler on which the cells are run, as many at a time as it
        can; networks are trained here.
    stream : file, optional
        Where progress is shown, by default stderr.
    """
    study.check()
    jobs = n_jobs(jobs)
    folder, shown_on = Path(out), stream or sys.stderr
    with claimed(folder, lambda: [c.key for c in pending_cells(study, folder)]) as one:
        mine, n_others = one
        _say_who_runs(len(mine), n_others, folder, shown_on)
        cells = list({c.key: c for c in study.cells()}.values())
        chosen = set(mine)
        _run_cells(
            [cell for cell in cells if cell.key in chosen],
            PartFile(folder / "parts"),
            jobs,
            scheduler,
            study.folder,
            shown_on,
        )


def _say_who_runs(n_mine: int, n_others: int, out: Path, stream: TextIO) -> None:
    """Say how many cells other processes are running, if there are any."""
    if n_others and not n_mine:
        raise StudyError(
            f"all {n_others:,} cells that are left in {out} are being run by another "
            "process; wait for it, or give another folder."
        )
    if n_others:
        print(
            f"{n_others:,} cells in {out} are being run by another process, and are "
            "left to it",
            file=stream,
        )


def _run_cells(
    cells: list[Cell],
    parts: PartFile,
    jobs: int,
    scheduler: str | None,
    folder: str | None,
    stream: TextIO,
) -> None:
    """Run cells, and append their records as they are done."""
    networks = [cell for cell in cells if is_network(cell)]
    others = [cell for cell in cells if not is_network(cell)]
    seconds = {cell.key: cell_seconds(cell) / n_cores() for cell in networks} | {
        cell.key: cell_seconds(cell) / jobs for cell in others
    }
    with Progress(seconds, stream) as progress:

        def keep(records: list[dict]) -> None:
            parts.append(records)
            progress.add(records)

        # a cluster knows how many cells it can run at a time
        at_once = min(jobs, max(2, len(others))) if scheduler is None else -1
        _run_groups(data_groups(others), keep, at_once, scheduler, folder)
        _run_networks(networks, keep, progress.tell, folder)


def n_jobs(jobs: int | None) -> int:
    """Return the number of cells to run at a time."""
    if jobs is None:
        import joblib

        return joblib.cpu_count()
    if jobs < 1:
        raise ValueError(f"jobs={jobs}; at least 1 is needed.")
    return jobs


def pending_cells(study: Study, out: Path) -> list[Cell]:
    """Return the cells without a result, each key once."""
    done = finished(read_records(out / "parts"))
    return list({c.key: c for c in study.cells() if c.key not in done}.values())


def data_groups(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Return groups of cells with equal data, the longest first."""
    groups: dict[Any, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.data, []).append(cell)
    return sorted(groups.values(), key=lambda group: -sum(map(cell_seconds, group)))


def network_batches(
    cells: Sequence[Cell], *, most_seconds: float | None = None
) -> Iterator[list[Cell]]:
    """Yield batches of networks of one size of program, within bounded memory.

    Parameters
    ----------
    cells : sequence of Cell
    most_seconds : float, optional
        The most estimated seconds of a batch on one core. By default it is a minute on
        a CPU; there is no bound on an accelerator, which needs many networks to be
        busy.
    """
    if not cells:
        return
    if most_seconds is None:
        most_seconds = CPU_BATCH_SECONDS if device() == "cpu" else float("inf")
    most_bytes = batch_bytes()
    batch: list[Cell] = []
    kind, n_bytes, seconds = None, 0, 0.0
    for cell in sorted(cells, key=lambda cell: (_kind(cell), cell.data.rows)):
        n_bytes += network_bytes(cell.data.rows, cell.data.d)
        seconds += cell_seconds(cell)
        over = n_bytes > most_bytes or seconds > most_seconds
        if batch and (over or _kind(cell) != kind):
            yield batch
            batch, n_bytes = [], network_bytes(cell.data.rows, cell.data.d)
            seconds = cell_seconds(cell)
        kind = _kind(cell)
        batch.append(cell)
    yield batch


def _kind(cell: Cell) -> tuple[int, int]:
    """Return the sizes up to which inputs and widths are padded in a batch."""
    return bucket(2 * cell.data.d), bucket(network_units(cell))


def _run_networks(
    networks: Sequence[Cell],
    keep: Keep,
    tell: Callable[[str], None],
    folder: str | None,
) -> None:
    """Train networks in batches.

    On an accelerator two batches run at a time: it is busy with one while the tables of
    the other are prepared, its predictions scored, or its last few networks trained.
    """
    stop = threading.Event()
    records: SimpleQueue[dict | None] = SimpleQueue()  # None: a batch has ended

    def train(batch: list[Cell]) -> None:
        try:
            if not stop.is_set():
                tell(f"{len(batch)} networks, {_place(batch)}")
                fit_networks(batch, records.put, folder, stop)
        finally:
            records.put(None)

    n_threads = 1 if not networks or device() == "cpu" else 2
    # set once here, since what threads set and restore in turns may not be restored
    with threadpool_limits(1), ThreadPoolExecutor(n_threads) as pool:
        try:
            tasks = [pool.submit(train, b) for b in network_batches(networks)]
            for _ in tasks:
                for record in iter(records.get, None):
                    keep([record])
            for task in tasks:
                task.result()
        except BaseException:  # an interrupt, or a disk that is full
            stop.set()
            raise


def _place(batch: Sequence[Cell]) -> str:
    d, n = max(c.data.d for c in batch), max(c.data.n for c in batch)
    return f"d up to {d}, n up to {n:,}"


def _run_groups(
    groups: list[list[Cell]],
    keep: Keep,
    jobs: int,
    scheduler: str | None,
    folder: str | None,
) -> None:
    """Run groups of cells; a process that is killed takes no other group with it."""
    if jobs == 1 and scheduler is None:
        for group in groups:
            keep(fit_cells(group, folder))
        return
    left = dict(enumerate(groups))
    while left:
        started: list[int] = []
        try:
            with _backend(jobs, scheduler), quiet_restarts():
                for i, records in _parallel(dict(left), started, jobs, folder):
                    keep(records)
                    del left[i]
        except Exception as error:
            if not _was_killed(error):
                raise
            # One of those that had begun is the cause: each runs again, alone.
            for i in [i for i in started if i in left]:
                with _backend(jobs, scheduler):
                    keep(_alone(left.pop(i), folder))


def _parallel(groups, started: list[int], jobs: int, folder) -> Iterable:
    from joblib import Parallel, delayed

    def tasks():
        for i, group in groups.items():
            started.append(i)
            yield delayed(_numbered)(i, group, folder)

    options: dict[str, Any] = {"batch_size": 1, "pre_dispatch": "2 * n_jobs"}
    parallel: Any = Parallel(n_jobs=jobs, return_as="generator_unordered", **options)
    return parallel(tasks())


def _numbered(i: int, group: list[Cell], folder) -> tuple[int, list[dict]]:
    return i, fit_cells(group, folder)


def _alone(cells: list[Cell], folder) -> list[dict]:
    """Run cells in a process of their own, one by one if even that is killed."""
    from joblib import Parallel, delayed

    try:
        # two jobs, since one would be this very process
        parallel: Any = Parallel(n_jobs=2)
        return parallel([delayed(fit_cells)(cells, folder)])[0]
    except Exception as error:
        if not _was_killed(error):
            raise
    if len(cells) == 1:
        return [failure(cells[0], KILLED)]
    return [record for cell in cells for record in _alone([cell], folder)]


def _was_killed(error: Exception) -> bool:
    return (
        isinstance(error, BrokenProcessPool) or type(error).__name__ == "KilledWorker"
    )


def _backend(jobs: int, scheduler: str | None) -> AbstractContextManager:
    from joblib import parallel_config

    if scheduler is None:
        return parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1)
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"a scheduler needs dask ({error}). Install it with pip install "
            '"missfit[dask]".'
        ) from error
    return parallel_config(backend="dask", scheduler_host=scheduler)
