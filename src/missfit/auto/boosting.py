"""Flexible candidates on the residuals of a base and beside it, joined by weights."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from missfit.auto.explanation import Score
from missfit.auto.heldout import Gain, HeldOut, Table, paired_gain
from missfit.auto.parts import FoldModel, FoldModels, Part, boosts, part_inputs
from missfit.auto.trees import FlatTrees
from missfit.moments.blocks import n_threads

ROUNDS = (50, 200, 350, 500)  # boosting goes on while the last rounds still help
# The other splits are fitted so many times the best rounds of the first: the sum of the
# losses has its minimum near. On the four tables with parts among ten tried, no
# number of rounds changed.
BEYOND = 1.5
SCREEN_ROWS = 20_000  # a first look at a large table takes as many rows
SCREEN_ROUNDS = 100
EARNED = 1.5  # paired standard errors that a part must gain: rounds were chosen too
HOPEFUL = 0.5  # paired standard errors that a first look must show


RowPredictor = Callable[[NDArray[np.intp]], NDArray[np.float64]]


class Examples(NamedTuple):
    """What a candidate is fitted to, or scored on."""

    inputs: NDArray[np.float64]
    target: NDArray[np.float64]
    weight: NDArray[np.float64]

    def loss(self, guess: NDArray) -> float:
        """Return the weighted mean of the squared errors."""
        return float(np.average((self.target - guess) ** 2, weights=self.weight))


class Trial(NamedTuple):
    """A candidate's fit to one split."""

    model: FoldModel
    test: tuple  # inputs, base's prediction, rows
    stage_loss: NDArray[np.float64]  # on the test rows, after each round
    test_weight: float  # of all test rows
    seconds: float


@dataclass
class PartCandidate:
    """A flexible candidate, fitted split by split to y or to the base's residuals."""

    estimator: Any
    name: str
    on_residuals: bool
    rounds: int = 0  # most rounds to fit, once the first split has told
    models: list[FoldModel] = field(default_factory=list)
    tests: list[tuple] = field(default_factory=list)  # see Trial.test
    stage_loss: list[NDArray] = field(default_factory=list)
    test_weight: list[float] = field(default_factory=list)
    seconds: float = 0.0
    gain: Gain | None = None  # over the base in R2, with a weight of its own
    verdict: str = "left out"

    @property
    def title(self) -> str:
        """The name, and what it is fitted to."""
        return f"{self.name} on {'residuals' if self.on_residuals else 'y'}"

    def lacks(self, split: HeldOut) -> bool:
        """Whether the candidate has not been fitted to a split."""
        return not any(test is split.test for _, _, test in self.tests)

    def forget(self) -> None:
        """Drop the fits of a first look."""
        self.models, self.tests, self.rounds = [], [], 0
        self.stage_loss, self.test_weight = [], []

    def judge(self, table: Table, residual, rows, addition: NDArray) -> Gain:
        """Weigh the candidate alone beside the base, by its addition on some rows."""
        weight = table.weight[rows]
        square = weight @ addition**2
        share = weight @ (addition * residual) / square if square else 0.0
        share = min(max(share, 0.0), 1.0)
        loss = (residual - share * addition) ** 2
        groups = None if table.groups is None else table.groups[rows]
        gain = paired_gain(residual**2, loss, weight, groups)
        self.gain = gain.over(table.variance(rows))
        return self.gain

    def gains_first(self, table: Table, errors: float) -> bool:
        """Whether it gains so many standard errors over the base on the first split."""
        _, base, rows = self.tests[0]
        gain = self.judge(table, table.y[rows] - base, rows, self.additions())
        return gain.wins(errors)

    def fit(
        self, table: Table, base: RowPredictor, train: NDArray, test: NDArray
    ) -> Trial:
        """Fit to the training rows of one split, and score each round on the test.

        ``base`` returns the base's predictions of some rows.
        """
        start = time.perf_counter()
        # Threads of a round wait for each other, on a busy machine a hundred times
        # longer than they work: splits side by side do not.
        with threadpool_limits(1, user_api="openmp"):
            base_test = base(test)
            seen = self._examples(table, train, base(train))
            unseen = self._examples(table, test, base_test)
            model, loss = self._fit_rounds(seen, unseen)
        seconds = time.perf_counter() - start
        place = (unseen.inputs, base_test, test)
        return Trial(model, place, loss, float(unseen.weight.sum()), seconds)

    def _examples(self, table: Table, rows: NDArray, base: NDArray) -> Examples:
        """Return some rows as the candidate meets them, given the base's prediction."""
        target = table.y[rows] - base if self.on_residuals else table.y[rows]
        inputs = part_inputs(table.X[rows], base, self.on_residuals)
        return Examples(inputs, target, table.weight[rows])

    def _fit_rounds(self, seen: Examples, unseen: Examples):
        """Return the model, boosted while that helps, and its loss after each round."""
        # a column can be empty inside a fold, which boosting does not take
        columns = np.flatnonzero(~np.isnan(seen.inputs).all(axis=0))
        fold = FoldModel(clone(self.estimator), columns)
        inputs = fold.take(seen.inputs)
        plain = (seen.weight == 1.0).all()
        weights = {} if plain else {"sample_weight": seen.weight}
        steps = (self.rounds,) if self.rounds else ROUNDS
        if boosts(fold.model):
            fold.model.set_params(warm_start=True)
        loss = []
        for rounds in steps if boosts(fold.model) else (1,):
            if boosts(fold.model):
                fold.model.set_params(max_iter=rounds)
            fold.model.fit(inputs, seen.target, **weights)
            loss = [unseen.loss(stage) for stage in fold.stages(unseen.inputs)]
            if np.argmin(loss) < 0.8 * rounds:
                break
        return fold, np.array(loss)

    def keep(self, trial: Trial) -> None:
        """Take up the fit to one split, and its number of rounds for those to come."""
        beyond = int(np.ceil(BEYOND * (np.argmin(trial.stage_loss) + 1)))
        self.rounds = min(len(trial.stage_loss), max(ROUNDS[0], beyond))
        self.models.append(trial.model)
        self.tests.append(trial.test)
        self.stage_loss.append(trial.stage_loss)
        self.test_weight.append(trial.test_weight)
        self.seconds += trial.seconds

    def best_rounds(self) -> int:
        """Return the number of rounds of the least loss over the splits."""
        n = min(map(len, self.stage_loss))
        stages = [loss[:n] for loss in self.stage_loss]
        total = np.average(stages, 0, weights=self.test_weight)
        return int(np.argmin(total)) + 1

    def additions(self) -> NDArray:
        """Return what it adds to the base on the held-out rows, at its best rounds."""
        rounds = self.best_rounds()
        parts = [
            model.predict(inputs, rounds) - (0.0 if self.on_residuals else base)
            for model, (inputs, base, _) in zip(self.models, self.tests, strict=True)
        ]
        return np.concatenate(parts)

    def part(self, weight: float) -> Part:
        """Return the candidate as a part of the model: the rounds used, and no more."""
        rounds = self.best_rounds()
        n_inputs = self.tests[0][0].shape[1]
        flat = [model.flat(n_inputs, rounds) for model in self.models]
        trees = [trees for trees in flat if trees is not None]
        whole = len(trees) == len(flat)
        model = FlatTrees.joined(trees) if whole else FoldModels(self.models, rounds)
        return Part(self.title, self.on_residuals, model, rounds, weight)


class Stack(NamedTuple):
    """Weights of the candidates kept, and how much they gain over the base."""

    kept: list[int]
    weights: NDArray[np.float64]
    gain: Gain


def stacked(table: Table, rows: NDArray, residual: NDArray, additions: list) -> Stack:
    """Least-squares weights in [0, 1] of additions to a base; each must earn its place.

    Additions are taken one by one, the most useful first, as long as each lowers the
    held-out loss by more than `EARNED` paired standard errors.
    """
    weight = table.weight[rows]
    groups = None if table.groups is None else table.groups[rows]
    kept, weights, loss = [], np.empty(0), residual**2
    while len(kept) < len(additions):
        trials = []
        for k in set(range(len(additions))) - set(kept):
            columns = np.column_stack([additions[j] for j in [*kept, k]])
            root = np.sqrt(weight)
            trial = lsq_linear(columns * root[:, None], residual * root, (0.0, 1.0)).x
            trials.append((k, trial, (residual - columns @ trial) ** 2))
        k, trial, new_loss = min(trials, key=lambda t: weight @ t[2])
        if not paired_gain(loss, new_loss, weight, groups).wins(EARNED):
            break
        kept, weights, loss = [*kept, k], trial, new_loss
    return Stack(kept, weights, paired_gain(residual**2, loss, weight, groups))


class Parts(NamedTuple):
    """What came of the flexible candidates."""

    kept: list[Part]
    gain: Gain | None  # of all that are kept over the base, in R2
    base_r2: float  # of the base on all held-out rows; NaN where no part met them all

    def score(self, candidate: PartCandidate, base_r2: float) -> Score:
        """Return a candidate's line of the table of candidates, given the base's R2.

        A candidate that was left out after the first split has met fewer rows than the
        base: its R2 is the base's, plus its gain on the rows that both have met.
        """
        name = candidate.title
        kept = [part for part in self.kept if part.name == name]
        nothing = Score(
            name, np.nan, np.nan, np.nan, candidate.seconds, candidate.verdict
        )
        if candidate.gain is None:
            return nothing
        verdict = candidate.verdict
        if kept:
            verdict = f"kept: {kept[0].rounds} rounds, weight {kept[0].weight:.2f}"
        return nothing._replace(
            r2=base_r2 + candidate.gain.value,
            gain=candidate.gain.value,
            standard_error=candidate.gain.standard_error,
            verdict=verdict,
        )

    def reason(self) -> str:
        """Say what the flexible parts add."""
        if self.gain is None or not self.kept:
            return "No flexible part lowers its held-out error enough to be kept."
        return (
            f"The flexible parts add {self.gain.value:.4f} +- "
            f"{self.gain.standard_error:.4f} to its held-out R2, each more than "
            f"{EARNED} standard errors."
        )


def fit_parts(
    table: Table,
    base_estimator: Any,
    splits: list[HeldOut],
    candidates: list[PartCandidate],
    seed: int,
    deadline: float,
) -> Parts:
    """Return the parts that earn their place beside the base, with their weights."""
    nothing = Parts([], None, np.nan)
    if not candidates or not splits:
        return nothing
    rng = np.random.default_rng(seed)
    left = _screened(table, base_estimator, splits[0], candidates, rng, deadline)
    if not left:
        return nothing
    _fit_splits(table, base_estimator, splits[:1], left)
    hope = HOPEFUL if _is_large(splits[0]) else 0.0
    left = [candidate for candidate in left if candidate.gains_first(table, hope)]
    if not left:
        return nothing
    _fit_splits(table, base_estimator, splits[1:], left)
    rows = np.concatenate([test for _, _, test in left[0].tests])
    base_part = np.concatenate([base for _, base, _ in left[0].tests])
    residual = table.y[rows] - base_part
    additions = [candidate.additions() for candidate in left]
    stack = stacked(table, rows, residual, additions)
    for candidate, addition in zip(left, additions, strict=True):
        candidate.judge(table, residual, rows, addition)
    kept = [
        left[k].part(float(weight))
        for k, weight in zip(stack.kept, stack.weights, strict=True)
    ]
    variance = table.variance(rows)
    base_loss = np.average(residual**2, weights=table.weight[rows])
    return Parts(kept, stack.gain.over(variance), float(1 - base_loss / variance))


def _fit_splits(table, base_estimator, splits: list[HeldOut], candidates) -> None:
    """Fit candidates to the splits that they lack."""

    def fitted(candidate: PartCandidate, split: HeldOut) -> Trial:
        base = partial(split.train.predict, base_estimator)
        return candidate.fit(table, base, split.train.rows, split.test)

    for split in splits:
        for rows in (split.test, split.train.rows):  # once for all candidates
            split.train.predict(base_estimator, rows)
    pairs = [(x, split) for split in splits for x in candidates if x.lacks(split)]
    trials = _side_by_side(fitted, pairs)
    for (candidate, _), trial in zip(pairs, trials, strict=True):
        candidate.keep(trial)


def _side_by_side(fitted: Callable[..., Trial], pairs: list[tuple]) -> list[Trial]:
    """Return the fits of candidates, each on one thread, to what they come with."""
    # what is not boosting may have threads of its own
    boosting = all(boosts(candidate.estimator) for candidate, _ in pairs)
    with ThreadPoolExecutor(n_threads() if boosting else 1) as pool:
        return list(pool.map(lambda pair: fitted(*pair), pairs))


def _screened(table, base_estimator, split: HeldOut, candidates, rng, deadline):
    """Return the candidates that a first split does not rule out.

    A large table is looked at through some of its rows; what comes out of it is then
    fitted again to all.
    """
    train, test = split.train.rows, split.test
    large = _is_large(split)
    if large:
        train = rng.permutation(train)[:SCREEN_ROWS]
        test = rng.permutation(test)[:SCREEN_ROWS]
    for candidate in candidates:
        candidate.rounds = SCREEN_ROUNDS if large else 0
    base = partial(split.train.predict, base_estimator)
    for rows in (test, train):  # once for all candidates
        base(rows)
    begun = _begun(candidates, deadline)
    trials = _side_by_side(lambda x, _: x.fit(table, base, train, test), begun)
    left = []
    for (candidate, _), trial in zip(begun, trials, strict=True):
        candidate.keep(trial)
        if candidate.gains_first(table, HOPEFUL if large else 0.0):
            left.append(candidate)
        if large:
            candidate.forget()
    return left


def _is_large(split: HeldOut) -> bool:
    return len(split.train.rows) > SCREEN_ROWS


def _begun(candidates, deadline: float) -> list[tuple]:
    """Return those for whom there is time; the others say that there is none."""
    if time.perf_counter() <= deadline:
        return [(candidate, None) for candidate in candidates]
    for candidate in candidates:
        candidate.verdict = "skipped: out of time"
    return []
