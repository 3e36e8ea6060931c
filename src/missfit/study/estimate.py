"""What a study will cost, before it is run.

The seconds are those of one core of the machine that `SECONDS` was measured on (2 cores
of a cloud machine); they are for planning, not for comparing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from missfit.study.fit import is_network
from missfit.study.grid import Cell

NETWORK_STEP = 25e-6  # seconds of one Adam step of 200 rows, 20 inputs, 40 units
EPOCHS = 270  # median to the paper's stopping rule (mixture1, d = 10, n = 75,000)
NETWORKS = 10  # 3 weight decays x 3 folds, and the fit on all rows
OTHER = 2e-6  # per row and feature, of an estimator that is not known here
WORKER_BYTES = 250 * 2**20  # of a process that has imported what it needs


def cell_seconds(cell: Cell) -> float:
    """Estimated seconds of one cell on one core (networks: on the CPU)."""
    d, n = cell.data.d, cell.data.n
    patterns = min(2.0**d, n)
    data = 1e-8 * cell.data.rows * d
    if is_network(cell):
        units = 2 * d
        step = NETWORK_STEP * max(0.2, units * d / 400)
        return data + NETWORKS * EPOCHS * (n / 200) * step
    known = {
        "missfit.ConstantImputedLR": 0.003 + 5e-8 * n * d,
        "missfit.EMLR": 0.1 + 1.5e-4 * patterns + 1e-7 * n * d,
        "missfit.ExpandedLR": 0.02 + 4.5e-5 * patterns + 2.5e-7 * n * d,
        "missfit.MICELR": 0.1 + 1.5e-7 * n * d**2,
    }
    return data + known.get(cell.method.estimator, 0.01 + OTHER * n * d)


def network_bytes(rows: int, d: int) -> int:
    """Memory of the table of one network while it is prepared: in float64, twice."""
    return 2 * 8 * rows * (2 * d + 2)


class Cost(NamedTuple):
    """What a run will take; see `cost`."""

    n_cells: int
    n_networks: int
    seconds: float
    network_seconds: float
    n_bytes: int


def cost(cells: Sequence[Cell], jobs: int) -> Cost:
    """Estimate a run of some cells: seconds in all, and peak memory."""
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
        sum(map(cell_seconds, networks)),
        max(
            jobs * worker if others else 0,
            WORKER_BYTES + min(6 * 2**30, batch * len(networks)),
        ),
    )
