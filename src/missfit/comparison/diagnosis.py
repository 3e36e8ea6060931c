"""What lies behind a comparison: errors, mechanism, intervals, learning curve."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.auto.heldout import Gain, paired_gain
from missfit.comparison.learning_curve import CurvePoint, learning_curve
from missfit.comparison.results import Comparison, Trial
from missfit.estimators import EMLR, ConformalRegressor
from missfit.estimators.forward_split import ForwardSplit
from missfit.evidence.mechanism import Mechanism, mechanism
from missfit.evidence.predictable_masks import mask_aucs
from missfit.evidence.self_masking import BEATEN, SelfMaskingTrial, with_self_masking
from missfit.evidence.worth import Fold, Worth, heldout_worth, law_drops, law_worth
from missfit.moments.patterns import group_rows

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MOST_PATTERNS = 300  # patterns over which the worth of a measurement is averaged
QUICK = 2.0  # seconds per fit up to which all folds tell what is worth measuring


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
        The mean squared error that the drops of ``worth`` are a share of.
    curve : list of CurvePoint
        The learning curve of the recommended predictor.
    coverage : list of tuple
        Coverage asked for and actual coverage of the intervals.
    coverage_by_count : list of tuple
        Number of missing variables, rows, coverage and median width of 90 % intervals.
    """

    by_count: list[GroupError]
    by_pattern: list[PatternError]
    mechanism: Mechanism
    masks: list[MaskEvidence]
    worth: Worth
    risk: float
    curve: list[CurvePoint]
    coverage: list[tuple[float, float]]
    coverage_by_count: list[tuple[str, int, float, float]]


def diagnose(
    comparison: Comparison, *, n_jobs: int = 1, with_curve: bool = True
) -> Diagnosis:
    """Return what lies behind a comparison and its recommended predictor.

    Without its curve, it takes less time.
    """
    coverage, by_count = interval_coverage(comparison)
    law = _law(comparison)
    found = why_missing(comparison, law)
    return Diagnosis(
        errors_by_count(comparison),
        errors_by_pattern(comparison),
        found,
        mask_evidence(comparison, found),
        *worth_of_measuring(comparison, law),
        learning_curve(comparison, n_jobs=n_jobs) if with_curve else [],
        coverage,
        by_count,
    )


class GroupError(NamedTuple):
    """RMSE of each sound trial, by name, on rows with about as many values missing."""

    label: str
    n_rows: int
    rmse: dict[str, float]


def count_groups(mask: NDArray[np.bool_], least: int = 30) -> list[tuple[str, Any]]:
    """Group rows by their number of missing variables, ``least`` rows or more each."""
    count = mask.sum(axis=1)
    groups: list[tuple[str, Any]] = []
    low = 0
    for k in range(mask.shape[1] + 1):
        rows = (count >= low) & (count <= k)
        left = (count > k).sum()
        if rows.sum() >= least and (left >= least or left == 0):
            groups.append((f"{low}" if low == k else f"{low} to {k}", rows))
            low = k + 1
    rows = count >= low
    if rows.any():
        groups.append((f"{low} or more" if low else "any", rows))
    return groups


def errors_by_count(comparison: Comparison) -> list[GroupError]:
    """Return the errors by number of missing variables."""
    mask = comparison.mask[comparison.is_tested]
    groups = count_groups(mask)
    if len(groups) > 12:  # keep the picture readable
        groups = count_groups(mask, least=len(mask) // 12)
    return [
        GroupError(label, int(rows.sum()), _rmse(comparison, rows))
        for label, rows in groups
    ]


def _rmse(comparison: Comparison, rows) -> dict[str, float]:
    """Return the RMSE of each sound trial on some of the rows that are tested."""
    return {
        trial.name: float(np.sqrt((comparison.errors(trial)[rows] ** 2).mean()))
        for trial in comparison.sound
    }


class PatternError(NamedTuple):
    """RMSE on the rows of one pattern, and its share of all squared error."""

    missing: list[str]
    n_rows: int
    rmse: dict[str, float]
    share: float


def errors_by_pattern(comparison: Comparison, most: int = 20) -> list[PatternError]:
    """Return the errors on the most frequent patterns, for the recommended trial."""
    groups = group_rows(comparison.mask[comparison.is_tested])
    error = comparison.errors(comparison.trial(comparison.recommended))
    found = []
    for p in np.argsort(-groups.n_rows, kind="stable")[:most]:
        rows = groups.order[groups.starts[p] : groups.starts[p + 1]]
        missing = [comparison.names[j] for j in np.flatnonzero(groups.patterns[p])]
        share = float((error[rows] ** 2).sum() / (error**2).sum())
        found.append(PatternError(missing, len(rows), _rmse(comparison, rows), share))
    return found


def _law(comparison: Comparison) -> EMLR:
    """Return one Gaussian of (X, y), fitted by EM to all rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return EMLR().fit(comparison.X, comparison.y)


def why_missing(comparison: Comparison, law: EMLR) -> Mechanism:
    """Return the evidence on the mechanism, by the same rules as `explain`."""
    found = mechanism(comparison.rows, (law.mean_, law.covariance_))
    return with_self_masking(found, self_masking_trial(comparison))


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
    mask, y = comparison.mask, comparison.y
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
    gain = _gain(comparison, "SelfMaskedLR", over="EMLR")
    best = max(linear, key=lambda name: comparison.scores[name].r2)
    ahead = _gain(comparison, best, over="SelfMaskedLR")
    beaten_by = best if ahead.wins(BEATEN) else ""
    return SelfMaskingTrial("EMLR", gain.value, gain.standard_error, beaten_by)


def _is_linear(comparison: Comparison, trial: Trial) -> bool:
    return getattr(trial.candidate.make(comparison.seed), "is_linear", False)


def _gain(comparison: Comparison, name: str, *, over: str) -> Gain:
    """Return the gain in R2 of one trial over another; a group is one observation."""
    loss, new_loss = (
        comparison.errors(comparison.trial(one)) ** 2 for one in (over, name)
    )
    tested, units = comparison.is_tested, comparison.units
    units = None if units is None else units[tested]
    gain = paired_gain(loss, new_loss, np.ones(len(loss)), units)
    return gain.over(comparison.y[tested].var())


def worth_of_measuring(comparison: Comparison, law: EMLR) -> tuple[Worth, float]:
    """Return what measuring each variable always would save, and the error now.

    If the recommended predictor is linear, this is found from one Gaussian of (X, y),
    and the error is the mean of Var(y | x_obs). Otherwise it is found by hiding values
    in rows that the predictor has not seen, and the error is that of the
    cross-validation.
    """
    one = comparison.trial(comparison.recommended)
    if not _is_linear(comparison, one):
        models = _fold_models(comparison, one)
        if getattr(models[0], "parts_", True):  # AutoRegressor may be linear, too
            folds = [
                Fold(model.predict, np.flatnonzero(comparison.fold == k))
                for k, model in zip(comparison.best_trained, models, strict=False)
            ]
            worth = heldout_worth(comparison.rows, folds, comparison.seed)
            return worth, float((comparison.errors(one) ** 2).mean())
    return _worth_by_law(comparison, law)


def _fold_models(comparison: Comparison, one: Trial) -> list[Any]:
    """Fit a candidate outside each fold; outside one fold where a fit is slow."""
    n_fits = comparison.n_folds if one.seconds.mean() < QUICK else 1
    folds = comparison.best_trained[:n_fits]
    return [_fitted(comparison, one, comparison.training(k)) for k in folds]


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


def _fitted(comparison: Comparison, trial: Trial, rows: NDArray[np.bool_]) -> Any:
    """Fit a candidate to some rows, with their groups where it takes them."""
    options, model = {}, trial.candidate.make(comparison.seed)
    if trial.candidate.takes_groups and comparison.fit_groups is not None:
        options["groups"] = comparison.fit_groups[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(comparison.X[rows], comparison.y[rows], **options)


def interval_coverage(
    comparison: Comparison,
) -> tuple[list[tuple[float, float]], list[tuple[str, int, float, float]]]:
    """Return the coverage at several levels, and at 90 % by the number missing.

    The intervals are those of `ConformalRegressor` around the recommended predictor, on
    one fold that it has not seen (in time: the last one). The first list holds the
    coverage asked for and the actual coverage; the second one the number of missing
    variables, the number of rows, the coverage and the median width.
    """
    fold = comparison.best_trained[0]
    test = comparison.fold == fold
    X, y = comparison.fold_tables[fold], comparison.y[test]
    alphas = [1 - level for level in LEVELS]
    train = comparison.training(fold)
    lower, upper = _conformal(comparison, X, train).predict_intervals(X[test], alphas)
    inside = (lower <= y) & (y <= upper)
    coverage = list(zip(LEVELS, inside.mean(axis=1).tolist(), strict=True))
    asked = LEVELS.index(0.9)
    covered, width = inside[asked], (upper - lower)[asked]
    by_count = [
        (
            label,
            int(rows.sum()),
            float(covered[rows].mean()),
            float(np.median(width[rows])),
        )
        for label, rows in count_groups(comparison.mask[test])
    ]
    return coverage, by_count


def _conformal(
    comparison: Comparison, X: NDArray, train: NDArray[np.bool_]
) -> ConformalRegressor:
    """Fit the intervals of the recommended predictor to some rows."""
    chosen = comparison.trial(comparison.recommended).candidate
    model = ConformalRegressor(
        chosen.make(comparison.seed),
        cv=None if comparison.time is None else ForwardSplit(),
        random_state=comparison.seed,
    )
    groups = None if comparison.fit_groups is None else comparison.fit_groups[train]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X[train], comparison.y[train], groups=groups)
