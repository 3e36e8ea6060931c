"""What the trainer takes and returns: networks, recipes, rows. Needs no jax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray

Params = dict[str, NDArray]


class Functions(NamedTuple):
    """What is computed: the network, and what its outputs cost.

    ``outputs = apply(params, inputs)`` of one network on some rows, and
    ``loss(outputs, targets)``, a number >= 0 for each row. Both are functions of a
    module, so that a program is compiled once.
    """

    apply: Callable
    loss: Callable


class Kind(NamedTuple):
    """What the networks of one batch have in common."""

    functions: Functions
    float_type: Any
    sizes: tuple[int, ...]  # that parameters are padded to at most


@dataclass(frozen=True)
class Recipe:
    """How a network is trained.

    Attributes
    ----------
    batch_size : int
        Rows of one step.
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
        the sum of the losses of a batch.
    seed : int
        Decides the walks through its rows.
    recipe : Recipe
    anchor : dict of ndarray, optional
        What the weights decay to; by default zero.
    tag : tuple
        What the caller knows it by. Networks that wait train in the order of the tags.
    """

    params: Params
    rows: int
    weight_decay: float
    seed: int
    recipe: Recipe = field(default_factory=Recipe)
    anchor: Params | None = None
    tag: tuple = ()


@dataclass
class Trained:
    """A trained network: its parameters and the training loss of each epoch."""

    params: Params
    loss_curve: list[float] = field(default_factory=list)


Finished = list[tuple[Network, Trained]]


class Data(NamedTuple):
    """Rows of all networks.

    Inputs (n, p), targets (n, t), weights (n,), all > 0, and the sets of rows that
    networks train on, each in an order that has been shuffled.
    """

    inputs: NDArray
    targets: NDArray
    weights: NDArray
    rows: list[NDArray]


def bucket(size: int) -> int:
    """Return the largest size that trains in one batch with this one.

    >>> bucket(3), bucket(20), bucket(64), bucket(100), bucket(512)
    (16, 64, 64, 128, 512)
    """
    return next(b for b in (16, *(2**k for k in range(6, 40))) if b >= size)
