"""One fit of a candidate: what it predicts for rows not seen, and how long it took."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.auto.parts import few_threads
from missfit.comparison.candidates import Candidate
from missfit.comparison.number_task import NUMBER
from missfit.comparison.task import Task
from missfit.estimators.factorized_lr import TooLargeError

TOO_LARGE = "the table is too large for it"  # how the failure begins that says so


class Fit(NamedTuple):
    """What one candidate predicts for one fold, how long it took, and any failure."""

    predictions: NDArray[np.float64]
    seconds: float
    failure: str


def fit_and_predict(
    one: Candidate,
    X,
    y,
    test: NDArray[np.bool_],
    seed: int,
    groups=None,
    task: Task = NUMBER,
) -> Fit:
    """Fit a candidate to the rows outside the test fold and predict the test fold."""
    start = time.perf_counter()
    options = {}
    if one.takes_groups and groups is not None:
        options["groups"] = groups[~test]
    try:
        # One thread of OpenMP: boosting waits for its slowest thread, and took 28 s
        # instead of 2.3 on a busy machine.
        with warnings.catch_warnings(), few_threads(len(y)):
            # A candidate is only tried here: its warnings of slow convergence or rare
            # patterns are for those who choose it.
            warnings.simplefilter("ignore")
            model = task.fit(one.make(seed), X[~test], y[~test], **options)
            predictions = task.predict(model, X[test])
        failure = "" if np.isfinite(predictions).all() else "predictions not finite"
    except Exception as error:  # a candidate that fails is a result, not the end
        predictions = task.nothing(int(test.sum()))
        failure = _in_one_line(error)
    return Fit(predictions, time.perf_counter() - start, failure)


def fit_batch(
    one: Candidate,
    tables: Sequence[NDArray],
    y: NDArray,
    tests: Sequence[NDArray[np.bool_]],
    seed: int,
    task: Task = NUMBER,
) -> list[Fit]:
    """Fit a candidate to all folds as one batch; each fold gets its share of time."""
    start = time.perf_counter()
    models = [one.make(seed) for _ in tests]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert one.fit_many is not None
            pairs = list(zip(tables, tests, strict=True))
            y = task.fit_target(y)
            one.fit_many(models, [(X[~test], y[~test]) for X, test in pairs])
            predicted = [
                task.predict(model, X[test])
                for model, (X, test) in zip(models, pairs, strict=True)
            ]
        failure = ""
    except Exception as error:
        predicted = [task.nothing(int(test.sum())) for test in tests]
        failure = _in_one_line(error)
    seconds = (time.perf_counter() - start) / len(tests)
    return [Fit(predictions, seconds, failure) for predictions in predicted]


def _in_one_line(error: Exception) -> str:
    kind = TOO_LARGE if isinstance(error, TooLargeError) else type(error).__name__
    return f"{kind}: {' '.join(str(error).split())[:200]}"
