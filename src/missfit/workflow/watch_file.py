"""From a model and a file of new rows to what has changed, and a report on it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from missfit.report.page import write_page
from missfit.report.watch import ColumnChange, watch_page
from missfit.tables.options import ReadOptions
from missfit.workflow.model_file import TableModel
from missfit.workflow.verdict import Verdict
from missfit.workflow.watch import Watch


class Watched(NamedTuple):
    """What was found in a file, and in words what its rows hold that is odd."""

    verdict: Verdict
    warnings: list[str]


def watch_file(
    model: TableModel,
    data: str | Path,
    out: str | Path | None = None,
    options: ReadOptions | None = None,
) -> Watched:
    """Compare the rows of a file with those of the fit.

    Parameters
    ----------
    model : TableModel
        The model, see `missfit.load_model`.
    data : str or Path
        A table with the columns of the model; it is read in chunks.
    out : str or Path, optional
        The HTML file to write a report to.
    options : ReadOptions, optional
        How this file is to be read, as for `missfit.workflow.predict.predict_file`.
    """
    watch = Watch(model)
    with contextlib.closing(model.rows(data, options)) as chunks:
        for frame in chunks:
            frame = frame[model.columns]
            watch.see(frame, *model.encoder.transform_leniently(frame))
    watch.refuse_misfits()
    found = watch.verdict()
    if out is not None:
        write_page(out, _page(watch, found, Path(data).name))
    return Watched(found, list(watch.odd_values()))


def _page(watch: Watch, found: Verdict, name: str) -> str:
    seen, old = watch.seen(), watch.model.missingness
    p = {one.column: one.p for one in found.changes if one.kind == "missing"}
    columns = [
        ColumnChange(
            column,
            old.count[j] / old.n_rows,
            seen.missing[j] / max(seen.n_rows, 1),
            p.get(column, np.nan),
            found.alone.get(column, np.nan),
        )
        for j, column in enumerate(watch.model.columns)
    ]
    others = [one for one in found.changes if one.kind != "missing"]
    return watch_page(
        target=watch.model.target,
        lead=f"{name}: {found.n_rows:,} rows, compared with the {old.n_rows:,} rows "
        f"that {watch.model.predictor} was fitted to.",
        losses=(found.loss, found.then, found.now, found.words()),
        columns=columns,
        others=[(one.words, one.p) for one in others],
    )
