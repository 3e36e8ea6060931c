"""What a default predictor explains: scores, choice, regime, mechanism, next feature.

The evidence on missingness is that of `missfit.evidence`, which the report of
`missfit compare` reads too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.auto.objective import ScoreWords
from missfit.evidence.mechanism import Mechanism
from missfit.evidence.words import sentences
from missfit.evidence.worth import Worth
from missfit.markup import Column, Html, element, paragraph, plain_table
from missfit.moments.column_scales import column_scales
from missfit.moments.pattern_moments import PatternMoments

MOST_FEATURES = 5  # features worth measuring that are told
STYLE = (
    "<style>.missfit-explanation{max-width:60rem}.missfit-explanation table{"
    "border-collapse:collapse;margin:.6rem 0;font-variant-numeric:tabular-nums}"
    ".missfit-explanation th,.missfit-explanation td{padding:.2rem .7rem;"
    "text-align:left;border-bottom:1px solid rgba(128,128,128,.3)}"
    ".missfit-explanation .number{text-align:right}</style>"
)


class Score(NamedTuple):
    """What became of one candidate: score on held-out rows, gain over its rival."""

    name: str
    score: float  # R2 of a number
    gain: float
    standard_error: float
    seconds: float
    verdict: str

    @property
    def r2(self) -> float:
        """The score, where it is R2."""
        return self.score


class Regime(NamedTuple):
    """How much data there is for how much to learn."""

    rows: float
    features: int
    patterns: int
    missing: float  # share of the values
    rows_per_pattern: float
    rows_per_linear_coefficient: float  # one linear model for all patterns
    rows_per_expanded_coefficient: float  # one linear model for each pattern seen


def regime_of(moments: PatternMoments) -> Regime:
    """Count rows, patterns and coefficients."""
    rows, d = float(moments.count.sum()), moments.n_features
    n_missing = moments.patterns.sum(axis=1)
    varies = column_scales(moments).varies[:d]  # the others have no coefficient
    n_slopes = (~moments.patterns[:, varies]).sum(axis=1)
    return Regime(
        rows=rows,
        features=d,
        patterns=len(moments),
        missing=float(moments.count @ n_missing / rows / d),
        rows_per_pattern=rows / len(moments),
        rows_per_linear_coefficient=rows / (varies.sum() + 1),
        rows_per_expanded_coefficient=rows / float((n_slopes + 1).sum()),
    )


@dataclass(frozen=True)
class Explanation:
    """Why a default predictor predicts as it does; ``print`` it.

    Attributes
    ----------
    candidates : list of Score
    choice : str
        The model chosen, in words.
    reason : str
    regime : Regime
    mechanism : Mechanism
    worth : Worth
        How much lower the mean loss would be if each feature were always measured,
        with its standard error and how it was found. The loss of a number is its
        squared error.
    feature_names : list of str
    unit : float
        The loss that a gain of one in the score stands for: of a number its variance.
    words : ScoreWords
        How the score is called.
    seconds : dict of str to float
        How long each stage of the fit took.
    """

    candidates: list[Score]
    choice: str
    reason: str
    regime: Regime
    mechanism: Mechanism
    worth: Worth
    feature_names: list[str]
    unit: float
    words: ScoreWords
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def target_variance(self) -> float:
        """The unit, where it is the variance of the target."""
        return self.unit

    @property
    def risk_drops(self) -> NDArray[np.float64]:
        """How much lower the mean loss would be, each feature always measured."""
        return self.worth.drops

    @property
    def ranking(self) -> list[str]:
        """The features that would lower the error if measured, the best first."""
        ranked = self.worth.ranked(1e-9 * self.unit)
        return [self.feature_names[j] for j in ranked]

    def named(self, names: Sequence[str]) -> Explanation:
        """Return the same with other names of the features.

        Parameters
        ----------
        names : sequence of str
            One for each feature of the fit, in order. Features that share a name are
            columns of one variable, as `missfit.TableEncoder` makes them of categories:
            of what was found about them the strongest is kept, so that the gain of
            measuring the variable is at least the one that is told.
        """
        names = [str(name) for name in names]
        if len(names) != len(self.feature_names):
            raise ValueError(
                f"{len(names)} names for {len(self.feature_names)} features; give one "
                "for each column that the model was fitted to."
            )
        unique = list(dict.fromkeys(names))
        place = [unique.index(name) for name in names]
        return replace(
            self,
            mechanism=self.mechanism.merged(place),
            worth=self.worth.merged(place),
            feature_names=unique,
        )

    def __str__(self) -> str:
        """Write it as a page of text."""
        parts = [
            self._regime_lines(),
            self._candidate_lines() + self._time_lines(),
            [f"Chosen: {self.choice}.", f"  {self.reason}"],
            self._mechanism_lines(),
            self._measure_lines(),
        ]
        return "\n\n".join("\n".join(lines) for lines in parts if lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Write it as HTML, which notebooks show; all text is escaped."""
        parts = [
            Html(STYLE),
            *(paragraph(line) for line in self._regime_lines()),
            self._candidate_table(),
            *(paragraph(line) for line in self._time_lines()),
            paragraph(element("strong", f"Chosen: {self.choice}."), f" {self.reason}"),
        ]
        heading, *claims = self._mechanism_lines()
        parts.append(paragraph(heading))
        parts.append(element("ul", *(element("li", line.strip()) for line in claims)))
        if pairs := self._worth_measuring():
            columns = [Column("feature"), Column(self.words.gain), Column("± error")]
            parts.append(paragraph(f"{self._worth_title()} ({self.worth.method})"))
            parts.append(plain_table(columns, pairs))
        return element("div", *parts, class_="missfit-explanation")

    def _candidate_table(self) -> Html:
        held_out = f"held-out {self.words.name}"
        names = ("candidate", held_out, "gain", "± standard error", "seconds")
        formats = ("", ".5f", "+.5f", ".5f", ".2f")
        columns = [*map(Column, names, formats), Column("verdict")]
        fields = ("name", "score", "gain", "standard_error", "seconds", "verdict")
        rows = [[getattr(score, name) for name in fields] for score in self.candidates]
        return plain_table(columns, rows)

    def _regime_lines(self) -> list[str]:
        r = self.regime
        return [
            f"{round(r.rows, 2):,.9g} rows, {r.features} features, {r.missing:.1%} of "
            f"the values missing in {r.patterns:,} patterns ({r.rows_per_pattern:.3g} "
            "rows each).",
            f"Rows per coefficient: {r.rows_per_linear_coefficient:.3g} for one linear "
            f"model, {r.rows_per_expanded_coefficient:.3g} for one per pattern.",
        ]

    def _candidate_lines(self) -> list[str]:
        wide = max([9, *(len(s.name) for s in self.candidates)])
        title = f"held-out {self.words.name}"
        lines = [f"{'candidate':{wide}}  {title}      gain +- standard error   seconds"]
        for s in self.candidates:
            score = "" if np.isnan(s.score) else f"{s.score:.5f}"
            gain = f"{s.gain:+.5f} +- {s.standard_error:.5f}"
            gain = "" if np.isnan(s.gain) else gain
            lines.append(
                f"{s.name:{wide}}  {score:>{len(title)}}  {gain:>26}  "
                f"{s.seconds:>8.2f}  {s.verdict}"
            )
        return lines

    def _time_lines(self) -> list[str]:
        """Say where the seconds of the fit went."""
        if not self.seconds:
            return []
        stages = [f"{taken:.2f} for {name}" for name, taken in self.seconds.items()]
        total = sum(self.seconds.values())
        return [f"Seconds of the fit: {total:.2f}, of which {', '.join(stages)}."]

    def _mechanism_lines(self) -> list[str]:
        if self.regime.missing == 0:
            return ["Nothing is missing."]
        lines = sentences(self.mechanism, self.feature_names)
        return ["Why values are missing:", *(f"  {line}" for line in lines)]

    def _worth_title(self) -> str:
        return f"Worth measuring: the {self.words.gain} if it were never missing"

    def _worth_measuring(self) -> list[tuple[str, str, str]]:
        """Return the features worth measuring, with their gains and the errors of them.

        The error is "" where the gain follows from a law.
        """
        found = []
        for j in self.worth.ranked(1e-9 * self.unit)[:MOST_FEATURES]:
            gain = self.worth.drops[j] / self.unit
            error = self.worth.standard_errors[j] / self.unit
            said = f"{error:.4f}" if error else ""
            found.append((self.feature_names[j], f"{gain:.4f}", said))
        return found

    def _measure_lines(self) -> list[str]:
        pairs = self._worth_measuring()
        if not pairs:
            return []
        lines = [self._worth_title(), f"  ({self.worth.method})"]
        for name, gain, error in pairs:
            lines.append(f"  {name}  {gain}" + (f" +- {error}" if error else ""))
        return lines
