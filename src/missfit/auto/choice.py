"""What the default predictors share: a base and parts, chosen by held-out rows."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from missfit.auto.affordable import affordable, said_before
from missfit.auto.averaging import averaged
from missfit.auto.boosting import Parts, fit_parts
from missfit.auto.candidates import Candidates, candidates_of
from missfit.auto.clock import Clock
from missfit.auto.explanation import Explanation, Score
from missfit.auto.forward import are_forward, fitted_to_all
from missfit.auto.heldout import Table, all_and_splits, counted_rows, row_splits
from missfit.auto.objective import Objective
from missfit.auto.pace import pace_of
from missfit.auto.parts import Part
from missfit.auto.race import FAILURES, Candidate, Race
from missfit.auto.reasons import Outcome, sum_of_parts
from missfit.auto.settings import LOOK_WORK, set_by_a_look
from missfit.estimators.base import NanEstimator
from missfit.moments.blas_threads import blas_threads_for
from missfit.moments.pattern_moments import PatternMoments


class AutoPredictor(NanEstimator):
    """A default predictor: a linear base chosen by held-out rows, boosted if it pays.

    What the target asks of a prediction is the `Objective` of the table.
    """

    base_: Any
    parts_: list[Part]
    _offset_: Any = 0.0  # added to the guesses of all rows, beside parts
    scores_: list[Score]
    _explanation_: Explanation
    candidates: Any
    cv: Any
    time_budget: float | None
    random_state: Any

    @abstractmethod
    def _table(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Table:
        """Return validated rows, and remember what they look like."""

    @abstractmethod
    def _default_candidates(self, moments: PatternMoments) -> list[Any]:
        """Return the candidates that suit a table, the reference first."""

    def _choose(self, table: Table, clock: Clock) -> None:
        """Choose by the rows of a table, and fit what is chosen."""
        with blas_threads_for(table.X.shape[1]):
            self._choose_and_fit(table, clock)

    def _choose_and_fit(self, table: Table, clock: Clock) -> None:
        seed = self._seed()
        with clock.stage("reading the rows"):
            table, pairs = counted_rows(table, self.cv, seed)
            whole, splits = all_and_splits(table, pairs)
            candidates = self._candidates(table, whole.moments)
            candidates = self._affordable(candidates, whole.moments, len(splits) + 1)
        with clock.stage("the linear candidates"):
            race = Race(candidates.for_the_race(seed), table, clock.deadline)
            picked = race.run(splits)
            winner = averaged(race, splits) or picked

        def built_on(base: Candidate) -> Outcome:
            flexible = candidates.for_the_parts(seed, table.objective.tasks)
            nothing = Parts.none(table.objective)
            outcome = Outcome(whole, splits, race, base, flexible, nothing)
            return self._fit_all(outcome, clock, seed, are_forward(pairs))

        try:
            outcome = built_on(winner)
        except FAILURES as failure:  # what fits the rows of a split may not fit all
            outcome = built_on(race.instead_of(winner, failure))
        with clock.stage("this explanation"):
            explanation = outcome.explanation(self._feature_names(), clock.left())
        self._explanation_ = replace(explanation, seconds=clock.seconds)
        self.scores_ = explanation.candidates

    def _fit_all(
        self, found: Outcome, clock: Clock, seed: int, are_forward: bool
    ) -> Outcome:
        """Fit the parts beside a base, and the base to all rows."""
        whole, splits, flexible = found.whole, found.splits, found.part_candidates
        table, base = whole.table, found.winner.estimator
        with clock.stage("the flexible parts"):
            deadline = clock.deadline - found.race.final_seconds(found.winner)
            rng = np.random.default_rng(seed)
            pace = pace_of(table, splits[0], flexible, deadline) if splits else None
            if pace and pace.allows(LOOK_WORK):
                set_by_a_look(table, base, splits[0], flexible, rng)
            parts = fit_parts(table, base, splits, flexible, rng, pace)
        with clock.stage("the fit to all rows"):
            self.base_ = whole.fit(base)
            self.parts_, self._offset_ = parts.kept, parts.offset
            n_rounds = sum(part.rounds for part in parts.kept)
            if are_forward and pace and pace.allows(n_rounds):
                self.parts_ = fitted_to_all(parts.kept, flexible, whole, base)
        return found._replace(parts=parts)

    def candidates_for(self, X: Any, y: Any = None, sample_weight: Any = None) -> list:
        """Return what `fit` would try on these rows, without fitting anything.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The features, NaN where missing.
        y : array-like of shape (n,), or str
            The target, or the name of its column.
        sample_weight : array-like of shape (n,), or str, optional
            Weights of the rows.

        Returns
        -------
        list of estimators
            Unfitted copies: the linear ones that compete for the base, with the
            reference first, then the flexible ones. Change the list and give it as
            ``candidates``.

        Examples
        --------
        >>> from missfit import AutoClassifier, AutoRegressor
        >>> X = np.column_stack([np.arange(100.0), np.tile([1.0, np.nan], 50)])
        >>> for candidate in AutoRegressor().candidates_for(X, X[:, 0]):
        ...     print(type(candidate).__name__)
        EMLR
        ConditionalImputedLR
        FactorizedLR
        PartialPooling
        SelfMaskedLR
        PatternMixtureLR
        HistGradientBoostingRegressor
        """
        table = self._trial()._table(X, y, sample_weight, None).weighted()
        moments = table.moments(np.arange(len(table.X)))
        found = self._candidates(table, moments)
        n_splits = len(row_splits(table, self.cv, self._seed()))
        found = self._affordable(found, moments, n_splits + 1, warn=False)
        return [clone(candidate) for candidate in (*found.linear, *found.flexible)]

    def explain(self, feature_names: Sequence[str] | None = None) -> Explanation:
        """Return what was chosen and why; ``print`` it to read it.

        Parameters
        ----------
        feature_names : sequence of str, optional
            A name for each feature, where the fit did not see any: after a
            `TableEncoder` in a pipeline these are ``encoder.get_feature_names_out()``,
            or the names of the table's own columns,
            ``encoder.feature_names_in_[encoder.variables_]``, which stand for all
            columns of a category at once.
        """
        check_is_fitted(self)
        if feature_names is None:
            return self._explanation_
        return self._explanation_.named(feature_names)

    def _candidates(self, table: Table, moments: PatternMoments):
        default = self._default_candidates(moments)
        return candidates_of(self.candidates, default, table.objective, moments)

    def _affordable(
        self, found: Candidates, moments: PatternMoments, n_fits: int, warn: bool = True
    ) -> Candidates:
        """Return the candidates without those that would take too long.

        Those that a user has chosen are all tried.
        """
        if self.candidates is not None:
            return found
        costs = affordable(found.linear, moments, n_fits, self.time_budget)
        said = said_before(costs.seconds, moments)
        if said and warn:
            warnings.warn(said, UserWarning, stacklevel=6)
        return found._replace(linear=costs.tried, left_out=costs.left_out)

    def _guess(self, objective: Objective, X: NDArray) -> NDArray[np.float64]:
        """Return the guesses of validated rows."""
        return sum_of_parts(objective, self.base_, self.parts_, X) + self._offset_

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))


def checked_groups(groups: Any, X: NDArray) -> NDArray | None:
    """Return groups as an array with one entry for each row."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    check_consistent_length(X, groups)
    return groups
