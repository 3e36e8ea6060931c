"""AutoRegressor: the default predictor, chosen by held-out prediction."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from missfit.auto.boosting import Learner, Part, Parts, fit_parts
from missfit.auto.explanation import Explanation, Score, regime_of
from missfit.auto.heldout import (
    HeldOut,
    Table,
    Training,
    all_and_splits,
    effective_rows,
    row_splits,
    seeded,
)
from missfit.auto.race import Race, Runner, Scout
from missfit.estimators.base import NanRegressor
from missfit.estimators.conditional_imputed_lr import ConditionalImputedLR
from missfit.estimators.emlr import EMLR
from missfit.estimators.factorized_lr import FactorizedLR
from missfit.estimators.partial_pooling import PartialPooling
from missfit.estimators.pattern_mixture_lr import PatternMixtureLR
from missfit.estimators.self_masked_lr import SelfMaskedLR
from missfit.evidence.mechanism import Mechanism, mechanism, rows_of
from missfit.evidence.self_masking import BEATEN, SelfMaskingTrial, with_self_masking
from missfit.evidence.worth import Fold, Worth, heldout_worth, law_drops, law_worth
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.rows import check_weight
from missfit.tables.chunks import comes_in_chunks, named_columns

MAX_PAIRED = 20  # features up to which all pairs of them are few coefficients
MAX_MIXED = 12  # features up to which patterns repeat often enough to be compared
POOLED_ROWS = 10  # rows for each pattern from which on it may have a model of its own
SAMPLE_ROWS = 20_000  # of a source of chunks: they choose the candidates
SOME_ROWS = 20_000  # that tell whether a candidate which costs by the row has hope
DROP_ROWS = 2_000  # rows that tell which feature is worth measuring, row by row
MIXED_ROWS = 20  # rows for each feature from which on there are components to find


class AutoRegressor(NanRegressor):
    """The default: a linear base chosen by held-out prediction, boosted if it pays.

    1. Linear predictors compete for the base. The first candidate, EMLR, stays unless
       another predicts the held-out rows better by one paired standard error.
    2. Gradient boosting is fitted to the residuals of the base, and beside it to y. The
       number of rounds and the weights of::

           f(x) = base(x) + u boosted_residual(x) + v (boosted_y(x) - base(x))

       come from the same held-out rows (least squares, u and v in [0, 1]); each part
       must lower their squared error by 1.5 standard errors, or it is left out.

    Everything is refitted inside every fold. The base ends fitted to all rows, the
    boosting is the mean of its fits to the folds.

    Parameters
    ----------
    candidates : list of regressors, optional
        What to choose from. Linear predictors of missfit compete for the base, the
        first of them as the reference; any other regressor that takes NaN is a flexible
        part. By default those that suit the table, see `default_candidates`; without a
        flexible one the model is linear.
    cv : int, splitter or iterable, optional
        By default 5 shuffled folds, 3 from 5,000 rows on; groups are kept together.
        Fewer than 10 rows (or groups) are not split: the reference is taken.
    time_budget : float, optional
        Seconds after which no further candidate is begun. What was chosen is then
        fitted to the end. The choice may differ from run to run.
    random_state : int, RandomState or None
        Seed of the folds, of the rows drawn from a source, and of every candidate whose
        own ``random_state`` is None.

    Attributes
    ----------
    base_ : estimator
        The chosen linear predictor, fitted to all rows.
    parts_ : list of Part
        The flexible parts that earned their place, with their rounds and weights.
    scores_ : list of Score
        All candidates: held-out R2, gain over the reference (of a flexible part: over
        the base), its standard error, seconds, verdict. The R2 of one that left early
        is its rival's, plus the gain on the held-out rows that both have met.

    Notes
    -----
    Complete data are fine: the bases are then ordinary and ridge regression. Features
    all missing at fit are ignored, patterns never seen are predicted by the base's own
    rule. One target only.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = X.sum(axis=1) + 0.1 * rng.normal(size=500)
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> model = AutoRegressor(random_state=0).fit(X, y)
    >>> model.predict([[1.0, 2.0], [1.0, np.nan]]).round(1).tolist()
    [3.0, 1.0]
    """

    n_features_in_: int
    base_: Any
    parts_: list[Part]
    scores_: list[Score]
    _explanation_: Explanation

    def __init__(
        self,
        candidates: Any = None,
        *,
        cv: Any = None,
        time_budget: float | None = None,
        random_state: Any = None,
    ):
        self.candidates = candidates
        self.cv = cv
        self.time_budget = time_budget
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> Any:
        """Choose and fit.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d), or a source of chunks
            The features, NaN where missing. Of a source (see `missfit.EMLR.fit`) of
            more than 20,000 rows a random sample chooses the candidates and fits the
            flexible parts; the chosen base is fitted to the moments of all rows where
            it can be. `explain` says so.
        y : array-like of shape (n,), or str
            The target, or the name of its column.
        sample_weight : array-like of shape (n,), or str, optional
            Weights of the rows in every fit, in the held-out errors and so in every
            choice. Only their ratios count: they are scaled to add up to Kish's
            effective number of rows, (sum w)^2 / sum w^2.
        groups : array-like of shape (n,), optional
            Rows of one group (a school, a patient) are held out together.
        """
        if comes_in_chunks(X):
            return self._fit_source(X, y, sample_weight, groups)
        X, y, sample_weight = named_columns(X, y, sample_weight)
        deadline = self._deadline()
        trial = self._trial()
        table = trial._table(X, y, sample_weight, groups)
        seed = self._seed()
        whole, splits = all_and_splits(table, row_splits(table, self.cv, seed))
        bases, flexible = self._candidates(whole.moments)
        runners = [_runner(c, _name(c, bases), seed) for c in bases]
        race = Race(runners, table, deadline)
        winner = race.run(splits)
        learners = [
            Learner(seeded(c, seed), _name(c, flexible), on_residuals)
            for c in flexible
            for on_residuals in (True, False)
        ]
        parts = fit_parts(table, winner.estimator, splits, learners, seed, deadline)
        trial.base_ = whole.fit(winner.estimator)
        trial.parts_ = parts.kept
        trial.scores_ = _scores(race, winner, learners, parts)
        trial._explanation_ = trial._explained(whole, splits, race, winner, parts)
        return self._become(trial)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict rows, NaN where missing.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        if comes_in_chunks(X):
            return self._predict_chunks(X)
        X = self._check_predict(X)
        return self._finite(_sum_of_parts(self.base_, self.parts_, X))

    def _fit_source(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Any:
        """Choose by a random sample; fit the base to the moments of all rows."""
        from missfit.estimators import (
            streams as engine,  # on use: most tables are in memory
        )

        if groups is not None:
            raise TypeError(
                "groups are not understood for rows that come in chunks; fit in memory."
            )
        trial = self._trial()
        tables: list[PatternMoments] = []
        weights = np.zeros(2)  # their sum, and that of their squares

        def check(X: Any, y: Any) -> tuple[NDArray, NDArray]:
            first = not hasattr(trial, "n_features_in_")
            return trial._check_fit(X, y, reset=first)

        def chunks():  # moments beside the sample, in one pass
            source = engine.any_source(X, y, sample_weight)
            for rows in engine.full_chunks(source, check):
                weights[:] += rows.weight.sum(), rows.weight @ rows.weight
                if rows.weight.any():
                    new = PatternMoments.from_data(*rows)
                    tables[:] = [tables[0] + new] if tables else [new]
                yield rows

        rng = np.random.default_rng(self._seed())
        rows, n_rows = engine.sampled(chunks(), SAMPLE_ROWS, rng)
        names = getattr(trial, "feature_names_in_", None)
        trial.fit(rows.X, rows.y[:, 0] if rows.y.shape[1] == 1 else rows.y, rows.weight)
        if names is not None:
            trial.feature_names_in_ = names
        if n_rows > SAMPLE_ROWS:
            # as `effective_rows` of all rows
            moments = _times(tables[0], weights[0] / weights[1])
            trial._fit_base_to(moments, len(rows.X), n_rows)
        return self._become(trial)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _fit_base_to(self, moments: PatternMoments, n_sample: int, n_rows: int) -> None:
        """Fit the base to all rows, at the strength that the sample chose."""
        said = f"Chosen by a random sample of {n_sample:,} of {n_rows:,} rows"
        if hasattr(self.base_, "fit_moments"):
            base: Any = clone(self.base_)
            if "alphas" in base.get_params(deep=False):  # those that need folds for it
                base.set_params(alphas=(self.base_.alpha_,))
            self.base_ = base.fit_moments(moments)
            said += "; the base is fitted to all of them."
        else:
            said += f", to which {type(self.base_).__name__} is fitted."
        why = self._explanation_
        self._explanation_ = replace(why, reason=f"{why.reason} {said}")

    def explain(self) -> Explanation:
        """Return what was chosen and why; ``print`` it to read it."""
        check_is_fitted(self)
        return self._explanation_

    def _deadline(self) -> float:
        if self.time_budget is None:
            return np.inf
        if not self.time_budget > 0:
            raise ValueError(
                f"time_budget={self.time_budget!r}; give seconds > 0, or None."
            )
        return time.perf_counter() + float(self.time_budget)

    def _table(self, X, y, sample_weight, groups) -> Table:
        """Return the rows of weight > 0."""
        X, y = self._check_fit(X, y)
        weight = np.ones(len(X))
        if sample_weight is not None:
            weight = effective_rows(check_weight(sample_weight, len(X)))
        if groups is not None:
            groups = np.asarray(groups)
            check_consistent_length(X, groups)
        table = Table(X, y, weight, groups)
        return table if weight.all() else table.take(np.flatnonzero(weight))

    def _candidates(self, moments: PatternMoments) -> tuple[list[Any], list[Any]]:
        """Linear and flexible candidates."""
        candidates = self.candidates
        if candidates is None:
            candidates = default_candidates(moments)
        candidates = list(candidates)
        strange = [c for c in candidates if not _is_regressor(c)]
        if strange or not candidates:
            raise ValueError(
                f"candidates={self.candidates!r}; give a list of regressors, such as "
                "[EMLR(), HistGradientBoostingRegressor()], or None."
            )
        bases = [c for c in candidates if getattr(c, "is_linear", False)]
        flexible = [c for c in candidates if not getattr(c, "is_linear", False)]
        if not (~moments.patterns).any():
            flexible = []  # nothing was observed: nothing to learn from
        return bases or [EMLR()], flexible

    def _explained(
        self,
        whole: Training,
        splits: list[HeldOut],
        race: Race,
        winner: Runner,
        parts: Parts,
    ) -> Explanation:
        moments, table = whole.moments, race.table
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        mean = np.average(table.y, weights=table.weight)
        return Explanation(
            candidates=self.scores_,
            choice=" + ".join([winner.name, *(part.name for part in self.parts_)]),
            reason=_reason(race, winner, parts),
            regime=regime_of(moments),
            mechanism=_mechanism(whole, race, winner),
            worth=_worth(whole, splits, winner, self),
            feature_names=[str(name) for name in names],
            target_variance=float(
                np.average((table.y - mean) ** 2, weights=table.weight)
            ),
        )

    def __sklearn_tags__(self):
        """Return the tags: one target is what boosting takes."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


def _times(moments: PatternMoments, factor: float) -> PatternMoments:
    """Return the moments of the same rows with all weights times a factor."""
    if factor == 1.0:
        return moments
    rows = moments.rows
    return replace(
        moments,
        count=factor * moments.count,
        condensed_scatter=factor * moments.condensed_scatter,
        rows=rows._replace(weight=factor * rows.weight),
    )


def default_candidates(moments: PatternMoments) -> list[Any]:
    """Return the candidates that suit a table.

    - always: EMLR (the reference), ConditionalImputedLR, gradient boosting
    - where values are missing: SelfMaskedLR; with at most 20 features FactorizedLR
    - and where patterns have 10 rows on average: PartialPooling(FactorizedLR())
    - at most 12 features, and 20 rows for each: PatternMixtureLR
    """
    d, n = moments.n_features, moments.count.sum()
    linear: list[Any] = [EMLR(), ConditionalImputedLR()]
    if moments.patterns.any() and d <= MAX_PAIRED:
        linear.append(FactorizedLR())
        if len(moments) > 1 and n >= POOLED_ROWS * len(moments):
            linear.append(PartialPooling(FactorizedLR(alphas=(10.0,))))
    if moments.patterns.any():
        linear.append(SelfMaskedLR())
    if len(moments) > 1 and d <= MAX_MIXED and n >= MIXED_ROWS * d:
        # fixed starts, so that chance is in the folds and in boosting alone: other
        # seeds move its R2 by up to 6e-4 (750 rows of 10 features, mixture 3)
        linear.append(PatternMixtureLR(random_state=0))
    return [*linear, boosting()]


def boosting() -> HistGradientBoostingRegressor:
    """Gradient boosting for the flexible parts; the rounds are chosen later."""
    no: Any = False
    return HistGradientBoostingRegressor(learning_rate=0.07, early_stopping=no)


def _is_regressor(candidate: Any) -> bool:
    return isinstance(candidate, BaseEstimator) and is_regressor(candidate)


def _runner(candidate: Any, name: str, seed: int) -> Runner:
    candidate = seeded(candidate, seed)
    return Runner(candidate, name, _scout(candidate))


def _scout(candidate: Any) -> Scout | None:
    """Return what goes ahead of a candidate that is dear where rows are many.

    Two components, where a search for their number is most of the cost; some rows,
    where each costs.
    """
    if isinstance(candidate, PatternMixtureLR) and candidate.n_components is None:
        two: Any = clone(candidate)
        two.set_params(n_components=2)
        return Scout(repr(two), lambda train: train.fit(two))
    if isinstance(candidate, SelfMaskedLR):
        rough: Any = clone(candidate)
        rough.set_params(tol=5 * candidate.tol)
        return Scout(
            f"{SOME_ROWS:,} rows",
            lambda train: train.fit_some(rough, SOME_ROWS),
            least_rows=2 * SOME_ROWS,
        )
    return None


def _name(candidate: Any, among: list[Any]) -> str:
    """Class name of a candidate, or all of its parameters where two share the class."""
    name = type(candidate).__name__
    alone = sum(type(c).__name__ == name for c in among) == 1
    return name if alone else " ".join(repr(candidate).split())


def _scores(race: Race, winner: Runner, learners, parts: Parts) -> list[Score]:
    scores = race.scores(winner, parts.base_r2)
    pairs = zip(race.runners, scores, strict=True)
    base_r2 = next(score.r2 for runner, score in pairs if runner is winner)
    return scores + [parts.score(learner, base_r2) for learner in learners]


def _reason(race: Race, winner: Runner, parts: Parts) -> str:
    reference = race.runners[0]
    if not race.tests:
        words = f"too few rows to hold some out: {winner.name} is the reference."
    elif winner is reference:
        words = (
            f"{winner.name} is the reference, and no other base predicts the held-out "
            "rows better by one standard error."
        )
    else:
        gain = race.gain(winner, reference)
        ratio = gain.value / gain.standard_error if gain.standard_error else np.inf
        words = (
            f"{winner.name} predicts the held-out rows better than {reference.name} by "
            f"{ratio:.1f} standard errors."
        )
    return f"{words} {parts.reason()}".strip()


def _mechanism(whole: Training, race: Race, winner: Runner) -> Mechanism:
    X, y, weight, groups = whole.table
    em = whole.fit(EMLR())
    found = mechanism(rows_of(X, y, weight, groups), (em.mean_, em.covariance_))
    return with_self_masking(found, _self_evidence(race, winner))


def _self_evidence(race: Race, winner: Runner) -> SelfMaskingTrial | None:
    """Return how the model of self-masking did; None where it was not in the race."""
    runners = [r for r in race.runners if isinstance(r.estimator, SelfMaskedLR)]
    if not runners or not runners[0].residual:
        return None
    runner, reference = runners[0], race.runners[0]
    gain = race.r2_gain(runner, reference)
    beaten = runner is not winner and race.gain(winner, runner).wins(BEATEN)
    return SelfMaskingTrial(
        reference.name,
        gain.value,
        gain.standard_error,
        winner.name if beaten else "",
        bool(runner.model.self_masked_),
    )


def _worth(
    whole: Training, splits: list[HeldOut], winner: Runner, model: AutoRegressor
) -> Worth:
    """Return drops by the law of a linear model, on held-out rows of another."""
    if not model.parts_:
        return law_worth(_risk_drops(whole, model.base_))
    folds = []
    for k, split in enumerate(splits):
        base = split.train.fit(winner.estimator)
        parts = [part._replace(models=[part.models[k]]) for part in model.parts_]
        folds.append(Fold(partial(_sum_of_parts, base, parts), split.test))
    return heldout_worth(rows_of(*whole.table), folds)


def _sum_of_parts(base: Any, parts: list[Part], X: NDArray) -> NDArray[np.float64]:
    guess = base.predict(X)
    return guess + sum(part.weight * part.predict(X, guess) for part in parts)


def _risk_drops(whole: Training, base: Any) -> NDArray[np.float64]:
    """Return drops by the law of the base, or by EM's where it has none."""
    moments = whole.moments
    share = moments.count / moments.count.sum()
    if isinstance(base, PatternMixtureLR):
        laws = base.component_laws()
        weights = share[:, None] * base.responsibilities_
        return law_drops(laws, weights.T, base.coef_, moments.patterns)
    if isinstance(base, SelfMaskedLR):
        step = max(1, len(whole.rows) // DROP_ROWS)
        return base.risk_drops(whole.table.X[whole.rows[::step]])
    em = whole.fit(EMLR())
    return law_drops([em.feature_law()], share[None], em.coef_, moments.patterns)
