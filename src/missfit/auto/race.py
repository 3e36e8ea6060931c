"""The race of the linear predictors: a base chosen by held-out prediction."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.auto.explanation import Score
from missfit.auto.heldout import Gain, HeldOut, Table, Training

SCOUT_ROWS = 300  # held-out rows of the first split that tell a scout's worth
SOME_ROWS = 500  # held-out rows from which on a candidate may leave the race
ENOUGH_ROWS = 2_000  # from which on it must be ahead of the reference to stay
HOPELESS = 3.0  # paired standard errors behind the best
SLIGHT = 0.1  # paired standard errors ahead of the reference, to stay in the race


class Scout(NamedTuple):
    """A cheaper model of a candidate's kind, sent ahead where rows are many.

    One that is fitted to a part of the rows is compared with a rival fitted to the same
    part: beside a model of all rows it would look worse than its kind is.
    """

    name: str
    fit: Callable[[Training], Any]
    least_rows: int = 0  # to train on, below which the candidate goes itself
    rival: Callable[[Training], Any] | None = None  # fitted to as many rows


@dataclass
class Candidate:
    """A candidate of the race, and what is known of it so far."""

    estimator: Any
    name: str
    scout: Scout | None = None
    loss: list[NDArray] = field(default_factory=list)  # of held-out rows, by split
    model: Any = None  # of the last fit
    seconds: float = 0.0
    out: str = ""  # why it left the race

    def run(self, split: HeldOut, table: Table, *, scout: Scout | None = None) -> None:
        """Fit to the training rows of a split, and predict the others."""
        start = time.perf_counter()
        try:
            train, test = split
            model = scout.fit(train) if scout else train.fit(self.estimator)
            if scout:
                guess = table.objective.guess(model, table.X[test])
            else:
                guess = train.guess(self.estimator, test)
        except (ValueError, np.linalg.LinAlgError, FloatingPointError) as reason:
            self.out = f"failed: {reason}"
        else:
            self.model = model
            if np.isfinite(guess).all():
                self.loss.append(table.losses(test, guess))
            else:
                self.out = "failed: a prediction is not finite"
            self.out = self.out or model.why_not()
        self.seconds += time.perf_counter() - start


@dataclass
class Race:
    """Candidates run split by split; those without hope leave early.

    The first candidate is the reference: it wins unless another predicts the held-out
    rows better by one paired standard error.
    """

    candidates: list[Candidate]
    table: Table
    deadline: float = np.inf
    tests: list[NDArray[np.intp]] = field(default_factory=list)

    @property
    def reference(self) -> Candidate:
        """The first candidate."""
        return self.candidates[0]

    def run(self, splits: list[HeldOut]) -> Candidate:
        """Run until the splits or all rivals are spent; return the winner."""
        for split in splits:
            self.tests.append(split.test)
            for candidate in self.alive():
                late = time.perf_counter() > self.deadline
                if late and candidate is not self.reference:
                    candidate.out = "skipped: out of time"
                elif candidate.scout and self._is_sent(candidate.scout, split):
                    self._run_after(candidate.scout, candidate, split)
                else:
                    candidate.run(split, self.table)
            self._drop()
            if len(self.alive()) <= 1:
                break
        return self.winner()

    def _is_sent(self, scout: Scout, split: HeldOut) -> bool:
        first, enough = len(self.tests) == 1, self._weight([split.test]) >= SCOUT_ROWS
        return first and enough and len(split.train.rows) >= scout.least_rows

    def _run_after(self, scout: Scout, candidate: Candidate, split: HeldOut) -> None:
        """Run a candidate only if its scout comes near what the best gains.

        A scout that gains a third of it may stand for one that gains more than all.
        """
        candidate.run(split, self.table, scout=scout)
        if scout.rival and candidate.loss and self.reference.loss:
            self._compare_parts(scout.rival, candidate, split)
        if candidate.out:
            return
        rivals = [r for r in self.alive() if r is not candidate and r.loss]
        if not rivals:
            return
        best = min(rivals, key=self.mean_loss)
        rival = self._rival_of_scout(candidate, rivals)
        found = self.gain(candidate, rival)
        if found.wins() and found.value > self.gain(best, rival).value / 3:
            candidate.loss = []
            candidate.run(split, self.table)
        else:
            candidate.out = f"behind with {scout.name}"

    def _rival_of_scout(self, candidate: Candidate, rivals: list[Candidate]):
        """Return whom a scout must beat: the rival it names, or the first."""
        named = repr(candidate.estimator.scout_rival())
        return next((r for r in rivals if repr(r.estimator) == named), rivals[0])

    def _compare_parts(self, rival, candidate: Candidate, split: HeldOut) -> None:
        """Give a candidate the loss of the reference, less its gain by a part of rows.

        What its scout gains over the reference fitted to the same rows is taken for
        what it would gain itself.
        """
        start = time.perf_counter()
        test, table = split.test, self.table
        guess = table.objective.guess(rival(split.train), table.X[test])
        candidate.loss[-1] += self.reference.loss[-1] - table.losses(test, guess)
        candidate.seconds += time.perf_counter() - start

    def alive(self) -> list[Candidate]:
        """Return those still in the race."""
        return [candidate for candidate in self.candidates if not candidate.out]

    def gain(self, candidate: Candidate, over: Candidate) -> Gain:
        """Gain of one candidate over another, on the rows that both have met."""
        n, rows = self._met(candidate, over)
        if n == 0:
            return Gain(0.0, np.inf)
        return self.table.gain(
            rows, np.concatenate(over.loss[:n]), np.concatenate(candidate.loss[:n])
        )

    def _met(self, *candidates: Candidate) -> tuple[int, NDArray[np.intp]]:
        """Return how many splits all of these have met, and their held-out rows."""
        n = min(len(candidate.loss) for candidate in candidates)
        return n, np.concatenate([np.empty(0, dtype=np.intp), *self.tests[:n]])

    def _weight(self, tests: list[NDArray[np.intp]]) -> float:
        """Return how many rows these count for."""
        return float(sum(self.table.weight[test].sum() for test in tests))

    def winner(self) -> Candidate:
        """Return the best of those that beat the reference, or the reference."""
        alive = self.alive()
        if not alive:
            reasons = "; ".join(f"{r.name} {r.out}" for r in self.candidates)
            raise ValueError(f"no candidate could be fitted: {reasons}.")
        reference = self.reference
        if reference.out:
            return min(alive, key=self.mean_loss)
        better = [r for r in alive if r is reference or self.gain(r, reference).wins()]
        return min(better, key=self.mean_loss)

    def scores(self, winner: Candidate, winner_score: float = np.nan) -> list[Score]:
        """Return the lines of the table of candidates.

        Candidates that left early have met fewer rows, which may be easier or harder
        than the others. So every score is that of the reference improved by the gain
        over it on the rows that both have met: the scores of two candidates differ by
        what they differ on common rows. Without early leave it is the plain held-out
        score.

        Parameters
        ----------
        winner : Candidate
        winner_score : float
            Its score, where more held-out rows than those of the race have told it.
        """
        reference = self.reference
        if not reference.loss:  # it failed at once
            reference = winner
        level = self.score(reference)
        if np.isfinite(winner_score):
            gain = self.score_gain(winner, reference).value
            level = self.table.objective.improved(winner_score, -gain)
        return [self._score(r, reference, winner, level) for r in self.candidates]

    def _score(
        self,
        candidate: Candidate,
        reference: Candidate,
        winner: Candidate,
        level: float,
    ) -> Score:
        standing = "the reference" if candidate is reference else "in the race"
        verdict = candidate.out or standing
        if candidate is winner:
            verdict = "chosen"
        score = Score(
            candidate.name, np.nan, np.nan, np.nan, candidate.seconds, verdict
        )
        if candidate is reference:
            return score._replace(score=level)
        if not candidate.loss:
            return score
        gain, error = self.score_gain(candidate, reference)
        improved = self.table.objective.improved(level, gain)
        return score._replace(score=improved, gain=gain, standard_error=error)

    def score_gain(self, candidate: Candidate, over: Candidate) -> Gain:
        """Gain of one candidate over another in the score, on rows that both met."""
        n, rows = self._met(candidate, over)
        return self.gain(candidate, over).over(self.table.unit(rows) if n else 1.0)

    def score(self, candidate: Candidate) -> float:
        """Return the score of a candidate on the held-out rows that it has met."""
        n, rows = self._met(candidate)
        if n == 0:
            return np.nan
        unit = self.table.unit(rows)
        return self.table.objective.score(self.mean_loss(candidate), unit)

    def mean_loss(self, candidate: Candidate) -> float:
        """Return the mean loss of a candidate on the held-out rows that it met."""
        if not candidate.loss:
            return np.inf
        weight = self.table.weight[self._met(candidate)[1]]
        return float(weight @ np.concatenate(candidate.loss) / weight.sum())

    def _drop(self) -> None:
        """Let go of the hopeless and of those that are not ahead of the reference."""
        alive, n_rows = self.alive(), self._weight(self.tests)
        if len(alive) < 2 or n_rows < SOME_ROWS:
            return
        best, reference = min(alive, key=self.mean_loss), self.reference
        least = SLIGHT if n_rows >= ENOUGH_ROWS else -1.0
        raced = not reference.out
        for candidate in alive:
            behind = self.gain(best, candidate).wins(HOPELESS)
            lost = raced and candidate is not reference
            lost = lost and not self.gain(candidate, reference).ahead(least)
            if candidate is not best and (behind or lost):
                candidate.out = "behind"
