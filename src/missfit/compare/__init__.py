"""Which predictor for this table: cross-validation of all, and what lies behind it."""

from missfit.compare.comparison import Comparison, Trial
from missfit.compare.diagnosis import Diagnosis, diagnose
from missfit.compare.options import CompareOptions
from missfit.compare.trials import compare_table

__all__ = [
    "CompareOptions",
    "Comparison",
    "Diagnosis",
    "Trial",
    "compare_table",
    "diagnose",
]
