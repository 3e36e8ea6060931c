"""The race of the linear predictors: a base chosen by held-out prediction."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.auto.explanation import Score
from missfit.auto.heldout import Gain, HeldOut, Table, Training

SCOUT_ROWS = 300  # held-out rows of the first split that tell a scout's worth
SOME_ROWS = 500  # held-out rows from which on a candidate may leave the race
ENOUGH_ROWS = 2_000  # from which on it must be ahead of the reference to stay
HOPELESS = 3.0  # paired standard errors behind the best
# With fewer held-out rows the standard error is itself uncertain, so that more of them
# must lie between: mixture 3 at 750 rows is decided by the 150 rows of its first fold.
FEW_ROWS, SURELY_HOPELESS = 100, 5.0
CHOSEN = "chosen"  # the verdict on the base
# How many times as long as the reference a first run is expected to take where time is
# limited. On four real tables the slowest of those that are not dear takes 4 times as
# long, SelfMaskedLR and PatternMixtureLR 8 to 18 times.
PLAIN, DEAR = 4.0, 18.0
SLIGHT = 0.1  # paired standard errors ahead of the reference, to stay in the race


# What a fit of a candidate may end in, without an end of the race.
FAILURES = (ValueError, np.linalg.LinAlgError, FloatingPointError)


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
    hint: Candidate | None = None  # it has nothing to gain where this one gains nothing
    hint_rival: Candidate | None = None  # over whom that one must gain; the reference
    loss: list[NDArray] = field(default_factory=list)  # of held-out rows, by split
    model: Any = None  # of the last fit
    seconds: float = 0.0
    out: str = ""  # why it left the race
    weight: float | None = None  # in the mean of several, where it was asked for one

    @property
    def is_dear(self) -> bool:
        """Whether something cheaper can tell that it is not worth a fit."""
        return self.scout is not None or self.hint is not None

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
        except FAILURES as reason:
            self.out = f"failed: {reason}"
        else:
            self.model = model
            if np.isfinite(guess).all():
                self.loss.append(table.losses(test, guess))
            else:
                self.out = "failed: a prediction is not finite"
            # with few rows that no sign is found is no sign that there is none
            self.out = self.out or ("" if table.is_averaged else model.why_not())
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
        """Run until the splits or all rivals are spent; return the winner.

        The dear begin when the others have met the splits that they need.
        """
        for dear in (False, True):
            for k, split in enumerate(splits):
                if k == len(self.tests):
                    self.tests.append(split.test)
                begun = [c for c in self.alive() if dear or not c.is_dear]
                for candidate in begun:
                    if len(candidate.loss) == k:
                        self._run(candidate, split)
                self._drop()
                if sum(not candidate.out for candidate in begun) <= 1:
                    break
        return self.winner()

    def instead_of(self, winner: Candidate, failure: Exception) -> Candidate:
        """Return the reference, where the winner could not be fitted to all rows."""
        if winner is self.reference:
            raise failure
        winner.out = f"failed on all rows: {failure}"
        for candidate in self.candidates:
            candidate.weight = None
        return self.reference

    def _run(self, candidate: Candidate, split: HeldOut) -> None:
        """Run a candidate on a split, unless time or what is known speaks against."""
        first, hint, scout = not candidate.loss, candidate.hint, candidate.scout
        if candidate is not self.reference and self._is_late(candidate):
            candidate.out = "skipped: out of time"
        elif first and hint and not self._hints(hint, candidate.hint_rival):
            over = candidate.hint_rival
            over = f" over {over.name}" if over else ""
            candidate.out = f"not tried: {hint.name} gains nothing{over}"
        elif first and scout and self._is_sent(scout, split):
            self._run_after(scout, candidate, split)
        else:
            candidate.run(split, self.table)
            self._leave_if_repeated(candidate)

    def _is_late(self, candidate: Candidate) -> bool:
        """Whether a run would leave too little time to fit the base to all rows.

        A run takes as long as the last of the candidate, and a first one some times as
        long as those of the reference.
        """
        if np.isinf(self.deadline):
            return False
        known, times = candidate, 1.0
        if not candidate.loss:
            known, times = self.reference, DEAR if candidate.is_dear else PLAIN
        need = times * known.seconds / max(len(known.loss), 1)
        left = self.deadline - time.perf_counter()
        return left < need + self.final_seconds(self.reference)

    def final_seconds(self, candidate: Candidate) -> float:
        """Return how long the fit of a candidate to all rows is expected to take."""
        if candidate.estimator.made_of():
            return sum(self.final_seconds(c) for c in self.candidates if c.weight)
        if not candidate.loss:
            return 0.0
        tested = sum(map(len, self.tests[: len(candidate.loss)])) / len(candidate.loss)
        share = 1 - min(tested / len(self.table.X), 0.9)  # of the rows that trained it
        return candidate.seconds / len(candidate.loss) / share

    def _hints(self, hint: Candidate, rival: Candidate | None) -> bool:
        """Whether a cheap candidate says that a dear one may have something to gain.

        One with a rival of its own is asked only where rows are few: with many, the
        dear one may gain what is too little for this sign.
        """
        if rival and not self.table.is_averaged:
            return True
        over = rival or self.reference
        least = -1.0 if self.table.is_averaged else 0.0  # few rows can be misled
        unknown = not hint.loss or not over.loss
        return unknown or self.gain(hint, over).ahead(least)

    def _leave_if_repeated(self, candidate: Candidate) -> None:
        """Take a candidate out that predicts as the reference does."""
        some = candidate is not self.reference and not candidate.out
        if some and self.reference.loss and len(candidate.loss) == 1:
            loss = self.reference.loss[0]
            if np.allclose(candidate.loss[0], loss, rtol=0, atol=1e-6 * loss.mean()):
                candidate.out = f"predicts as {self.reference.name} does"

    def _is_sent(self, scout: Scout, split: HeldOut) -> bool:
        enough = self._weight([split.test]) >= SCOUT_ROWS
        return enough and len(split.train.rows) >= scout.least_rows

    def _run_after(self, scout: Scout, candidate: Candidate, split: HeldOut) -> None:
        """Run a candidate only if its scout comes near what the best gains.

        A scout that gains a third of it may stand for one that gains more than all.
        """
        candidate.run(split, self.table, scout=scout)
        if scout.rival and candidate.loss and self.reference.loss:
            self._compare_parts(scout.rival, candidate, split)
        rivals = [r for r in self.alive() if r is not candidate and r.loss]
        if not rivals:
            return
        rival, best = self._rival_of_scout(candidate, rivals), self._best(rivals)
        found = self.gain(candidate, rival)
        if candidate.out and not found.wins(HOPELESS):
            return  # few rows may show a gain before they show what it comes from
        candidate.out = ""
        if found.wins() and found.value > self.gain(best, rival).value / 3:
            candidate.loss = []
            candidate.run(split, self.table)
        else:
            candidate.out = f"behind with {scout.name}"

    def _rival_of_scout(self, candidate: Candidate, rivals: list[Candidate]):
        """Return whom a scout must beat: the rival it names, or the reference."""
        named = repr(candidate.estimator.scout_rival())
        first = self.reference if self.reference.loss else rivals[0]
        return next((r for r in rivals if repr(r.estimator) == named), first)

    def _compare_parts(self, rival, candidate: Candidate, split: HeldOut) -> None:
        """Give a candidate the loss of the reference, less its gain by a part of rows.

        What its scout gains over the reference fitted to the same rows is taken for
        what it would gain itself.
        """
        start = time.perf_counter()
        test, table = split.test, self.table
        guess = table.objective.guess(rival(split.train), table.X[test])
        candidate.loss[0] += self.reference.loss[0] - table.losses(test, guess)
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
        lines = self.candidates
        if not any(candidate is winner for candidate in lines):
            lines = [*lines, replace(winner, name="the weighted mean")]
        return [self._score(line, reference, winner, level) for line in lines]

    def _score(
        self,
        candidate: Candidate,
        reference: Candidate,
        winner: Candidate,
        level: float,
    ) -> Score:
        verdict = self._verdict(candidate, winner)
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

    def _verdict(self, candidate: Candidate, winner: Candidate) -> str:
        if candidate is winner or candidate.estimator is winner.estimator:
            return CHOSEN
        if candidate.out:
            return candidate.out
        if candidate.weight is not None:
            return f"weight {candidate.weight:.2f}"
        return "the reference" if candidate is self.reference else "in the race"

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

    def _best(self, candidates: list[Candidate]) -> Candidate:
        """Return the one that gains most over the first of them, on common rows."""
        return max(candidates, key=lambda c: self.gain(c, candidates[0]).value)

    def _drop(self) -> None:
        """Let go of the hopeless and of those that are not ahead of the reference."""
        racing = [candidate for candidate in self.alive() if candidate.loss]
        if len(racing) < 2:
            return
        best = self._best(racing)
        for candidate in racing:
            if candidate is not best and self._is_lost(candidate, best):
                candidate.out = "behind"

    def _is_lost(self, candidate: Candidate, best: Candidate) -> bool:
        """Whether a candidate is so far behind that more rows would not save it."""
        n, _ = self._met(candidate, best)
        n_rows = self._weight(self.tests[:n])
        if n_rows < FEW_ROWS:
            return False
        errors = HOPELESS if n_rows >= SOME_ROWS else SURELY_HOPELESS
        if self.gain(best, candidate).wins(errors):
            return True
        reference = self.reference
        if n_rows < SOME_ROWS or candidate is reference or reference.out:
            return False
        least = SLIGHT if n_rows >= ENOUGH_ROWS else -1.0
        ahead = self.gain(candidate, reference).ahead(least)
        return not ahead and not self.table.is_averaged
