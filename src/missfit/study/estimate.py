"""What a study will cost, before it is run.

The seconds are those of one core of the machine that `SECONDS` was measured on (2 cores
of a cloud machine); they are for planning, not for comparing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from missfit.networks.mlp import n_units
from missfit.networks.network import bucket
from missfit.processes import memory_bytes
from missfit.study.fit import is_network
from missfit.study.grid import Cell

# Seconds of one Adam step of one network on 200 rows, on a CPU: a constant, and a
# factor of inputs times padded units (measured with 16 inputs: 16 microseconds with 16
# units, 22 with 64 and 56 with 128).
NETWORK_STEP = (12e-6, 1.5e-8)
# Seconds of one layer of NeuMiss in such a step (d = 10, depth 10: 260 microseconds).
LAYER_STEP = 25e-6
EPOCHS = 270  # median until the paper's stopping rule (mixture1, d = 10, n = 75,000)
# Share of the machine's memory that the tables of networks that train together take; an
# accelerator prepares two batches at a time. It needs many networks to be busy: at
# n = 375,000 an H200 trained 134 of up to 6 features in 276 s with 6 GB a batch, and
# 146 wider ones of up to 8 features in 204 s with 30 GB.
BATCH_MEMORY = 1 / 4
MOST_BATCH_BYTES = 32 * 2**30
OTHER = 2e-6  # seconds per row and feature of an estimator that is not known here
WORKER_BYTES = 250 * 2**20  # memory of a process that has imported what it needs


def cell_seconds(cell: Cell) -> float:
    """Return the estimated seconds of one cell on one core of a CPU."""
    d, n = cell.data.d, cell.data.n
    patterns = min(2.0**d, n)
    data = 1e-8 * cell.data.rows * d
    if is_network(cell):
        units = 2 * d * bucket(network_units(cell))
        step = NETWORK_STEP[0] + NETWORK_STEP[1] * units + LAYER_STEP * _depth(cell)
        return data + _network_steps(cell) * step
    known = {
        "missfit.AutoClassifier": 20 + 5e-4 * n,
        "missfit.AutoRegressor": 8 + 2e-4 * n,
        "missfit.ConstantImputedLR": 0.003 + 5e-8 * n * d,
        "missfit.EMLR": 0.1 + 1.5e-4 * patterns + 1e-7 * n * d,
        "missfit.ExpandedLR": 0.02 + 4.5e-5 * patterns + 2.5e-7 * n * d,
        "missfit.MICELR": 0.1 + 2.8e-7 * n * d**2,
    }
    return data + known.get(cell.method.estimator, 0.01 + OTHER * n * d)


def _network_steps(cell: Cell) -> float:
    """Count the steps of 3 weight decays on 3 folds, and of the fits on all rows."""
    n = cell.data.n
    if _depth(cell):  # NeuMiss, with up to 5 weight decays and one fit on all rows
        return (15 * 2 / 3 + 1) * max(4000, 20 * n / 200)
    if cell.method.parameter("preset") == "paper":
        return EPOCHS * (9 * 2 / 3 + 1) * n / 200
    return (9 * 2 / 3 + 3) * max(2500, 100 * n / 200)


def _depth(cell: Cell) -> int:
    """Return the layers of NeuMiss; 0 for other networks."""
    depth = cell.method.parameter("depth", 0)
    return depth if isinstance(depth, int) else 0


def network_units(cell: Cell) -> int:
    """Return the number of hidden units of a network."""
    try:
        return n_units(cell.method.parameter("width", 1), cell.data.d)
    except (TypeError, ValueError, OverflowError):
        return 1  # a width that is no number: the fit will fail and say so


def network_bytes(rows: int, d: int) -> int:
    """Return the bytes of one network's table while it is prepared: float64, twice."""
    return 2 * 8 * rows * (2 * d + 2)


def batch_bytes() -> float:
    """Return the memory that the tables of one batch of networks may take."""
    return min(BATCH_MEMORY * memory_bytes(), MOST_BATCH_BYTES)


def n_cores() -> int:
    """Return the number of cores of this machine."""
    return os.cpu_count() or 1


class Cost(NamedTuple):
    """The estimated cost of a run: seconds in all, and bytes at its peak."""

    n_cells: int
    n_networks: int
    seconds: float
    network_seconds: float
    n_bytes: int


def cost(cells: Sequence[Cell], jobs: int) -> Cost:
    """Return the estimated cost of running some cells with this many processes."""
    networks = [cell for cell in cells if is_network(cell)]
    others = [cell for cell in cells if not is_network(cell)]
    largest = max((8 * c.data.rows * c.data.d for c in others), default=0)
    patterns = max((min(2**c.data.d, c.data.n) for c in others), default=0)
    d = max((c.data.d for c in cells), default=0)
    worker = WORKER_BYTES + 4 * largest + 5 * 8 * patterns * (d + 1) ** 2
    batch = max((network_bytes(c.data.rows, c.data.d) for c in networks), default=0)
    return Cost(
        len(cells),
        len(networks),
        sum(map(cell_seconds, others)) / jobs,
        sum(map(cell_seconds, networks)) / n_cores(),  # networks train on all cores
        max(
            jobs * worker if others else 0,
            WORKER_BYTES + min(batch_bytes(), batch * len(networks)),
        ),
    )
