"""What the networks share as scikit-learn estimators. Needs no jax to import."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from missfit.estimators.base import NanEstimator
from missfit.moments.blocks import blocks
from missfit.moments.rows import Rows
from missfit.networks.batch import train_more
from missfit.networks.job import Job, Split, Start, splits_of, tries_of
from missfit.networks.network import Functions, Kind, Params, Recipe
from missfit.networks.process import load_trainer


class NetworkEstimator(NanEstimator):
    """A network whose weight decay is chosen by cross-validation.

    All candidates on all folds train as one batch, then the chosen one on all rows. One
    kind of subclass is a network: where it starts, what it is fed and what it computes.
    The other kind is a task, a number or a class to predict: `_check_rows`,
    `_set_target_units`, `_targets`, `_loss` and `_score`. An estimator is one of each.
    """

    weight_decay: Any
    cv: Any
    random_state: Any
    verbose: bool
    learns_start = False  # from the rows; the weights then decay to it
    weight_decay_: float
    params_: Params
    loss_curve_: list[float]
    cv_scores_: dict[float, float]
    n_starts: Any = 1  # of which the last fit keeps the best
    tries_start_alike: Any = True  # so that chance does not choose the weight decay

    def _train_on(self, read: Callable[[Any, bool], Rows]) -> Any:
        """Train one more epoch from where the network is.

        Parameters
        ----------
        read : callable
            Returns the checked rows, given the copy that is trained and whether these
            are its first rows.
        """
        load_trainer()
        first = not hasattr(self, "params_")
        trial = self._trial(keep=not first)
        rows = read(trial, first)
        decays = trial._check_parameters(rows.X.shape[1])
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows = _with_weight(rows)
        if first:
            trial._set_up(rows)
            trial._keep(trial._start(seed, rows), [])
            trial.weight_decay_, trial.cv_scores_ = decays[0], {}
        order = seed + len(trial.loss_curve_)  # another shuffle for each chunk
        recipe = Recipe(max_epochs=1, patience=None)
        net = train_more(trial, rows, seed=order, recipe=recipe)
        trial._keep(net.params, [*trial.loss_curve_, *net.loss_curve])
        return self._become(trial)

    def _outputs(self, X: NDArray) -> NDArray[np.float64]:
        """Return what the network computes for rows that are checked."""
        widest = max(max(p.shape) for p in self.params_.values())
        parts = [
            self._evaluate(self.params_, self._inputs(X[rows]))
            for rows in blocks(len(X), widest, size=2**20)
        ]
        return np.concatenate(parts)

    def _job(self, X: Any, y: Any, sample_weight: Any = None) -> Job:
        """Return what there is to train, units and candidates set."""
        rows = self._check_rows(X, y, sample_weight)
        decays = self._check_parameters(rows.X.shape[1])
        splits = self._splits(rows) if len(decays) > 1 else []
        n_own = 0 if self.tries_start_alike else len(decays) * len(splits)
        rng = check_random_state(self.random_state)
        seeds = rng.randint(2**31 - 1, size=self.n_starts + n_own).tolist()
        rows = _with_weight(rows)
        self._set_up(rows)
        starts = [Start(seed, self._start(seed, rows)) for seed in seeds]
        finals, own = starts[: self.n_starts], starts[self.n_starts :]
        views = self._views(rows, splits)
        alike = self._starts_of_splits(finals[0], views, rows, splits) * len(decays)
        tries = tries_of(decays, splits, own or alike)
        return Job(views, rows, decays, splits, tries, finals)

    def _splits(self, rows: Rows) -> list[Split]:
        """Return the splits that choose the weight decay."""
        return splits_of(self.cv, rows.weight, rows.y)

    def _views(self, rows: Rows, splits: list[Split]) -> list[Any]:
        """Return the model as each split sees it, and last as it is.

        Where a start is learned, neither it nor the units that it is learned in may
        know the rows that the split holds out. Otherwise the units are those of all
        rows: they are means and standard deviations, and one table serves all splits.
        """
        views = []
        for train, _ in splits if self.learns_start else []:
            view = self._trial(keep=True)
            view._set_up(rows.take(train))
            views.append(view)
        return [*views, self]

    def _starts_of_splits(
        self, start: Start, views: list[Any], rows: Rows, splits: list[Split]
    ) -> list[Start]:
        """Return where each split starts: alike, or from its own training rows."""
        if not self.learns_start:
            return [start] * len(splits)
        seed = start.seed
        parts = [rows.take(train) for train, _ in splits]
        pairs = zip(views[:-1], parts, strict=True)
        return [Start(seed, view._start(seed, part)) for view, part in pairs]

    def _set_up(self, rows: Rows) -> None:
        """Set the units of the features and of the targets."""
        self._set_target_units(rows)
        self._set_units(rows.X, rows.weight)

    def _data(self, rows: Rows) -> tuple[NDArray, NDArray, NDArray]:
        """Return inputs, targets as the loss takes them, and weights."""
        return self._inputs(rows.X), self._targets(rows.y), rows.weight

    def _functions(self) -> Functions:
        """Return the network and its loss, as the trainer wants them."""
        return Functions(self._apply(), self._loss())

    def _kind(self, params: Params, n_rows: int) -> Kind:
        """Return what networks must have in common to train in one batch.

        A table of one batch is summed as a whole: in float64, weights then equal
        repeated rows to rounding.
        """
        recipe = self._recipe(n_rows)
        float_type = np.float64 if n_rows <= recipe.batch_size else np.float32
        return Kind(self._functions(), float_type, self._sizes(params))

    def _keep(self, params: Params, loss_curve: list[float]) -> None:
        """Keep a trained network."""
        self.params_ = {name: np.asarray(p, float) for name, p in params.items()}
        self.loss_curve_ = loss_curve
        self.n_iter_ = len(loss_curve)

    # --- the task ---

    @abstractmethod
    def _check_rows(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        """Return rows with a weight each, or say what is wrong with them."""

    @abstractmethod
    def _set_target_units(self, rows: Rows) -> None:
        """Set what `_targets` needs."""

    @abstractmethod
    def _targets(self, y: NDArray) -> NDArray:
        """Return what the outputs are compared with, one column for each output."""

    @abstractmethod
    def _loss(self) -> Any:
        """Return what the outputs of rows cost, a function of a module, in jax."""

    @abstractmethod
    def _score(self, params: Params, inputs, targets, weight) -> float:
        """Return how good a network is on some rows; more is better."""

    # --- the network ---

    @abstractmethod
    def _check_parameters(self, n_features: int) -> tuple[float, ...]:
        """Return the weight decays to choose from."""

    @abstractmethod
    def _recipe(self, n_rows: int) -> Recipe:
        """Return how to train."""

    @abstractmethod
    def _set_units(self, X, weight) -> None:
        """Set what `_inputs` needs."""

    @abstractmethod
    def _inputs(self, X: NDArray) -> NDArray:
        """Return what the network is fed."""

    @abstractmethod
    def _start(self, seed: int, rows: Rows) -> Params:
        """Return initial parameters."""

    @abstractmethod
    def _apply(self) -> Any:
        """Return the network as a function of parameters and inputs, in jax."""

    @abstractmethod
    def _sizes(self, params: Params) -> tuple[int, ...]:
        """Return the sizes that parameters are padded to at most."""

    @abstractmethod
    def _evaluate(self, params: Params, inputs: NDArray) -> NDArray:
        """Evaluate the network with numpy."""


def check_decays(weight_decay: Any) -> tuple[float, ...]:
    """Return the weight decays as floats, or say what is wrong with them."""
    decays = np.atleast_1d(np.asarray(weight_decay, dtype=float))
    if decays.size == 0 or not (np.isfinite(decays) & (decays >= 0)).all():
        raise ValueError(
            f"weight_decay={weight_decay!r}; give one or more numbers >= 0, or None."
        )
    return tuple(decays.tolist())


def _with_weight(rows: Rows) -> Rows:
    """Return the rows of positive weight, without a copy where these are all."""
    kept = rows.weight > 0  # many models may share X
    return rows if kept.all() else rows.take(np.flatnonzero(kept))
