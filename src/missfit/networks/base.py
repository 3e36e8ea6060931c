"""What the networks share as scikit-learn regressors. Needs no jax to import."""

from __future__ import annotations

import os
import sys
import threading
from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from missfit.estimators.base import NanRegressor
from missfit.moments import check_scale, check_weight
from missfit.sources import comes_in_chunks, named_columns
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
    """One fit among many: the model to become, its rows, candidates and starts.

    ``end`` is called once the model is fitted.
    """

    model: Any
    X: NDArray
    y: NDArray
    weight: NDArray
    decays: tuple[float, ...]
    splits: list[tuple[NDArray, NDArray]]
    seeds: list[int]
    starts: list[dict[str, NDArray]]
    end: Callable[[], None] = lambda: None


def fit_many(
    models: list[Any],
    tables: list[tuple],
    *,
    verbose: bool = False,
    stop: threading.Event | None = None,
    done: Callable[[int], None] | None = None,
) -> None:
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
    stop : threading.Event, optional
        Once another thread sets it, training ends with InterruptedError, and the models
        that are not done stay as they were.
    done : callable, optional
        Called with the position of each model as soon as it is fitted, by a thread that
        trains the others: hand long work to another one.
    """
    trainer = load_trainer()
    trials = [model._trial() for model in models]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        pairs = zip(trials, tables, strict=True)
        jobs = list(pool.map(lambda pair: pair[0]._job(*pair[1]), pairs))

    def end(i: int) -> None:
        models[i]._become(trials[i])
        if done:
            done(i)

    groups: dict[Any, list[Job]] = {}
    for i, job in enumerate(jobs):
        group = groups.setdefault(job.model._kind(job), [])
        group.append(job._replace(end=partial(end, i)))
    for (apply, dtype, *_), group in groups.items():
        with trainer.precision(dtype):
            _fit_group(trainer, group, apply, dtype, verbose, stop)


def _fit_group(trainer, jobs: list[Job], apply, dtype, verbose: bool, stop) -> None:
    """Choose the weight decays of one kind of networks, then train on all rows."""
    verbose = verbose or any(job.model.verbose for job in jobs)
    # scores are many and small: one thread each
    with ThreadPoolExecutor(os.cpu_count()) as pool, threadpool_limits(1):
        batch = _Batch(trainer, jobs, dtype, pool, verbose)
        networks = batch.first_networks()
        trainer.train(networks, batch.data, apply, then=batch.take, stop=stop)


class _Batch:
    """Jobs of one kind: their rows one below the other, their parameters padded.

    A network's tag is (job, 0, decay, split) while decays are tried, and then
    (job, 1, start).
    """

    def __init__(self, trainer, jobs: list[Job], dtype, pool, verbose: bool = False):
        self.trainer, self.jobs, self.dtype, self.pool = trainer, jobs, dtype, pool
        self.shapes = {
            name: np.max([job.starts[0][name].shape for job in jobs], axis=0)
            for name in jobs[0].starts[0]
        }
        self.first = np.cumsum([0, *(len(job.X) for job in jobs)])
        self.scores: list[dict[tuple, float]] = [{} for _ in jobs]
        self.last: list[dict[tuple, Any]] = [{} for _ in jobs]
        self.lock = threading.Lock()
        n_tries = sum(len(job.decays) * len(job.splits) for job in jobs)
        n_networks = n_tries + sum(job.model.n_starts for job in jobs)
        self.progress = _Progress(n_networks) if verbose else None
        self.sets: list[NDArray] = []  # of rows: of each job the splits, then all
        self.first_set = []
        for k, job in enumerate(jobs):
            rng = np.random.default_rng(job.seeds[0])
            self.first_set.append(len(self.sets))
            for rows in (*(train for train, _ in job.splits), len(job.X)):
                self.sets.append(self.first[k] + rng.permutation(rows))
        self.data = self._data()

    def _data(self):
        tables = list(
            self.pool.map(
                lambda job: job.model._data(job.X, job.y, job.weight), self.jobs
            )
        )
        n_inputs = max(table[0].shape[1] for table in tables)
        inputs = [_pad(table[0], (len(table[0]), n_inputs)) for table in tables]
        parts = (inputs, *list(zip(*tables, strict=True))[1:])
        columns = [np.concatenate(p, dtype=self.dtype) for p in parts]
        return self.trainer.Data(*columns, self.sets)

    def first_networks(self) -> list:
        """Return what can train at once: all tries, or the last fit without them."""
        networks = []
        for k, job in enumerate(self.jobs):
            tries = product(enumerate(job.decays), range(len(job.splits)))
            alike, first = job.model.tries_start_alike, job.model.n_starts
            networks += [
                self.network(
                    k, 0 if alike else first + t, decay, split, (k, 0, i, split)
                )
                for t, ((i, decay), split) in enumerate(tries)
            ] or self._last_networks(k)
        return networks

    def network(self, k: int, start: int, decay: float, rows: int, tag: tuple = ()):
        """Return a network to train on one set of rows of a job, padded."""
        job = self.jobs[k]
        params = {
            name: _pad(p, self.shapes[name]).astype(self.dtype)
            for name, p in job.starts[start].items()
        }
        return self.trainer.Network(
            params,
            self.first_set[k] + rows,
            decay,
            job.seeds[start],
            job.model._recipe(self.trainer, len(job.X)),
            params if job.model.decays_to_start else None,
            tag,
        )

    def take(self, finished: list) -> list:
        """Keep networks that have finished; return what can train now."""
        scores = list(self.pool.map(self._score, finished))
        new = []
        with self.lock:
            for (net, trained), score in zip(finished, scores, strict=True):
                k, is_last, *which = net.tag
                if is_last:
                    self.last[k][tuple(which)] = trained
                    self._keep_best(k)
                    continue
                self.scores[k][tuple(which)] = score
                if len(self.scores[k]) == len(self.jobs[k].decays) * len(
                    self.jobs[k].splits
                ):
                    new += self._last_networks(k)
            if self.progress:
                self.progress.add(len(finished))
        return new

    def _score(self, item) -> float:
        """R2 on the held-out rows of a split; nothing for a last fit."""
        net, trained = item
        k, is_last, *which = net.tag
        if is_last:
            return np.nan
        rows = self.first[k] + self.jobs[k].splits[which[1]][1]
        parts = (part[rows] for part in self.data[:3])
        return self.jobs[k].model._score(trained.params, *parts)

    def _last_networks(self, k: int) -> list:
        """Choose the weight decay of a job; return its networks on all rows."""
        job = self.jobs[k]
        scores = [self.scores[k][which] for which in sorted(self.scores[k])]
        job.model.weight_decay_, job.model.cv_scores_ = _best(job.decays, scores)
        return [
            self.network(
                k, start, job.model.weight_decay_, len(job.splits), (k, 1, start)
            )
            for start in range(job.model.n_starts)
        ]

    def _keep_best(self, k: int) -> None:
        """Once all starts of a job have finished, keep the one of the lowest loss."""
        job, last = self.jobs[k], self.last[k]
        if len(last) == job.model.n_starts:
            nets = [last[which] for which in sorted(last)]
            net = min(
                nets, key=lambda net: np.nan_to_num(net.loss_curve[-1], nan=np.inf)
            )
            job.model._keep(_cut(net.params, job.starts[0]), net.loss_curve)
            job.end()


def _cut(params: dict[str, NDArray], start: dict[str, NDArray]) -> dict[str, NDArray]:
    """Take the padding off."""
    return {
        name: p[tuple(slice(size) for size in start[name].shape)]
        for name, p in params.items()
    }


def bucket(size: int) -> int:
    """Return the largest size that trains in one batch with this one.

    >>> bucket(3), bucket(20), bucket(64), bucket(100), bucket(512)
    (16, 64, 64, 128, 512)
    """
    return next(b for b in (16, *(2**k for k in range(6, 40))) if b >= size)


def _pad(array: NDArray, shape) -> NDArray:
    """Fill up with zeros to a shape."""
    return np.pad(array, [(0, w - h) for h, w in zip(array.shape, shape, strict=True)])


class _Progress:
    """How many networks are done, on stderr."""

    def __init__(self, total: int):
        self.done, self.total = 0, total

    def add(self, n: int) -> None:
        self.done += n
        end = "\n" if self.done == self.total else ""
        print(f"\r{self.done} of {self.total} networks", end=end, file=sys.stderr)


class NetworkRegressor(NanRegressor):
    """A network whose weight decay is chosen by cross-validation.

    All candidates on all folds train as one batch, then the chosen one on all rows.
    """

    weight_decay: Any
    cv: Any
    random_state: Any
    verbose: bool
    decays_to_start = False  # else to zero
    weight_decay_: float
    params_: dict[str, NDArray]
    n_starts: Any = 1  # of which the last fit keeps the best
    tries_start_alike: Any = True  # so that chance does not choose the weight decay
    _y_units_: Units

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
            from missfit.networks.stream import fit_source  # it builds on this module

            return fit_source(self, X, y, sample_weight)
        fit_many([self], [tuple(named_columns(X, y, sample_weight))])
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
        check_scale(X, y)
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
        order = seed + len(trial.loss_curve_)  # another shuffle for each chunk
        recipe = trainer.Recipe(max_epochs=1, patience=None)
        net = trial._train_more(X, y, weight, seed=order, recipe=recipe)
        trial._keep(net.params, [*trial.loss_curve_, *net.loss_curve])
        return self._become(trial)

    def _train_more(self, X, y, weight, *, seed: int, recipe) -> Any:
        """Train on some rows from where the network is."""
        trainer = load_trainer()
        decay = self.weight_decay_
        job = Job(self, X, y, weight, (decay,), [], [seed], [self.params_])
        apply, dtype, *_ = self._kind(job)
        with trainer.precision(dtype):
            with ThreadPoolExecutor(1) as pool:
                batch = _Batch(trainer, [job], dtype, pool)
            net = batch.network(0, 0, decay, 0)
            net.recipe = recipe
            (net,) = trainer.train([net], batch.data, apply)
        return net

    def _job(self, X, y, sample_weight=None) -> Job:
        """Return what there is to train, units and candidates set."""
        X, y = self._check_fit(X, y)
        check_scale(X, y)
        weight = np.ones(len(X))
        if sample_weight is not None:
            weight = check_weight(sample_weight, len(X))
        decays = self._check_parameters(X.shape[1])
        splits = self._splits(weight) if len(decays) > 1 else []
        n_own = 0 if self.tries_start_alike else len(decays) * len(splits)
        rng = check_random_state(self.random_state)
        seeds = rng.randint(2**31 - 1, size=self.n_starts + n_own).tolist()
        if not (kept := weight > 0).all():  # else no copy: many models may share X
            X, y, weight = X[kept], y[kept], weight[kept]
        self._set_up(X, y, weight)
        starts = [self._start(seed, X, y, weight) for seed in seeds]
        return Job(self, X, y, weight, decays, splits, seeds, starts)

    def _keep(self, params: dict[str, NDArray], loss_curve: list[float]) -> None:
        self.params_ = {name: np.asarray(p, float) for name, p in params.items()}
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
        for split in splitter.split(np.empty((n, 1))):
            train_test = map(np.asarray, split)  # they may be lists
            parts = [place[rows[weight[rows] > 0]] for rows in train_test]
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
        """Predict rows, NaN where missing; chunks in, chunks out."""
        if comes_in_chunks(X):
            return self._predict_chunks(X)
        X = self._check_predict(X)
        prediction = np.empty((len(X), len(self._y_units_.shift)))
        widest = max(max(p.shape) for p in self.params_.values())
        for rows in blocks(len(X), widest, size=2**20):
            standard = self._evaluate(self.params_, self._inputs(X[rows]))
            prediction[rows] = self._y_units_.shift + self._y_units_.scale * standard
        self._finite(prediction)
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
    def _kind(self, job: Job) -> tuple:
        """Return what networks of one batch have in common: function, float type, …."""

    @abstractmethod
    def _evaluate(self, params, inputs: NDArray) -> NDArray:
        """Evaluate the network with numpy."""


def float_type(n_rows: int) -> Any:
    """Return what a table is computed in.

    A table of one batch is summed as a whole: in float64, weights then equal repeated
    rows to rounding.
    """
    return np.float64 if n_rows <= 200 else np.float32


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
