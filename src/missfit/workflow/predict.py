"""From a model and a file of new rows to predictions, intervals and probabilities."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.tables.columns import shown
from missfit.tables.frames import pandas_frame
from missfit.tables.options import ReadOptions
from missfit.tables.problems import Problems, TableError, refuse_absent
from missfit.tables.read import column_names
from missfit.tables.written import check_format, is_parquet, table_sink
from missfit.workflow.model_file import ModelFileError, TableModel
from missfit.workflow.watch import Watch

PREDICTION = "prediction"
NAMES = (PREDICTION, "lower", "upper")  # of numbers
PROBABILITY = "probability_"  # and the label of a class
ROW = "row"
# Decimals are written down to a ten-thousandth of the typical error: the variance of
# what is rounded off is then less than a billionth of the mean squared error.
FINER = 4
MOST_DECIMALS = 15  # beyond it, and beyond this many digits in front, all digits
# Decimals of a probability, and the size below which three digits count instead: then
# what is rounded off changes no log-loss by more than 0.5 %.
SHARE_DECIMALS = 6
SMALL_SHARE = 1e-4


class PredictedFile(NamedTuple):
    """What became of the rows of a file.

    Attributes
    ----------
    n_rows : int
        How many rows were predicted.
    warnings : list of str
        What the user should know of these rows, such as a level never seen.
    """

    n_rows: int
    warnings: list[str]


def predict_file(
    model: TableModel,
    data: str | Path,
    out: str | Path | None = None,
    options: ReadOptions | None = None,
    *,
    keep: Sequence[str] = (),
    on_rows: Callable[[int], None] = lambda n_rows: None,
    on_end: Callable[[], None] = lambda: None,
) -> PredictedFile:
    """Predict the rows of a file, and say what is new in them.

    The output is a table with one line for each row, in the order of the file, and the
    columns prediction, lower and upper; or, where the target is a class, prediction and
    one column for each class, such as probability_yes. The rows are read in chunks, so
    that a file larger than memory can be predicted. The output appears whole or not at
    all, also on standard output. In CSV the numbers have as many decimals as their
    error allows, see `decimals_of`, and probabilities have six; in Parquet they are
    whole.

    Parameters
    ----------
    model : TableModel
        The model, see `missfit.fit_table`.
    data : str or Path
        A table with the columns of the model; other columns are ignored.
    out : str or Path, optional
        The CSV or Parquet file to write; standard output where it is not given.
    options : ReadOptions, optional
        How this file is to be read. The marks of missing values that were named at fit
        hold too, and the encoding and the sheet where none is named here.
    keep : sequence of str
        Columns of the table that are copied to the output, each one name or several as
        "a,b". They stand in front of the predictions, behind a column "row" with the
        number of the row; row 1 is the first row below the header.
    on_rows : callable
        Called after each chunk with the number of rows predicted so far.
    on_end : callable
        Called when all rows are predicted, before the output appears.
    """
    check_format(out)
    options, problems = model.reading.options_for(options), Problems()
    own = output_columns(model)
    kept = kept_columns(keep, column_names(data, options), data, own)
    written = _whole if is_parquet(out) else _writer(model)
    watch = Watch(model)
    chunks = model.rows(data, options, keep=kept, problems=problems)
    with table_sink(out) as write, contextlib.closing(chunks):
        for frame in chunks:
            first = watch.n_rows + 1
            predicted = _predicted(model, frame[model.columns], watch)
            write(_lines(frame[kept], written(predicted), first))
            on_rows(watch.n_rows)
        watch.refuse_misfits()
        if not watch.n_rows:
            nothing = pandas_frame(np.empty((0, len(kept))), kept)
            write(_lines(nothing, dict.fromkeys(own, np.empty(0)), 1))
        on_end()
    return PredictedFile(watch.n_rows, [*problems.notes, *watch.warnings()])


def unused_columns(
    model: TableModel, data: str | Path, options: ReadOptions | None = None
) -> list[str]:
    """Return the columns of a table that the model neither reads nor predicts."""
    known = {*model.columns, model.target}
    options = model.reading.options_for(options)
    return [name for name in column_names(data, options) if name not in known]


def output_columns(model: TableModel) -> list[str]:
    """Return the names of the columns that are predicted."""
    if model.classes is None:
        return list(NAMES)
    return [PREDICTION, *(f"{PROBABILITY}{label}" for label in model.classes)]


def kept_columns(
    keep: Sequence[str],
    names: Sequence[str],
    where: Any,
    predicted: Sequence[str] = NAMES,
) -> list[str]:
    """Return the columns to copy, with lists of names as "a,b" taken apart.

    >>> kept_columns(["a,b", "c,d"], ["a", "b", "c,d"], "t.csv")
    ['a', 'b', 'c,d']
    """
    kept: list[str] = []
    for name in keep:
        kept += [name] if name in names else map(str.strip, name.split(","))
    refuse_absent(kept, names, where)
    own = next((name for name in kept if name in (ROW, *predicted)), None)
    if own is not None:
        raise TableError(
            f"{where}: the column {shown(own)} cannot be kept, since the output has a "
            "column of its own with this name; rename it in the table.",
            column=own,
            role="keep",
        )
    return list(dict.fromkeys(kept))


def decimals_of(model: TableModel) -> int | None:
    """Return how many decimals of a prediction matter, or None for all digits.

    A prediction is rounded to a ten-thousandth of its typical error or a little finer.
    The typical error is the root mean squared error of the rows that calibrate the
    intervals.
    """
    regressor = model.regressor
    error = regressor.calibration_targets_ - regressor.calibration_predictions_
    size = float(np.sqrt(np.mean(error**2)))
    if not 0 < size < np.inf:
        return None
    decimals = FINER - int(np.floor(np.log10(size)))
    return max(0, decimals) if decimals <= MOST_DECIMALS else None


def _predicted(model: TableModel, frame: Any, watch: Watch) -> dict[str, NDArray]:
    """Return the columns that are predicted for a chunk of rows."""
    with _faults_of_the_model():
        X, misfits = model.encoder.transform_leniently(frame)
        watch.see(frame, X, misfits)
        if model.classes is not None:
            return _classified(model, X)
        lower, upper, kind = model.regressor.predict_interval(X, return_kind=True)
        watch.kinds.update(kind.tolist())
        values = [model.regressor.predict(X), lower, upper]
        return dict(zip(output_columns(model), values, strict=True))


def _classified(model: TableModel, X: NDArray[np.float64]) -> dict[str, NDArray]:
    """Return the most probable class of each row, and the probability of each class."""
    shares, classes = model.regressor.predict_proba(X), model.classes
    assert classes is not None
    values = [classes[shares.argmax(axis=1)], *shares.T]
    return dict(zip(output_columns(model), values, strict=True))


def _lines(kept: Any, predicted: dict[str, NDArray], first: int) -> Any:
    """Return the frame to write for a chunk: what is kept, then the predictions."""
    n_rows = len(predicted[PREDICTION])
    rows = {ROW: np.arange(first, first + n_rows)} if kept.shape[1] else {}
    lines = kept.assign(**rows, **predicted)
    return lines[[*rows, *kept.columns, *predicted]]


def _whole(predicted: dict[str, NDArray]) -> dict[str, NDArray]:
    """Return the predictions with all their digits."""
    return predicted


def _writer(model: TableModel) -> Callable[[dict[str, NDArray]], dict[str, NDArray]]:
    """Return a function that writes predictions with the digits that matter."""
    if model.classes is not None:
        return _written_shares
    decimals = decimals_of(model)
    if decimals is None:
        return _whole
    return lambda predicted: {k: _rounded(v, decimals) for k, v in predicted.items()}


def _written_shares(predicted: dict[str, NDArray]) -> dict[str, NDArray]:
    """Return the classes as they are, and the probabilities as text."""
    shares = {k: v for k, v in predicted.items() if k != PREDICTION}
    return predicted | {k: _share_texts(v) for k, v in shares.items()}


def _share_texts(values: NDArray[np.float64]) -> NDArray[Any]:
    """Return probabilities as text: no small one becomes 0.

    >>> _share_texts(np.array([0.25, 0.00001234])).tolist()
    ['0.250000', '1.23e-05']
    """
    texts = np.char.mod(f"%.{SHARE_DECIMALS}f", values).astype(object)
    small = (values > 0) & (values < SMALL_SHARE)
    texts[small] = [f"{value:.3g}" for value in values[small].tolist()]
    return texts


def _rounded(values: NDArray[np.float64], decimals: int) -> NDArray[Any]:
    """Return numbers as text with so many decimals; all digits of very large ones."""
    plain = np.abs(values) < 10.0**MOST_DECIMALS
    nearest = np.round(np.where(plain, values, 0.0), decimals) + 0.0  # no -0.00
    texts = np.char.mod(f"%.{decimals}f", nearest).astype(object)
    texts[~plain] = [repr(value) for value in values[~plain].tolist()]
    return texts


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
