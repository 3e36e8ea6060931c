"""AutoRegressor: the default predictor, chosen by held-out prediction."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from missfit.estimators.base import NanRegressor
from missfit.estimators.conditional_imputed_lr import ConditionalImputedLR
from missfit.estimators.emlr import EMLR
from missfit.estimators.explanation import (
    Explanation,
    Mechanism,
    Score,
    feature_relations,
    regime_of,
    residual_relations,
    sum_drops,
    target_relations,
)
from missfit.estimators.factorized_lr import FactorizedLR
from missfit.estimators.flexible import Learner, Part, Parts, fit_parts
from missfit.estimators.heldout import (
    Table,
    Training,
    all_and_splits,
    row_splits,
)
from missfit.estimators.partial_pooling import PartialPooling
from missfit.estimators.pattern_mixture_lr import PatternMixtureLR
from missfit.estimators.race import HOPELESS, Race, Runner, Scout
from missfit.estimators.self_masked_lr import SelfMaskedLR
from missfit.moments import PatternMoments, row_counts
from missfit.sources import comes_in_chunks, named_columns
from missfit.tables import with_nan

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
        Seed of the folds and of boosting.

    Attributes
    ----------
    base_ : estimator
        The chosen linear predictor, fitted to all rows.
    parts_ : list of Part
        The flexible parts that earned their place, with their rounds and weights.
    scores_ : list of Score
        All candidates: held-out R2, gain over the reference (of a flexible part: over
        the base), its standard error, seconds, verdict.

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
            Weights of the rows in every fit and in the held-out errors; a weight of 2
            equals repeating the row, and weights that sum to 1 are refused (see
            `missfit.EMLR.fit`).
        groups : array-like of shape (n,), optional
            Rows of one group (a school, a patient) are held out together.
        """
        if comes_in_chunks(X):
            return self._fit_source(X, y, sample_weight, groups)
        X, y, sample_weight = named_columns(X, y, sample_weight)
        deadline = self._deadline()
        trial = self._trial()
        table = trial._table(X, y, sample_weight, groups)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        whole, splits = all_and_splits(table, row_splits(table, self.cv, seed))
        bases, flexible = self._candidates(whole.moments)
        runners = [Runner(c, _name(c, bases), _scout(c)) for c in bases]
        race = Race(runners, table, deadline)
        winner = race.run(splits)
        learners = [
            Learner(c, _name(c, flexible), on_residuals, seed)
            for c in flexible
            for on_residuals in (True, False)
        ]
        parts = fit_parts(table, winner.estimator, splits, learners, seed, deadline)
        trial.base_ = whole.fit(winner.estimator)
        trial.parts_ = parts.kept
        trial.scores_ = _scores(race, winner, learners, parts)
        trial._explanation_ = trial._explained(whole, race, winner, parts)
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
        base = self.base_.predict(X)
        total = base.copy()
        for part in self.parts_:
            total += part.weight * part.predict(X, base)
        return total

    def _fit_source(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Any:
        """Choose by a random sample; fit the base to the moments of all rows."""
        from missfit import engine  # on use: most tables are in memory

        if groups is not None:
            raise TypeError(
                "groups are not understood for rows that come in chunks; fit in memory."
            )
        trial = self._trial()
        tables: list[PatternMoments] = []

        def check(X: Any, y: Any) -> tuple[NDArray, NDArray]:
            first = not hasattr(trial, "n_features_in_")
            return trial._check_fit(X, y, reset=first)

        def chunks():  # moments beside the sample, in one pass
            source = engine.any_source(X, y, sample_weight)
            for rows in engine.full_chunks(source, check):
                if rows.weight.any():
                    new = PatternMoments.from_data(*rows)
                    tables[:] = [tables[0] + new] if tables else [new]
                yield rows

        rng = np.random.default_rng(0)
        rows, n_rows = engine.sampled(chunks(), SAMPLE_ROWS, rng)
        names = getattr(trial, "feature_names_in_", None)
        trial.fit(rows.X, rows.y[:, 0] if rows.y.shape[1] == 1 else rows.y, rows.weight)
        if names is not None:
            trial.feature_names_in_ = names
        if n_rows > SAMPLE_ROWS:
            trial._fit_base_to(tables[0], len(rows.X), n_rows)
        return self._become(trial)

    def _fit_base_to(self, moments: PatternMoments, n_sample: int, n_rows: int) -> None:
        """Fit the base to all rows, at the strength that the sample chose."""
        said = f"Chosen by a random sample of {n_sample:,} of {n_rows:,} rows"
        if hasattr(self.base_, "fit_moments"):
            base: Any = clone(self.base_)
            if hasattr(self.base_, "alpha_"):
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
        checked: Any = validate_data(
            self,
            with_nan(X),
            y,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            y_numeric=True,
        )
        X, y = checked[0], np.asarray(checked[1], dtype=np.float64)
        weight = np.ones(len(X))
        if sample_weight is not None:
            weight = row_counts(sample_weight, len(X))
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
        self, whole: Training, race: Race, winner: Runner, parts: Parts
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
            mechanism=_mechanism(moments, race, winner),
            risk_drops=_risk_drops(whole, self.base_),
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
        linear.append(PatternMixtureLR())
    return [*linear, boosting()]


def boosting() -> HistGradientBoostingRegressor:
    """Gradient boosting for the flexible parts; the rounds are chosen later."""
    no: Any = False
    return HistGradientBoostingRegressor(learning_rate=0.07, early_stopping=no)


def _is_regressor(candidate: Any) -> bool:
    return isinstance(candidate, BaseEstimator) and is_regressor(candidate)


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
    reference = race.runners[0]
    scores = []
    for runner in race.runners:
        gain = race.gain(runner, reference)
        spread = race.target_variance(runner)
        verdict = runner.out or "in the race"
        if runner is reference:
            verdict = "the reference"
        if runner is winner:
            verdict = "chosen"
        measured = bool(runner.loss) and runner is not reference
        scores.append(
            Score(
                runner.name,
                1 - race.mean_loss(runner) / spread if runner.loss else np.nan,
                gain.value / spread if measured else np.nan,
                gain.standard_error / spread if measured else np.nan,
                runner.seconds,
                verdict,
            )
        )
    return scores + [parts.score(learner) for learner in learners]


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


def _mechanism(moments: PatternMoments, race: Race, winner: Runner) -> Mechanism:
    reference, table = race.runners[0], race.table
    residual = []
    if reference.residual:
        rows = np.concatenate(race.tests[: len(reference.residual)])
        residual = residual_relations(
            np.isnan(table.X[rows]),
            np.concatenate(reference.residual),
            table.weight[rows],
        )
    return Mechanism(
        target_relations(moments),
        residual,
        feature_relations(moments),
        *_self_evidence(race, winner),
    )


def _self_evidence(race: Race, winner: Runner) -> tuple[bool | None, str]:
    """Whether values are missing because of what they are, and the evidence.

    Slopes of the masking curves alone do not tell: values missing at random given other
    features bend them too. The model must also predict the held-out rows better than
    the reference, which takes the values as missing at random, and not much worse than
    the winner, which may have found another reason.
    """
    runners = [r for r in race.runners if isinstance(r.estimator, SelfMaskedLR)]
    if not runners or not runners[0].residual:
        return None, "not tested"
    runner, reference = runners[0], race.runners[0]
    model = runner.model
    gain = race.gain(runner, reference)
    ratio = gain.value / gain.standard_error if gain.standard_error else 0.0
    strongest = np.nanmax(np.abs(np.append(model.masking_z_, 0.0)))
    beaten = runner is not winner and race.gain(winner, runner).wins(HOPELESS)
    claimed = bool(model.self_masked_ and gain.wins() and not beaten)
    words = (
        f"slopes of the masking curves up to {strongest:.1f} standard errors, "
        f"{model.self_masked_features_.sum()} of them significant; held-out gain over "
        f"{reference.name} of {ratio:+.1f} standard errors"
    )
    if beaten and gain.wins():
        words += f", but {winner.name} explains the rows better"
    return claimed, f"{'yes' if claimed else 'no sign that holds'} ({words})"


def _risk_drops(whole: Training, base: Any) -> NDArray[np.float64]:
    """Return drops by the law of the base, or by EM's where it has none."""
    moments = whole.moments
    share = moments.count / moments.count.sum()
    if isinstance(base, PatternMixtureLR):
        laws = base.component_laws()
        weights = share[:, None] * base.responsibilities_
        return sum_drops(laws, weights.T, base.coef_, moments.patterns)
    if isinstance(base, SelfMaskedLR):
        step = max(1, len(whole.rows) // DROP_ROWS)
        return base.risk_drops(whole.table.X[whole.rows[::step]])
    em = whole.fit(EMLR())
    return sum_drops([em.feature_law()], share[None], em.coef_, moments.patterns)
