"""The slots of a batch: how many there are, who enters, and when they become fewer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import numpy as np
import optax
from numpy.typing import NDArray

from missfit.networks.network import Data, Network, Params
from missfit.networks.steps import DeviceRows, Slots, walk

FEWEST_SLOTS = 4
MOST_SLOTS = 1024
NO_PATIENCE = 2**30  # epochs to wait where a recipe does not stop early


class Source(NamedTuple):
    """The data on the device, and where each set of rows lies."""

    rows: DeviceRows
    first: NDArray[np.int64]  # position of each set
    n_rows: NDArray[np.int64]
    n_inputs: int

    @classmethod
    def of(cls, data: Data) -> Source:
        """Move data to the device."""
        table = np.column_stack([data.inputs, data.targets, data.weights])
        n_rows = np.array([len(rows) for rows in data.rows])
        _check_size(n_rows)
        order = np.concatenate(data.rows).astype(np.int32)
        # device_put: jnp.asarray would compile a program for each shape
        rows = DeviceRows(*jax.device_put((_padded(table), _padded(order))))
        return cls(rows, np.cumsum(n_rows) - n_rows, n_rows, data.inputs.shape[1])

    def steps(self, net: Network) -> int:
        """Return the steps to the last epoch of a network."""
        size = net.recipe.batch_size
        return net.recipe.max_epochs * math.ceil(self.n_rows[net.rows] / size)


def _check_size(n_rows: NDArray) -> None:
    """Refuse more rows than a walk can number: positions are products of int32."""
    most = (2**31 - 1) // 256
    if n_rows.max() > most or n_rows.sum() > 2**31 - 1:
        raise ValueError(
            f"{n_rows.max():,} rows in one fit; at most {most:,} can be shuffled. "
            "Train on parts of them with partial_fit."
        )


def _padded(table: NDArray) -> NDArray:
    lack = _padded_length(len(table)) - len(table)
    return np.pad(table, [(0, lack), *[(0, 0)] * (table.ndim - 1)])


def _padded_length(n: int) -> int:
    """Return at most a third more, so that few shapes occur."""
    unit = max(1, 2 ** (math.ceil(math.log2(n)) - 2))
    return math.ceil(n / unit) * unit


def n_slots(networks: list[Network]) -> int:
    """Return how many networks train at once: as many as fit into memory."""
    params = max(sum(p.nbytes for p in net.params.values()) for net in networks)
    widest = max(max(p.shape) for net in networks for p in net.params.values())
    each = 8 * params + 48 * networks[0].recipe.batch_size * widest
    most = min(MOST_SLOTS, max(1, free_bytes() // each))
    return min(rounded(len(networks)), most)


def rounded(n: int) -> int:
    """Return a few more, so that few shapes occur."""
    unit = max(FEWEST_SLOTS, 2 ** (math.ceil(math.log2(n)) - 3))
    return math.ceil(n / unit) * unit


def free_bytes() -> int:
    """Memory for one batch: a quarter of an accelerator's, 2 GiB on a CPU."""
    stats = jax.devices()[0].memory_stats()
    return stats["bytes_limit"] // 4 if stats else 2**31


def shrink_at() -> float:
    """Share of the slots in use at which a batch moves to fewer.

    A step of half as many networks takes half the time on a CPU, and nearly as long as
    before on an accelerator, where it is not worth a program of its own.
    """
    return 0.5 if jax.default_backend() == "cpu" else 0.25


def started(networks: list[Network], n_slots: int, source: Source) -> Slots:
    """Return networks at their start, then idle slots."""
    kind = next(iter(networks[0].params.values())).dtype
    params = _stacked([net.params for net in networks], n_slots)
    zeros, counts = np.zeros(n_slots, kind), np.zeros(n_slots, np.int32)
    seed = _each((net.seed for net in networks), n_slots, np.uint32)
    rows = (source.n_rows[net.rows] for net in networks)
    n_rows = _each(rows, n_slots, np.int32, idle=1)
    place, stride = walk(seed, counts, n_rows)
    slots = Slots(
        params=params,
        optimiser=optax.ScaleByAdamState(counts, _zeros(params), _zeros(params)),
        place=place,
        stride=stride,
        seen=counts,
        epoch=counts,
        loss=zeros,
        mass=zeros,
        best=np.full(n_slots, np.inf, kind),
        waited=counts,
        active=np.arange(n_slots) < len(networks),
        first=_each((source.first[net.rows] for net in networks), n_slots, np.int32),
        n_rows=n_rows,
        seed=seed,
        weight_decay=_each((net.weight_decay for net in networks), n_slots, kind),
        anchor=_anchors(networks, n_slots),
        **_recipes(networks, n_slots, kind),
    )
    return jax.device_put(slots)


def _recipes(networks: list[Network], n_slots: int, kind: Any) -> dict[str, NDArray]:
    """Return the parts of `Slots` that say how networks are trained."""
    recipes = [net.recipe for net in networks]
    patience = [NO_PATIENCE if r.patience is None else r.patience for r in recipes]
    return {
        "rate": _each((r.learning_rate for r in recipes), n_slots, kind),
        "eps": _each((r.eps for r in recipes), n_slots, kind, idle=1),
        "cosine": _each((r.cosine for r in recipes), n_slots, bool),
        "max_epochs": _each((r.max_epochs for r in recipes), n_slots, np.int32, idle=1),
        "tol": _each((r.tol for r in recipes), n_slots, kind),
        "patience": _each(patience, n_slots, np.int32),
    }


def _each(values: Iterable, n_slots: int, dtype: Any, idle: float = 0) -> NDArray:
    """Return the values of the networks, then that of idle slots."""
    values = list(values)
    return np.array([*values, *[idle] * (n_slots - len(values))], dtype=dtype)


def _anchors(networks: list[Network], n_slots: int) -> dict[str, NDArray]:
    """Return what the weights decay to: nothing where that is zero."""
    if networks[0].anchor is None:
        return {}
    return _stacked([net.anchor or net.params for net in networks], n_slots)


def _stacked(params: list[Params], n_slots: int) -> Params:
    stacked = {}
    for name, first in params[0].items():
        stacked[name] = np.zeros((n_slots, *first.shape), first.dtype)
        for k, own in enumerate(params):
            stacked[name][k] = own[name]
    return stacked


def _zeros(params: Params) -> Params:
    return {name: np.zeros_like(p) for name, p in params.items()}


@jax.jit
def replaced(slots: Slots, index: Any, new: Slots) -> Slots:
    """Return the slots with new networks at an index; past the end is dropped."""
    return jax.tree.map(lambda a, b: a.at[index].set(b, mode="drop"), slots, new)


@jax.jit
def taken(slots: Slots, index: Any) -> Slots:
    """Return some of the slots."""
    return jax.tree.map(lambda a: a[index], slots)
