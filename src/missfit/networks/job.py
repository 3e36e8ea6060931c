"""One fit among many: a model's rows, the networks it needs, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.splits import row_splits
from missfit.moments.rows import Rows
from missfit.networks.network import Params, Trained

Split = tuple[NDArray, NDArray]  # training rows, held-out rows
ONE_DECAY = "one weight decay, such as weight_decay=1.0"  # what needs no folds


class Start(NamedTuple):
    """Where a network starts, and the seed of its walks."""

    seed: int
    params: Params


class Try(NamedTuple):
    """A weight decay on the training rows of one split."""

    decay: float
    split: int
    start: Start


@dataclass
class Job:
    """One fit: tries of weight decays on the splits, then final networks on all rows.

    Attributes
    ----------
    views : list of networks
        The model with the units of each split's training rows, and last the model
        itself, with those of all rows. The model alone where the splits share them.
    rows : Rows
        All of positive weight.
    decays : tuple of float
        To choose from; where there is one, nothing is tried.
    splits : list of (training rows, held-out rows)
    tries : list of Try
        All weight decays on all splits, the decay first.
    finals : list of Start
        Networks that train on all rows; the one of the lowest loss is kept.
    position : int
        The place of the model among those that are fitted together.
    scores : dict of float
        How good the tries are that have finished, by number.
    trained : dict of Trained
        The final networks that have finished, by number.
    """

    views: list[Any]
    rows: Rows
    decays: tuple[float, ...]
    splits: list[Split]
    tries: list[Try]
    finals: list[Start]
    position: int = 0
    scores: dict[int, float] = field(default_factory=dict)
    trained: dict[int, Trained] = field(default_factory=dict)

    @property
    def model(self) -> Any:
        """Return the model that becomes fitted."""
        return self.views[-1]

    def view(self, part: int) -> int:
        """Return which view a split trains in; after the last split come all rows."""
        return min(part, len(self.views) - 1)

    def training_rows(self) -> list[NDArray]:
        """Return the rows that each split trains on, and last all rows."""
        every = np.arange(len(self.rows.X))
        return [*(train for train, _ in self.splits), every]

    @property
    def is_chosen(self) -> bool:
        """Whether all tries have a score."""
        return len(self.scores) == len(self.tries)

    @property
    def is_done(self) -> bool:
        """Whether all final networks are trained."""
        return len(self.trained) == len(self.finals)

    def choose(self) -> None:
        """Set the weight decay of the model: the best mean score over the splits."""
        model, decays = self.model, self.decays
        model.weight_decay_, model.cv_scores_ = decays[0], {}
        if self.tries:
            in_order = [self.scores[t] for t in range(len(self.tries))]
            mean = np.reshape(in_order, (len(decays), -1)).mean(axis=1)
            scores = dict(zip(decays, mean.tolist(), strict=True))
            model.cv_scores_ = scores
            model.weight_decay_ = max(scores, key=lambda decay: scores[decay])

    def finish(self) -> None:
        """Give the model the final network of the lowest training loss."""
        trained = [self.trained[t] for t in range(len(self.finals))]
        last = [net.loss_curve[-1] for net in trained]
        best = trained[int(np.argmin(np.nan_to_num(last, nan=np.inf)))]
        own = self.finals[0].params
        cut = {
            name: p[tuple(slice(size) for size in own[name].shape)]
            for name, p in best.params.items()
        }
        self.model._keep(cut, best.loss_curve)


def tries_of(
    decays: tuple[float, ...], splits: list[Split], starts: list[Start]
) -> list[Try]:
    """Return every weight decay on every split, each from its own start."""
    pairs = product(decays, range(len(splits)))
    return [Try(*pair, start) for pair, start in zip(pairs, starts, strict=True)]


def splits_of(cv: Any, weight: NDArray, y: NDArray) -> list[Split]:
    """Return the splits of the rows that have weight, in both parts.

    Positions are those among the rows of positive weight.
    """
    rows = np.empty((len(weight), 1))  # a splitter asks for the length alone
    splits = row_splits(cv, rows, y, weight=weight, instead=ONE_DECAY)
    place = np.cumsum(weight > 0) - 1

    def counted(rows: NDArray) -> NDArray:
        return place[rows[weight[rows] > 0]]

    return [(counted(train), counted(test)) for train, test in splits]


def stratified_splits(n_folds: int, code: NDArray, weight: NDArray) -> list[Split]:
    """Return folds in which every class has its share of the rows that have weight.

    The rows of one class after the other are dealt to the folds in turn. The only row
    of a class is in no fold, and trains always: where it is held out, nothing can be
    known of its class.

    >>> code = np.array([0, 0, 0, 0, 1, 1, 2])
    >>> [test.tolist() for _, test in stratified_splits(2, code, np.ones(7))]
    [[0, 2, 4], [1, 3, 5]]
    """
    code = code[weight > 0]
    if n_folds < 2 or n_folds > len(code):
        row_splits(n_folds, code[:, None], instead=ONE_DECAY)  # raises
    order = np.argsort(code, kind="stable")
    order = order[np.bincount(code)[code[order]] > 1]
    rows = np.arange(len(code))
    tests = [np.sort(order[k::n_folds]) for k in range(n_folds)]
    return [(np.setdiff1d(rows, test), test) for test in tests if len(test)]
