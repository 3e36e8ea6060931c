"""Whether a model that was read from a file is one that could have been written."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.estimators import (
    ConformalClassifier,
    ConformalRegressor,
    TableEncoder,
)
from missfit.tables.reading import Reading
from missfit.workflow.archive import RefusedError

FORMAT = "missfit model"
VERSION = 5
READ = (4, 5)  # a file of version 4 has no profile of its table
TRIAL_ROWS = 8  # predicted at load, so that a model that cannot predict is refused


def check_version(header: dict[str, Any]) -> None:
    """Raise where the header is not that of a model file of a version known here."""
    if header.get("format") != FORMAT:
        raise RefusedError(f"its format is {str(header.get('format'))[:80]!r}")
    version = header.get("version")
    if type(version) is not int or version not in READ:
        raise RefusedError(
            f"it has format version {str(version)[:20]}, written by missfit "
            f"{str(header.get('missfit'))[:20]}, and this missfit reads version "
            f"{' or '.join(map(str, READ))} (upgrade missfit to read a newer one)"
        )


def checked_reading(encoder: TableEncoder, plain: Any) -> Reading:
    """Return the reading of a header, which must be that of the encoder's columns."""
    reading = Reading.from_json(plain)
    kinds = [one.kind for one in reading.columns]
    if reading.names != [str(name) for name in encoder.feature_names_in_]:
        raise RefusedError("its reading is of other columns than its encoder")
    if kinds != encoder.kinds_:
        raise RefusedError("its reading and its encoder disagree on what columns hold")
    return reading


def check_counts(model: Any) -> None:
    """Raise where the counts of the fit contradict each other."""
    seen, encoder = model.missingness, model.encoder
    if not 0 <= seen.n_single <= seen.n_rows or seen.n_rows < 1:
        raise RefusedError(f"{seen.n_single} patterns of one row in {seen.n_rows} rows")
    if seen.count.min() < 0 or seen.count.max() > seen.n_rows:
        raise RefusedError(f"a column is missing in {seen.count.max()} rows of fewer")
    n_columns = [max(1, len(levels) - 1) for levels in encoder.categories_]
    expected = np.repeat(np.arange(len(model.columns)), n_columns)
    if not np.array_equal(encoder.variables_, expected):
        raise RefusedError("the columns of its encoder are not those of its levels")
    if model.regressor.n_features_in_ != len(expected):
        raise RefusedError("its encoder and its predictor disagree on the columns")


def check_predictions(model: Any) -> None:
    """Raise where rows that the model knows are not predicted as they should be.

    Parameters
    ----------
    model : ConformalRegressor or ConformalClassifier
    """
    rows = model.calibration_rows_[:TRIAL_ROWS]
    X = np.concatenate([rows, np.full((1, model.n_features_in_), np.nan)])
    with np.errstate(all="ignore"):  # what comes out is checked
        if isinstance(model, ConformalClassifier):
            _check_sets(model, X)
        else:
            _check_intervals(model, X)


def _check_intervals(model: ConformalRegressor, X: NDArray[np.float64]) -> None:
    prediction = model.predict(X)
    lower, upper = model.predict_interval(X)
    if prediction.shape != (len(X),) or not np.isfinite(prediction).all():
        raise RefusedError(
            "its predictions of rows that it was fitted to are no numbers"
        )
    if not ((lower <= prediction) & (prediction <= upper)).all():
        raise RefusedError("its intervals do not hold its predictions")


def _check_sets(model: ConformalClassifier, X: NDArray[np.float64]) -> None:
    shares, n_classes = model.predict_proba(X), len(model.classes_)
    if n_classes < 2 or len(np.unique(model.classes_)) != n_classes:
        raise RefusedError("its classes are not two or more different ones")
    sums = shares.sum(axis=1)
    if not (shares >= 0).all() or not np.allclose(sums, 1, rtol=0, atol=1e-6):
        raise RefusedError("its probabilities do not sum to one")
    if not np.isin(model.predict(X), model.classes_).all():
        raise RefusedError("it predicts classes that it does not have")
    if model.predict_set(X).shape != (len(X), n_classes):
        raise RefusedError("its sets are not of its classes")
