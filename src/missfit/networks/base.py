"""What the networks share as scikit-learn regressors. Needs no jax to import."""

from __future__ import annotations

import sys
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from missfit.estimators.base import NanRegressor
from missfit.moments import check_weight
from missfit.tables import blocks


def load_trainer() -> Any:
    """Import the trainer, or say how to install what it needs."""
    try:
        from missfit.networks import trainer
    except ImportError as error:
        raise ImportError(
            f"the networks need jax and optax ({error}). Install them with "
            'pip install "missfit[networks]".'
        ) from error
    return trainer


class Units(NamedTuple):
    """Shift and scale of the columns of a table."""

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, table: NDArray, weight: NDArray) -> Units:
        """Return weighted means and standard deviations without NaN, 1 if constant."""
        seen = ~np.isnan(table)
        mass = weight[:, None] * seen
        total = np.maximum(mass.sum(axis=0), np.finfo(float).tiny)
        shift = (mass * np.where(seen, table, 0.0)).sum(axis=0) / total
        gap = np.where(seen, table - shift, 0.0)
        spread = np.sqrt((mass * gap**2).sum(axis=0) / total)
        constant = spread <= 1e-12 * np.abs(shift)
        return cls(shift, np.where(constant, 1.0, spread))

    def standard(self, table: NDArray) -> NDArray:
        """Return the table in these units."""
        return (table - self.shift) / self.scale


class Job(NamedTuple):
    """One fit among many: the model to become, its rows, candidates and start."""

    model: Any
    X: NDArray
    y: NDArray
    weight: NDArray
    decays: tuple[float, ...]
    splits: list[tuple[NDArray, NDArray]]
    seed: int
    start: dict[str, NDArray]


def fit_many(models: list[Any], tables: list[tuple], *, verbose: bool = False) -> None:
    """Fit networks, each to its own table, as few batches as their kinds allow.

    The candidates of all models on all folds train together, then the chosen ones: a
    study of many tables costs little more than its longest network. Each model ends as
    after its own ``fit``.

    Parameters
    ----------
    models : list of MLP or NeuMiss
    tables : list of (X, y) or (X, y, sample_weight)
    verbose : bool
        Show progress on stderr.
    """
    trainer = load_trainer()
    trials = [model._trial() for model in models]
    jobs = [trial._job(*table) for trial, table in zip(trials, tables, strict=True)]
    groups: dict[Any, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.model._kind(trainer, job), []).append(job)
    for (recipe, apply, dtype, _, _), group in groups.items():
        with trainer.precision(dtype):
            _fit_group(trainer, group, recipe, apply, dtype, verbose)
    for model, trial in zip(models, trials, strict=True):
        model._become(trial)


def _fit_group(trainer, jobs: list[Job], recipe, apply, dtype, verbose: bool) -> None:
    """Choose the weight decays of one kind of networks, then train on all rows."""
    shapes = {
        name: np.max([job.start[name].shape for job in jobs], axis=0)
        for name in jobs[0].start
    }
    data = _stacked_data(trainer, jobs, dtype)

    def network(k: int, rows, decay: float):
        job = jobs[k]
        start = {n: _pad(p, shapes[n]).astype(dtype) for n, p in job.start.items()}
        anchor = start if job.model.decays_to_start else None
        return trainer.Network(start, rows, decay, job.seed, anchor, k)

    def trained(networks, what: str):
        verbose_here = verbose or any(job.model.verbose for job in jobs)
        show = _progress(what) if verbose_here else None
        return trainer.train(networks, data, apply, recipe, progress=show)

    tries = [
        (k, decay, train, test)
        for k, job in enumerate(jobs)
        for decay in job.decays
        for train, test in job.splits
    ]
    scores: dict[int, list[float]] = {k: [] for k in range(len(jobs))}
    if tries:
        nets = trained([network(k, t, decay) for k, decay, t, _ in tries], "choosing")
        for net, (k, _, _, test) in zip(nets, tries, strict=True):
            parts = (np.asarray(part[k])[test] for part in data)
            scores[k].append(jobs[k].model._score(net.params, *parts))
    for k, job in enumerate(jobs):
        best = _best(job.decays, scores[k])
        job.model.weight_decay_, job.model.cv_scores_ = best
    last = [
        network(k, np.arange(len(job.X)), job.model.weight_decay_)
        for k, job in enumerate(jobs)
    ]
    for net, job in zip(trained(last, "fitting"), jobs, strict=True):
        net.params = {
            name: p[tuple(slice(size) for size in job.start[name].shape)]
            for name, p in net.params.items()
        }
        job.model._keep(net, net.loss_curve)


def _stacked_data(trainer, jobs: list[Job], dtype):
    """Tables of equal shape, padded with rows of weight zero."""
    n = max(len(job.X) for job in jobs)
    tables = [job.model._data(job.X, job.y, job.weight) for job in jobs]
    parts = zip(*tables, strict=True)
    return trainer.Data(
        *(
            np.stack([_pad(p, (n, *p.shape[1:])) for p in part]).astype(dtype)
            for part in parts
        )
    )


def _pad(array: NDArray, shape) -> NDArray:
    """Fill up with zeros to a shape."""
    return np.pad(array, [(0, w - h) for h, w in zip(array.shape, shape, strict=True)])


def _progress(what: str):
    def show(done: int, total: int) -> None:
        end = "\n" if done == total else ""
        print(f"\r{what}: {done} of {total} networks", end=end, file=sys.stderr)

    return show


class NetworkRegressor(NanRegressor):
    """A network whose weight decay is chosen by cross-validation.

    All candidates on all folds train as one batch, then the chosen one on all rows.
    """

    weight_decay: Any
    cv: Any
    random_state: Any
    verbose: bool
    decays_to_start = False  # else to zero
    _y_units_: Units

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The features, NaN where missing.
        y : array-like of shape (n,) or (n, t)
            The target, or several.
        sample_weight : array-like of shape (n,), optional
            Weights of the squared errors.
        """
        fit_many([self], [(X, y, sample_weight)])
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train one more epoch, on the rows given, from where the network is.

        The first call sets the units of the features and the target from its rows, and
        takes the first weight decay.
        """
        trainer = load_trainer()
        first = not hasattr(self, "params_")
        trial = self._trial(keep=not first)
        X, y = trial._check_fit(X, y, reset=first)
        weight = np.ones(len(X))
        if sample_weight is not None:
            weight = check_weight(sample_weight, len(X))
        decays = trial._check_parameters(X.shape[1])
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        kept = weight > 0
        X, y, weight = X[kept], y[kept], weight[kept]
        if first:
            trial._set_up(X, y, weight)
            trial.params_ = trial._start(seed, X, y, weight)
            trial.weight_decay_ = decays[0]
            trial.cv_scores_, trial.loss_curve_ = {}, []
        job = Job(trial, X, y, weight, decays, [], seed, trial.params_)
        _, apply, dtype, _, _ = trial._kind(trainer, job)
        start = {name: p.astype(dtype) for name, p in trial.params_.items()}
        anchor = start if trial.decays_to_start else None
        order = seed + len(trial.loss_curve_)  # another shuffle for each chunk
        net = trainer.Network(
            start, np.arange(len(X)), trial.weight_decay_, order, anchor
        )
        recipe = trainer.Recipe(max_epochs=1, patience=None)
        with trainer.precision(dtype):
            data = _stacked_data(trainer, [job], dtype)
            (net,) = trainer.train([net], data, apply, recipe)
        trial._keep(net, [*trial.loss_curve_, *net.loss_curve])
        return self._become(trial)

    def _job(self, X, y, sample_weight=None) -> Job:
        """Return what there is to train, units and candidates set."""
        X, y = self._check_fit(X, y)
        weight = np.ones(len(X))
        if sample_weight is not None:
            weight = check_weight(sample_weight, len(X))
        decays = self._check_parameters(X.shape[1])
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        splits = self._splits(weight) if len(decays) > 1 else []
        kept = weight > 0
        X, y, weight = X[kept], y[kept], weight[kept]
        self._set_up(X, y, weight)
        start = self._start(seed, X, y, weight)
        return Job(self, X, y, weight, decays, splits, seed, start)

    def _kind(self, trainer, job: Job) -> tuple:
        """Return what networks of one batch have in common."""
        # A table of one batch is summed as a whole: in float64, weights then equal
        # repeated rows to rounding.
        dtype = np.float64 if len(job.X) <= 200 else np.float32
        n_inputs, n_targets = 2 * job.X.shape[1], job.y.reshape(len(job.y), -1).shape[1]
        recipe = self._recipe(trainer, len(job.X))
        return recipe, self._apply(), dtype, n_inputs, n_targets

    def _keep(self, net, loss_curve: list[float]) -> None:
        self.params_ = {name: np.asarray(p, float) for name, p in net.params.items()}
        self.loss_curve_ = loss_curve
        self.n_iter_ = len(loss_curve)

    def _set_up(self, X, y, weight) -> None:
        self._y_ndim_ = y.ndim
        self._set_units(X, y.reshape(len(y), -1), weight)

    def _data(self, X, y, weight) -> tuple[NDArray, NDArray, NDArray]:
        """Return inputs, targets in standard units, and weights."""
        targets = self._y_units_.standard(y.reshape(len(y), -1))
        return self._inputs(X), targets, weight

    def _splits(self, weight) -> list[tuple[NDArray, NDArray]]:
        """Return the splits of the rows that have weight, in both parts."""
        n = len(weight)
        if isinstance(self.cv, int) and n < self.cv:
            raise ValueError(
                f"X has n_samples={n}, fewer than the {self.cv} folds of "
                f"cv={self.cv!r}. Give fewer folds, or one weight decay, such as "
                "weight_decay=1.0."
            )
        cv: Any = self.cv
        splitter: Any = check_cv(cv)
        place = np.cumsum(weight > 0) - 1
        kept = []
        for train, test in splitter.split(np.empty((n, 1))):
            parts = [place[rows[weight[rows] > 0]] for rows in (train, test)]
            if all(len(rows) for rows in parts):
                kept.append(tuple(parts))
        if not kept:
            raise ValueError(
                f"cv={self.cv!r} leaves no split with rows (of weight > 0) in both "
                "parts. Give another cv, or one weight decay."
            )
        return kept

    def _score(self, params, inputs, targets, weight) -> float:
        """R2 on some rows, the mean over targets."""
        error = weight @ (targets - self._evaluate(params, inputs)) ** 2
        centre = weight @ targets / weight.sum()
        spread = weight @ (targets - centre) ** 2
        ratio = np.divide(error, spread, out=np.ones_like(error), where=spread > 0)
        return float(np.mean(1 - ratio))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict rows, NaN where missing."""
        X = self._check_predict(X)
        prediction = np.empty((len(X), len(self._y_units_.shift)))
        widest = max(max(p.shape) for p in self.params_.values())
        for rows in blocks(len(X), widest, size=2**20):
            standard = self._evaluate(self.params_, self._inputs(X[rows]))
            prediction[rows] = self._y_units_.shift + self._y_units_.scale * standard
        return prediction[:, 0] if self._y_ndim_ == 1 else prediction

    @abstractmethod
    def _check_parameters(self, n_features: int) -> tuple[float, ...]:
        """Return the weight decays to choose from."""

    @abstractmethod
    def _recipe(self, trainer, n_rows: int):
        """Return how to train."""

    @abstractmethod
    def _set_units(self, X, y, weight) -> None:
        """Set ``_y_units_`` and what `_inputs` needs."""

    @abstractmethod
    def _inputs(self, X: NDArray) -> NDArray:
        """Return what the network is fed."""

    @abstractmethod
    def _start(self, seed: int, X, y, weight) -> dict[str, NDArray]:
        """Return initial parameters."""

    @abstractmethod
    def _apply(self):
        """Return the network as a function for jax."""

    @abstractmethod
    def _evaluate(self, params, inputs: NDArray) -> NDArray:
        """Evaluate the network with numpy."""


def check_decays(weight_decay: Any) -> tuple[float, ...]:
    """Return the weight decays as floats, or say what is wrong with them."""
    decays = np.atleast_1d(np.asarray(weight_decay, dtype=float))
    if decays.size == 0 or not (np.isfinite(decays) & (decays >= 0)).all():
        raise ValueError(
            f"weight_decay={weight_decay!r}; give one or more numbers >= 0, or None."
        )
    return tuple(decays.tolist())


def _best(decays, scores: list[float]) -> tuple[float, dict[float, float]]:
    if not scores:
        return decays[0], {}
    mean = np.reshape(scores, (len(decays), -1)).mean(axis=1)
    table = dict(zip(decays, mean.tolist(), strict=True))
    return max(table, key=lambda decay: table[decay]), table
