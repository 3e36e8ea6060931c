"""MLP: one hidden ReLU layer on (X with 0 for missing, M)."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.moments.rows import Rows
from missfit.networks.estimator import NetworkEstimator, check_decays
from missfit.networks.network import Params, Recipe, bucket
from missfit.networks.regressor import NetworkRegressor
from missfit.networks.units import Units, is_constant

STEPS, EPOCHS = 2500, 100  # at least, of the default schedule


class MLPNetwork(NetworkEstimator):
    """The network of `MLP` and `MLPClassifier`."""

    width: Any
    preset: str | None = None
    _x_units_: Units
    _input_units_: Units

    def _check_parameters(self, n_features: int) -> tuple[float, ...]:
        if self.preset not in (None, "paper"):
            raise ValueError(f"preset={self.preset!r}; choose 'paper' or None.")
        self.width_ = n_units(self.width, n_features)
        if self.weight_decay is not None:
            return check_decays(self.weight_decay)
        if self.preset == "paper":
            return (1e-1, 1e-2, 1e-4)
        return (0.1, 0.3, 1.0, 3.0, 10.0)

    @property
    def n_starts(self) -> int:
        """Networks of which the last fit keeps the best: narrow ones get stuck."""
        return 1 if self.preset == "paper" else 3

    @property
    def tries_start_alike(self) -> bool:
        """Not in the preset: the authors set no seed."""
        return self.preset != "paper"

    def _recipe(self, n_rows: int) -> Recipe:
        if self.preset == "paper":
            return Recipe()
        return Recipe(
            learning_rate=1e-2,
            cosine=True,
            patience=None,
            max_epochs=int(np.clip(200 * STEPS / n_rows, EPOCHS, 1000)),
        )

    def _set_units(self, X, weight) -> None:
        paper = self.preset == "paper"
        self._x_units_ = Units.unchanged(X.shape[1]) if paper else Units.of(X, weight)
        self._input_units_ = Units.of(self._zeros_and_mask(X), weight)

    def _zeros_and_mask(self, X: NDArray) -> NDArray:
        """Return X in its units with 0 for missing, then M.

        By default 0 is the mean of a feature, so that predictions depend neither on its
        origin nor on its unit; in the paper's preset it is 0 as the table has it.
        """
        mask = np.isnan(X)
        return np.hstack([np.where(mask, 0.0, self._x_units_.standard(X)), mask])

    def _inputs(self, X: NDArray) -> NDArray:
        return self._input_units_.standard(self._zeros_and_mask(X))

    def _start(self, seed: int, rows: Rows) -> Params:
        from missfit.networks.functions import mlp_start

        n_inputs, targets = len(self._input_units_.shift), self._targets(rows.y)
        params = mlp_start(seed, n_inputs, self.width_, targets.shape[1])
        if self.preset != "paper":
            # what does not vary is learned exactly: without a gradient, 0 stays 0
            params["W1"][is_constant(self._inputs(rows.X))] = 0.0
            constant = is_constant(targets)
            params["W2"][:, constant], params["b2"][constant] = 0.0, 0.0
        return params

    def _apply(self) -> Any:
        from missfit.networks.functions import mlp_apply

        return mlp_apply

    def _sizes(self, params: Params) -> tuple[int, ...]:
        n_inputs, width = params["W1"].shape
        return bucket(n_inputs), bucket(width), params["W2"].shape[1]

    def _evaluate(self, params, inputs: NDArray) -> NDArray:
        hidden = np.maximum(inputs @ params["W1"] + params["b1"], 0.0)
        return hidden @ params["W2"] + params["b2"]


class MLP(NetworkRegressor, MLPNetwork):
    """A multilayer perceptron on (X with 0 for missing, M), one hidden ReLU layer.

    The network of Section 6 of the paper: with 2^d hidden units it can be the Bayes
    predictor of any Gaussian pattern mixture (Theorem 6.1), with fewer it trades
    approximation for estimation. Trained by Adam on the squared error; the candidates
    of the cross-validation train as one batch.

    Parameters
    ----------
    width : int or str
        Hidden units: a number, or a multiple of d or 2^d such as "2d" or "0.5*2^d".
    preset : {None, "paper"}
        "paper" trains as the authors did with scikit-learn's MLPRegressor: learning
        rate 1e-3, batches of 200, up to 1,000 epochs, stopping once the training loss
        has not fallen by 1e-4 for more than 10 epochs, X and y in their own units when
        0 is filled in, each try of a penalty from initial weights of its own. By
        default X and y are standardised first, so that 0 is the mean of a feature and
        its origin does not matter; the learning rate falls from 1e-2 along a cosine,
        all tries start alike, and of three starts of the last fit the one with the
        lowest training loss is kept.
    weight_decay : float or sequence of float, optional
        Penalties to choose from; by default 0.1, 0.3, 1, 3 and 10, in the paper's
        preset 0.1, 0.01 and 1e-4.
    cv : int, splitter or iterable
        Cross-validation that chooses, by the mean R2 of the folds. Means and standard
        deviations of X and y are those of all rows.
    random_state : int, RandomState or None
        Seed of the initial weights and of the order of the rows.
    verbose : bool
        Show progress on stderr.

    Attributes
    ----------
    width_ : int
        Hidden units.
    weight_decay_ : float
        The chosen penalty.
    cv_scores_ : dict
        The mean R2 of each penalty, where there was a choice.
    params_ : dict of ndarray
        Weights and biases W1, b1, W2, b2, for standardised inputs.
    loss_curve_ : list of float
        Training loss of each epoch.
    n_iter_ : int
        Epochs trained.
    """

    def __init__(
        self,
        width: Any = 40,
        *,
        preset: str | None = None,
        weight_decay: Any = None,
        cv: Any = 3,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.width = width
        self.preset = preset
        self.weight_decay = weight_decay
        self.cv = cv
        self.random_state = random_state
        self.verbose = verbose

    def _units_of_targets(self, y: NDArray, weight: NDArray) -> Units:
        if self.preset == "paper":
            return Units.unchanged(y.shape[1])
        return super()._units_of_targets(y, weight)


def n_units(width: Any, d: int) -> int:
    """Hidden units of a width: a number, or a multiple of d or 2^d.

    >>> n_units(40, 10), n_units("2d", 10), n_units("0.5*2^d", 10)
    (40, 20, 512)
    """
    if isinstance(width, (int, np.integer)) and not isinstance(width, bool):
        units = int(width)
    else:
        match = re.fullmatch(r"([0-9.]+)?\*?(2\^d|d)", str(width).replace(" ", ""))
        if not match:
            raise ValueError(
                f"width={width!r}; give a number of units, or a multiple of d or 2^d "
                "such as '2d' or '0.5*2^d'."
            )
        units = int(float(match[1] or 1) * (d if match[2] == "d" else 2**d))
    if units < 1:
        raise ValueError(f"width={width!r} gives {units} units; at least 1 is needed.")
    return units
