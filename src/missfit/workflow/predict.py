"""From a model and a file of new rows to their predictions and intervals."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from missfit.tables.columns import shown
from missfit.tables.options import ReadOptions
from missfit.tables.problems import Problems, TableError, guess
from missfit.tables.read import column_names, read_chunks
from missfit.workflow.model_file import ModelFileError, TableModel
from missfit.workflow.watch import Watch
from missfit.writing import whole_file

HEADER = "prediction,lower,upper\n"


def predict_file(
    model: TableModel,
    data: str | Path,
    out: str | Path | None = None,
    options: ReadOptions | None = None,
    *,
    warn: Callable[[str], None] = lambda text: None,
    on_rows: Callable[[int], None] = lambda n_rows: None,
    on_end: Callable[[], None] = lambda: None,
) -> int:
    """Predict the rows of a file and return the number of rows.

    The output is a CSV table with one line for each row, in the order of the file, and
    the columns prediction, lower and upper. The rows are read in chunks, so that a file
    larger than memory can be predicted. The output appears whole or not at all, also on
    standard output.

    Parameters
    ----------
    model : TableModel
        The model, see `missfit.workflow.fit.fit_table`.
    data : str or Path
        A table with the columns of the model; other columns are ignored.
    out : str or Path, optional
        The CSV file to write; standard output where it is not given.
    options : ReadOptions, optional
        How this file is to be read. The marks of missing values that were named at fit
        hold too, and the encoding and the sheet where none is named here.
    warn : callable
        Called with the text of each warning, such as that of a new level.
    on_rows : callable
        Called after each chunk with the number of rows predicted so far.
    on_end : callable
        Called when all rows are predicted, before standard output is written.
    """
    options = _as_at_fit(model, options or ReadOptions())
    check_columns(model, data, options)
    if out is not None and Path(out).suffix in (".parquet", ".feather", ".arrow"):
        raise TableError(f"{out}: predictions are written as CSV; name it .csv.")
    watch = Watch(model)
    problems, text = Problems(), model.reading.text_columns
    chunks = read_chunks(data, model.columns, options, text=text, problems=problems)
    with _sink(out) as write, contextlib.closing(chunks):
        write(HEADER)
        for frame in chunks:
            write(_lines(model, frame, watch))
            on_rows(watch.n_rows)
        watch.refuse_misfits()
        on_end()
    for text in [*problems.notes, *watch.warnings()]:
        warn(text)
    return watch.n_rows


def _as_at_fit(model: TableModel, options: ReadOptions) -> ReadOptions:
    """Return options with the marks, the encoding and the sheet named at fit."""
    reading = model.reading
    marks = [mark for one in reading.columns for mark in one.marks]
    return replace(
        options,
        na=tuple(dict.fromkeys([*options.na, *marks])),
        encoding=options.encoding or reading.encoding,
        sheet=options.sheet or reading.sheet,
    )


def check_columns(
    model: TableModel, data: str | Path, options: ReadOptions | None = None
) -> None:
    """Raise where a table lacks a column of the model; guess which one was meant."""
    names = column_names(data, options)
    there, asked = set(names), {*model.columns, model.target}
    absent = [column for column in model.columns if column not in there]
    if absent:
        others = [name for name in names if name not in asked]
        more = f" (nor {len(absent) - 1} others)" if len(absent) > 1 else ""
        raise TableError(
            f"{data} has no column {shown(absent[0])}{more}, which the model reads"
            f"{guess(absent[0], others)}"
        )


def _lines(model: TableModel, frame: Any, watch: Watch) -> str:
    """Return the lines of the output for a chunk of rows."""
    with _faults_of_the_model():
        X, misfits = model.encoder.transform_leniently(frame)
        watch.see(frame, X, misfits)
        lower, upper, kind = model.regressor.predict_interval(X, return_kind=True)
        watch.kinds.update(kind.tolist())
        rows = np.column_stack([model.regressor.predict(X), lower, upper]).tolist()
    return "".join(f"{p!r},{low!r},{high!r}\n" for p, low, high in rows)


@contextlib.contextmanager
def _faults_of_the_model() -> Iterator[None]:
    """Turn what a damaged model raises into an error that says so."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ModelFileError(
            f"the model cannot predict these rows ({type(error).__name__}: {error}); "
            "its file is damaged, or was written with other versions of missfit or "
            "scikit-learn. Write it again with missfit fit."
        ) from error


@contextlib.contextmanager
def _sink(out: str | Path | None) -> Iterator[Callable[[str], Any]]:
    """Yield a function that writes text which appears at the end, or not at all."""
    if out is not None:
        with (
            whole_file(out) as part,
            part.open("w", encoding="utf-8", newline="") as file,
        ):
            yield file.write
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as spool:
        yield spool.write
        spool.seek(0)
        shutil.copyfileobj(spool, sys.stdout)
        sys.stdout.flush()
