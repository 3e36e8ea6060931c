"""What the networks share as scikit-learn regressors. Needs no jax to import."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from missfit.estimators.base import NanRegressor
from missfit.moments.blocks import blocks
from missfit.moments.rows import Rows, check_scale, check_weight
from missfit.networks.batch import fit_many, train_more
from missfit.networks.job import Job, Split, Start, splits_of, tries_of
from missfit.networks.network import Functions, Kind, Params, Recipe
from missfit.networks.process import load_trainer
from missfit.networks.stream import fit_source
from missfit.networks.units import Units
from missfit.tables.chunks import comes_in_chunks, named_columns


class NetworkRegressor(NanRegressor):
    """A network whose weight decay is chosen by cross-validation.

    All candidates on all folds train as one batch, then the chosen one on all rows. A
    subclass says where networks start, what they are fed and what they compute; what
    has to do with the squared error is in `_targets`, `_functions`, `_score` and
    `predict`.
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
    _y_units_: Units
    _y_ndim_: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d), or a source of chunks
            The features, NaN where missing. A source (see `missfit.EMLR.fit`) of more
            than 100,000 rows is read twice, so that an iterator does not do: give a
            function that returns one.
        y : array-like of shape (n,) or (n, t), str or list of str
            The target, or several; or the names of their columns.
        sample_weight : array-like of shape (n,), or str, optional
            Weights of the squared errors; or the name of their column.
        """
        if comes_in_chunks(X):
            return fit_source(self, X, y, sample_weight)
        fit_many([self], [tuple(named_columns(X, y, sample_weight))])
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train one more epoch, on the rows given, from where the network is.

        The first call sets the units of the features and the target from its rows, and
        takes the first weight decay.
        """
        load_trainer()
        first = not hasattr(self, "params_")
        trial = self._trial(keep=not first)
        rows = trial._check_rows(X, y, sample_weight, reset=first)
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

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict rows, NaN where missing; chunks in, chunks out."""
        if comes_in_chunks(X):
            return self._predict_chunks(X)
        X = self._check_predict(X)
        prediction = np.empty((len(X), len(self._y_units_.shift)))
        widest = max(max(p.shape) for p in self.params_.values())
        for rows in blocks(len(X), widest, size=2**20):
            standard = self._evaluate(self.params_, self._inputs(X[rows]))
            prediction[rows] = self._y_units_.original(standard)
        self._finite(prediction)
        return prediction[:, 0] if self._y_ndim_ == 1 else prediction

    def _check_rows(self, X, y, sample_weight=None, *, reset: bool = True) -> Rows:
        """Return rows as float64, or say what is wrong with them."""
        X, y = self._check_fit(X, y, reset=reset)
        check_scale(X, y)
        if sample_weight is None:
            return Rows(X, y, np.ones(len(X)))
        return Rows(X, y, check_weight(sample_weight, len(X)))

    def _job(self, X: Any, y: Any, sample_weight: Any = None) -> Job:
        """Return what there is to train, units and candidates set."""
        rows = self._check_rows(X, y, sample_weight)
        decays = self._check_parameters(rows.X.shape[1])
        splits = splits_of(self.cv, rows.weight) if len(decays) > 1 else []
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
        """Set the units of the features and the targets."""
        self._y_ndim_ = rows.y.ndim
        self._set_units(rows.X, _columns(rows.y), rows.weight)

    def _data(self, rows: Rows) -> tuple[NDArray, NDArray, NDArray]:
        """Return inputs, targets in standard units, and weights."""
        return self._inputs(rows.X), self._targets(rows.y), rows.weight

    def _targets(self, y: NDArray) -> NDArray:
        """Return what the outputs are compared with, one column for each output."""
        return self._y_units_.standard(_columns(y))

    def _functions(self) -> Functions:
        """Return the network and its loss, as the trainer wants them."""
        from missfit.networks.functions import half_squared_error  # it needs jax

        return Functions(self._apply(), half_squared_error)

    def _score(self, params: Params, inputs, targets, weight) -> float:
        """R2 on some rows, the mean over targets."""
        error = weight @ (targets - self._evaluate(params, inputs)) ** 2
        centre = weight @ targets / weight.sum()
        spread = weight @ (targets - centre) ** 2
        ratio = np.divide(error, spread, out=np.ones_like(error), where=spread > 0)
        return float(np.mean(1 - ratio))

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

    @abstractmethod
    def _check_parameters(self, n_features: int) -> tuple[float, ...]:
        """Return the weight decays to choose from."""

    @abstractmethod
    def _recipe(self, n_rows: int) -> Recipe:
        """Return how to train."""

    @abstractmethod
    def _set_units(self, X, y, weight) -> None:
        """Set ``_y_units_`` and what `_inputs` needs."""

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


def _columns(y: NDArray) -> NDArray:
    return y.reshape(len(y), -1)
