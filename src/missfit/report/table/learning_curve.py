"""The section of the report that answers whether more rows would help."""

from __future__ import annotations

from functools import partial

import numpy as np

from missfit.comparison import Comparison, Diagnosis
from missfit.comparison.number_task import NUMBER
from missfit.comparison.task import Task
from missfit.report.page import Html, figure, paragraph, section
from missfit.report.table import figures


def learning_curve_section(comparison: Comparison, diagnosis: Diagnosis) -> Html:
    """Return the learning curve and what it says."""
    answer = paragraph(more_rows(diagnosis, comparison.task))
    if len(diagnosis.curve) < 2:
        return section("Would more rows help?", answer)
    score = comparison.task.words.score
    return section(
        "Would more rows help?",
        answer,
        figure(
            figures.both(partial(figures.learning_curve, score, diagnosis)),
            f"{score[0].upper()}{score[1:]} of the recommended predictor when it "
            "learns from part of the rows, with 95 % intervals.",
            name="curve",
        ),
    )


def more_rows(diagnosis: Diagnosis, task: Task = NUMBER) -> str:
    """Answer whether more rows would help, in plain words."""
    if len(diagnosis.curve) < 2:
        return "The learning curve was not drawn."
    before, last = diagnosis.curve[-2:]
    words, sign = task.words, 1 if task.higher_is_better else -1
    step = f"from {before.n_rows:,} to {last.n_rows:,} training rows the {words.score}"
    change = f"{sign * last.gain:+.3f} ± {last.gain_error:.3f}"
    per_doubling = last.gain / np.log2(last.n_rows / before.n_rows)
    if per_doubling <= 0.003:
        return (
            f"Hardly: {step} changed by {change}. Better variables would help more "
            "than more rows."
        )
    if last.gain <= 2 * last.gain_error:
        return (
            f"It is not clear: {step} changed by {change} (standard error), which may "
            "be chance."
        )
    if per_doubling <= 0.01:
        return f"A little: {step} changed by {change} (standard error)."
    rise = f"{last.gain:+.3f}" if sign > 0 else f"{last.gain:.3f}"
    further = "rise" if sign > 0 else "fall"
    return (
        f"Yes: {step} {words.improved} by {rise} ± {last.gain_error:.3f} (standard "
        f"error), and it may {further} further."
    )
