"""One trainer for many networks at once.

Networks that differ in width, weight decay, training rows, data set and seed are one
batch: their parameters are stacked along a first axis, one step of all is one program
(`jax.vmap`), and the steps of an epoch are one loop on the device (`jax.lax.scan`).
What is random (initial weights, order of the rows) is drawn on the host from each
network's own seed, so that a network does not depend on the batch that it trains in.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

OPTIMISER = optax.scale_by_adam()
SMALLEST_BATCH = 4  # networks
MOST_BYTES = 2**31  # of one batch of networks


@dataclass(frozen=True)
class Recipe:
    """How a network is trained.

    Attributes
    ----------
    batch_size : int
    learning_rate : float
        Of Adam; falls to zero along a cosine over ``max_epochs`` where ``cosine``.
    max_epochs : int
    tol, patience : float, int
        Stop once the training loss has not fallen by ``tol`` for more than ``patience``
        epochs in a row. ``patience=None`` trains all epochs.
    """

    batch_size: int = 200
    learning_rate: float = 1e-3
    cosine: bool = False
    max_epochs: int = 1000
    tol: float = 1e-4
    patience: int | None = 10


@dataclass
class Network:
    """One network to train.

    Attributes
    ----------
    params : dict of ndarray
        Where it starts. Names that begin with W are weights, which decay.
    rows : int ndarray
        The rows of its data set that it trains on.
    weight_decay : float
        Half of it times the squared distance of the weights to ``anchor`` is added to
        the sum of squared errors of a batch.
    seed : int
        Of the order of its rows.
    anchor : dict of ndarray, optional
        What the weights decay to; by default zero.
    dataset : int
    """

    params: dict[str, NDArray]
    rows: NDArray[np.intp]
    weight_decay: float
    seed: int
    anchor: dict[str, NDArray] | None = None
    dataset: int = 0


@dataclass
class Trained:
    """A trained network: its parameters and the training loss of each epoch."""

    params: dict[str, NDArray]
    loss_curve: list[float] = field(default_factory=list)


class Data(NamedTuple):
    """Data sets of equal shape: inputs (r, n, p), targets (r, n, t), weights (r, n)."""

    inputs: Any
    targets: Any
    weights: Any


class _State(NamedTuple):
    """What changes as networks train; the network is the first axis of each array."""

    params: Any
    optimiser: Any
    best: Any
    waited: Any
    active: Any


class _Fixed(NamedTuple):
    """What does not change for a network while it trains."""

    order: Any  # (N, n) its rows, shuffled once
    n_rows: Any
    dataset: Any
    weight_decay: Any
    anchor: Any


def train(
    networks: list[Network],
    data: Data,
    apply: Callable,
    recipe: Recipe,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[Trained]:
    """Train networks of one shape of parameters, and return them in order.

    Parameters
    ----------
    networks : list of Network
        Their parameters have equal shapes (pad the narrow ones with zeros: a unit with
        zero weights gets no gradient).
    data : Data
    apply : callable
        ``apply(params, inputs) -> predictions`` of one network; a function of a module,
        so that programs are compiled once.
    recipe : Recipe
    progress : callable, optional
        Called with (networks done, networks in all) after every part.
    """
    # one table, so that a batch is gathered once
    parts = (data.inputs, data.targets, np.asarray(data.weights)[..., None])
    table = jnp.asarray(np.concatenate(parts, axis=2))
    n_inputs = data.inputs.shape[2]
    dtype = table.dtype
    done: list[Trained | None] = [None] * len(networks)

    def train_part(index: NDArray) -> None:
        with precision(dtype):  # jax keeps it by thread
            part = [networks[i] for i in index]
            for i, net in zip(
                index, _train_batch(part, table, n_inputs, apply, recipe), strict=True
            ):
                done[i] = net
        if progress:
            progress(sum(net is not None for net in done), len(networks))

    parts = _parts(networks, recipe)
    with ThreadPoolExecutor(_n_threads()) as pool:
        for _ in pool.map(train_part, parts):
            pass
    return [net for net in done if net is not None]


def _n_threads() -> int:
    """Batches that train side by side: an accelerator takes one, a CPU one per core."""
    return (os.cpu_count() or 1) if jax.default_backend() == "cpu" else 1


def _parts(networks: list[Network], recipe: Recipe) -> list[NDArray]:
    """Split the networks for the threads, and so that a batch fits into memory."""
    most = max(1, MOST_BYTES // _bytes_of(networks, recipe))
    n_parts = max(
        min(_n_threads(), math.ceil(len(networks) / SMALLEST_BATCH)),
        math.ceil(len(networks) / most),
    )
    return [np.arange(len(networks))[k::n_parts] for k in range(n_parts)]


def precision(dtype) -> Any:
    """Return a context in which jax computes in a float type."""
    return jax.enable_x64(np.dtype(dtype) == np.float64)


def _bytes_of(networks: list[Network], recipe: Recipe) -> int:
    """Memory of the largest network while it trains, roughly."""
    params = max(sum(p.nbytes for p in net.params.values()) for net in networks)
    rows = max(len(net.rows) for net in networks)
    widest = max(max(p.shape) for net in networks for p in net.params.values())
    return 6 * params + 4 * rows + 32 * recipe.batch_size * widest


def _train_batch(
    networks, table, n_inputs: int, apply, recipe: Recipe
) -> list[Trained]:
    done = [Trained(net.params) for net in networks]
    index = np.arange(len(networks))
    state, fixed = _start(networks)
    walks = [_walks(net, recipe) for net in networks]
    n_epochs = _epochs_at_once(fixed, recipe)
    epoch = 0
    while len(index):
        block = slice(epoch, epoch + n_epochs)
        walk = np.stack([walks[i][block] for i in _padded(index)], axis=1)
        state, losses = _run_epochs(
            apply, recipe, n_inputs, state, fixed, table, jnp.asarray(walk), epoch
        )
        epoch += n_epochs
        losses = np.asarray(losses)
        for k, i in enumerate(index):
            done[i].loss_curve += losses[np.isfinite(losses[:, k]), k].tolist()
        finished = ~np.asarray(state.active)[: len(index)]
        if finished.any():
            params = jax.tree.map(np.asarray, state.params)
            for k in np.flatnonzero(finished):
                done[index[k]].params = {name: p[k] for name, p in params.items()}
            index, state, fixed = _shrink(index, ~finished, state, fixed)
    return done


def _batch_size(n_networks: int) -> int:
    """Networks in the padded batch, of few sizes, so that few programs compile."""
    unit = max(SMALLEST_BATCH, 2 ** (math.ceil(math.log2(max(n_networks, 1))) - 4))
    return math.ceil(n_networks / unit) * unit


def _padded(index: NDArray) -> NDArray:
    """Repeat the last network up to the size of the batch; copies are thrown away."""
    lack = _batch_size(len(index)) - len(index)
    return np.concatenate([index, np.repeat(index[-1:], lack)])


def _start(networks: list[Network]) -> tuple[_State, _Fixed]:
    chosen = [networks[i] for i in _padded(np.arange(len(networks)))]
    n = len(chosen)
    order = np.zeros((n, _padded_rows(max(len(net.rows) for net in chosen))), np.int32)
    for k, net in enumerate(chosen):
        shuffled = np.random.default_rng(net.seed).permutation(net.rows)
        order[k, : len(net.rows)] = shuffled
    params = _stacked([net.params for net in chosen])
    nothing = jax.tree.map(np.zeros_like, networks[0].params)
    kind = next(iter(params.values())).dtype
    state = _State(
        params,
        jax.vmap(OPTIMISER.init)(params),
        jnp.full(n, jnp.inf, dtype=kind),
        jnp.zeros(n, dtype=jnp.int32),
        jnp.ones(n, dtype=bool),
    )
    fixed = _Fixed(
        jnp.asarray(order),
        jnp.asarray([len(net.rows) for net in chosen], dtype=jnp.int32),
        jnp.asarray([net.dataset for net in chosen], dtype=jnp.int32),
        jnp.asarray([net.weight_decay for net in chosen], dtype=kind),
        _stacked([net.anchor or nothing for net in chosen]),
    )
    return state, fixed


def _stacked(params: list[dict[str, NDArray]]) -> dict[str, Any]:
    return {
        name: jnp.asarray(np.stack([p[name] for p in params])) for name in params[0]
    }


def _padded_rows(n: int) -> int:
    """Rows of the padded table: at most a sixth more, so that few shapes occur."""
    unit = max(1, 2 ** (math.ceil(math.log2(n)) - 3))
    return math.ceil(n / unit) * unit


def _walks(net: Network, recipe: Recipe) -> NDArray[np.int32]:
    """Start and stride of each epoch's walk through the shuffled rows.

    A stride coprime to the number of rows visits each once, in an order of its own: a
    new shuffle for each epoch at the cost of two numbers.
    """
    n, n_epochs = len(net.rows), recipe.max_epochs + 20
    rng = np.random.default_rng([net.seed, 1])
    start = rng.integers(n, size=n_epochs)
    stride = rng.integers(1, max(n, 2), size=n_epochs)
    while (shared := np.gcd(stride, n) > 1).any():
        stride[shared] = rng.integers(1, max(n, 2), size=shared.sum())
    return np.stack([start, stride], axis=1).astype(np.int32)


def _epochs_at_once(fixed: _Fixed, recipe: Recipe) -> int:
    """Epochs between two looks at which networks are done: few where they are long."""
    n_steps = math.ceil(fixed.order.shape[1] / recipe.batch_size)
    return max(1, min(20, 1000 // n_steps))


@partial(jax.jit, static_argnums=(0, 1, 2))
def _run_epochs(apply, recipe, n_inputs, state: _State, fixed, table, walk, epoch):
    """Train all networks for some epochs; return losses (epochs, networks) too."""

    def one_epoch(state, item):
        return _epoch(apply, recipe, n_inputs, state, fixed, table, *item)

    return jax.lax.scan(one_epoch, state, (walk, epoch + jnp.arange(len(walk))))


def _epoch(apply, recipe: Recipe, n_inputs, state: _State, fixed, table, walk, epoch):
    size = recipe.batch_size
    n_steps = math.ceil(fixed.order.shape[1] / size)
    within = jnp.arange(size)
    rate = recipe.learning_rate
    if recipe.cosine:
        rate = rate * 0.5 * (1 + jnp.cos(jnp.pi * epoch / recipe.max_epochs))
    update = jax.vmap(partial(_update, apply, rate))

    def one_step(carry, step):
        params, optimiser, place, total, weights = carry
        position = (place[:, None] + within * walk[:, 1:]) % fixed.n_rows[:, None]
        row = jnp.take_along_axis(fixed.order, position, axis=1)
        rows = table[fixed.dataset[:, None], row]
        in_epoch = step * size + within < fixed.n_rows[:, None]
        weight = jnp.where(in_epoch, rows[..., -1], 0)
        sums = weight.sum(axis=1)
        live = state.active & (sums > 0)
        batch = (rows[..., :n_inputs], rows[..., n_inputs:-1], weight)
        params, optimiser, loss = update(
            params, optimiser, live, *batch, fixed.weight_decay, fixed.anchor
        )
        place = (place + size * walk[:, 1]) % fixed.n_rows
        return (params, optimiser, place, total + loss, weights + sums), None

    zero = jnp.zeros_like(state.best)
    carry = (state.params, state.optimiser, walk[:, 0], zero, zero)
    carry, _ = jax.lax.scan(one_step, carry, jnp.arange(n_steps))
    params, optimiser, _, total, weights = carry
    loss = total / jnp.maximum(weights, jnp.finfo(total.dtype).tiny)
    waited = jnp.where(loss > state.best - recipe.tol, state.waited + 1, 0)
    active = state.active & (epoch + 1 < recipe.max_epochs)
    if recipe.patience is not None:
        active = active & (waited <= recipe.patience)
    shown = jnp.where(state.active, loss, jnp.nan)
    best = jnp.minimum(state.best, loss)
    return _State(params, optimiser, best, waited, active), shown


def _update(
    apply, rate, params, optimiser, live, inputs, targets, weight, decay, anchor
):
    """One Adam step of one network; the loss of the batch times its weight."""
    total = jnp.maximum(weight.sum(), jnp.finfo(weight.dtype).tiny)

    def loss_of(params):
        error = jnp.sum((apply(params, inputs) - targets) ** 2, axis=1)
        squares = sum(
            jnp.sum((p - anchor[name]) ** 2)
            for name, p in params.items()
            if name.startswith("W")
        )
        return (weight @ error + decay * squares) / (2 * total)

    loss, gradient = jax.value_and_grad(loss_of)(params)
    step, stepped = OPTIMISER.update(gradient, optimiser, params)
    keep = partial(jnp.where, live)
    params = jax.tree.map(lambda p, s: keep(p - rate * s, p), params, step)
    optimiser = jax.tree.map(keep, stepped, optimiser)
    return params, optimiser, jnp.where(live, loss * total, 0)


def _shrink(index, keep, state: _State, fixed: _Fixed):
    """Let the finished networks leave the batch."""
    index = index[keep]
    if not len(index):
        return index, state, fixed
    chosen = jnp.asarray(_padded(np.flatnonzero(keep)))
    take = partial(jax.tree.map, lambda a: a[chosen])
    return index, take(state), take(fixed)
