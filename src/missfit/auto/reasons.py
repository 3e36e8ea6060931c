"""Why the default predicts as it does: what `explain` gathers."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.auto.boosting import PartCandidate, Parts
from missfit.auto.explanation import Explanation, Score, regime_of
from missfit.auto.heldout import HeldOut, Training
from missfit.auto.objective import Objective
from missfit.auto.parts import Part
from missfit.auto.race import CHOSEN, Candidate, Race
from missfit.auto.telling_columns import (
    MANY_COLUMNS,
    TELLING_COLUMNS,
    telling_columns,
)
from missfit.estimators.emlr import EMLR
from missfit.evidence.mechanism import Mechanism, mechanism, rows_of
from missfit.evidence.self_masking import BEATEN, SelfMaskingTrial, with_self_masking
from missfit.evidence.worth import (
    POOL_ROWS,
    Fold,
    Worth,
    heldout_worth,
    law_drops,
    law_worth,
    no_worth,
)

DROP_ROWS = 2_000  # rows that tell which feature is worth measuring, row by row
# Likewise patterns, where there are more, of up to so many features; fewer of more.
# 100,000 patterns of 50 features would take as long as the rest of a fit.
DROP_PATTERNS, DROP_FEATURES = 2_000, 100
# Features from which on only some are hidden in held-out rows, and how many then: all
# of 1,000 would be 200,000 rows to predict, each with a pattern of its own, in some
# 5 ms each.
MANY_FEATURES, TRIED_FEATURES = 200, 12


class Outcome(NamedTuple):
    """What came of a fit: the base among its rivals, and the parts beside it."""

    whole: Training
    splits: list[HeldOut]
    race: Race
    winner: Candidate
    part_candidates: list[PartCandidate]
    parts: Parts

    def explanation(self, feature_names: list[str], seconds: float) -> Explanation:
        """Return all that `explain` tells, in about so many seconds if need be."""
        table = self.whole.table
        return Explanation(
            candidates=self.scores(),
            choice=" + ".join([self.winner.name, *(p.name for p in self.parts.kept)]),
            reason=self.reason(),
            regime=regime_of(self.whole.moments),
            mechanism=self.mechanism(seconds),
            worth=self.worth(),
            feature_names=feature_names,
            unit=table.unit(self.whole.rows),
            words=table.objective.words,
        )

    def scores(self) -> list[Score]:
        """Return the lines of all candidates, linear and flexible."""
        scores = self.race.scores(self.winner, self.parts.base_score)
        base = next(line.score for line in scores if line.verdict == CHOSEN)
        return scores + [self.parts.score(c, base) for c in self.part_candidates]

    def reason(self) -> str:
        """Say why this base was chosen, and what the parts add."""
        winner, reference = self.winner, self.race.reference
        if not self.race.tests:
            words = f"too few rows to hold some out: {winner.name} is the reference."
        elif winner.estimator.made_of():
            words = (
                f"{self.whole.moments.count.sum():,.6g} rows are too few to pick one "
                "linear predictor, so the predictions of several are averaged: the "
                "better one predicts the held-out rows, the more it weighs."
            )
        elif winner is reference:
            words = (
                f"{winner.name} is the reference, and no other base predicts the "
                "held-out rows better by one standard error."
            )
        else:
            gain = self.race.gain(winner, reference)
            ratio = gain.value / gain.standard_error if gain.standard_error else np.inf
            words = (
                f"{winner.name} predicts the held-out rows better than "
                f"{reference.name} by {ratio:.1f} standard errors."
            )
        return " ".join([words, self.parts.reason(), *self._said_of_width()]).strip()

    def _said_of_width(self) -> list[str]:
        """Say what was done with fewer columns, or by less, as there are so many."""
        table, said = self.whole.table, []
        d, base = table.X.shape[1], self.whole.fit(EMLR())
        if not base.by_em_:
            said.append(
                f"EM was not run, since its steps would take too long with {d:,} "
                f"columns in {len(self.whole.moments):,} missing patterns; missing "
                "values were filled by the correlations of the pairs of observed ones."
            )
        if self.part_candidates and d > MANY_COLUMNS:
            said.append(
                f"Boosting was fitted to the {TELLING_COLUMNS} of {d:,} columns that "
                "tell most of the target in the rows that it learns from."
            )
        return said

    def mechanism(self, seconds: float = np.inf) -> Mechanism:
        """Return what the table tells of why values are missing.

        Fewer rows are tested where all of them would take more seconds.
        """
        em, table = self.whole.fit(EMLR()), self.whole.table
        targets = table.objective.moment_targets(table.y).reshape(len(table.y), -1)
        one = int(np.argmax(table.weight @ targets))  # of classes, the most frequent
        d = table.X.shape[1]
        kept = np.append(np.arange(d), d + one)
        law = em.mean_[kept], em.covariance_[np.ix_(kept, kept)]
        rows = rows_of(table.X, targets[:, one], table.weight, table.groups)
        found = mechanism(rows, law, seconds)
        said = with_self_masking(found, self.self_masking())
        return said if said.self_masking is not None else self._without_hint(said)

    def _without_hint(self, found: Mechanism) -> Mechanism:
        """Say why a model of self-masking was not tried, where a hint was missing."""
        untried = [c for c in self.race.candidates if c.hint and not c.loss]
        silent = [(c.hint, c.hint_rival) for c in untried if c.hint and c.hint.loss]
        if not silent:
            return found
        hint, rival = silent[0]
        why = (
            f"{hint.name}, which knows what is missing, predicts held-out rows no "
            f"better than {(rival or self.race.reference).name}"
        )
        return found._replace(
            self_masking=False, self_evidence=f"no sign that holds ({why})"
        )

    def self_masking(self) -> SelfMaskingTrial | None:
        """Return how a model of self-masking did; None where none was in the race."""
        found = [
            (candidate, has_slopes)
            for candidate in self.race.candidates
            if candidate.loss
            and (has_slopes := candidate.model.self_masking_found()) is not None
        ]
        if not found:
            return None
        candidate, has_slopes = found[0]
        race, reference, winner = self.race, self.race.reference, self.winner
        gain = race.score_gain(candidate, reference)
        beaten = candidate is not winner and race.gain(winner, candidate).wins(BEATEN)
        return SelfMaskingTrial(
            reference.name,
            gain.value,
            gain.standard_error,
            winner.name if beaten else "",
            has_slopes,
            race.table.objective.words.name,
        )

    def worth(self) -> Worth:
        """Return drops by the law of a linear model, on held-out rows of another."""
        kept, winner = self.parts.kept, self.winner.estimator
        objective = self.whole.table.objective
        if not kept and objective.has_law_of_risk:
            return law_worth(risk_drops(self.whole, self.whole.fit(winner)))
        if not self.splits:
            return no_worth(self.whole.table.X.shape[1])
        folds = []
        n_folds = min((part.model.n_models for part in kept), default=len(self.splits))
        n_folds = min(n_folds, self._n_splits_for(POOL_ROWS))
        for k, split in enumerate(self.splits[:n_folds]):
            base = split.train.fit(winner)
            parts = [part.of_fold(k) for part in kept]
            predict = partial(sum_of_parts, objective, base, parts)
            folds.append(Fold(predict, split.test))
        rows = rows_of(*self.whole.table[:4])
        among = self._features_to_hide()
        return heldout_worth(rows, folds, losses=objective.losses, among=among)

    def _features_to_hide(self) -> NDArray[np.intp] | None:
        """Return the features that may be worth measuring; None for all of them."""
        table = self.whole.table
        if table.X.shape[1] <= MANY_FEATURES:
            return None
        target = table.objective.moment_targets(table.y).reshape(len(table.y), -1)
        return telling_columns(table.X, target, table.weight, TRIED_FEATURES)

    def _n_splits_for(self, n_rows: int) -> int:
        """Return how many splits hold so many rows out: no more are fitted for them."""
        n_tested = np.cumsum([len(split.test) for split in self.splits])
        return int(np.searchsorted(n_tested, n_rows)) + 1


def sum_of_parts(
    objective: Objective, base: Any, parts: list[Part], X: NDArray
) -> NDArray[np.float64]:
    """Return the base's guess + the sum of the parts' weights times what they add."""
    guess = objective.guess(base, X)
    return guess + sum(part.weight * part.predict(X, guess) for part in parts)


def risk_drops(whole: Training, base: Any) -> NDArray[np.float64]:
    """Return drops as the base tells them, by its laws, or by EM's if it has none.

    Of a mean of several it is the mean of theirs.
    """
    members = base.made_of()
    if members:
        every = [risk_drops(whole, whole.fit(member)) for member in members]
        return np.average(every, axis=0, weights=base.weights)
    step = max(1, len(whole.rows) // DROP_ROWS)
    told = base.risk_drops(whole.table.X[whole.rows[::step]])
    if told is not None:
        return told
    moments = whole.moments
    model = base if base.laws() else whole.fit(EMLR())
    laws, of_pattern = zip(*model.laws(), strict=True)
    width = max(DROP_FEATURES, moments.n_features)
    some, share = systematic_sample(
        moments.count, DROP_PATTERNS * DROP_FEATURES // width
    )
    shares = share * np.array(of_pattern)[:, some]
    return law_drops(laws, shares, model.coef_, moments.patterns[some])


def systematic_sample(
    weight: NDArray[np.float64], n: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return up to n things and their shares of the whole, drawn by their weights.

    All of them where they are no more than n. Of more, each is drawn as often as one of
    n evenly spaced points falls into its part of the total weight.

    >>> some, share = systematic_sample(np.array([1.0, 8.0, 1.0]), 2)
    >>> some.tolist(), share.tolist()
    ([1], [1.0])
    """
    if len(weight) <= n:
        return np.arange(len(weight)), weight / weight.sum()
    points = (np.arange(n) + 0.5) / n * weight.sum()
    drawn = np.searchsorted(np.cumsum(weight), points)
    some, times = np.unique(drawn, return_counts=True)
    return some, times / n
