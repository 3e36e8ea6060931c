"""Flexible candidates beside a base: which are fitted to which splits, and kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from missfit.auto.explanation import Score
from missfit.auto.heldout import Gain, HeldOut, Table
from missfit.auto.objective import Objective, Task
from missfit.auto.pace import Pace, fits_at_once, side_by_side
from missfit.auto.parts import FoldModel, FoldModels, Part
from missfit.auto.rounds import WATCHED_STEPS, Examples, Growth
from missfit.auto.stacking import Unseen, stacked
from missfit.auto.trees import FlatTrees

# The other splits are fitted so many times the best rounds of the first: the sum of the
# losses has its minimum near.
BEYOND, FEWEST_ROUNDS = 1.15, 25
SCREEN_ROWS = 20_000  # a first look at a large table takes as many rows
SCREEN_ROUNDS = 100
# Paired standard errors that a part must gain on the first split to be fitted to the
# others, where rows are so many that these fits are no trifle.
HOPEFUL, TRIFLING_ROWS = 0.5, 500
# Of the standard errors that a part must gain in the end beside another, so many on the
# first split already.
BESIDE = 0.2
# A large table has rows to be sure by, and fits to all of them that take long: of the
# best case, two standard errors more, so much of the base's loss must be gained.
SURE, WORTHWHILE = 1.0, 1e-3


RowPredictor = Callable[[NDArray[np.intp]], NDArray[np.float64]]


class Trial(NamedTuple):
    """A candidate's fit to one split."""

    model: FoldModel
    test: tuple  # inputs, base's guess, rows
    stage_loss: NDArray[np.float64]  # on the test rows, after each round
    test_weight: float  # of all test rows
    seconds: float


@dataclass
class PartCandidate:
    """A flexible candidate, fitted split by split to one of its tasks."""

    estimator: Any
    name: str
    task: Task
    settings: Sequence[dict[str, Any]] = ()  # of the estimator, to choose from
    rounds: int = 0  # most rounds to fit, once the first split has told
    deadline: float = np.inf  # no rounds are begun that would end after it
    models: list[FoldModel] = field(default_factory=list)
    tests: list[tuple] = field(default_factory=list)  # see Trial.test
    stage_loss: list[NDArray] = field(default_factory=list)
    test_weight: list[float] = field(default_factory=list)
    seconds: float = 0.0
    last_seconds: float = 0.0  # of the last fit
    gain: Gain | None = None  # over the base in the score, with a weight of its own
    verdict: str = "left out"
    _added: tuple = ()  # additions, with the rounds and number of models behind them

    @property
    def title(self) -> str:
        """The name, and what it is fitted to."""
        return f"{self.name} on {self.task.words}"

    def set(self, setting: dict[str, Any]) -> None:
        """Fit with a setting from now on."""
        self.estimator.set_params(**setting)

    def setting_words(self) -> str:
        """Say which of its settings was chosen, or nothing where it has none."""
        if not self.settings:
            return ""
        return f", {self.estimator.max_leaf_nodes} leaves a tree"

    def lacks(self, split: HeldOut) -> bool:
        """Whether the candidate has not been fitted to a split."""
        return not any(test is split.test for _, _, test in self.tests)

    def forget(self) -> None:
        """Drop the fits of a first look."""
        self.models, self.tests, self.rounds = [], [], 0
        self.stage_loss, self.test_weight, self._added = [], [], ()

    def judge(self, unseen: Unseen, addition: NDArray) -> Gain:
        """Weigh the candidate alone beside the base, by its addition on some rows."""
        self.gain = unseen.gain_of([addition]).over(unseen.unit)
        return self.gain

    def is_hopeful(self, table: Table, n_train: int, dear: bool) -> bool:
        """Whether what it gains over the base on the first split promises more.

        Beside a dear base, which is fitted to the other splits for it, more is asked.
        """
        _, base, rows = self.tests[0]
        unseen = Unseen(table, rows, base)
        gain = self.judge(unseen, self.additions())
        if n_train <= table.objective.few_rows:
            return True
        if n_train <= SCREEN_ROWS:
            least = 0.0 if n_train < TRIFLING_ROWS else HOPEFUL
            return gain.wins(max(least, table.objective.sure) if dear else least)
        best_case = gain.value + 2 * gain.standard_error
        least = WORTHWHILE * unseen.mean_loss() / unseen.unit
        return gain.wins(SURE) and best_case > least

    def fit(
        self, table: Table, base: RowPredictor, train: NDArray, test: NDArray
    ) -> Trial:
        """Fit to the training rows of one split, and score each round on the test.

        ``base`` returns the base's guesses of some rows.
        """
        start = time.perf_counter()
        # Threads of a round wait for each other, on a busy machine a hundred times
        # longer than they work: splits side by side do not.
        with threadpool_limits(1, user_api="openmp"):
            base_test = base(test)
            base_train = base(train) if self.task.uses_base else np.zeros(len(train))
            seen = self._examples(table, train, base_train)
            unseen = self._examples(table, test, base_test)
            beside = Unseen(table, test, base_test)
            growth = self._fit_rounds(seen, unseen, beside)
        seconds = time.perf_counter() - start
        place, weight = (unseen.inputs, base_test, test), float(unseen.weight.sum())
        return Trial(growth.fold, place, growth.loss, weight, seconds)

    def _examples(self, table: Table, rows: NDArray, base: NDArray) -> Examples:
        """Return some rows as the candidate meets them, given the base's guess."""
        return Examples(
            self.task.inputs(table.X[rows], base),
            self.task.target(table.y[rows], base),
            table.weight[rows],
            table.objective,
        )

    def _fit_rounds(self, seen: Examples, unseen: Examples, beside: Unseen) -> Growth:
        """Return the model, boosted while that helps, and its loss after each round.

        Of the first split no more rounds are fitted where those so far add nothing to
        the base.
        """
        growth = Growth(FoldModel.unfitted(self.estimator, *seen), seen, unseen)
        if self.rounds:
            growth.to(self.rounds)
            return growth

        def adds(guess: NDArray) -> bool:
            addition = self.task.addition(guess, beside.base)
            return beside.gain_of([addition]).value > 0

        growth.grow(self.deadline, adds)
        return growth

    def keep(self, trial: Trial) -> None:
        """Take up the fit to one split, and its number of rounds for those to come."""
        beyond = int(np.ceil(BEYOND * (np.argmin(trial.stage_loss) + 1)))
        self.rounds = min(len(trial.stage_loss), max(FEWEST_ROUNDS, beyond))
        self.models.append(trial.model)
        self.tests.append(trial.test)
        self.stage_loss.append(trial.stage_loss)
        self.test_weight.append(trial.test_weight)
        self.last_seconds = trial.seconds
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
        place = rounds, len(self.models)
        if self._added[1:] != place:
            parts = [
                self.task.addition(model.predict(inputs, rounds), base)
                for model, (inputs, base, _) in zip(
                    self.models, self.tests, strict=True
                )
            ]
            self._added = np.concatenate(parts), *place
        return self._added[0]

    def part(self, weight: float) -> Part:
        """Return the candidate as a part of the model: the rounds used, and no more."""
        rounds = self.best_rounds()
        n_inputs = self.tests[0][0].shape[1]
        flat = [model.flat(n_inputs, rounds) for model in self.models]
        trees = [trees for trees in flat if trees is not None]
        whole = len(trees) == len(flat)
        model = FlatTrees.joined(trees) if whole else FoldModels(self.models, rounds)
        return Part(self.title, self.task, model, rounds, weight)


class Parts(NamedTuple):
    """What came of the flexible candidates."""

    kept: list[Part]
    gain: Gain | None  # of all that are kept over the base, in the score
    base_score: float  # on all held-out rows; NaN where no part met them all
    objective: Objective
    offset: Any = 0.0  # added to the guesses of all rows

    @classmethod
    def none(cls, objective: Objective) -> Parts:
        """Return what comes of it where no part is kept."""
        return cls([], None, np.nan, objective)

    def score(self, candidate: PartCandidate, base_score: float) -> Score:
        """Return a candidate's line of the table of candidates, given the base's score.

        A candidate that was left out after the first split has met fewer rows than the
        base: its score is the base's, improved by its gain on the rows that both met.
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
            verdict += candidate.setting_words()
        return nothing._replace(
            score=self.objective.improved(base_score, candidate.gain.value),
            gain=candidate.gain.value,
            standard_error=candidate.gain.standard_error,
            verdict=verdict,
        )

    def reason(self) -> str:
        """Say what the flexible parts add."""
        if self.gain is None or not self.kept:
            return "No flexible part lowers its held-out error enough to be kept."
        gain = f"{self.gain.value:.4f} +- {self.gain.standard_error:.4f}"
        return (
            f"The flexible parts {self.objective.words.earned.format(gain)}, each more "
            f"than {self.objective.earned} standard errors."
        )


def fit_parts(
    table: Table,
    base_estimator: Any,
    splits: list[HeldOut],
    candidates: list[PartCandidate],
    rng: np.random.Generator,
    pace: Pace | None = None,
) -> Parts:
    """Return the parts that earn their place beside the base, with their weights.

    The pace says how far boosting comes, where time is limited.
    """
    nothing = Parts.none(table.objective)
    if not candidates or not splits:
        return nothing
    pace = pace or Pace(0.0, np.inf)
    for candidate in candidates:
        candidate.deadline = pace.end_of_first(len(splits))
    left = _screened(table, base_estimator, splits[0], candidates, rng, pace)
    if not left:
        return nothing
    _fit_splits(table, base_estimator, splits[:1], left)
    n_train, dear = len(splits[0].train.rows), is_dear(base_estimator)
    left = [x for x in left if x.is_hopeful(table, n_train, dear)]
    if not left:
        return nothing
    if n_train >= max(TRIFLING_ROWS, table.objective.few_rows):
        left = _useful_together(table, left)
    if _has_time(left, splits, pace.deadline):
        _fit_splits(table, base_estimator, splits[1:], left)
    rows = np.concatenate([test for _, _, test in left[0].tests])
    base = np.concatenate([base for _, base, _ in left[0].tests])
    unseen = Unseen(table, rows, base)
    additions = [candidate.additions() for candidate in left]
    stack = stacked(unseen, additions)
    for candidate, addition in zip(left, additions, strict=True):
        candidate.judge(unseen, addition)
    kept = [
        left[k].part(float(weight))
        for k, weight in zip(stack.kept, stack.weights, strict=True)
    ]
    gain = stack.gain.over(unseen.unit)
    return nothing._replace(
        kept=kept, gain=gain, base_score=unseen.base_score(), offset=stack.offset
    )


def _useful_together(table: Table, candidates: list[PartCandidate]) -> list:
    """Return the best candidate of the first split, and those that add to it there.

    What adds too little beside the best is hardly kept in the end, and its fits to the
    other splits are saved.
    """
    _, base, rows = candidates[0].tests[0]
    unseen = Unseen(table, rows, base)
    first = max(candidates, key=lambda x: unseen.gain_of([x.additions()]).value)
    loss = unseen.weighed([first.additions()])[1]
    least = BESIDE * table.objective.earned

    def adds(other: PartCandidate) -> bool:
        both = unseen.weighed([first.additions(), other.additions()])[1]
        return unseen.gain(loss, both).wins(least)

    return [x for x in candidates if x is first or adds(x)]


def _fit_splits(table, base_estimator, splits: list[HeldOut], candidates) -> None:
    """Fit candidates to the splits that they lack."""

    def fitted(candidate: PartCandidate, split: HeldOut) -> Trial:
        base = partial(split.train.guess, base_estimator)
        return candidate.fit(table, base, split.train.rows, split.test)

    pairs = [(x, split) for split in splits for x in candidates if x.lacks(split)]
    for candidate, split in pairs:  # once for all candidates, before threads
        split.train.guess(base_estimator, split.test)
        if candidate.task.uses_base:
            split.train.guess(base_estimator, split.train.rows)
    trials = side_by_side(fitted, pairs, splits[0].train.n_values if splits else 0)
    for (candidate, _), trial in zip(pairs, trials, strict=True):
        candidate.keep(trial)


def _screened(table, base_estimator, split: HeldOut, candidates, rng, pace: Pace):
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
    base = partial(split.train.guess, base_estimator)
    base(test)  # once for all candidates, before threads
    if any(candidate.task.uses_base for candidate in candidates):
        base(train)
    begun = _begun(candidates, pace)
    n_values = len(train) * table.X.shape[1]
    trials = side_by_side(lambda x, _: x.fit(table, base, train, test), begun, n_values)
    left = []
    for (candidate, _), trial in zip(begun, trials, strict=True):
        candidate.keep(trial)
        if candidate.is_hopeful(table, len(split.train.rows), is_dear(base_estimator)):
            left.append(candidate)
        if large:
            candidate.forget()
    return left


def _has_time(candidates, splits: list[HeldOut], deadline: float) -> bool:
    """Whether fits to the other splits would end in time, given those to the first."""
    if np.isinf(deadline):
        return True
    seconds = sum(candidate.last_seconds for candidate in candidates)
    seconds /= fits_at_once(splits[0].train.n_values)
    base = sum(splits[0].train.seconds.values())
    need = (seconds + base) * (len(splits) - 1)
    return time.perf_counter() + need <= deadline


def is_dear(base_estimator: Any) -> bool:
    """Whether a linear predictor, or one that it is made of, sends a scout ahead."""
    every = base_estimator.made_of() or [base_estimator]
    return any(one.scout() is not None for one in every)


def _is_large(split: HeldOut) -> bool:
    return len(split.train.rows) > SCREEN_ROWS


def _begun(candidates, pace: Pace) -> list[tuple]:
    """Return those for whom there is time; the others say that there is none."""
    least = candidates[0].rounds or WATCHED_STEPS[0]
    if pace.allows(least * len(candidates)):
        return [(candidate, None) for candidate in candidates]
    for candidate in candidates:
        candidate.verdict = "skipped: out of time"
    return []
