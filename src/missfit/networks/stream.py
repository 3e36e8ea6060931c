"""Networks from rows that come in chunks: one random sample after another.

Memory holds `HELD_ROWS` rows a few times over, whatever the length of the source.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from missfit.engine import Sample, any_source, full_chunks, sampled
from missfit.moments import Rows
from missfit.networks.base import fit_many, load_trainer

HELD_ROWS = 100_000  # drawn by each pass over the source
TEST_SHARE = 0.1  # of the first sample, to see whether more training helps
PASSES = 4  # after the first
EPOCHS = 5  # over the sample of each of these


def fit_source(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Fit a network to rows that come in chunks.

    A first pass draws `HELD_ROWS` rows at random. Where these are all rows, the fit is
    that in memory. Otherwise a tenth of them is put aside, and the network is fitted to
    the others as in memory: units, weight decay, training. `PASSES` more draw other
    rows, whatever the order of the source, and train on them with steps that fall to
    zero; that is kept if it lowers the loss on the rows put aside.
    """
    source = any_source(X, y, sample_weight)
    trial = model._trial()
    seed = check_random_state(model.random_state).randint(2**31 - 1)
    rng = np.random.default_rng(seed)

    def check(X: Any, y: Any) -> tuple[NDArray, NDArray]:
        X, y = trial._check_fit(X, y, reset=not hasattr(trial, "n_features_in_"))
        trial._y_ndim_ = y.ndim
        return X, y

    def draw() -> Sample:
        return sampled(full_chunks(source, check), HELD_ROWS, rng)

    rows, n_rows = draw()
    if n_rows > HELD_ROWS and not source.again:
        raise TypeError(
            f"the iterator has {n_rows:,} rows, more than the {HELD_ROWS:,} that are "
            "held, and can be read only once. Give a function that returns a new "
            "iterator, or a file."
        )
    aside = None
    if n_rows > HELD_ROWS:
        test = rng.random(len(rows.X)) < TEST_SHARE
        rows, aside = rows.take(np.flatnonzero(~test)), rows.take(np.flatnonzero(test))
    names = getattr(trial, "feature_names_in_", None)
    target = rows.y if trial._y_ndim_ == 2 else rows.y[:, 0]
    fit_many([trial], [(rows.X, target, rows.weight)])
    if names is not None:
        trial.feature_names_in_ = names
    if aside is not None and aside.weight.any():
        _train_on_others(trial, (draw().rows for _ in range(PASSES)), aside)
    return model._become(trial)


def _train_on_others(trial: Any, samples: Iterator[Rows], aside: Rows) -> None:
    """Train on other samples from where the network is, and keep it if that helps."""
    recipe = trial._recipe(load_trainer(), HELD_ROWS)
    recipe = replace(recipe, max_epochs=EPOCHS, patience=None, cosine=False)
    start, curve, loss = trial.params_, list(trial.loss_curve_), _loss(trial, aside)
    for number, rows in enumerate(samples):
        rows = rows.take(np.flatnonzero(rows.weight))
        fall = 0.5 * (1 + math.cos(math.pi * number / PASSES))
        slower = replace(
            recipe,
            learning_rate=fall * recipe.learning_rate,
            cosine=number == PASSES - 1,  # to zero at the end
        )
        net = trial._train_more(*rows, seed=number, recipe=slower)
        trial.params_ = net.params
        curve += net.loss_curve
    if _loss(trial, aside) < loss:
        trial._keep(trial.params_, curve)
    else:
        trial.params_ = start


def _loss(trial: Any, rows: Rows) -> float:
    """Return one minus R2 on some rows."""
    rows = rows.take(np.flatnonzero(rows.weight))
    return 1 - trial._score(trial.params_, *trial._data(*rows))
