"""What lies behind a comparison: errors, mechanism, intervals, learning curve."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.auto.heldout import Gain, paired_gain
from missfit.compare.comparison import Comparison, Trial
from missfit.compare.learning_curve import CurvePoint, learning_curve
from missfit.estimators import EMLR, ConformalRegressor
from missfit.evidence.mechanism import Mechanism, Rows, mechanism, rows_of
from missfit.evidence.predictable_masks import mask_aucs
from missfit.evidence.self_masking import BEATEN, SelfMaskingTrial, with_self_masking
from missfit.evidence.worth import Fold, Worth, heldout_worth, law_drops, law_worth
from missfit.moments.patterns import group_rows

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MOST_PATTERNS = 300  # of those that the value of a measurement is averaged over
QUICK = 2.0  # seconds a fit up to which all folds tell what is worth measuring


@dataclass(frozen=True)
class Diagnosis:
    """Everything that a report shows beside the comparison."""

    by_count: list[GroupError]
    by_pattern: list[PatternError]
    mechanism: Mechanism
    masks: list[MaskEvidence]
    worth: Worth
    risk: float  # mean squared error that the drops of worth are a share of
    curve: list[CurvePoint]
    coverage: list[tuple[float, float]]
    coverage_by_count: list[tuple[str, int, float, float]]


def diagnose(comparison: Comparison, *, n_jobs: int = 1) -> Diagnosis:
    """Look behind a comparison, at its recommended predictor."""
    coverage, by_count = interval_coverage(comparison)
    law = _law(comparison)
    found = why_missing(comparison, law)
    return Diagnosis(
        errors_by_count(comparison),
        errors_by_pattern(comparison),
        found,
        mask_evidence(comparison, found),
        *worth_of_measuring(comparison, law),
        learning_curve(comparison, n_jobs=n_jobs),
        coverage,
        by_count,
    )


class GroupError(NamedTuple):
    """RMSE of each sound trial, by name, on the rows with so many values missing."""

    label: str
    n_rows: int
    rmse: dict[str, float]


def count_groups(mask: NDArray[np.bool_], least: int = 30) -> list[tuple[str, Any]]:
    """Group rows by their number of missing variables, at least so many rows each."""
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
    groups = count_groups(comparison.mask)
    if len(groups) > 12:  # keep the picture readable
        groups = count_groups(comparison.mask, least=len(comparison.y) // 12)
    return [
        GroupError(label, int(rows.sum()), _rmse(comparison, rows))
        for label, rows in groups
    ]


def _rmse(comparison: Comparison, rows) -> dict[str, float]:
    return {
        trial.name: float(
            np.sqrt(((trial.predictions - comparison.y)[rows] ** 2).mean())
        )
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
    groups = group_rows(comparison.mask)
    error = comparison.trial(comparison.recommended).predictions - comparison.y
    found = []
    for p in np.argsort(-groups.n_rows, kind="stable")[:most]:
        rows = groups.order[groups.starts[p] : groups.starts[p + 1]]
        missing = [comparison.names[j] for j in np.flatnonzero(groups.patterns[p])]
        share = float((error[rows] ** 2).sum() / (error**2).sum())
        found.append(PatternError(missing, len(rows), _rmse(comparison, rows), share))
    return found


def evidence_rows(comparison: Comparison) -> Rows:
    """Return the rows that the evidence on missingness is found in."""
    return rows_of(
        comparison.X,
        comparison.y,
        groups=comparison.groups,
        variables=comparison.encoder.variables_,
    )


def _law(comparison: Comparison) -> EMLR:
    """Fit one Gaussian of (X, y) by EM."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return EMLR().fit(comparison.X, comparison.y)


def why_missing(comparison: Comparison, law: EMLR) -> Mechanism:
    """Return the evidence on the mechanism, by the rules that `explain` has."""
    found = mechanism(evidence_rows(comparison), (law.mean_, law.covariance_))
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
        Of the test that the target does not differ there, corrected for the number of
        variables (see `missfit.evidence.mechanism.target_test`); NaN where rows are
        too few.
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
    auc = mask_aucs(evidence_rows(comparison), comparison.seed)
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
    """Return how SelfMaskedLR does against other linear models, on rows none has seen.

    None where it or EMLR is not there, or nothing is missing.
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
    """Gain in R2 of one trial over another; a group is one observation."""
    loss, new_loss = (
        (comparison.trial(one).predictions - comparison.y) ** 2 for one in (over, name)
    )
    weight, spread = np.ones(len(loss)), comparison.y.var()
    gain = paired_gain(loss, new_loss, weight, comparison.groups)
    return Gain(gain.value / spread, gain.standard_error / spread)


def worth_of_measuring(comparison: Comparison, law: EMLR) -> tuple[Worth, float]:
    """Return what measuring each variable always would save, and the error now.

    A linear recommended predictor: by one Gaussian of (X, y), and the error is the mean
    of Var(y | x_obs). Any other: by hiding values in rows that it has not seen (of one
    fold where a fit takes 2 seconds and more), and the error is that of its
    cross-validation.
    """
    one = comparison.trial(comparison.recommended)
    if not _is_linear(comparison, one):
        n_fits = int(comparison.fold.max()) + 1 if one.seconds.mean() < QUICK else 1
        tests = [comparison.fold == k for k in range(n_fits)]
        models = [_fitted(comparison, one, ~test) for test in tests]
        if getattr(models[0], "parts_", True):  # AutoRegressor may be linear, too
            folds = [
                Fold(model.predict, np.flatnonzero(test))
                for model, test in zip(models, tests, strict=True)
            ]
            worth = heldout_worth(evidence_rows(comparison), folds, comparison.seed)
            return worth, float(((one.predictions - comparison.y) ** 2).mean())
    groups = group_rows(np.isnan(comparison.X))
    top = np.argsort(-groups.n_rows, kind="stable")[:MOST_PATTERNS]
    patterns, share = (
        groups.patterns[top],
        groups.n_rows[top] / groups.n_rows[top].sum(),
    )
    variables = comparison.encoder.variables_
    drops = law_drops(
        [law.feature_law()], share[None], np.ravel(law.coef_), patterns, variables
    )
    spread = law.predict(np.where(patterns, np.nan, 0.0), return_std=True)[1] ** 2
    return law_worth(drops), float(share @ spread)


def _fitted(comparison: Comparison, trial: Trial, rows: NDArray[np.bool_]) -> Any:
    """Fit a candidate to some rows, with their groups where it takes them."""
    options, model = {}, trial.candidate.make(comparison.seed)
    if trial.candidate.takes_groups and comparison.groups is not None:
        options["groups"] = comparison.groups[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(comparison.X[rows], comparison.y[rows], **options)


def interval_coverage(
    comparison: Comparison,
) -> tuple[list[tuple[float, float]], list[tuple[str, int, float, float]]]:
    """Asked and actual coverage, and coverage and width by number missing at 90 %.

    Of `ConformalRegressor` around the recommended predictor, on one fold that it has
    not seen.
    """
    test, X = comparison.fold == 0, comparison.fold_tables[0]
    base = comparison.trial(comparison.recommended).candidate.make(comparison.seed)
    model = ConformalRegressor(base, random_state=comparison.seed)
    y = comparison.y[test]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        groups = None if comparison.groups is None else comparison.groups[~test]
        model.fit(X[~test], comparison.y[~test], groups=groups)
    alphas = [1 - level for level in LEVELS]
    lower, upper = model.predict_intervals(X[test], alphas)
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
