"""Rows to predict: frames, arrays and files that hold the columns of a model."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from missfit.tables.columns import shown
from missfit.tables.frames import is_frame, pandas_frame
from missfit.tables.options import ReadOptions
from missfit.tables.problems import Problems, TableError, guess
from missfit.tables.read import column_names, read_chunks


def new_rows(
    data: Any,
    columns: Sequence[str],
    target: str,
    options: ReadOptions | None = None,
    *,
    text: Sequence[str] = (),
    keep: Sequence[str] = (),
    problems: Problems | None = None,
) -> Generator[Any]:
    """Yield the rows to predict as pandas frames, a file in chunks.

    Parameters
    ----------
    data : str, Path, DataFrame or array-like of shape (n, d)
        A file, a frame with the columns of the model, or an array of just these
        columns in order. Other columns of a file or a frame are ignored.
    columns : sequence of str
        The columns that the model reads.
    target : str
        The column that the model predicts, which need not be there.
    options : ReadOptions, optional
        How a file is to be read, where it differs from the table at fit.
    text : sequence of str
        Columns of a text file to read as text, whatever they look like.
    keep : sequence of str
        Further columns that the frames hold.
    problems : Problems, optional
        Takes notes on how a file is read.
    """
    if isinstance(data, (str, Path)):
        check_columns(column_names(data, options), columns, target, data)
        asked = list(dict.fromkeys([*columns, *keep]))
        yield from read_chunks(data, asked, options, text=text, problems=problems)
        return
    if is_frame(data):
        check_columns([str(n) for n in data.columns], columns, target, "the frame")
    frame = pandas_frame(data, columns)
    yield frame


def check_columns(
    names: Sequence[str], columns: Sequence[str], target: str, where: Any
) -> None:
    """Raise where a table lacks columns of the model; guess which one was meant."""
    there, asked = set(names), {*columns, target}
    absent = [column for column in columns if column not in there]
    if absent:
        others = [name for name in names if name not in asked]
        more = f" (nor {len(absent) - 1} others)" if len(absent) > 1 else ""
        raise TableError(
            f"{where} has no column {shown(absent[0])}{more}, which the model reads"
            f"{guess(absent[0], others)}"
        )
