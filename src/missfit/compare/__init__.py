"""Which predictor for this table: cross-validation of all, and what lies behind it."""

from missfit.compare.comparison import Comparison, Trial, compare_table
from missfit.compare.diagnosis import Diagnosis, diagnose

__all__ = ["Comparison", "Diagnosis", "Trial", "compare_table", "diagnose"]
