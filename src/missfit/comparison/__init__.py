"""Which predictor for this table: cross-validation of all, and what lies behind it."""

from missfit.comparison.diagnosis import Diagnosis, diagnose
from missfit.comparison.options import CompareOptions
from missfit.comparison.results import Comparison, Trial
from missfit.comparison.store import FitStore
from missfit.comparison.trials import compare_table

__all__ = [
    "CompareOptions",
    "Comparison",
    "Diagnosis",
    "FitStore",
    "Trial",
    "compare_table",
    "diagnose",
]
