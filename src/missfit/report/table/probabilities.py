"""The sections of the report on classes: calibration, and which classes are found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.comparison import Comparison
from missfit.comparison.calibration import (
    Calibration,
    calibration_by_count,
    probabilities,
    reliability,
)
from missfit.comparison.class_scores import binary_auc
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
from missfit.report.table import class_figures as figures
from missfit.report.table.rivals import rivals_by_score

MOST_TOLD = 10  # classes of a table of which each is taken for which
MOST_LINES = 4  # numbers of missing variables in the figure; the table has more
COLUMNS = [
    Column("variables missing"),
    Column("rows", ",d"),
    Column("predicted", ".1%"),
    Column("came true", ".1%"),
    Column("difference", "+.3f"),
    Column("± difference", ".3f"),
    Column("calibration error", ".3f"),
    Column("chance allows", ".3f"),
]


def calibration_section(comparison: Comparison) -> Html:
    """Return whether probabilities come true, in all rows and by what is missing."""
    share, true = probabilities(comparison)
    groups, label = calibration_by_count(comparison), _probability(comparison)
    lines = calibration_by_count(comparison, most=MOST_LINES)
    return section(
        "Do the probabilities come true?",
        paragraph(in_words(comparison, groups)),
        side_by_side(
            figure(
                figures.reliability_diagram(reliability(share, true), share, label),
                f"Reliability of {comparison.recommended} on rows that it has not "
                "seen: the share of the rows in which it came true, by tenths of the "
                f"{label}, with 95 % intervals. On the dashed line probabilities come "
                "true as often as they say. Below: how often each was given.",
                name="reliability",
            ),
            figure(
                figures.reliability_by_count(lines[:MOST_LINES], label),
                "The same by the number of variables missing in the row.",
                name="reliability-by-count",
            ),
        ),
        table(
            COLUMNS,
            [_line(group) for group in groups],
            caption="Calibration by the number of variables missing. Difference: what "
            "came true minus what was predicted, and its standard error. Calibration "
            "error: the mean distance between the two over parts of the rows with "
            "about the same probability (the expected calibration error); chance "
            "allows: what it stays below if the probabilities are right, but in 5 % "
            "of all tables.",
            name="calibration",
        ),
    )


def _probability(comparison: Comparison) -> str:
    """Return which probability is looked at."""
    classes = comparison.task.classes or ()
    if len(classes) == 2:
        return f"probability of {classes[1]}"
    return "probability of the most probable class"


def _line(group: Calibration) -> list[Any]:
    gap = group.actual - group.predicted
    return [
        group.label,
        group.n_rows,
        group.predicted,
        group.actual,
        gap,
        group.gap_error,
        group.bins.expected_error,
        group.allowed,
    ]


def in_words(comparison: Comparison, groups: Sequence[Calibration]) -> str:
    """Say whether the probabilities can be taken at their word, and where not."""
    off = [group for group in groups if group.is_off]
    name = comparison.recommended
    if not off:
        where = (
            ", whatever the number of variables missing in a row"
            if len(groups) > 1
            else ""
        )
        return (
            f"Yes, as far as these rows can tell: the probabilities of {name} come "
            f"true as often as they say, within what chance allows{where}."
        )
    worst = max(off, key=lambda one: one.bins.expected_error - one.allowed)
    gap = worst.actual - worst.predicted
    side = "below" if gap > 0 else "above"
    average = (
        f" On average they are {abs(gap):.3f} ± {worst.gap_error:.3f} (standard error) "
        f"{side} what came true there."
        if abs(gap) > 2 * worst.gap_error
        else " Their mean is right; they are too bold or too cautious."
    )
    more = f" The same holds for {len(off) - 1} other numbers." if len(off) > 1 else ""
    return (
        f"Not everywhere: on the {worst.n_rows:,} rows with {worst.label} variables "
        f"missing, the probabilities of {name} are off by "
        f"{worst.bins.expected_error:.3f} on average, and chance allows "
        f"{worst.allowed:.3f}.{average}{more}"
    )


def classes_section(comparison: Comparison) -> Html:
    """Return how well each class is found: a table, and the ROC curve of two."""
    classes = [str(label) for label in comparison.task.classes or ()]
    counts = confusion(comparison)
    parts: list[Html] = []
    if len(classes) == 2 and np.isfinite(comparison.scores[comparison.best].auc):
        rivals = rivals_by_score(comparison)[:2]
        names = dict.fromkeys([comparison.recommended, comparison.best, *rivals])
        parts.append(
            figure(
                figures.roc(comparison, list(names)),
                f"ROC curves for {classes[1]}, with the AUC: how many of its rows are "
                "found, and how many of the others are then taken for it, whatever "
                "probability is asked for.",
                name="roc",
            )
        )
    if len(classes) <= MOST_TOLD:
        parts.append(_confusion_table(classes, counts))
    both = [side_by_side(*parts)] if len(parts) == 2 else parts
    return section(
        "Which classes it finds",
        paragraph(
            "The most probable class of each row by ",
            element("strong", comparison.recommended),
            ", which has not seen the row.",
        ),
        *both,
        _class_table(comparison, classes, counts),
    )


def confusion(comparison: Comparison) -> NDArray[np.intp]:
    """Return the number of rows of each class (lines) taken for each class."""
    rows, n = comparison.is_tested, len(comparison.task.classes or ())
    code = comparison.y[rows].astype(np.intp)
    guess = comparison.trial(comparison.recommended).predictions[rows].argmax(axis=1)
    return np.bincount(code * n + guess, minlength=n * n).reshape(n, n)


def _confusion_table(classes: Sequence[str], counts: NDArray[np.intp]) -> Html:
    return table(
        [Column("actual"), *(Column(f"said {one}", ",d") for one in classes)],
        [
            [name, *(int(n) for n in line)]
            for name, line in zip(classes, counts, strict=True)
        ],
        caption="Rows of each class, by the class that was said.",
        name="confusion",
    )


def _class_table(
    comparison: Comparison, classes: Sequence[str], counts: NDArray[np.intp]
) -> Html:
    rows = comparison.is_tested
    shares = comparison.trial(comparison.recommended).predictions[rows]
    code = comparison.y[rows]
    lines = []
    for k, name in enumerate(classes):
        n_rows, n_said = int(counts[k].sum()), int(counts[:, k].sum())
        others = np.where(np.arange(len(classes)) == k, 0, counts[k])
        n_other = int(others.max())
        told = 0 < n_rows < len(code)
        lines.append(
            [
                name,
                n_rows,
                n_rows / len(code),
                counts[k, k] / n_rows if n_rows else None,
                counts[k, k] / n_said if n_said else None,
                binary_auc(shares[:, k], code == k)[0] if told else None,
                f"{classes[int(others.argmax())]} ({n_other:,})" if n_other else "",
            ]
        )
    return table(
        [
            Column("class"),
            Column("rows", ",d"),
            Column("share", ".1%"),
            Column("found", ".1%"),
            Column("right when said", ".1%"),
            Column("AUC", ".3f"),
            Column("most often taken for"),
        ],
        lines,
        caption="Found: the share of the rows of a class for which it was said (the "
        "recall). Right when said: the share of the rows for which it was said that "
        "are of the class (the precision). AUC: of the class against all others.",
        name="classes",
        filtered=len(lines) > 8,
    )
