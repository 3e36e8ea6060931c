"""The networks as pure functions: where they start, what they compute, what it costs.

A loss takes the outputs and the targets of some rows and returns one number >= 0 for
each row. The trainer minimises its weighted mean, whatever it is.
"""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray


def mlp_start(
    seed: int, n_inputs: int, width: int, n_targets: int
) -> dict[str, NDArray]:
    """Glorot-uniform weights of one hidden layer.

    As scikit-learn's MLPRegressor: all of a layer within sqrt(6 / (fan in + fan out)).
    """
    rng = np.random.default_rng(seed)
    inner = np.sqrt(6 / (n_inputs + width))
    outer = np.sqrt(6 / (width + n_targets))
    return {
        "W1": rng.uniform(-inner, inner, (n_inputs, width)),
        "b1": rng.uniform(-inner, inner, width),
        "W2": rng.uniform(-outer, outer, (width, n_targets)),
        "b2": rng.uniform(-outer, outer, n_targets),
    }


def mlp_apply(params, inputs):
    """b2 + W2' relu(W1' inputs + b1)."""
    hidden = jax.nn.relu(inputs @ params["W1"] + params["b1"])
    return jnp.dot(hidden, params["W2"]) + params["b2"]


@cache
def neumiss_apply(depth: int):
    """Return NeuMiss of a depth: one function per depth, so that it compiles once."""

    def apply(params, inputs):
        d = inputs.shape[1] // 2
        mask = inputs[:, d:]
        first = (1 - mask) * (inputs[:, :d] - params["mu"])

        def layer(h, _):
            return (1 - mask) * (h @ params["W_mix"]) + first, None

        h, _ = jax.lax.scan(layer, first, None, length=depth)
        output = h @ params["W_out"] + params["b_out"]
        if "W1" in params:
            output = output + mlp_apply(params, jnp.concatenate([h, mask], axis=1))
        if "W_scale" in params:
            output = output * jnp.exp(-mask @ params["W_scale"])[:, None]
        return output

    return apply


def half_squared_error(outputs, targets):
    """Half the squared error of each row, summed over targets."""
    return jnp.sum((outputs - targets) ** 2, axis=1) / 2


def cross_entropy(outputs, targets):
    """Minus the log of the probability of each row's class.

    One output is the log-odds of the second class, of which the target is the
    indicator; several are scores, of which the softmax are the probabilities.
    """
    if outputs.shape[1] == 1:
        return jnp.sum(jax.nn.softplus(outputs) - targets * outputs, axis=1)
    return -jnp.sum(targets * jax.nn.log_softmax(outputs, axis=1), axis=1)
