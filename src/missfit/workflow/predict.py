"""From a table in a file to a model file, and from that to predictions of new rows."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from missfit.compare.candidates import DEFAULT, candidate
from missfit.estimators import ConformalRegressor, TableEncoder
from missfit.estimators.calibration import ALL, TOO_FEW
from missfit.moments.patterns import group_rows, pattern_keys
from missfit.tables.columns import shown
from missfit.tables.problems import TableError, guess
from missfit.tables.read import column_names, read_chunks
from missfit.tables.training import TrainingTable
from missfit.workflow.model_file import Missingness, ModelFileError, TableModel
from missfit.writing import whole_file

HEADER = "prediction,lower,upper\n"
LEAST_DRIFT = 0.1  # of the rows; smaller changes are not worth a warning
CERTAIN = 4.0  # standard errors that a change must be, for it not to be chance


def fit_table(
    table: TrainingTable,
    *,
    predictor: str = DEFAULT,
    categorical: Sequence[str] = (),
    coverage: float = 0.9,
    seed: int = 0,
) -> TableModel:
    """Fit an encoder, a predictor and the calibration of its intervals.

    Parameters
    ----------
    table : TrainingTable
        Rows of one group, where it has groups, are fitted or calibrate together.
    predictor : str
        Name of a candidate.
    categorical : sequence of str
        Columns to take as categories whatever they look like.
    coverage : float
        Of the intervals.
    seed : int
    """
    if not 0 < coverage < 1:
        raise TableError(f"a coverage of {coverage:g} is not between 0 and 1.")
    base = candidate(predictor).make(seed)
    named = [name for name in categorical if name in table.X.columns]
    encoder = TableEncoder(categorical=named)
    X = encoder.fit_transform(table.X)
    regressor = ConformalRegressor(base, alpha=1 - coverage, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        regressor.fit(X, table.y, groups=table.groups)
    return TableModel(
        encoder,
        regressor,
        predictor,
        table.target,
        Missingness.of(variable_mask(encoder, X)),
    )


def variable_mask(encoder: TableEncoder, X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the mask of the variables from the encoder's output: one bit each."""
    first = np.searchsorted(encoder.variables_, np.arange(encoder.n_features_in_))
    return np.isnan(X[:, first])


def held_out_r2(model: TableModel) -> float:
    """R2 on the rows that calibrate, predicted by a model not fitted to them."""
    regressor = model.regressor
    y = regressor.calibration_targets_
    error = y - regressor.calibration_predictions_
    spread = ((y - y.mean()) ** 2).sum()
    return float(1 - (error**2).sum() / spread) if spread > 0 else float("nan")


def predict_file(
    model: TableModel,
    data: str | Path,
    out: str | Path | None = None,
    *,
    warn: Callable[[str], None] = lambda text: None,
    on_rows: Callable[[int], None] = lambda n_rows: None,
    on_end: Callable[[], None] = lambda: None,
) -> int:
    """Predict the rows of a file and return how many there were.

    One line per row in order, ``prediction,lower,upper``, under one header line. The
    rows pass in chunks, so that a file larger than memory can be predicted; the output
    is whole or not there, on stdout too.

    Parameters
    ----------
    model : TableModel
    data : str or Path
        A table with the model's columns; others are ignored.
    out : str or Path, optional
        CSV file to write; stdout without it.
    warn : callable
        Called with each warning: new levels, missingness that drifts.
    on_rows : callable
        Called after each chunk with the number of rows so far.
    on_end : callable
        Called when all rows are predicted, before anything goes to stdout.
    """
    check_columns(model, data)
    if out is not None and Path(out).suffix in (".parquet", ".feather", ".arrow"):
        raise TableError(f"{out}: predictions are written as CSV; name it .csv.")
    watch = _Watch(model)
    chunks = read_chunks(data, model.columns, text=_text_columns(model))
    with _sink(out) as write, contextlib.closing(chunks):
        write(HEADER)
        for frame in chunks:
            write(_lines(model, frame, watch))
            on_rows(watch.n_rows)
        on_end()
    for text in watch.warnings():
        warn(text)
    return watch.n_rows


def check_columns(model: TableModel, data: str | Path) -> None:
    """Raise where a table lacks a column of the model, with the name that was meant."""
    names = column_names(data)
    there, asked = set(names), {*model.columns, model.target}
    absent = [column for column in model.columns if column not in there]
    if absent:
        others = [name for name in names if name not in asked]
        more = f" (nor {len(absent) - 1} others)" if len(absent) > 1 else ""
        raise TableError(
            f"{data} has no column {shown(absent[0])}{more}, which the model reads"
            f"{guess(absent[0], others)}"
        )


def _text_columns(model: TableModel) -> list[str]:
    kinds = zip(model.columns, model.encoder.kinds_, strict=True)
    return [name for name, kind in kinds if kind in ("category", "identifier")]


def _lines(model: TableModel, frame: Any, watch: _Watch) -> str:
    """Return the lines of a chunk of rows."""
    with _faults_of_the_model():
        try:
            X = model.encoder.transform(frame)
        except ValueError as error:
            place = f" Rows are counted from row {watch.n_rows:,} of the file, here."
            raise TableError(f"{error}{place if watch.n_rows else ''}") from error
        watch.see(frame, X)
        lower, upper, kind = model.regressor.predict_interval(X, return_kind=True)
        watch.kinds.update(kind.tolist())
        rows = np.column_stack([model.regressor.predict(X), lower, upper]).tolist()
    return "".join(f"{p!r},{low!r},{high!r}\n" for p, low, high in rows)


@contextlib.contextmanager
def _faults_of_the_model() -> Iterator[None]:
    """Say of what a model file that is not as it should be raises what it is."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ModelFileError(
            f"the model cannot predict these rows ({type(error).__name__}: {error}); "
            "its file is damaged, or was written with other versions of missfit or "
            "scikit-learn. Write it again with missfit fit."
        ) from error


class _Watch:
    """Counts what is new in the rows to predict."""

    def __init__(self, model: TableModel):
        self.model = model
        self.n_rows = 0
        self.count = np.zeros(len(model.columns), dtype=np.int64)
        self.n_unseen = 0
        self.levels: dict[str, set[str]] = {}
        self.kinds: Counter[str] = Counter()  # what calibrated the intervals

    def see(self, frame: Any, X: NDArray[np.float64]) -> None:
        """Count the rows of a chunk."""
        mask = variable_mask(self.model.encoder, X)
        groups = group_rows(mask)
        keys = pattern_keys(groups.patterns).tolist()
        seen = self.model.missingness.keys
        unseen = np.array([key not in seen for key in keys], dtype=bool)
        self.n_rows += len(X)
        self.count += mask.sum(axis=0)
        self.n_unseen += int(groups.n_rows[unseen].sum())
        for name, levels in self.model.encoder.unknown_levels(frame).items():
            self.levels.setdefault(name, set()).update(levels)

    def warnings(self) -> Iterator[str]:
        """Yield what the user should know of these rows."""
        for name, levels in self.levels.items():
            some = ", ".join(shown(level) for level in sorted(levels)[:3])
            more = f" and {len(levels) - 3} more" if len(levels) > 3 else ""
            yield (
                f"column {shown(name)} has levels never seen at fit ({some}{more}), "
                "taken as missing: correct them, or fit again with rows that hold them"
            )
        yield from self._drift()
        yield from self._weak_intervals()

    def _weak_intervals(self) -> Iterator[str]:
        if self.kinds[TOO_FEW]:
            yield (
                f"the intervals of {self.kinds[TOO_FEW]:,} rows are infinite, since "
                "the model was fitted to too few rows (or groups) for its coverage: "
                "fit again with more of them, or with a lower --coverage"
            )
        if self.kinds[ALL] > LEAST_DRIFT * self.n_rows:
            yield (
                f"{self.kinds[ALL] / self.n_rows:.0%} of these rows have a combination "
                "of missing columns so rare at fit that their intervals hold only if "
                "which values are missing does not depend on the values: fit again "
                "with more rows like these"
            )

    def _drift(self) -> Iterator[str]:
        old = self.model.missingness
        if not self.n_rows:
            return
        for j, name in enumerate(self.model.columns):
            change = _change(old.count[j], old.n_rows, self.count[j], self.n_rows)
            if change:
                yield (
                    f"column {shown(name)} is missing in {change[1]:.0%} of these "
                    f"rows, in {change[0]:.0%} at fit: the missingness has drifted. "
                    "Find out why; if it stays, fit again with rows like these"
                )
        change = _change(old.n_single, old.n_rows, self.n_unseen, self.n_rows)
        if change and change[1] > change[0]:
            yield (
                f"{change[1]:.0%} of these rows have a combination of missing columns "
                f"never seen at fit ({change[0]:.0%} were to be expected)"
            )


def _change(old: int, n_old: int, new: int, n_new: int) -> tuple[float, float] | None:
    """Return both shares where they differ by more than chance and more than a little.

    >>> _change(100, 1000, 400, 1000), _change(100, 1000, 2, 3)
    ((0.1, 0.4), None)
    """
    p, q = old / n_old, new / n_new
    pooled = (old + new) / (n_old + n_new)
    error = np.sqrt(pooled * (1 - pooled) * (1 / n_old + 1 / n_new))
    if abs(p - q) < LEAST_DRIFT or abs(p - q) < CERTAIN * error:
        return None
    return float(p), float(q)


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
