"""What `AutoRegressor.explain` tells: scores, choice, regime, mechanism, next feature.

All from pattern moments and held-out errors, at the cost of patterns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from missfit.gaussian import ScaledGaussian, condition
from missfit.moments import PatternMoments, column_scales
from missfit.tables import blocks

LEVEL = 0.01  # of the family-wise tests


class Score(NamedTuple):
    """What became of one candidate: R2 on held-out rows, gain over its rival."""

    name: str
    r2: float
    gain: float
    standard_error: float
    seconds: float
    verdict: str


class Regime(NamedTuple):
    """How much data there is for how much to learn."""

    rows: float
    features: int
    patterns: int
    missing: float  # share of the values
    rows_per_pattern: float
    rows_per_linear_coefficient: float  # one linear model for all patterns
    rows_per_expanded_coefficient: float  # one linear model for each pattern seen


class Relation(NamedTuple):
    """A missing indicator, what it is related to, and by how many standard errors."""

    feature: int
    other: int | None
    z: float


class Mechanism(NamedTuple):
    """Evidence on why values are missing.

    Each list holds what is significant at 1 % after Holm's correction, strongest
    first.
    """

    target: list[Relation]  # the mean of y differs where the feature is missing
    residual: list[Relation]  # so does the mean held-out error of the EM predictor
    features: list[Relation]  # the mean of another feature differs
    self_masking: bool | None  # values are missing because of what they are
    self_evidence: str


def regime_of(moments: PatternMoments) -> Regime:
    """Count rows, patterns and coefficients."""
    rows, d = float(moments.count.sum()), moments.n_features
    n_missing = moments.patterns.sum(axis=1)
    return Regime(
        rows=rows,
        features=d,
        patterns=len(moments),
        missing=float(moments.count @ n_missing / rows / d),
        rows_per_pattern=rows / len(moments),
        rows_per_linear_coefficient=rows / (d + 1),
        rows_per_expanded_coefficient=rows / float((d + 1 - n_missing).sum()),
    )


def feature_relations(moments: PatternMoments) -> list[Relation]:
    """Missing indicators that the means of other features depend on."""
    z = _mean_differences(moments)[:, : moments.n_features]
    return _significant(z, lambda j, k: Relation(j, k, float(z[j, k])))


def target_relations(moments: PatternMoments) -> list[Relation]:
    """Missing indicators that the mean of y depends on."""
    z = _mean_differences(moments)[:, moments.n_features :]
    return _significant(z, lambda j, _: Relation(j, None, float(z[j, 0])))


def _mean_differences(moments: PatternMoments) -> NDArray[np.float64]:
    """Welch's z of each column's mean where feature j is missing against where not.

    Shape (d, d + t); NaN where one side has fewer than 10 rows or no spread. Rows
    count as independent.
    """
    scales = column_scales(moments)
    pattern, values, weight = moments.points()
    mask = moments.patterns[pattern]
    seen = np.hstack([~mask, np.ones((len(mask), moments.n_targets), dtype=bool)])
    gap = np.where(seen, (values - scales.mean) / scales.std, 0.0)
    inner = np.diagonal(moments.condensed_scatter, axis1=1, axis2=2) / scales.std**2
    inner_mask = moments.patterns[moments.condensed]

    def side(here, here_inner):
        counted = (here * weight[:, None]).T
        n = counted @ seen
        total = np.where(n > 0, n, 1.0)
        mean = counted @ gap / total
        square = counted @ gap**2 + here_inner.T.astype(float) @ inner
        return n, mean, np.maximum(square / total - mean**2, 0.0)

    n1, mean1, var1 = side(mask, inner_mask)
    n0, mean0, var0 = side(~mask, ~inner_mask)
    enough = (n1 >= 10) & (n0 >= 10) & (var1 + var0 > 1e-12)
    error = np.sqrt(var1 / np.maximum(n1, 1) + var0 / np.maximum(n0, 1))
    z = np.full_like(error, np.nan)
    return np.divide(mean1 - mean0, error, out=z, where=enough)


def residual_relations(
    mask: NDArray[np.bool_], residual: NDArray, weight: NDArray
) -> list[Relation]:
    """Missing indicators that the mean held-out error depends on."""
    z = np.full(mask.shape[1], np.nan)
    for j, here in enumerate(mask.T):
        n1, n0 = weight[here].sum(), weight[~here].sum()
        if min(n1, n0) < 10:
            continue
        sides = [(residual[s], weight[s]) for s in (here, ~here)]
        mean = [np.average(r, weights=w) for r, w in sides]
        error = sum(
            np.average((r - m) ** 2, weights=w) / w.sum()
            for (r, w), m in zip(sides, mean, strict=True)
        )
        if error > 0:
            z[j] = (mean[0] - mean[1]) / np.sqrt(error)
    return _significant(z[:, None], lambda j, _: Relation(j, None, float(z[j])))


def _significant(z: NDArray, relation) -> list[Relation]:
    """Relations whose p-value passes Holm's step-down test at `LEVEL`."""
    known = np.argwhere(~np.isnan(z))
    strength = np.abs(z[tuple(known.T)])
    order = np.argsort(-strength, kind="stable")
    p = 2 * special.ndtr(-strength[order])
    passes = p <= LEVEL / np.maximum(len(p) - np.arange(len(p)), 1)
    n_passed = len(p) if passes.all() else int(np.argmin(passes))
    return [relation(*map(int, known[i])) for i in order[:n_passed]]


def sum_drops(
    laws: list[ScaledGaussian],
    shares: NDArray[np.float64],
    coef: NDArray[np.float64],
    patterns: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Drop in the risk of E[y | x_obs] if each feature were always measured.

    In a pattern that misses j, with V the covariance of the missing features given the
    observed ones and b their slopes, knowing X_j too explains (V b)_j^2 / V_jj of the
    variance of b'X; the drop is the mean over the patterns' shares of the rows.

    Parameters
    ----------
    laws : list of ScaledGaussian
        Of X, one for each component.
    shares : ndarray of shape (K, P)
        Share of the rows of each component and pattern.
    coef : ndarray of shape (d,)
    patterns : bool ndarray of shape (P, d)
    """
    drops = np.zeros(len(coef))
    for law, share in zip(laws, shares, strict=True):
        slopes = coef * law.scale
        for block in blocks(len(patterns), len(slopes) ** 2):
            missing = patterns[block]
            _, V = condition(law.cov, missing)
            known = (V @ np.where(missing, slopes, 0.0)[:, :, None])[:, :, 0]
            variance = np.diagonal(V, axis1=1, axis2=2)
            here = missing & (variance > 1e-12)
            part = np.divide(known**2, variance, out=np.zeros_like(known), where=here)
            drops += share[block] @ part
    return drops


@dataclass(frozen=True)
class Explanation:
    """Why `AutoRegressor` predicts as it does; ``print`` it.

    Attributes
    ----------
    candidates : list of Score
    choice : str
        The model chosen, in words.
    reason : str
    regime : Regime
    mechanism : Mechanism
    risk_drops : ndarray of shape (d,)
        How much lower the mean squared error would be if each feature were always
        measured, by the Gaussian that was fitted.
    feature_names : list of str
    target_variance : float
    """

    candidates: list[Score]
    choice: str
    reason: str
    regime: Regime
    mechanism: Mechanism
    risk_drops: NDArray[np.float64]
    feature_names: list[str]
    target_variance: float

    @property
    def ranking(self) -> list[str]:
        """The features that would lower the error if measured, the best first."""
        order = np.argsort(-self.risk_drops, kind="stable")
        floor = 1e-9 * self.target_variance
        return [self.feature_names[j] for j in order if self.risk_drops[j] > floor]

    def __str__(self) -> str:
        """Write it as a page of text."""
        parts = [
            self._regime_lines(),
            self._candidate_lines(),
            [f"Chosen: {self.choice}.", f"  {self.reason}"],
            self._mechanism_lines(),
            self._measure_lines(),
        ]
        return "\n\n".join("\n".join(lines) for lines in parts if lines)

    __repr__ = __str__

    def _regime_lines(self) -> list[str]:
        r = self.regime
        return [
            f"{r.rows:,.6g} rows, {r.features} features, {r.missing:.1%} of the values "
            f"missing in {r.patterns:,} patterns ({r.rows_per_pattern:.3g} rows each).",
            f"Rows per coefficient: {r.rows_per_linear_coefficient:.3g} for one linear "
            f"model, {r.rows_per_expanded_coefficient:.3g} for one per pattern.",
        ]

    def _candidate_lines(self) -> list[str]:
        wide = max([9, *(len(s.name) for s in self.candidates)])
        lines = [
            f"{'candidate':{wide}}  held-out R2      gain +- standard error   seconds"
        ]
        for s in self.candidates:
            r2 = "" if np.isnan(s.r2) else f"{s.r2:.5f}"
            gain = f"{s.gain:+.5f} +- {s.standard_error:.5f}"
            gain = "" if np.isnan(s.gain) else gain
            lines.append(
                f"{s.name:{wide}}  {r2:>11}  {gain:>26}  {s.seconds:>8.2f}  {s.verdict}"
            )
        return lines

    def _mechanism_lines(self) -> list[str]:
        if self.regime.missing == 0:
            return ["Nothing is missing."]
        m = self.mechanism
        return [
            "Why values are missing (1 % level, corrected for the number of tests):",
            f"  y differs where these are missing: {self._related(m.target)}",
            f"  beyond what the observed features explain: {self._related(m.residual)}",
            f"  other features differ: {self._related(m.features)}",
            f"  the value itself: {m.self_evidence}",
        ]

    def _related(self, relations: list[Relation], most: int = 5) -> str:
        if not relations:
            return "no sign"
        names = self.feature_names
        words = [
            f"{names[r.feature]}{'' if r.other is None else ' with ' + names[r.other]} "
            f"(z = {r.z:+.1f})"
            for r in relations[:most]
        ]
        more = len(relations) - most
        return ", ".join(words) + (f" and {more} more" if more > 0 else "")

    def _measure_lines(self) -> list[str]:
        if not self.ranking:
            return []
        lines = ["Worth measuring: the share of the variance of y it would explain"]
        share = dict(
            zip(self.feature_names, self.risk_drops / self.target_variance, strict=True)
        )
        return lines + [f"  {name}  {share[name]:.4f}" for name in self.ranking[:5]]
