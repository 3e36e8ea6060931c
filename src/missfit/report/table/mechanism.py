"""The section of the report on why values are missing."""

from __future__ import annotations

from missfit.comparison import Comparison, Diagnosis
from missfit.evidence.words import sentences
from missfit.report.page import Column, Html, paragraph, section, table

COLUMNS = [
    Column("variable"),
    Column("missing", ".1%"),
    Column("target gap", "+.2f"),
    Column("p", ".2g"),
    Column("AUC", ".2f"),
]
CAPTION = (
    "Target gap: {mean} where the variable is missing minus where it is observed, in "
    "standard deviations. p: the p-value of a permutation test on ranks that {target} "
    "does not differ there, corrected for the number of variables "
    "(1/300 is the least; up to it a difference is claimed above). AUC: how well the "
    "values of the other variables predict the mask; 0.5 means not at all (tried for "
    "the masks closest to one half)."
)


def mechanism_section(comparison: Comparison, diagnosis: Diagnosis) -> Html:
    """Return why values may be missing, in words and as a table of the variables."""
    parts = [paragraph(line) for line in mechanism(comparison, diagnosis)]
    rows = [
        [e.name, e.rate, e.target_gap, e.target_p, e.auc]
        for e in sorted(diagnosis.masks, key=lambda e: -e.rate)
    ]
    if rows:
        parts.append(
            table(
                COLUMNS,
                rows,
                caption=_caption(comparison),
                filtered=len(rows) > 8,
                first=12,
            )
        )
    return section("Why values are missing", *parts)


def mechanism(comparison: Comparison, diagnosis: Diagnosis) -> list[str]:
    """Return what the table says about why values are missing, in plain words."""
    if not comparison.mask.any():
        return ["Nothing is missing."]
    return [
        *sentences(diagnosis.mechanism, comparison.names, _target(comparison)),
        "No table can prove that values are missing at random given what is observed: "
        "ask those who collected it.",
    ]


def _caption(comparison: Comparison) -> str:
    if comparison.task.classes is None:
        return CAPTION.format(mean="mean of the target", target="the target")
    name = _target(comparison)
    return CAPTION.format(mean=name, target=name)


def _target(comparison: Comparison) -> str:
    """Return what differs where values are missing: the target, or a class of it."""
    return comparison.task.evidence_name(comparison.y, comparison.target)
