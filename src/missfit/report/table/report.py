"""The report on a table: what to use, how good it is, where it fails."""

from __future__ import annotations

import warnings

from missfit.comparison import Comparison, Diagnosis
from missfit.report.page import page
from missfit.report.table.code import code_section
from missfit.report.table.errors import errors_section
from missfit.report.table.intervals import intervals_section
from missfit.report.table.learning_curve import learning_curve_section
from missfit.report.table.mechanism import mechanism_section
from missfit.report.table.missing import missing_section
from missfit.report.table.recommendation import recommendation_section
from missfit.report.table.scores import scores_section
from missfit.report.table.suspicions import suspicions_section
from missfit.report.table.worth import worth_section


def table_report(comparison: Comparison, diagnosis: Diagnosis, code: str) -> str:
    """Return the page.

    Parameters
    ----------
    comparison : Comparison
    diagnosis : Diagnosis
    code : str
        The Python that reproduces the recommended predictor's score, see
        `missfit.report.table.code.reproducing_code`.
    """
    with warnings.catch_warnings():
        # a name in a script that the font lacks is drawn by the browser's fonts
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        parts = [
            suspicions_section(comparison.suspicions),
            recommendation_section(comparison, diagnosis),
            scores_section(comparison),
            missing_section(comparison),
            errors_section(comparison, diagnosis),
            intervals_section(comparison, diagnosis),
            learning_curve_section(diagnosis),
            worth_section(comparison, diagnosis),
            mechanism_section(comparison, diagnosis),
            code_section(comparison, code),
        ]
    return page(
        f"Predicting {comparison.target} with missing values",
        *parts,
        lead=f"{len(comparison.y):,} rows, {len(comparison.names)} variables, "
        f"{comparison.mask.mean():.1%} of the values missing.",
    )
