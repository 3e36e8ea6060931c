"""The section of the report on prediction intervals."""

from __future__ import annotations

from missfit.comparison import Comparison, Diagnosis
from missfit.report.page import (
    Column,
    Html,
    element,
    figure,
    paragraph,
    section,
    side_by_side,
    table,
)
from missfit.report.table import figures


def intervals_section(comparison: Comparison, diagnosis: Diagnosis) -> Html:
    """Return how often intervals around the recommended predictor cover."""
    groups = diagnosis.coverage_by_count
    return section(
        "Prediction intervals",
        paragraph(
            "Intervals of missfit.ConformalRegressor around ",
            element("strong", comparison.recommended),
            ", on rows that neither has seen. They are what “missfit predict” writes. "
            "A row is calibrated by rows with the same values missing, where there are "
            "enough of them: then it is covered as often as was asked for, whatever "
            "makes values missing. Other rows are calibrated by rows with about as "
            "many values missing, and are covered so on average.",
        ),
        side_by_side(
            figure(
                figures.coverage(diagnosis),
                "Coverage on new rows against what was asked. Bars are what chance "
                "allows in 95 % of all tables where the intervals keep their promise: "
                "the rows that calibrate are drawn, and so are those that are tested.",
                name="coverage",
            ),
            figure(
                figures.coverage_by_count(diagnosis),
                "Coverage of 90 % intervals by the number of variables missing. Bars "
                "are what chance allows: one in twenty lies outside.",
                name="coverage-by-count",
            ),
        ),
        table(
            [
                Column("missing"),
                Column("rows", ",d"),
                Column("covered", ".1%"),
                Column("median width", "number"),
            ],
            [group[:4] for group in groups],
        ),
    )
