"""Fit, predict and score the methods of one data set, and record failures."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from threadpoolctl import threadpool_limits

from missfit.networks.batch import fit_many
from missfit.networks.estimator import NetworkEstimator
from missfit.networks.process import load_trainer
from missfit.study.data import DataSet, Parts
from missfit.study.grid import Cell, resolved
from missfit.study.imported import import_from
from missfit.study.scores import scores
from missfit.versions import versions

LONGEST_MESSAGE = 500


def fit_cells(cells: Sequence[Cell], folder: str | None = None) -> list[dict]:
    """Return the records of the methods of one data set, which is drawn once.

    This runs on one thread: the cells of a study keep the cores busy, and the results
    do not depend on the number of threads.
    """
    import_from(folder)
    with threadpool_limits(1):
        try:
            parts = cells[0].data.parts()
        except Exception as error:
            return [failure(cell, error) for cell in cells]
        return [_fit_cell(cell, parts) for cell in cells]


def _fit_cell(cell: Cell, parts: Parts) -> dict:
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = cell.method.build(cell.seed)
            start = time.perf_counter()
            model.fit(parts.X_train, parts.y_train)
            seconds = time.perf_counter() - start
            found = scores(model, parts)
        note = _one_line(caught[0].message) if caught else ""
        return _record(cell, note) | {"fit_seconds": seconds} | found
    except Exception as error:
        return failure(cell, error)


def fit_networks(
    cells: Sequence[Cell],
    keep: Callable[[dict], None],
    folder: str | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Train networks as one batch; pass on the record of each as soon as it is done.

    Parameters
    ----------
    cells : sequence of Cell
    keep : callable
        Takes a record; it is called by several threads.
    folder : path, optional
        The folder of the study's own estimators.
    stop : threading.Event, optional
        When another thread sets it, training ends with InterruptedError.
    """
    import_from(folder)
    done: set[int] = set()
    try:
        parts = _parts_of([cell.data for cell in cells])
        models = [cell.method.build(cell.seed) for cell in cells]
        tables = [
            (parts[cell.data].X_train, parts[cell.data].y_train) for cell in cells
        ]
        shares = _Shares(len(cells))

        def record(i: int, seconds: float) -> None:
            keep(_network_record(cells[i], models[i], parts[cells[i].data], seconds))

        with ThreadPoolExecutor(os.cpu_count()) as pool:

            def end(i: int) -> None:
                done.add(i)
                pool.submit(record, i, shares.next())

            fit_many(models, tables, stop=stop, done=end)
    except InterruptedError:
        raise
    except Exception as error:
        if len(cells) == 1:
            keep(failure(cells[0], error))
            return
        # one bad table must not take the batch with it
        for i, cell in enumerate(cells):
            if i not in done:
                fit_networks([cell], keep, folder, stop)


def _network_record(cell: Cell, model: Any, parts: Parts, seconds: float) -> dict:
    try:
        found = scores(model, parts)
    except Exception as error:
        return failure(cell, error)
    return _record(cell, "") | {"fit_seconds": seconds, "device": device()} | found


class _Shares:
    """The seconds of each of the networks that are trained together.

    The time that passes is shared by the networks that are not done, so that the sum of
    their seconds is the time of the batch.
    """

    def __init__(self, n_networks: int):
        self.n_left = n_networks
        self.share = 0.0
        self.last = time.perf_counter()

    def next(self) -> float:
        """Return the seconds of the network that has just been done."""
        now = time.perf_counter()
        self.share += (now - self.last) / self.n_left
        self.n_left -= 1
        self.last = now
        return self.share


def _parts_of(data: Sequence[DataSet]) -> dict[DataSet, Parts]:
    items = list(dict.fromkeys(data))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(items, pool.map(DataSet.parts, items), strict=True))


def is_network(cell: Cell) -> bool:
    """Return whether the cell's estimator is trained in batches with others."""
    return issubclass(resolved(cell.method.estimator), NetworkEstimator)


def failure(cell: Cell, error: BaseException | str) -> dict:
    """Return the record of a cell that failed."""
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return _record(cell, _one_line(text)) | {"status": "error"}


def _one_line(text: Any) -> str:
    return " ".join(str(text).split())[:LONGEST_MESSAGE]


def _record(cell: Cell, message: str) -> dict:
    data = cell.data
    return {
        "key": cell.key,
        "setting": data.setting,
        "d": data.d,
        "rows": data.rows,
        "repetition": data.repetition,
        "method": cell.method.name,
        "seed": cell.seed,
        "status": "ok",
        "message": message,
        "versions": versions(),
        "device": "cpu",
    }


@cache
def device() -> str:
    """Return where networks are trained: "cpu", or the name of an accelerator."""
    try:
        return str(load_trainer().jax.devices()[0].device_kind)
    except ImportError:  # each network's record will say so
        return "cpu"
