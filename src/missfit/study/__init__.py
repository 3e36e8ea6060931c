"""The paper's study, and any other: grid -> run -> tidy table -> figures and report.

>>> from missfit import study
>>> quick = study.load("quick")
>>> quick.method_names()[:2]
['ConstantImputedLR', 'EMLR']

Then ``study.run(quick, "out/quick")`` and ``study.collect(quick, "out/quick")``, or
``missfit study quick`` on the command line.
"""

from missfit.study.collect import Collected, collect, summary
from missfit.study.definition import load, study_names
from missfit.study.estimate import Cost, cost
from missfit.study.findings import findings
from missfit.study.grid import Cell, Method, Study
from missfit.study.imported import StudyError
from missfit.study.records import read_table, tidy_table, write_table
from missfit.study.run import run

__all__ = [
    "Cell",
    "Collected",
    "Cost",
    "Method",
    "Study",
    "StudyError",
    "collect",
    "cost",
    "findings",
    "load",
    "read_table",
    "run",
    "study_names",
    "summary",
    "tidy_table",
    "write_table",
]
