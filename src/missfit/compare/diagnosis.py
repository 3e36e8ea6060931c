"""What lies behind a comparison: errors, mechanism, intervals, learning curve."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from missfit.compare.comparison import Comparison
from missfit.compare.learning_curve import CurvePoint, learning_curve
from missfit.estimators import EMLR, ConformalRegressor
from missfit.patterns import group_rows

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MOST_PATTERNS = 300  # of those that the value of a measurement is averaged over
MOST_MASKS = 6  # masks that are predicted from other values
MOST_ROWS = 5000  # of these predictions


@dataclass(frozen=True)
class Diagnosis:
    """Everything that a report shows beside the comparison."""

    by_count: list[GroupError]
    by_pattern: list[PatternError]
    little: LittleTest | None
    masks: list[MaskEvidence]
    self_masking: tuple[float, float] | None
    worth: list[tuple[str, float]]
    curve: list[CurvePoint]
    coverage: list[tuple[float, float]]
    coverage_by_count: list[tuple[str, int, float, float]]


def diagnose(comparison: Comparison, *, n_jobs: int = 1) -> Diagnosis:
    """Look behind a comparison, at its recommended predictor."""
    coverage, by_count = interval_coverage(comparison)
    return Diagnosis(
        errors_by_count(comparison),
        errors_by_pattern(comparison),
        little_test(comparison.X, comparison.y),
        mask_evidence(comparison),
        self_masking_gain(comparison),
        worth_of_measuring(comparison),
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


class LittleTest(NamedTuple):
    """Little's test of MCAR: a sum of squares, its degrees of freedom, the p-value."""

    statistic: float
    freedom: int
    p_value: float


def little_test(X: NDArray[np.float64], y: NDArray[np.float64]) -> LittleTest | None:
    """Little's (1988) test that values are missing completely at random.

    sum_m n_m (z_m - mu_obs)' S_obs^-1 (z_m - mu_obs), with z_m the mean of the observed
    (X, y) in pattern m and (mu, S) by EM, is chi-squared with sum_m |obs(m)| - d
    degrees of freedom where the mask is independent of the values. None without two
    patterns.
    """
    groups = group_rows(np.isnan(X))
    if len(groups.patterns) < 2:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        law = EMLR().fit(X, y)
    Z = np.column_stack([X, y])
    keep = np.diag(law.covariance_) > 0
    scale = np.sqrt(np.where(keep, np.diag(law.covariance_), 1.0))
    correlation = law.covariance_ / scale / scale[:, None]
    statistic, freedom = 0.0, -int(keep.sum())
    for p, pattern in enumerate(groups.patterns):
        rows = groups.order[groups.starts[p] : groups.starts[p + 1]]
        obs = np.flatnonzero(~np.append(pattern, False) & keep)
        gap = (Z[np.ix_(rows, obs)].mean(axis=0) - law.mean_[obs]) / scale[obs]
        inverse = np.linalg.pinv(correlation[np.ix_(obs, obs)], hermitian=True)
        statistic += len(rows) * gap @ inverse @ gap
        freedom += len(obs)
    if freedom < 1:
        return None
    return LittleTest(
        float(statistic), freedom, float(stats.chi2.sf(statistic, freedom))
    )


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
        Of Welch's test that this gap is zero, times the number of variables (Holm).
    auc : float
        How well the other variables' values predict the mask (0.5: not at all; 1:
        fully); NaN where it was not tried.
    """

    name: str
    rate: float
    target_gap: float
    target_p: float
    auc: float


def mask_evidence(comparison: Comparison) -> list[MaskEvidence]:
    """Return the evidence for each variable that is missing in some rows."""
    mask, y = comparison.mask, comparison.y
    partly = np.flatnonzero(mask.any(axis=0) & ~mask.all(axis=0))
    rows = []
    for j in partly:
        hidden, seen = y[mask[:, j]], y[~mask[:, j]]
        p = 1.0
        if min(len(hidden), len(seen)) > 1 and np.ptp(hidden) + np.ptp(seen) > 0:
            test: Any = stats.ttest_ind(hidden, seen, equal_var=False)
            p = float(test.pvalue)
        gap = float((hidden.mean() - seen.mean()) / y.std())
        rows.append([j, p, gap])
    corrected = _holm([row[1] for row in rows])
    auc = _mask_auc(comparison, partly)
    return [
        MaskEvidence(
            comparison.names[j], float(mask[:, j].mean()), gap, p, auc.get(j, np.nan)
        )
        for (j, _, gap), p in zip(rows, corrected, strict=True)
    ]


def _holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for several tests.

    >>> _holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p_values)
    corrected, highest = np.empty(len(p_values)), 0.0
    for rank, k in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[k]))
        corrected[k] = highest
    return corrected.tolist()


def _mask_auc(comparison: Comparison, partly) -> dict[int, float]:
    """How well the other values (not their masks) predict some of the masks."""
    rng = np.random.default_rng(comparison.seed)
    rows = rng.permutation(len(comparison.y))[:MOST_ROWS]
    mask, X = comparison.mask[rows], comparison.X[rows]
    seen = np.where(np.isnan(X).all(axis=0), 0.0, 1.0)
    mean = np.nansum(X, axis=0) / np.maximum(1, (~np.isnan(X)).sum(axis=0)) * seen
    filled = np.where(np.isnan(X), mean, X)  # a mask must not be told by other masks
    found: dict[int, float] = {}
    done: dict[bytes, float] = {}
    order = partly[np.argsort(-np.minimum(mask.mean(0), 1 - mask.mean(0))[partly])]
    for j in order:
        if min(mask[:, j].sum(), (~mask[:, j]).sum()) < 30:
            continue
        key = mask[:, j].tobytes()
        if key not in done:
            if len(done) == MOST_MASKS:
                break
            others = filled[:, comparison.encoder.variables_ != j]
            if not others.shape[1]:
                break
            model = HistGradientBoostingClassifier(max_iter=30, random_state=0)
            chance: Any = cross_val_predict(
                model, others, mask[:, j], cv=3, method="predict_proba"
            )
            done[key] = float(roc_auc_score(mask[:, j], chance[:, 1]))
        found[int(j)] = done[key]
    return found


def self_masking_gain(comparison: Comparison) -> tuple[float, float] | None:
    """Gain in R2 of modelling self-masking over not doing so, and its standard error.

    Of SelfMaskedLR over EMLR, on rows that neither saw; None where one is not there.
    """
    trials = {trial.name: trial for trial in comparison.sound}
    if not {"SelfMaskedLR", "EMLR"} <= set(trials) or not comparison.mask.any():
        return None
    gain = (trials["EMLR"].predictions - comparison.y) ** 2 - (
        trials["SelfMaskedLR"].predictions - comparison.y
    ) ** 2
    spread = comparison.y.var()
    return float(gain.mean() / spread), float(gain.std() / np.sqrt(len(gain)) / spread)


def worth_of_measuring(comparison: Comparison) -> list[tuple[str, float]]:
    """How much of the mean squared error each variable would save, always measured.

    Under one Gaussian of (X, y) by EM: the mean, over the patterns in which the
    variable is missing, of Var(y | x_obs) - Var(y | x_obs and the variable), times the
    share of such rows, over the mean of Var(y | x_obs). Largest first.
    """
    X, variables = comparison.X, comparison.encoder.variables_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        law = EMLR().fit(X, comparison.y)
    groups = group_rows(np.isnan(X))
    top = np.argsort(-groups.n_rows, kind="stable")[:MOST_PATTERNS]
    patterns, weight = groups.patterns[top], groups.n_rows[top].astype(float)

    def variance(hidden: NDArray[np.bool_]) -> NDArray[np.float64]:
        return law.predict(np.where(hidden, np.nan, 0.0), return_std=True)[1] ** 2

    now = variance(patterns)
    worth = []
    for j, name in enumerate(comparison.names):
        columns = variables == j
        lacking = patterns[:, columns].all(axis=1)
        if lacking.any() and not comparison.mask[:, j].all():
            saved = now[lacking] - variance(patterns[lacking] & ~columns)
            worth.append((name, float(saved @ weight[lacking] / (now @ weight))))
    return sorted(worth, key=lambda pair: -pair[1])


def interval_coverage(
    comparison: Comparison,
) -> tuple[list[tuple[float, float]], list[tuple[str, int, float, float]]]:
    """Asked and actual coverage, and coverage and width by number missing at 90 %.

    Of `ConformalRegressor` around the recommended predictor, on one fold that it has
    not seen.
    """
    test = comparison.fold == 0
    base = comparison.trial(comparison.recommended).candidate.make(comparison.seed)
    model = ConformalRegressor(base, random_state=comparison.seed)
    y = comparison.y[test]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        groups = None if comparison.groups is None else comparison.groups[~test]
        model.fit(comparison.X[~test], comparison.y[~test], groups=groups)
    lower, upper = model.predict_intervals(
        comparison.X[test], [1 - level for level in LEVELS]
    )
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
