"""The training step: one program for all networks of a batch, on the device.

`Slots` is the state of the batch; `run_steps` moves it on by some steps. What is random
depends on the seed of each network alone.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from missfit.networks.network import Functions

COSINE = optax.cosine_decay_schedule(1.0, decay_steps=1)  # of the share of the epochs
N_PRIMES = 4096
NOT_ENDED = -1.0  # in place of a loss, which is >= 0
# Programs that are kept compiled. One takes 4 to 8 MB and about a second to compile on
# a CPU. A fit with cross-validation runs up to six of them, so that an MLP and a
# NeuMiss in turn find theirs again.
MOST_PROGRAMS = 12


class Slots(NamedTuple):
    """The networks in training, one a slot, the first axis of each array."""

    # what changes
    params: Any
    optimiser: Any
    place: Any  # in the walk through its rows
    stride: Any
    seen: Any  # rows of this epoch
    epoch: Any
    loss: Any  # of this epoch so far: sum over rows, and their weight
    mass: Any
    best: Any
    waited: Any
    active: Any
    # what does not
    first: Any  # position of the first of its rows
    n_rows: Any
    seed: Any
    weight_decay: Any
    rate: Any
    eps: Any
    cosine: Any
    max_epochs: Any
    tol: Any
    patience: Any
    anchor: Any


class DeviceRows(NamedTuple):
    """The rows of all networks, as they lie on the device."""

    table: Any  # inputs, targets, weights: one table, so that a batch is gathered once
    order: Any  # all sets of rows, one behind the other


class _Minibatch(NamedTuple):
    """The rows of one step of each slot; past the end of an epoch their weight is 0."""

    inputs: Any
    targets: Any
    weight: Any


class Program(NamedTuple):
    """What a compiled program depends on beside the shapes of its arrays."""

    functions: Functions
    batch_size: int
    n_inputs: int
    n_steps: int


def run_steps(program: Program, slots: Slots, rows: DeviceRows) -> tuple[Slots, Any]:
    """Train all slots for some steps; return too the losses of the epochs that ended.

    Losses have shape (steps, slots), `NOT_ENDED` where no epoch ended.
    """
    leaves = jax.tree.leaves((slots, rows))
    shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
    return _PROGRAMS.get(program, shapes)(slots, rows)


class _Programs:
    """The programs that were used last; others give their memory back."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, program: Program, shapes: tuple) -> Callable:
        """Return the program for arrays of these shapes, compiled at its first call."""
        key = (program, shapes)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = jax.jit(partial(_steps, program))
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_PROGRAMS:
                _, oldest = self._kept.popitem(last=False)
                oldest.clear_cache()  # jax would keep it
            return self._kept[key]

    def __len__(self) -> int:
        return len(self._kept)


_PROGRAMS = _Programs()


def _steps(program: Program, slots: Slots, rows: DeviceRows) -> tuple[Slots, Any]:
    def one_step(slots: Slots, _):
        return _one_step(program, slots, rows)

    return jax.lax.scan(one_step, slots, length=program.n_steps)


def _one_step(program: Program, slots: Slots, rows: DeviceRows) -> tuple[Slots, Any]:
    batch = _minibatch(program, slots, rows)
    share = slots.epoch / slots.max_epochs
    rate = slots.rate * jnp.where(slots.cosine, COSINE(share), 1)
    update = jax.vmap(partial(_update, program.functions))
    params, optimiser, loss = update(slots, batch, rate.astype(batch.weight.dtype))
    size = program.batch_size
    slots = slots._replace(
        params=params,
        optimiser=optimiser,
        place=jax.lax.rem(slots.place + size * slots.stride, slots.n_rows),
        seen=slots.seen + size,
        loss=slots.loss + loss,
        mass=slots.mass + batch.weight.sum(axis=1),
    )
    return _end_epochs(slots)


def _minibatch(program: Program, slots: Slots, rows: DeviceRows) -> _Minibatch:
    """Gather the next rows of each slot's walk."""
    n_inputs, size = program.n_inputs, program.batch_size
    within = jnp.arange(size, dtype=jnp.int32)
    n_rows = slots.n_rows[:, None]
    position = jax.lax.rem(
        slots.place[:, None] + within * slots.stride[:, None],
        jnp.broadcast_to(n_rows, (len(slots.place), size)),
    )
    table = rows.table[rows.order[slots.first[:, None] + position]]
    weight = jnp.where(slots.seen[:, None] + within < n_rows, table[..., -1], 0)
    return _Minibatch(table[..., :n_inputs], table[..., n_inputs:-1], weight)


def _update(functions: Functions, slot: Slots, batch: _Minibatch, rate):
    """One Adam step of one network; the loss of the batch times its weight.

    With the weights w_i of the rows and their sum w, the step descends on::

        sum_i w_i loss_i / w + weight_decay / (2 w) * sum over weights of (W - anchor)^2
    """
    total = batch.weight.sum()

    def mean_loss(params):
        loss = functions.loss(functions.apply(params, batch.inputs), batch.targets)
        squares = sum(
            jnp.sum((p - slot.anchor.get(name, 0)) ** 2)
            for name, p in params.items()
            if name.startswith("W")
        )
        return (batch.weight @ loss + slot.weight_decay / 2 * squares) / total

    loss, gradient = jax.value_and_grad(mean_loss)(slot.params)
    adam = optax.scale_by_adam(eps=slot.eps)
    step, stepped = adam.update(gradient, slot.optimiser, slot.params)
    keep = partial(jnp.where, slot.active)
    params = jax.tree.map(lambda p, s: keep(p - rate * s, p), slot.params, step)
    optimiser = jax.tree.map(keep, stepped, slot.optimiser)
    return params, optimiser, loss * total


def _end_epochs(slots: Slots) -> tuple[Slots, Any]:
    """Where a slot has seen all its rows: apply its stopping rule, begin anew."""
    ended = slots.active & (slots.seen >= slots.n_rows)
    loss = slots.loss / slots.mass
    improved = loss <= slots.best - slots.tol  # never where the loss is NaN
    waited = jnp.where(ended, jnp.where(improved, 0, slots.waited + 1), slots.waited)
    epoch = slots.epoch + ended
    place, stride = walk(slots.seed, epoch, slots.n_rows)
    slots = slots._replace(
        place=jnp.where(ended, place, slots.place),
        stride=jnp.where(ended, stride, slots.stride),
        seen=jnp.where(ended, 0, slots.seen),
        epoch=epoch,
        loss=jnp.where(ended, 0, slots.loss),
        mass=jnp.where(ended, 0, slots.mass),
        best=jnp.where(ended, jnp.fmin(slots.best, loss), slots.best),
        waited=waited,
        active=slots.active & (epoch < slots.max_epochs) & (waited <= slots.patience),
    )
    return slots, jnp.where(ended, loss, NOT_ENDED)


@jax.jit
def walk(seed, epoch, n_rows) -> tuple[Any, Any]:
    """Start and stride of an epoch's walk through the shuffled rows.

    A stride coprime to the number of rows visits each once, in an order of its own: a
    new shuffle for each epoch at the cost of two numbers.
    """
    epoch = epoch.astype(jnp.uint32)
    start = _hash(seed ^ _hash(2 * epoch)) % n_rows.astype(jnp.uint32)
    chosen = _hash(seed ^ _hash(2 * epoch + 1)) % jnp.uint32(N_PRIMES)
    stride = jax.lax.rem(jnp.asarray(primes())[chosen.astype(jnp.int32)], n_rows)
    return start.astype(jnp.int32), stride


@cache
def primes() -> NDArray[np.int32]:
    """Primes beyond any number of rows, so that each is coprime to it."""
    first, n = 2**24, 20 * N_PRIMES
    numbers = first + np.arange(n)
    prime = np.ones(n, bool)
    for k in range(2, int(numbers[-1] ** 0.5) + 1):
        prime[-first % k :: k] = False
    return numbers[prime][:N_PRIMES].astype(np.int32)


def _hash(x):
    """Mix the bits of a uint32 (C. Wellons' "lowbias32")."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
    return x ^ (x >> 16)
