"""NeuMiss: a network whose layers are the steps of a Neumann series."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from missfit.estimators.emlr import EMLR
from missfit.moments.rows import Rows
from missfit.networks.estimator import NetworkEstimator, check_decays
from missfit.networks.mlp import n_units
from missfit.networks.network import Params, Recipe, bucket
from missfit.networks.regressor import NetworkRegressor
from missfit.networks.units import Units, is_constant

STEPS = 4000  # at least; and at least 20 epochs


class NeuMissNetwork(NetworkEstimator):
    """The network of `NeuMiss` and `NeuMissClassifier`."""

    depth: Any
    head: Any
    learns_start = True
    decays: tuple[float, ...] = (1.0, 1e2, 1e4)  # to choose from by default
    _x_units_: Units
    _width_: int

    def _check_parameters(self, n_features: int) -> tuple[float, ...]:
        if not isinstance(self.depth, (int, np.integer)) or self.depth < 0:
            raise ValueError(
                f"depth={self.depth!r}; give a whole number of layers >= 0."
            )
        self._width_ = 0 if self.head is None else n_units(self.head, n_features)
        if self.weight_decay is not None:
            return check_decays(self.weight_decay)
        return self.decays

    def _recipe(self, n_rows: int) -> Recipe:
        return Recipe(
            learning_rate=2e-3,
            # where the start is optimal, rounding must not set the direction
            eps=1e-3,
            cosine=True,
            patience=None,
            max_epochs=int(np.clip(200 * STEPS / n_rows, 20, 500)),
        )

    def _set_units(self, X, weight) -> None:
        self._x_units_ = Units.of(X, weight)

    def _inputs(self, X: NDArray) -> NDArray:
        mask = np.isnan(X)
        standard = np.where(mask, 0.0, self._x_units_.standard(X))
        return np.hstack([standard, mask])

    def _start(self, seed: int, rows: Rows) -> Params:
        """Neumann series of the Gaussian that EM fits to the standardised rows."""
        from missfit.networks.functions import mlp_start

        X, targets = self._x_units_.standard(rows.X), self._targets(rows.y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a start is enough
            em = EMLR(max_iter=100).fit(X, targets, rows.weight)
        params = self._linked(_neumann_series(em), em, rows)
        # five digits are enough for a start, and keep rounding out of it
        params = {name: np.round(p, 5) for name, p in params.items()}
        if self._width_:
            layer = mlp_start(seed, 2 * X.shape[1], self._width_, targets.shape[1])
            layer["W2"][:], layer["b2"][:] = 0.0, 0.0  # it starts without a say
            # without a gradient, 0 stays 0: what did not vary at fit has no say later
            layer["W1"][is_constant(self._inputs(rows.X))] = 0.0
            params.update(layer)
        return params

    def _linked(self, series: Params, em: EMLR, rows: Rows) -> Params:
        """Return the series whose outputs are on the scale of the loss."""
        return series

    def _apply(self) -> Any:
        from missfit.networks.functions import neumiss_apply

        return neumiss_apply(int(self.depth))

    def _sizes(self, params: Params) -> tuple[int, ...]:
        return *params["W_out"].shape, bucket(self._width_) if self._width_ else 0

    def _evaluate(self, params, inputs: NDArray) -> NDArray:
        d = inputs.shape[1] // 2
        seen = 1.0 - inputs[:, d:]
        first = seen * (inputs[:, :d] - params["mu"])
        h = first
        for _ in range(self.depth):
            h = seen * (h @ params["W_mix"]) + first
        output = h @ params["W_out"] + params["b_out"]
        if "W1" in params:
            features = np.hstack([h, inputs[:, d:]])
            hidden = np.maximum(features @ params["W1"] + params["b1"], 0.0)
            output = output + hidden @ params["W2"] + params["b2"]
        if "W_scale" in params:
            output = output * np.exp(-inputs[:, d:] @ params["W_scale"])[:, None]
        return output


class NeuMiss(NetworkRegressor, NeuMissNetwork):
    """The NeuMiss network with shared weights, started at the Gaussian optimum.

    The Bayes predictor of a Gaussian needs S_obs^-1 (x_obs - mu_obs) for every pattern.
    NeuMiss approximates it by the Neumann series, one step a layer, masked by what is
    missing (Le Morvan et al., NeurIPS 2020; shared weights, NeurIPS 2021)::

        h_0 = (1 - m) (x - mu),   h = (1 - m) (W h) + h_0,  ``depth`` times
        f(x) = b + w'h,  or a ReLU layer on h

    Started from EM, with W = I - S / L and w = S_xy / L, the network is the series of
    `EMLR`'s predictor from the first step on, and learns from there what the Gaussian
    model misses. Weights decay to where they start.

    Parameters
    ----------
    depth : int
        Layers. Strongly correlated features need more.
    head : None, int or str
        None is a linear head; a width (as `MLP`'s) adds a hidden ReLU layer beside it.
    weight_decay : float or sequence of float, optional
        Penalties to choose from, on the distance to the start; by default 1, 100 and
        10,000, the last of which all but stays at EM.
    cv : int, splitter or iterable
        Cross-validation that chooses, by the mean R2 of the folds. Each fold starts
        from EM on its own training rows.
    random_state : int, RandomState or None
    verbose : bool
        Show progress on stderr.

    Attributes
    ----------
    weight_decay_, cv_scores_, loss_curve_, n_iter_
        As of `MLP`.
    params_ : dict of ndarray
        mu, W_mix, W_out, b_out, and those of the ReLU layer.
    """

    def __init__(
        self,
        depth: int = 10,
        *,
        head: Any = None,
        weight_decay: Any = None,
        cv: Any = 3,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.depth = depth
        self.head = head
        self.weight_decay = weight_decay
        self.cv = cv
        self.random_state = random_state
        self.verbose = verbose


def _neumann_series(em: EMLR) -> Params:
    """Return the parameters of the series for the Gaussian that EM has fitted."""
    d = em.n_features_in_
    mean, cov = em.mean_, em.covariance_
    largest = np.linalg.eigvalsh(cov[:d, :d])[-1]
    return {
        "mu": mean[:d],
        "W_mix": np.eye(d) - cov[:d, :d] / largest,
        "W_out": cov[:d, d:] / largest,
        "b_out": mean[d:],
    }
