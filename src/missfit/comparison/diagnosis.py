"""What lies behind a comparison: errors, mechanism, intervals, learning curve."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from time import monotonic
from typing import NamedTuple

import numpy as np

from missfit.comparison.errors import (
    MOST_GROUPS,
    GroupError,
    PatternError,
    count_groups,
    errors_by_count,
    errors_by_pattern,
)
from missfit.comparison.fold_models import FoldModel, conformal, fold_models
from missfit.comparison.importance import Importance, permutation_importance
from missfit.comparison.learning_curve import (
    CurvePoint,
    curve_seconds,
    learning_curve,
)
from missfit.comparison.results import Comparison, Trial
from missfit.comparison.stress import stress_of
from missfit.estimators import EMLR, ConformalRegressor
from missfit.evidence.mechanism import Mechanism, mechanism
from missfit.evidence.predictable_masks import mask_aucs
from missfit.evidence.self_masking import (
    BEATEN,
    UNTRIED,
    SelfMaskingTrial,
    with_self_masking,
)
from missfit.evidence.stress import Stress
from missfit.evidence.worth import Worth, heldout_worth, law_drops, law_worth
from missfit.moments.patterns import group_rows, variable_mask

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MOST_PATTERNS = 300  # patterns over which the worth of a measurement is averaged
IMPORTANCE_SECONDS = 60.0  # enough for all rows of every table tried here


@dataclass(frozen=True)
class Diagnosis:
    """Everything that a report shows beside the scores.

    Attributes
    ----------
    by_count : list of GroupError
        Errors by the number of missing variables.
    by_pattern : list of PatternError
        Errors on the most frequent patterns.
    mechanism : Mechanism
        The evidence on why values are missing.
    masks : list of MaskEvidence
        What goes with each variable's being missing.
    worth : Worth
        How much the error would fall if a variable were always measured.
    risk : float
        The mean squared error, or log-loss, that the drops of ``worth`` are a share of.
    curve : list of CurvePoint
        The learning curve of the recommended predictor.
    coverage : list of tuple
        Coverage asked for, actual coverage of the intervals, and the standard deviation
        that chance gives it; empty for classes, which have no intervals.
    coverage_by_count : list of tuple
        Number of missing variables, rows, coverage and median width of 90 % intervals,
        and the standard deviation of the coverage.
    importance : Importance
        How much worse the score is if a variable is permuted in rows that were not
        seen.
    stress : Stress
        How much would be explained if single variables went missing.
    """

    by_count: list[GroupError]
    by_pattern: list[PatternError]
    mechanism: Mechanism
    masks: list[MaskEvidence]
    worth: Worth
    risk: float
    curve: list[CurvePoint]
    coverage: list[tuple[float, float, float]]
    coverage_by_count: list[tuple[str, int, float, float, float]]
    importance: Importance
    stress: Stress


def diagnose(
    comparison: Comparison,
    *,
    n_jobs: int = 1,
    with_curve: bool = True,
    seconds: float = IMPORTANCE_SECONDS,
    end: float = inf,
) -> Diagnosis:
    """Return what lies behind a comparison and its recommended predictor.

    Parameters
    ----------
    comparison : Comparison
    n_jobs : int
        Number of processes.
    with_curve : bool
        Whether the learning curve is drawn, which takes several fits.
    seconds : float
        The time limit of the permutation importance, and of what is fitted for it.
    end : float
        When everything should be there, by `time.monotonic`. The learning curve, which
        is the last, is not drawn where that would take longer.
    """
    intervals = conformal(comparison) if comparison.task.classes is None else None
    coverage, by_count = [], []
    if intervals is not None:
        coverage, by_count = interval_coverage(comparison, intervals)
    models = fold_models(comparison, intervals, seconds=seconds)
    law = _law(comparison)
    why = why_missing(comparison, law)
    found = Diagnosis(
        errors_by_count(comparison),
        errors_by_pattern(comparison),
        why,
        mask_evidence(comparison, why),
        *worth_of_measuring(comparison, law, models),
        [],
        coverage,
        by_count,
        permutation_importance(comparison, models, seconds=seconds),
        stress_of(comparison, models),
    )
    if with_curve and monotonic() + curve_seconds(comparison, n_jobs=n_jobs) <= end:
        found = replace(found, curve=learning_curve(comparison, n_jobs=n_jobs))
    return found


def _law(comparison: Comparison) -> EMLR:
    """Return one Gaussian of (X, y), fitted by EM to all rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return EMLR().fit(comparison.X, comparison.rows.y)


def why_missing(comparison: Comparison, law: EMLR) -> Mechanism:
    """Return the evidence on the mechanism, by the same rules as `explain`."""
    found = mechanism(comparison.rows, (law.mean_, law.covariance_))
    trial = self_masking_trial(comparison)
    return with_self_masking(found, trial, _why_untested(comparison))


def _why_untested(comparison: Comparison) -> str:
    """Return why a comparison cannot tell whether values hide themselves."""
    if comparison.task.classes is not None:
        return (
            "a comparison of classifiers cannot tell; explain() of an AutoClassifier "
            "that was fitted can"
        )
    if "SelfMaskedLR" not in {trial.name for trial in comparison.sound}:
        return UNTRIED
    if not comparison.mask.any():
        return "nothing is missing in the rows that were looked at"
    return "EMLR has no score to compare with"


class MaskEvidence(NamedTuple):
    """What goes with a variable's being missing.

    Attributes
    ----------
    name : str
    rate : float
        Share of the rows in which it is missing.
    target_gap : float
        Mean of the target where it is missing minus where it is observed, in standard
        deviations of the target.
    target_p : float
        The p-value of the test that the target does not differ there, corrected for the
        number of variables (see `missfit.evidence.mechanism.target_test`); NaN where
        there are too few rows.
    auc : float
        How well the other variables' values predict the mask (0.5: not at all; 1:
        fully); NaN where it was not tried.
    """

    name: str
    rate: float
    target_gap: float
    target_p: float
    auc: float


def mask_evidence(comparison: Comparison, found: Mechanism) -> list[MaskEvidence]:
    """Return the evidence for each variable that is missing in some rows."""
    mask, y = comparison.mask, comparison.rows.y
    p = found.target_p
    auc = mask_aucs(comparison.rows, comparison.seed)
    spread = y.std() or 1.0
    rows = []
    for j in np.flatnonzero(mask.any(axis=0) & ~mask.all(axis=0)):
        gap = y[mask[:, j]].mean() - y[~mask[:, j]].mean()
        rows.append(
            MaskEvidence(
                comparison.names[j],
                float(mask[:, j].mean()),
                float(gap / spread),
                np.nan if p is None else float(p[j]),
                float(auc[j]),
            )
        )
    return rows


def self_masking_trial(comparison: Comparison) -> SelfMaskingTrial | None:
    """Return how SelfMaskedLR does against other linear models on held-out rows.

    It is None where SelfMaskedLR or EMLR was not tried, or nothing is missing.
    """
    linear = [t.name for t in comparison.sound if _is_linear(comparison, t)]
    if not {"SelfMaskedLR", "EMLR"} <= set(linear) or not comparison.mask.any():
        return None
    gain = comparison.gain("SelfMaskedLR", over="EMLR")
    best = min(linear, key=lambda name: comparison.scores[name].behind)
    ahead = comparison.gain(best, over="SelfMaskedLR")
    beaten_by = best if ahead.wins(BEATEN) else ""
    return SelfMaskingTrial("EMLR", gain.value, gain.standard_error, beaten_by)


def _is_linear(comparison: Comparison, trial: Trial) -> bool:
    return getattr(trial.candidate.make(comparison.seed), "is_linear", False)


def worth_of_measuring(
    comparison: Comparison, law: EMLR, models: Sequence[FoldModel] | None = None
) -> tuple[Worth, float]:
    """Return what measuring each variable always would save, and the error now.

    If the recommended predictor is linear and predicts numbers, this is found from one
    Gaussian of (X, y), and the error is the mean of Var(y | x_obs). Otherwise it is
    found by hiding values in rows that the predictor has not seen, and the error is
    that of the cross-validation.

    Parameters
    ----------
    comparison : Comparison
    law : EMLR
        Fitted to all rows.
    models : sequence of FoldModel, optional
        The recommended predictor; it is fitted here where it is needed and not given.
    """
    one = comparison.trial(comparison.recommended)
    task = comparison.task
    if task.classes is not None or not _is_linear(comparison, one):
        models = models or fold_models(comparison)
        # AutoRegressor may be linear, too
        if task.classes is not None or getattr(models[0].model, "parts_", True):
            folds = [model.fold(task) for model in models]
            rows = replace(comparison.rows, y=comparison.y)
            worth = heldout_worth(rows, folds, comparison.seed, task.loss)
            return worth, float(comparison.losses(one).mean())
    return _worth_by_law(comparison, law)


def _worth_by_law(comparison: Comparison, law: EMLR) -> tuple[Worth, float]:
    """Return the worth and the mean of Var(y | x_obs) by one Gaussian of (X, y)."""
    groups = group_rows(np.isnan(comparison.X))
    top = np.argsort(-groups.n_rows, kind="stable")[:MOST_PATTERNS]
    patterns = groups.patterns[top]
    share = groups.n_rows[top] / groups.n_rows[top].sum()
    variables = comparison.encoder.variables_
    drops = law_drops(
        [law.feature_law()], share[None], np.ravel(law.coef_), patterns, variables
    )
    spread = law.predict(np.where(patterns, np.nan, 0.0), return_std=True)[1] ** 2
    return law_worth(drops), float(share @ spread)


def interval_coverage(
    comparison: Comparison, model: ConformalRegressor | None = None
) -> tuple[
    list[tuple[float, float, float]], list[tuple[str, int, float, float, float]]
]:
    """Return the coverage at several levels, and at 90 % by the number missing.

    The intervals are those of `ConformalRegressor` around the recommended predictor, on
    one fold that it has not seen (in time: the last one). The first list holds the
    coverage asked for, the actual coverage and the standard deviation that chance gives
    it (see `chance`); the second one the number of missing variables, the number of
    rows, the coverage, the median width, and this standard deviation. The model is that
    of `missfit.comparison.fold_models.conformal`, fitted here if it is not given.
    """
    model = model or conformal(comparison)
    fold = comparison.best_trained[0]
    test, X = comparison.fold == fold, comparison.fold_tables[fold]
    y = comparison.y[test]
    alphas = [1 - level for level in LEVELS]
    lower, upper = model.predict_intervals(X[test], alphas)
    inside = (lower <= y) & (y <= upper)
    calibrating = variable_mask(
        model.calibration_rows_, comparison.fold_variables[fold]
    ).sum(axis=1)
    n_missing = comparison.mask[test].sum(axis=1)
    coverage = [
        (level, float(covered.mean()), chance(level, len(y), len(calibrating)))
        for level, covered in zip(LEVELS, inside, strict=True)
    ]
    asked = LEVELS.index(0.9)
    covered, width = inside[asked], (upper - lower)[asked]
    by_count = []
    for label, rows in count_groups(comparison.mask[test], most=MOST_GROUPS):
        low, high = n_missing[rows].min(), n_missing[rows].max()
        n_like = int(((low <= calibrating) & (calibrating <= high)).sum())
        n_rows, typical = int(rows.sum()), float(np.median(width[rows]))
        error = chance(0.9, n_rows, n_like)
        by_count.append((label, n_rows, float(covered[rows].mean()), typical, error))
    return coverage, by_count


def chance(level: float, n_rows: int, n_calibrating: int) -> float:
    """Return the standard deviation of the coverage of rows by one fitted model.

    The coverage of a threshold that n rows give varies about its level, with variance
    level (1 - level) / (n + 2), and the share of the rows that it covers about that.

    >>> chance(0.9, 100, 98)
    0.0424
    """
    variance = level * (1 - level) * (1 / n_rows + 1 / (n_calibrating + 2))
    return round(float(np.sqrt(variance)), 4)
