"""What the default predictors try: candidates for the base and the parts, scouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from missfit.auto.boosting import PartCandidate
from missfit.auto.heldout import Training, seeded
from missfit.auto.objective import Objective, Task
from missfit.auto.race import Candidate, Scout
from missfit.auto.settings import CLASS_SETTINGS, FEW_CLASS_ROWS, SETTINGS
from missfit.auto.some_columns import telling_columns
from missfit.estimators.conditional_imputed_logistic import (
    ConditionalImputedLogistic,
)
from missfit.estimators.conditional_imputed_lr import ConditionalImputedLR
from missfit.estimators.emlr import EMLR
from missfit.estimators.factorized_lr import FactorizedLR
from missfit.estimators.partial_pooling import PartialPooling
from missfit.estimators.pattern_mixture_lr import PatternMixtureLR
from missfit.estimators.pattern_probit import PatternProbit
from missfit.estimators.self_masked_lr import SelfMaskedLR
from missfit.moments.column_scales import n_varying
from missfit.moments.pattern_moments import PatternMoments

MAX_PAIRED = 20  # features up to which all pairs of them are few coefficients
MAX_MIXED = 12  # features up to which patterns repeat often enough to be compared
POOLED_ROWS = 10  # rows for each pattern from which on it may have a model of its own
# Rows for each feature from which on classes are told by a law of X: its slopes have no
# ridge that is chosen, and at 300 x 200 each law takes as long as the reference.
LAW_ROWS = 5
MIXED_ROWS = 20  # rows for each feature from which on there are components to find
MASKED_ROWS = 5  # rows for each feature from which on a masking curve can be learned
# Rows that tell whether a candidate which costs by the row has hope, where there are
# twice as many: at least SOME_ROWS, and one in ONE_IN of large tables. On four real
# tables SelfMaskedLR is then dropped as it is with all rows; where values hide
# themselves (10 features) 1,000 rows show it by 7 standard errors.
SOME_ROWS = 1_000
ONE_IN = 20
# And columns, those of the largest coefficients: what a row costs grows as the cube of
# what it misses. With 16 of 46 columns the scout of nhanes_sbp takes a tenth of the
# time, and with 16 of 26 that of star_math3 a third; both end as with all columns.
SOME_COLUMNS = 16


class Candidates(NamedTuple):
    """The linear predictors that may be the base, and the flexible ones beside it."""

    linear: list[Any]
    flexible: list[Any]
    left_out: Sequence[tuple[Any, str]] = ()  # linear, with the reason

    def for_the_race(self, seed: int) -> list[Candidate]:
        """Return the linear ones with names, scouts and hints, the reference first."""
        models = [seeded(candidate, seed) for candidate in self.linear]
        every = [
            Candidate(model, name, scout_of(model, models[0]))
            for model, name in zip(models, _names(self.linear), strict=True)
        ]
        known = {repr(candidate.estimator): candidate for candidate in every}
        for candidate in every[1:]:
            candidate.hint = known.get(repr(candidate.estimator.hinted_by()))
            candidate.hint_rival = known.get(repr(candidate.estimator.hint_rival()))
        left_out = [
            Candidate(model, _short_name(model), out=reason)
            for model, reason in self.left_out
        ]
        return every + left_out

    def for_the_parts(self, seed: int, tasks: Sequence[Task]) -> list[PartCandidate]:
        """Return each flexible one once for every task.

        The default comes with settings to choose from, another as it was given.
        """
        return [
            PartCandidate(seeded(model, seed), name, task, _settings(model))
            for model, name in zip(self.flexible, _names(self.flexible), strict=True)
            for task in tasks
        ]


def candidates_of(
    chosen: Any, default: list[Any], objective: Objective, moments: PatternMoments
) -> Candidates:
    """Return the candidates that a user chose, or by default those that suit a table.

    Parameters
    ----------
    chosen : list of estimators, or None
        Those with ``is_linear`` may be the base, and answer what
        `missfit.estimators.base.NanEstimator` is asked; the others are flexible.
    default : list of estimators
        Those that suit the table, the reference first.
    objective : Objective
        It says which estimators can be candidates.
    moments : PatternMoments
    """
    several = hasattr(chosen, "__iter__")
    every = list(chosen) if several else default if chosen is None else []
    if not every or not all(map(objective.takes, every)):
        raise ValueError(
            f"candidates={chosen!r}; give a list of {objective.kind}, such as "
            f"{objective.such_as}, or None."
        )
    linear = [c for c in every if getattr(c, "is_linear", False)]
    flexible = [c for c in every if not getattr(c, "is_linear", False)]
    if not (~moments.patterns).any():
        flexible = []  # nothing was observed: nothing to learn from
    return Candidates(linear or default[:1], flexible)


def default_regressors(moments: PatternMoments) -> list[Any]:
    """Return the candidates for a number that suit a table.

    Of features, those that vary count, and at least half of all.

    - always: EMLR (the reference), ConditionalImputedLR, gradient boosting
    - where values are missing: with 5 rows for each feature SelfMaskedLR; with at most
      20 features FactorizedLR
    - and where patterns have 10 rows on average: PartialPooling(FactorizedLR())
    - at most 12 features, and 20 rows for each: PatternMixtureLR
    """
    d, n = _n_features(moments), moments.count.sum()
    linear: list[Any] = [EMLR(), ConditionalImputedLR()]
    if moments.patterns.any() and d <= MAX_PAIRED:
        linear.append(FactorizedLR())
        if len(moments) > 1 and n >= POOLED_ROWS * len(moments):
            linear.append(PartialPooling(FactorizedLR(alphas=(10.0,))))
    if moments.patterns.any() and n >= MASKED_ROWS * d:
        linear.append(SelfMaskedLR())
    if len(moments) > 1 and d <= MAX_MIXED and n >= MIXED_ROWS * d:
        # fixed starts, so that chance is in the folds and in boosting alone: other
        # seeds move its R2 by up to 6e-4 (750 rows of 10 features, mixture 3)
        linear.append(PatternMixtureLR(random_state=0))
    return [*linear, boosting()]


def _n_features(moments: PatternMoments) -> int:
    """Return how many features count in the limits above.

    Those that never vary have no coefficient. But they cost time: PatternMixtureLR
    takes 1.6 times as long with 4 features and 20 constants as with the 4, and 18 times
    with 120 constants. So it is at least half of all.
    """
    return max(n_varying(moments), moments.n_features // 2)


def boosting() -> HistGradientBoostingRegressor:
    """Gradient boosting for the flexible parts; its rounds and settings come later."""
    no: Any = False
    return HistGradientBoostingRegressor(early_stopping=no, **SETTINGS[0])


def _settings(model: Any) -> Sequence[dict[str, Any]]:
    """Return the settings to choose from, of the default; none of another."""
    defaults = (boosting(), SETTINGS), (class_boosting(0), CLASS_SETTINGS)
    return next((found for one, found in defaults if repr(one) == repr(model)), ())


def default_classifiers(moments: PatternMoments) -> list[Any]:
    """Return the candidates for classes that suit a table.

    Of features, those that vary count, and at least half of all.

    - always: ConditionalImputedLogistic (the reference), gradient boosting
    - from 5 rows for each feature on: a probit on EMLR's law of X, and where values are
      missing one on SelfMaskedLR's
    - at most 12 features, and 20 rows for each: a probit on PatternMixtureLR's law
    """
    d, n = _n_features(moments), moments.count.sum()
    linear: list[Any] = [ConditionalImputedLogistic()]
    if n >= LAW_ROWS * d:
        linear.append(PatternProbit(EMLR()))
        if moments.patterns.any():
            linear.append(PatternProbit(SelfMaskedLR()))
    if len(moments) > 1 and d <= MAX_MIXED and n >= MIXED_ROWS * d:
        linear.append(PatternProbit(PatternMixtureLR(random_state=0)))
    return [*linear, class_boosting(n)]


def class_boosting(n_rows: float) -> HistGradientBoostingClassifier:
    """Gradient boosting of classes for the flexible parts, for so many rows."""
    no: Any = False
    setting = CLASS_SETTINGS[0 if n_rows < FEW_CLASS_ROWS else -1]
    return HistGradientBoostingClassifier(early_stopping=no, **setting)


def scout_of(candidate: Any, reference: Any) -> Scout | None:
    """Return what goes ahead of a linear candidate that is dear where rows are many.

    One that needs rows is fitted to a part of them, and of their columns, and so is
    what it must beat there.
    """
    cheaper = candidate.scout()
    if cheaper is None:
        return None
    if not cheaper.costs_by_row:
        return Scout(repr(cheaper), lambda train: train.fit(cheaper))
    rival = candidate.scout_rival()
    rival = reference if rival is None else rival

    def fitted(estimator: Any) -> Callable[[Training], Any]:
        return lambda train: train.fit_some(estimator, *_some(train, reference))

    return Scout(
        "a part of the rows",
        fitted(cheaper),
        least_rows=2 * SOME_ROWS,
        rival=fitted(rival),
    )


def _some(train: Training, reference: Any) -> tuple[int, NDArray[np.intp] | None]:
    """Return how many rows a scout is fitted to, and which columns."""
    n_rows = max(SOME_ROWS, len(train.rows) // ONE_IN)
    X = train.table.X[train.rows]
    if X.shape[1] <= SOME_COLUMNS:
        return n_rows, None
    return n_rows, telling_columns(train.fit(reference), X, SOME_COLUMNS)


def _names(candidates: list[Any]) -> list[str]:
    """Return short names; all parameters too, where several share the short one."""
    kinds = [_short_name(c) for c in candidates]
    return [
        kind if kinds.count(kind) == 1 else " ".join(repr(c).split())
        for kind, c in zip(kinds, candidates, strict=True)
    ]


def _short_name(candidate: Any) -> str:
    """Return the class name, with that of the law that a probit is of."""
    name, inner = type(candidate).__name__, getattr(candidate, "estimator", None)
    if not getattr(candidate, "named_by_estimator", False):
        return name
    return f"{name}({type(inner).__name__})"
