"""One trainer for many networks at once.

Networks that differ in width, weight decay, training rows, length of training and seed
are one batch: their parameters are stacked along a first axis of slots, one step of all
is one program (`jax.vmap`), and the steps are one loop on the device (`jax.lax.scan`).
Every slot keeps its own epoch, so that networks with few and with many rows share a
batch without waiting; a network that has met its stopping rule leaves its slot to the
next one. What is random (initial weights, order of the rows) depends on the network's
own seed alone, so that a network does not depend on the batch that it trains in.
"""

from __future__ import annotations

import heapq
import math
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

COSINE = optax.cosine_decay_schedule(1.0, decay_steps=1)  # of the share of the epochs
FEWEST_SLOTS = 4
MOST_SLOTS = 1024
REFILL = 64  # networks that enter a running batch at a time: one shape
STEPS_AT_ONCE = (16, 128, 512)  # between two looks at which networks are done


@dataclass(frozen=True)
class Recipe:
    """How a network is trained.

    Attributes
    ----------
    batch_size : int
    learning_rate : float
        Of Adam; falls to zero along a cosine over ``max_epochs`` where ``cosine``.
    max_epochs : int
    eps : float
        Of Adam: gradients far below it hardly move a weight.
    tol, patience : float, int
        Stop once the training loss has not fallen by ``tol`` for more than ``patience``
        epochs in a row. ``patience=None`` trains all epochs.
    """

    batch_size: int = 200
    learning_rate: float = 1e-3
    cosine: bool = False
    max_epochs: int = 1000
    eps: float = 1e-8
    tol: float = 1e-4
    patience: int | None = 10


@dataclass
class Network:
    """One network to train.

    Attributes
    ----------
    params : dict of ndarray
        Where it starts. Names that begin with W are weights, which decay.
    rows : int
        Which of the data's sets of rows it trains on.
    weight_decay : float
        Half of it times the squared distance of the weights to ``anchor`` is added to
        the sum of squared errors of a batch.
    seed : int
        Of the walks through its rows.
    recipe : Recipe
    anchor : dict of ndarray, optional
        What the weights decay to; by default zero.
    tag : tuple
        What the caller knows it by.
    """

    params: dict[str, NDArray]
    rows: int
    weight_decay: float
    seed: int
    recipe: Recipe = field(default_factory=Recipe)
    anchor: dict[str, NDArray] | None = None
    tag: tuple = ()


@dataclass
class Trained:
    """A trained network: its parameters and the training loss of each epoch."""

    params: dict[str, NDArray]
    loss_curve: list[float] = field(default_factory=list)


class Data(NamedTuple):
    """Rows of all networks.

    Inputs (n, p), targets (n, t), weights (n,), all > 0, and the sets of rows that
    networks train on, each in an order that has been shuffled.
    """

    inputs: NDArray
    targets: NDArray
    weights: NDArray
    rows: list[NDArray]


Then = Callable[[list[tuple[Network, Trained]]], list[Network]]


class _Slots(NamedTuple):
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
    first: Any  # of its rows
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


def train(
    networks: list[Network],
    data: Data,
    apply: Callable,
    *,
    then: Then | None = None,
    stop: threading.Event | None = None,
) -> list[Trained]:
    """Train networks of one shape of parameters, and return them in order.

    Parameters
    ----------
    networks : list of Network
        Their parameters have equal shapes (pad the narrow ones with zeros: a unit with
        zero weights gets no gradient), their recipes equal batch sizes.
    data : Data
    apply : callable
        ``apply(params, inputs) -> predictions`` of one network; a function of a module,
        so that programs are compiled once.
    then : callable, optional
        Called with the networks that have just finished, it returns further ones to
        train: on an accelerator they enter the running batch, on a CPU they follow
        when all threads are done, so that no result depends on timing.
    stop : threading.Event, optional
        Once another thread sets it, training ends with InterruptedError.
    """
    source = _Source.of(data)
    n_threads = _n_threads()
    done: dict[int, Trained] = {}
    stop = stop or threading.Event()
    waiting = list(networks)

    def finish(finished: list[tuple[Network, Trained]]) -> list[Network]:
        done.update((id(net), trained) for net, trained in finished)
        more = then(finished) if then else []
        if n_threads == 1:
            return more
        waiting.extend(more)
        return []

    def work(share: list[Network]) -> None:
        with precision(source.table.dtype):  # jax keeps it by thread
            _work(share, source, apply, finish, stop)

    with ThreadPoolExecutor(n_threads) as pool:
        try:
            while waiting:
                batch = sorted(waiting, key=lambda net: net.tag)
                waiting.clear()
                n_shares = min(n_threads, math.ceil(len(batch) / FEWEST_SLOTS))
                for _ in pool.map(work, [batch[k::n_shares] for k in range(n_shares)]):
                    pass
                if stop.is_set():
                    raise InterruptedError("the training was stopped")
        except BaseException:  # an interrupt too: do not wait for the others to train
            stop.set()
            raise
    return [done[id(net)] for net in networks]


class _Source(NamedTuple):
    """The data on the device."""

    table: Any  # inputs, targets, weights: one table, so that a batch is gathered once
    order: Any  # all sets of rows, one behind the other
    first: NDArray[np.int64]  # of each set
    n_rows: NDArray[np.int64]
    n_inputs: int

    @classmethod
    def of(cls, data: Data) -> _Source:
        table = np.column_stack([data.inputs, data.targets, data.weights])
        n_rows = np.array([len(rows) for rows in data.rows])
        _check_size(n_rows)
        order = np.concatenate(data.rows).astype(np.int32)
        return cls(
            jnp.asarray(_padded(table)),
            jnp.asarray(_padded(order)),
            np.cumsum(n_rows) - n_rows,
            n_rows,
            data.inputs.shape[1],
        )

    def steps(self, net: Network) -> int:
        """Return the steps to the last epoch of a network."""
        size = net.recipe.batch_size
        return net.recipe.max_epochs * math.ceil(self.n_rows[net.rows] / size)


def precision(dtype) -> Any:
    """Return a context in which jax computes in a float type."""
    return jax.enable_x64(np.dtype(dtype) == np.float64)


def _check_size(n_rows: NDArray) -> None:
    """Positions in a walk are products of int32."""
    most = (2**31 - 1) // 256
    if n_rows.max() > most or n_rows.sum() > 2**31 - 1:
        raise ValueError(
            f"{n_rows.max():,} rows in one fit; at most {most:,} can be shuffled. "
            "Train on parts of them with partial_fit."
        )


def _n_threads() -> int:
    """Batches that train side by side: an accelerator takes one, a CPU one per core."""
    return (os.cpu_count() or 1) if jax.default_backend() == "cpu" else 1


def _n_slots(networks: list[Network]) -> int:
    """Networks that train at once, as many as fit into memory."""
    params = max(sum(p.nbytes for p in net.params.values()) for net in networks)
    widest = max(max(p.shape) for net in networks for p in net.params.values())
    each = 8 * params + 48 * networks[0].recipe.batch_size * widest
    most = min(MOST_SLOTS, max(1, _free_bytes() // each))
    return min(_rounded(len(networks)), most)


def _rounded(n: int) -> int:
    """Return a few more, so that few shapes occur."""
    unit = max(FEWEST_SLOTS, 2 ** (math.ceil(math.log2(n)) - 3))
    return math.ceil(n / unit) * unit


def _free_bytes() -> int:
    """Memory for one batch: a quarter of an accelerator's, 2 GiB on a CPU."""
    stats = jax.devices()[0].memory_stats()
    return stats["bytes_limit"] // 4 if stats else 2**31


def _shrink_at() -> float:
    """Share of the slots in use at which a batch moves to fewer.

    A step of half as many networks takes half the time on a CPU, and nearly as long as
    before on an accelerator, where it is not worth a program of its own.
    """
    return 0.5 if jax.default_backend() == "cpu" else 0.25


def _work(networks: list[Network], source: _Source, apply, finish, stop) -> None:
    """Train networks, the longest first, as slots become free."""
    n_slots, size = _n_slots(networks), networks[0].recipe.batch_size
    queue = [(-source.steps(net), i, net) for i, net in enumerate(networks)]
    heapq.heapify(queue)
    n_queued = len(queue)
    running: list[Network | None] = [_next(queue) for _ in range(n_slots)]
    slots = _start([net for net in running if net], n_slots, source)
    curves: list[list] = [[] for _ in range(n_slots)]
    n_left = max(source.steps(net) for net in networks)
    while any(running):
        if stop.is_set():
            return
        n_steps = next((s for s in STEPS_AT_ONCE if s >= n_left), STEPS_AT_ONCE[-1])
        n_left -= n_steps
        slots, losses = _run_steps(
            apply, size, source.n_inputs, n_steps, slots, source.table, source.order
        )
        _append(curves, np.asarray(losses))
        active = np.asarray(slots.active)
        over = [k for k, net in enumerate(running) if net and not active[k]]
        if not over:
            continue
        params = {name: np.asarray(p) for name, p in slots.params.items()}
        finished = []
        for k in over:
            own = {name: p[k].copy() for name, p in params.items()}
            finished.append(
                (running[k], Trained(own, np.concatenate(curves[k]).tolist()))
            )
            running[k], curves[k] = None, []
        for net in finish(finished):
            heapq.heappush(queue, (-source.steps(net), n_queued, net))
            n_queued += 1
        slots = _refilled(slots, running, queue, source)
        entered = [net for k in over if (net := running[k])]
        n_left = max([n_left, *map(source.steps, entered)])
        slots, running, curves = _shrunk(slots, running, curves)


def _next(queue: list) -> Network | None:
    return heapq.heappop(queue)[-1] if queue else None


def _append(curves: list[list], losses: NDArray) -> None:
    """Add to each slot's curve the losses of the epochs that ended."""
    losses = np.ascontiguousarray(losses.T)
    ended = losses != NOT_ENDED
    ends = np.cumsum(ended.sum(axis=1)).tolist()
    values = losses[ended]
    begin = 0
    for curve, end in zip(curves, ends, strict=True):
        if end > begin:
            curve.append(values[begin:end])
        begin = end


def _refilled(slots: _Slots, running: list, queue: list, source: _Source) -> _Slots:
    """Let networks that wait enter free slots, `REFILL` at a time."""
    free = [k for k, net in enumerate(running) if net is None]
    while queue and free:
        some, free = free[:REFILL], free[REFILL:]
        index = np.full(REFILL, len(running))  # past the end: dropped
        new = []
        for k in some[: len(queue)]:
            running[k] = _next(queue)
            index[len(new)] = k
            new.append(running[k])
        slots = _replace(slots, jnp.asarray(index), _start(new, REFILL, source))
    return slots


@jax.jit
def _replace(slots: _Slots, index, new: _Slots) -> _Slots:
    return jax.tree.map(lambda a, b: a.at[index].set(b, mode="drop"), slots, new)


def _shrunk(slots: _Slots, running: list, curves: list) -> tuple[_Slots, list, list]:
    """Move to fewer slots where few are in use."""
    kept = [k for k, net in enumerate(running) if net]
    n_slots = _rounded(max(len(kept), 1))
    if len(kept) > _shrink_at() * len(running) or n_slots >= len(running):
        return slots, running, curves
    idle = [k for k, net in enumerate(running) if not net]
    chosen = [*kept, *idle][:n_slots]
    index = np.array(chosen)
    slots = jax.tree.map(lambda a: a[index], slots)
    return slots, [running[k] for k in chosen], [curves[k] for k in chosen]


def _start(networks: list[Network], n_slots: int, source: _Source) -> _Slots:
    """Networks at their start, then idle slots."""
    kind = next(iter(networks[0].params.values())).dtype
    lack = n_slots - len(networks)

    def each(values, dtype, idle=0):
        return np.array([*values, *[idle] * lack], dtype=dtype)

    recipes = [net.recipe for net in networks]
    params = _stacked([net.params for net in networks], n_slots)
    anchors = {}
    if networks[0].anchor is not None:
        anchors = _stacked([net.anchor or net.params for net in networks], n_slots)
    zeros, counts = np.zeros(n_slots, kind), np.zeros(n_slots, np.int32)
    seed = each((net.seed for net in networks), np.uint32)
    n_rows = each((source.n_rows[net.rows] for net in networks), np.int32, 1)
    place, stride = _walk(seed, counts, n_rows)
    slots = _Slots(
        params=params,
        optimiser=_adam_start(params),
        place=place,
        stride=stride,
        seen=counts,
        epoch=counts,
        loss=zeros,
        mass=zeros,
        best=np.full(n_slots, np.inf, kind),
        waited=counts,
        active=np.arange(n_slots) < len(networks),
        first=each((source.first[net.rows] for net in networks), np.int32),
        n_rows=n_rows,
        seed=seed,
        weight_decay=each((net.weight_decay for net in networks), kind),
        rate=each((r.learning_rate for r in recipes), kind),
        eps=each((r.eps for r in recipes), kind, 1),
        cosine=each((r.cosine for r in recipes), bool),
        max_epochs=each((r.max_epochs for r in recipes), np.int32, 1),
        tol=each((r.tol for r in recipes), kind),
        patience=each(
            (2**30 if r.patience is None else r.patience for r in recipes), np.int32
        ),
        anchor=anchors,
    )
    return jax.tree.map(jnp.asarray, slots)


_adam_start = jax.jit(jax.vmap(optax.scale_by_adam().init))


def _stacked(params: list[dict[str, NDArray]], n_slots: int) -> dict[str, Any]:
    stacked = {}
    for name, first in params[0].items():
        array = np.zeros((n_slots, *first.shape), first.dtype)
        for k, p in enumerate(params):
            array[k] = p[name]
        stacked[name] = jnp.asarray(array)
    return stacked


def _padded_length(n: int) -> int:
    """At most a third more, so that few shapes occur."""
    unit = max(1, 2 ** (math.ceil(math.log2(n)) - 2))
    return math.ceil(n / unit) * unit


def _padded(table: NDArray) -> NDArray:
    lack = _padded_length(len(table)) - len(table)
    return np.pad(table, [(0, lack), *[(0, 0)] * (table.ndim - 1)])


N_PRIMES = 4096


@cache
def _primes() -> NDArray[np.int32]:
    """Primes beyond any number of rows, so that each is coprime to it."""
    first, n = 2**24, 20 * N_PRIMES
    numbers = first + np.arange(n)
    prime = np.ones(n, bool)
    for k in range(2, int(numbers[-1] ** 0.5) + 1):
        prime[-first % k :: k] = False
    return numbers[prime][:N_PRIMES].astype(np.int32)


NOT_ENDED = -1.0  # in place of a loss, which is >= 0


@jax.jit
def _walk(seed, epoch, n_rows) -> tuple[Any, Any]:
    """Start and stride of an epoch's walk through the shuffled rows.

    A stride coprime to the number of rows visits each once, in an order of its own: a
    new shuffle for each epoch at the cost of two numbers.
    """
    epoch = epoch.astype(jnp.uint32)
    start = _hash(seed ^ _hash(2 * epoch)) % n_rows.astype(jnp.uint32)
    chosen = _hash(seed ^ _hash(2 * epoch + 1)) % jnp.uint32(N_PRIMES)
    stride = jax.lax.rem(jnp.asarray(_primes())[chosen.astype(jnp.int32)], n_rows)
    return start.astype(jnp.int32), stride


def _hash(x):
    """Mix the bits of a uint32 (C. Wellons' "lowbias32")."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
    return x ^ (x >> 16)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _run_steps(apply, size: int, n_inputs: int, n_steps: int, slots, table, order):
    """Train all slots for some steps; return too the losses of the epochs that ended.

    Losses have shape (steps, slots), `NOT_ENDED` where no epoch ended.
    """
    within = jnp.arange(size, dtype=jnp.int32)
    update = jax.vmap(partial(_update, apply))

    def one_step(slots: _Slots, _):
        n_rows = slots.n_rows[:, None]
        position = jax.lax.rem(
            slots.place[:, None] + within * slots.stride[:, None],
            jnp.broadcast_to(n_rows, (len(slots.place), size)),
        )
        rows = table[order[slots.first[:, None] + position]]
        weight = jnp.where(slots.seen[:, None] + within < n_rows, rows[..., -1], 0)
        share = slots.epoch / slots.max_epochs
        rate = slots.rate * jnp.where(slots.cosine, COSINE(share), 1)
        params, optimiser, loss = update(
            slots.params,
            slots.optimiser,
            slots.active,
            rows[..., :n_inputs],
            rows[..., n_inputs:-1],
            weight,
            rate.astype(weight.dtype),
            slots.eps,
            slots.weight_decay,
            slots.anchor,
        )
        slots = slots._replace(
            params=params,
            optimiser=optimiser,
            place=jax.lax.rem(slots.place + size * slots.stride, slots.n_rows),
            seen=slots.seen + size,
            loss=slots.loss + loss,
            mass=slots.mass + weight.sum(axis=1),
        )
        return _end_epochs(slots)

    return jax.lax.scan(one_step, slots, length=n_steps)


def _update(
    apply, params, optimiser, live, inputs, targets, weight, rate, eps, decay, anchor
):
    """One Adam step of one network; the loss of the batch times its weight."""
    total = weight.sum()

    def loss_of(params):
        error = jnp.sum((apply(params, inputs) - targets) ** 2, axis=1)
        squares = sum(
            jnp.sum((p - anchor.get(name, 0)) ** 2)
            for name, p in params.items()
            if name.startswith("W")
        )
        return (weight @ error + decay * squares) / (2 * total)

    loss, gradient = jax.value_and_grad(loss_of)(params)
    adam = optax.scale_by_adam(eps=eps)
    step, stepped = adam.update(gradient, optimiser, params)
    keep = partial(jnp.where, live)
    params = jax.tree.map(lambda p, s: keep(p - rate * s, p), params, step)
    optimiser = jax.tree.map(keep, stepped, optimiser)
    return params, optimiser, loss * total


def _end_epochs(slots: _Slots) -> tuple[_Slots, Any]:
    """Where a slot has seen all its rows: apply its stopping rule, begin anew."""
    ended = slots.active & (slots.seen >= slots.n_rows)
    loss = slots.loss / slots.mass
    improved = loss <= slots.best - slots.tol  # never where the loss is NaN
    waited = jnp.where(ended, jnp.where(improved, 0, slots.waited + 1), slots.waited)
    epoch = slots.epoch + ended
    place, stride = _walk(slots.seed, epoch, slots.n_rows)
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
