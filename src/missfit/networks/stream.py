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

from missfit.estimators.streams import Sample, any_source, full_chunks, sampled
from missfit.moments.rows import Rows
from missfit.networks.batch import fit_many, train_more

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
    reader = _Reader(any_source(X, y, sample_weight), model._trial())
    rows, n_rows = reader.draw()
    if n_rows > HELD_ROWS and not reader.source.again:
        raise TypeError(
            f"the iterator has {n_rows:,} rows, more than the {HELD_ROWS:,} that are "
            "held, and can be read only once. Give a function that returns a new "
            "iterator, or a file."
        )
    aside = None
    if n_rows > HELD_ROWS:
        test = reader.rng.random(len(rows.X)) < TEST_SHARE
        rows, aside = rows.take(np.flatnonzero(~test)), rows.take(np.flatnonzero(test))
    trial = reader.trial
    _fit_in_memory(trial, rows)
    if aside is not None and aside.weight.any():
        _train_on_others(trial, (reader.draw().rows for _ in range(PASSES)), aside)
    return model._become(trial)


class _Reader:
    """A source that is sampled once a pass; its first chunk says what the features are.

    Attributes
    ----------
    source : Source
    trial : MLP or NeuMiss
        Remembers the features, and whether y has one column or several.
    rng : Generator
        Draws the samples.
    """

    def __init__(self, source: Any, trial: Any):
        self.source, self.trial = source, trial
        seed = check_random_state(trial.random_state).randint(2**31 - 1)
        self.rng = np.random.default_rng(seed)

    def draw(self) -> Sample:
        """Return rows drawn at random in one pass over the source."""
        return sampled(full_chunks(self.source, self._check), HELD_ROWS, self.rng)

    def _check(self, X: Any, y: Any) -> tuple[NDArray, NDArray]:
        is_first = not hasattr(self.trial, "n_features_in_")
        X, y = self.trial._check_fit(X, y, reset=is_first)
        self.trial._y_ndim_ = y.ndim
        return X, y


def _fit_in_memory(trial: Any, rows: Rows) -> None:
    """Fit to the rows held, and keep the names of the features."""
    names = getattr(trial, "feature_names_in_", None)
    target = rows.y if trial._y_ndim_ == 2 else rows.y[:, 0]
    fit_many([trial], [(rows.X, target, rows.weight)])
    if names is not None:
        trial.feature_names_in_ = names


def _train_on_others(trial: Any, samples: Iterator[Rows], aside: Rows) -> None:
    """Train on other samples from where the network is, and keep it if that helps."""
    recipe = replace(trial._recipe(HELD_ROWS), max_epochs=EPOCHS, patience=None)
    start, curve, loss = trial.params_, list(trial.loss_curve_), _loss(trial, aside)
    for number, rows in enumerate(samples):
        rows = rows.take(np.flatnonzero(rows.weight))
        fall = 0.5 * (1 + math.cos(math.pi * number / PASSES))
        slower = replace(
            recipe,
            learning_rate=fall * recipe.learning_rate,
            cosine=number == PASSES - 1,  # to zero at the end
        )
        net = train_more(trial, rows, seed=number, recipe=slower)
        trial.params_ = net.params
        curve += net.loss_curve
    if _loss(trial, aside) < loss:
        trial._keep(trial.params_, curve)
    else:
        trial.params_ = start


def _loss(trial: Any, rows: Rows) -> float:
    """Return one minus R2 on some rows."""
    rows = rows.take(np.flatnonzero(rows.weight))
    return 1 - trial._score(trial.params_, *trial._data(rows))
