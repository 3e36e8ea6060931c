"""The report on a table: what to use, how good it is, where it fails."""

from __future__ import annotations

import warnings
from typing import Any

from numpy.typing import NDArray

from missfit.comparison import Comparison, Diagnosis
from missfit.report.page import Html, page
from missfit.report.table.code import code_section
from missfit.report.table.errors import errors_section
from missfit.report.table.importance import importance_section
from missfit.report.table.intervals import intervals_section
from missfit.report.table.learning_curve import learning_curve_section
from missfit.report.table.mechanism import mechanism_section
from missfit.report.table.missing import missing_section
from missfit.report.table.predictions import predictions_section
from missfit.report.table.probabilities import calibration_section, classes_section
from missfit.report.table.provenance import Provenance, provenance_section
from missfit.report.table.recommendation import recommendation_section
from missfit.report.table.scores import scores_section
from missfit.report.table.stress import stress_section
from missfit.report.table.suspicions import suspicions_section
from missfit.report.table.worth import worth_section

STYLE: dict[Any, Any] = {"font.size": 9}


def table_report(
    comparison: Comparison,
    diagnosis: Diagnosis,
    code: str,
    *,
    origin: Provenance | None = None,
    bayes: NDArray | None = None,
) -> str:
    """Return the page.

    Parameters
    ----------
    comparison : Comparison
    diagnosis : Diagnosis
    code : str
        The Python that reproduces the recommended predictor's score, see
        `missfit.report.table.code.reproducing_code`.
    origin : Provenance, optional
        The file, the command and the versions, for a section at the end.
    bayes : ndarray, optional
        What the Bayes predictor predicts for the rows, where it is known.
    """
    import matplotlib

    with warnings.catch_warnings(), matplotlib.rc_context(STYLE):
        # a name in a script that the font lacks is drawn by the browser's fonts
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        parts = [
            suspicions_section(comparison.suspicions),
            recommendation_section(comparison, diagnosis),
            scores_section(comparison, bayes),
            *_predictions(comparison),
            importance_section(comparison, diagnosis),
            missing_section(comparison),
            errors_section(comparison, diagnosis),
            *_intervals(comparison, diagnosis),
            learning_curve_section(comparison, diagnosis),
            worth_section(comparison, diagnosis),
            stress_section(comparison, diagnosis),
            mechanism_section(comparison, diagnosis),
            code_section(comparison, code),
        ]
    if origin is not None:
        parts.append(provenance_section(comparison, origin))
    return page(
        f"Predicting {comparison.target} with missing values",
        *parts,
        lead=_lead(comparison, origin),
    )


def _predictions(comparison: Comparison) -> list[Html]:
    """Return the sections on the predictions: numbers, or probabilities."""
    if comparison.task.classes is None:
        return [predictions_section(comparison)]
    return [calibration_section(comparison), classes_section(comparison)]


def _intervals(comparison: Comparison, diagnosis: Diagnosis) -> list[Html]:
    """Return the section on prediction intervals, which numbers have."""
    if comparison.task.classes is not None:
        return []
    return [intervals_section(comparison, diagnosis)]


def _lead(comparison: Comparison, origin: Provenance | None) -> str:
    """Return the table and, where they are known, its file and the date."""
    words = f"{len(comparison.y):,} rows, {len(comparison.names)} variables"
    if origin is None:
        return f"{words}."
    return f"{origin.data}: {words}. {origin.date}."
