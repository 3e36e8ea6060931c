"""Many fits at once: the networks of all models that train as one batch."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.moments.blas_threads import ONE_BLAS_THREAD
from missfit.moments.rows import Rows
from missfit.networks.job import Job, Start
from missfit.networks.network import (
    Data,
    Finished,
    Kind,
    Network,
    Recipe,
    Trained,
)
from missfit.networks.process import load_trainer


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
    models : list of MLP, NeuMiss, MLPClassifier or NeuMissClassifier
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
    load_trainer()
    trials = [model._trial() for model in models]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        pairs = zip(trials, tables, strict=True)
        jobs = list(pool.map(lambda pair: pair[0]._job(*pair[1]), pairs))
    kinds: dict[Kind, list[Job]] = {}
    for i, job in enumerate(jobs):
        job.position = i
        kind = job.model._kind(job.finals[0].params, len(job.rows.X))
        kinds.setdefault(kind, []).append(job)
    for kind, alike in kinds.items():
        # scores are many and small: one thread each
        with ThreadPoolExecutor(os.cpu_count()) as pool, ONE_BLAS_THREAD:
            batch = Batch(kind, alike, models, pool)
            batch.done = done
            if verbose or any(job.model.verbose for job in alike):
                batch.progress = _Progress(batch.n_networks)
            batch.train(stop)


def train_more(model: Any, rows: Rows, *, seed: int, recipe: Recipe) -> Trained:
    """Train a model's network on some rows from where it is."""
    trainer = load_trainer()
    kind = model._kind(model.params_, len(rows.X))
    order = np.random.default_rng(seed).permutation(len(rows.X))
    columns = [np.asarray(part, kind.float_type) for part in model._data(rows)]
    data = Data(*columns, rows=[order])
    params = {name: p.astype(kind.float_type) for name, p in model.params_.items()}
    anchor = params if model.learns_start else None
    net = Network(params, 0, model.weight_decay_, seed, recipe, anchor)
    with trainer.precision(kind.float_type):
        return trainer.train([net], data, kind.functions)[0]


class Part(NamedTuple):
    """Which network of a batch: a try or a final network of a job."""

    job: int
    is_final: bool
    number: int  # among the job's tries, or its final networks


class Batch:
    """Jobs of one kind: their rows one below the other, their parameters padded.

    Attributes
    ----------
    kind : Kind
    jobs : list of Job
    models : list of networks
        What is to become fitted, by the position of the jobs.
    first_row : int ndarray
        Where the rows of each job begin, in its first view.
    first_set : list of int
        Which set of rows is the first of each job: of a job the training rows of each
        split, then all rows.
    data : Data
        The rows of all jobs and their sets.
    done : callable, optional
        Told of each model that is fitted.
    progress : optional
        Told how many networks have finished.
    """

    def __init__(self, kind: Kind, jobs: list[Job], models: list[Any], pool: Any):
        self.kind, self.jobs, self.models, self.pool = kind, jobs, models, pool
        sizes = [len(job.rows.X) * len(job.views) for job in jobs]
        self.first_row = np.cumsum([0, *sizes])
        n_sets = [len(job.splits) + 1 for job in jobs]
        self.first_set = np.cumsum([0, *n_sets]).tolist()
        self.widest = {
            name: np.max([job.finals[0].params[name].shape for job in jobs], axis=0)
            for name in jobs[0].finals[0].params
        }
        self.data = self._data()
        self.done: Callable[[int], None] | None = None
        self.progress: _Progress | None = None
        self._lock = threading.Lock()

    @property
    def n_networks(self) -> int:
        """Return how many networks there are to train."""
        return sum(len(job.tries) + len(job.finals) for job in self.jobs)

    def train(self, stop: threading.Event | None = None) -> None:
        """Train the tries of each job, then its final networks."""
        trainer = load_trainer()
        networks = [net for k in range(len(self.jobs)) for net in self._next(k)]
        functions = self.kind.functions
        with trainer.precision(self.kind.float_type):
            trainer.train(networks, self.data, functions, then=self._take, stop=stop)

    def _data(self) -> Data:
        views = [(view, job.rows) for job in self.jobs for view in job.views]
        tables = list(self.pool.map(lambda pair: pair[0]._data(pair[1]), views))
        n_inputs = max(inputs.shape[1] for inputs, _, _ in tables)
        inputs = [_padded(inputs, (len(inputs), n_inputs)) for inputs, _, _ in tables]
        parts = (inputs, *list(zip(*tables, strict=True))[1:])
        dtype = self.kind.float_type
        columns = [np.concatenate(part, dtype=dtype) for part in parts]
        return Data(*columns, rows=self._sets())

    def _sets(self) -> list[NDArray]:
        """Return the sets of rows that networks train on, each in its order."""
        sets = []
        for k, job in enumerate(self.jobs):
            rng = np.random.default_rng(job.finals[0].seed)
            for part, rows in enumerate(job.training_rows()):
                sets.append(self._first_row(k, part) + rng.permutation(rows))
        return sets

    def _first_row(self, k: int, part: int) -> int:
        """Return where the rows lie that a split of a job, or its end, sees."""
        job = self.jobs[k]
        return self.first_row[k] + job.view(part) * len(job.rows.X)

    def _next(self, k: int) -> list[Network]:
        """Return what a job can train now: its tries; once they have scores, the end.

        Called once at the start, and once more where there was something to try.
        """
        job = self.jobs[k]
        if not job.is_chosen:
            return [
                self._network(Part(k, False, t), attempt.start, attempt.decay)
                for t, attempt in enumerate(job.tries)
            ]
        job.choose()
        return [
            self._network(Part(k, True, t), start, job.model.weight_decay_)
            for t, start in enumerate(job.finals)
        ]

    def _network(self, part: Part, start: Start, decay: float) -> Network:
        job = self.jobs[part.job]
        params = {  # a unit with zero weights gets no gradient
            name: _padded(p, self.widest[name]).astype(self.kind.float_type)
            for name, p in start.params.items()
        }
        split = len(job.splits) if part.is_final else job.tries[part.number].split
        return Network(
            params,
            rows=self.first_set[part.job] + split,
            weight_decay=decay,
            seed=start.seed,
            recipe=job.model._recipe(len(job.rows.X)),
            anchor=params if job.model.learns_start else None,
            tag=part,
        )

    def _take(self, finished: Finished) -> list[Network]:
        """Keep networks that have finished; return what can train now."""
        scores = list(self.pool.map(self._score, finished))
        new = []
        with self._lock:
            for (net, trained), score in zip(finished, scores, strict=True):
                new += self._keep(Part(*net.tag), trained, score)
            if self.progress:
                self.progress.add(len(finished))
        return new

    def _score(self, finished: tuple[Network, Trained]) -> float | None:
        """Return the score on the held-out rows of a try; None for a final network."""
        net, trained = finished
        part = Part(*net.tag)
        if part.is_final:
            return None
        job = self.jobs[part.job]
        split = job.tries[part.number].split
        _, held_out = job.splits[split]
        rows = self._first_row(part.job, split) + held_out
        columns = (column[rows] for column in self.data[:3])
        return job.views[job.view(split)]._score(trained.params, *columns)

    def _keep(self, part: Part, trained: Trained, score: Any) -> list[Network]:
        """Keep one network that has finished; return what its job can train now."""
        job = self.jobs[part.job]
        if not part.is_final:
            job.scores[part.number] = score
            return self._next(part.job) if job.is_chosen else []
        job.trained[part.number] = trained
        if job.is_done:
            job.finish()
            self.models[job.position]._become(job.model)
            if self.done:
                self.done(job.position)
        return []


def _padded(array: NDArray, shape: Any) -> NDArray:
    """Fill up with zeros to a shape."""
    return np.pad(array, [(0, w - h) for h, w in zip(array.shape, shape, strict=True)])


class _Progress:
    """How many networks are done, on stderr."""

    def __init__(self, total: int):
        self.done, self.total = 0, total

    def add(self, n: int) -> None:
        """Count networks that have finished."""
        self.done += n
        end = "\n" if self.done == self.total else ""
        print(f"\r{self.done} of {self.total} networks", end=end, file=sys.stderr)
