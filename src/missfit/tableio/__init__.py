"""Tables in files: CSV, Parquet and Feather, whole or in chunks, and what is wrong.

Everything that a user can mend raises `TableError`, one line that says how.
"""

from missfit.tableio.csv_text import Dialect, csv_dialect
from missfit.tableio.problems import TableError, guess
from missfit.tableio.read import FORMATS, column_names, read_chunks, read_table
from missfit.tableio.training import TrainingTable, read_training

__all__ = [
    "FORMATS",
    "Dialect",
    "TableError",
    "TrainingTable",
    "column_names",
    "csv_dialect",
    "guess",
    "read_chunks",
    "read_table",
    "read_training",
]
