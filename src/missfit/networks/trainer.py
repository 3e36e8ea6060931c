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
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from missfit.networks import slots as slot
from missfit.networks.network import (
    Data,
    Finished,
    Functions,
    Network,
    Trained,
)
from missfit.networks.slots import FEWEST_SLOTS, Source
from missfit.networks.steps import NOT_ENDED, Program, run_steps

REFILL = 64  # networks that enter a running batch at a time: one shape
STEPS_AT_ONCE = (16, 128, 512)  # between two looks at which networks are done

Then = Callable[[Finished], list[Network]]


def train(
    networks: list[Network],
    data: Data,
    functions: Functions,
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
    functions : Functions
        The network and its loss, functions of a module, so that programs are compiled
        once.
    then : callable, optional
        Called with the networks that have just finished, it returns further ones to
        train: on an accelerator they enter the running batch, on a CPU they follow
        when all threads are done, so that no result depends on timing.
    stop : threading.Event, optional
        Once another thread sets it, training ends with InterruptedError.
    """
    training = _Training(Source.of(data), functions, then, stop or threading.Event())
    training.run(networks)
    return [training.done[id(net)] for net in networks]


def precision(dtype: Any) -> Any:
    """Return a context in which jax computes in a float type."""
    return jax.enable_x64(np.dtype(dtype) == np.float64)


def n_threads() -> int:
    """Batches that train side by side: an accelerator takes one, a CPU one per core."""
    return (os.cpu_count() or 1) if jax.default_backend() == "cpu" else 1


class _Training:
    """One call of `train`: what waits, what is done, and when to stop."""

    def __init__(
        self,
        source: Source,
        functions: Functions,
        then: Then | None,
        stop: threading.Event,
    ):
        self.source = source
        self.functions = functions
        self.then = then
        self.stop = stop
        self.n_threads = n_threads()
        self.waiting: list[Network] = []
        self.done: dict[int, Trained] = {}

    def run(self, networks: list[Network]) -> None:
        """Train networks, and all that follow them."""
        self.waiting = list(networks)
        with ThreadPoolExecutor(self.n_threads) as pool:
            try:
                while self.waiting:
                    for _ in pool.map(self.work, self.shares()):
                        pass
                    if self.stop.is_set():
                        raise InterruptedError("the training was stopped")
            except BaseException:  # an interrupt too: do not wait for the others
                self.stop.set()
                raise

    def shares(self) -> list[list[Network]]:
        """Deal what waits to the threads."""
        networks = sorted(self.waiting, key=lambda net: net.tag)
        self.waiting.clear()
        n_shares = min(self.n_threads, math.ceil(len(networks) / FEWEST_SLOTS))
        return [networks[k::n_shares] for k in range(n_shares)]

    def work(self, share: list[Network]) -> None:
        """Train the networks of one thread."""
        with precision(self.source.rows.table.dtype):  # jax keeps it by thread
            _Worker(self, share).run()

    def finish(self, finished: Finished) -> list[Network]:
        """Keep what has finished; return what may enter the running batch."""
        self.done.update((id(net), trained) for net, trained in finished)
        more = self.then(finished) if self.then else []
        if self.n_threads == 1:
            return more
        self.waiting.extend(more)
        return []


class _Worker:
    """The batch of one thread: networks in slots, the longest first, others queued."""

    def __init__(self, training: _Training, networks: list[Network]):
        self.training, self.source = training, training.source
        self.batch_size = networks[0].recipe.batch_size
        self.queue: list[tuple[int, int, Network]] = []
        self.n_queued = 0
        self.enqueue(networks)
        n_slots = slot.n_slots(networks)
        self.running: list[Network | None] = [self.next() for _ in range(n_slots)]
        self.curves: list[list[NDArray]] = [[] for _ in range(n_slots)]
        entered = [net for net in self.running if net]
        self.slots = slot.started(entered, n_slots, self.source)
        self.steps_left = max(map(self.source.steps, networks))

    def enqueue(self, networks: list[Network]) -> None:
        """Let networks wait for a slot, the longest first, then in the order given."""
        for net in networks:
            heapq.heappush(self.queue, (-self.source.steps(net), self.n_queued, net))
            self.n_queued += 1

    def next(self) -> Network | None:
        """Return the longest of the networks that wait."""
        return heapq.heappop(self.queue)[-1] if self.queue else None

    def run(self) -> None:
        """Train until all slots are idle, or the training is stopped."""
        while any(self.running) and not self.training.stop.is_set():
            self.advance()
            active = np.asarray(self.slots.active)
            over = [k for k, net in enumerate(self.running) if net and not active[k]]
            if over:
                self.enqueue(self.training.finish(self.leave(over)))
                self.refill(over)
                self.shrink()

    def advance(self) -> None:
        """Run some steps, fewer towards the end, and keep the losses of epochs."""
        left = self.steps_left
        n_steps = next((s for s in STEPS_AT_ONCE if s >= left), STEPS_AT_ONCE[-1])
        self.steps_left -= n_steps
        program = Program(
            self.training.functions, self.batch_size, self.source.n_inputs, n_steps
        )
        self.slots, losses = run_steps(program, self.slots, self.source.rows)
        _append(self.curves, np.asarray(losses))

    def leave(self, over: list[int]) -> Finished:
        """Take the networks out of slots."""
        params = {name: np.asarray(p) for name, p in self.slots.params.items()}
        finished = []
        for k in over:
            own = {name: p[k].copy() for name, p in params.items()}
            curve = np.concatenate(self.curves[k]).tolist()
            finished.append((self.running[k], Trained(own, curve)))
            self.running[k], self.curves[k] = None, []
        return finished

    def refill(self, over: list[int]) -> None:
        """Let networks that wait enter free slots, `REFILL` at a time."""
        free = [k for k, net in enumerate(self.running) if net is None]
        while self.queue and free:
            self.enter(free[:REFILL][: len(self.queue)])
            free = free[REFILL:]
        entered = [net for k in over if (net := self.running[k])]
        self.steps_left = max([self.steps_left, *map(self.source.steps, entered)])

    def enter(self, free: list[int]) -> None:
        """Let as many networks that wait enter as there are free slots given."""
        new = [net for _ in free if (net := self.next())]
        for k, net in zip(free, new, strict=True):
            self.running[k] = net
        index = np.full(REFILL, len(self.running))  # past the end: dropped
        index[: len(free)] = free
        newcomers = slot.started(new, REFILL, self.source)
        self.slots = slot.replaced(self.slots, jax.device_put(index), newcomers)

    def shrink(self) -> None:
        """Move to fewer slots where few are in use."""
        kept = [k for k, net in enumerate(self.running) if net]
        if not kept:  # it is over
            return
        n_slots, n_now = slot.rounded(len(kept)), len(self.running)
        if len(kept) > slot.shrink_at() * n_now or n_slots >= n_now:
            return
        idle = [k for k, net in enumerate(self.running) if not net]
        chosen = [*kept, *idle][:n_slots]
        self.slots = slot.taken(self.slots, np.array(chosen))
        self.running = [self.running[k] for k in chosen]
        self.curves = [self.curves[k] for k in chosen]


def _append(curves: list[list[NDArray]], losses: NDArray) -> None:
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
