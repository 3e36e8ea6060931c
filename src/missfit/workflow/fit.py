"""From a table to a model: the encoder, the predictor and its intervals."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from missfit.comparison.candidates import Candidate, choosing_forward
from missfit.comparison.class_task import task_of
from missfit.comparison.in_order import in_order
from missfit.comparison.offers import Offer, offer_of
from missfit.comparison.own import own_candidate, refuse_without_shares
from missfit.estimators import (
    ConformalClassifier,
    ConformalRegressor,
    TableEncoder,
)
from missfit.estimators.forward_split import ForwardSplit
from missfit.tables.problems import TableError
from missfit.tables.target import labelled
from missfit.tables.training import TrainingTable
from missfit.workflow.data import READING, read_options, refuse_unknown, training_table
from missfit.workflow.missingness import Missingness
from missfit.workflow.model_file import TableModel
from missfit.workflow.profile import Profile

KNOWN = {*READING, "coverage", "group", "time", "random_state"}


def fit_table(
    data: Any,
    target: Any = None,
    predictor: Any = None,
    *,
    coverage: float = 0.9,
    group: Any = None,
    time: Any = None,
    random_state: int = 0,
    **reading: Any,
) -> TableModel:
    """Fit an encoder, a predictor and the calibration of its intervals to a table.

    Parameters
    ----------
    data : str, Path, DataFrame, array-like of shape (n, d) or TrainingTable
        A file; a pandas or polars frame; an array of the features; or a table as
        `missfit.tables.training.read_training` returns it. Rows without a target are
        left out.
    target : str or array-like of shape (n,)
        The column to predict, or its values where ``data`` holds the features alone.
        Text, truth values and few whole numbers are classes; ``task="number"`` or
        ``task="class"`` decides otherwise.
    predictor : str or estimator, optional
        The name of a predictor, such as the ``recommended`` one of `missfit.compare`,
        or an estimator of your own. The default is AutoRegressor, or
        AutoClassifier for classes.
    coverage : float
        The share of new rows that the prediction intervals, or sets of classes, should
        cover.
    group : str or array-like of shape (n,), optional
        The column that names the group of each row, or these names. All rows of a group
        are either fitted or calibrate the intervals.
    time : str or array-like of shape (n,), optional
        The column that holds the time of each row, dates or numbers, or these times.
        Rows then calibrate that were predicted from the rows before them, and the
        predictor is fitted to all rows. The time itself is not used to predict.
    random_state : int
        The seed of the predictor and of the rows that calibrate.
    **reading
        How the columns are to be read: ``categorical`` and ``drop`` are lists of
        columns; see `missfit.tables.options.ReadOptions` for the others.

    Returns
    -------
    TableModel
        It has ``predict``, ``predict_interval`` for numbers or ``predict_proba`` and
        ``predict_set`` for classes, ``explain`` and ``save``.

    Examples
    --------
    >>> import missfit
    >>> X, y = missfit.simulate.published("mixture1", 4).sample(300, random_state=0)
    >>> model = fit_table(X, y, "EMLR")
    >>> model.predict(X[:2]).shape
    (2,)
    """
    refuse_unknown(reading, KNOWN, "fit_table")
    options = read_options(reading)
    if not 0 < coverage < 1:
        raise TableError(f"a coverage of {coverage:g} is not between 0 and 1.")
    table = training_table(data, target, options, group=group, time=time)
    has_time = table.time is not None
    chosen = _candidate(predictor, offer_of(table.classes))
    chosen = choosing_forward(chosen) if has_time else in_order(table, chosen)
    named = [name for name in options.categorical if name in table.X.columns]
    encoder = TableEncoder(categorical=named, reading=table.reading)
    X = encoder.fit_transform(table.X)
    is_class = table.classes is not None
    conformal: Any = ConformalClassifier if is_class else ConformalRegressor
    regressor = conformal(
        chosen.make(random_state),
        alpha=1 - coverage,
        cv=ForwardSplit() if has_time else None,
        random_state=random_state,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        regressor.fit(
            X, _labels(table), groups=table.time if has_time else table.groups
        )
    missingness = Missingness.of(encoder.mask(X))
    profile = Profile.of(X, encoder)
    return TableModel(
        encoder, regressor, chosen.name, table.target, missingness, profile
    )


def _labels(table: TrainingTable) -> NDArray:
    """Return the targets: numbers, or the labels of classes.

    Numbers with a fraction become text: scikit-learn takes them for no classes.
    """
    if table.classes is None:
        return table.y
    labels = labelled(table.y.astype(np.intp), table.classes)
    if labels.dtype.kind == "f" and (labels % 1 != 0).any():
        return np.array([str(label) for label in labels.tolist()])
    return labels


def _candidate(predictor: Any, offer: Offer) -> Candidate:
    """Return the candidate of a name, or one for an estimator of the user."""
    if predictor is None or isinstance(predictor, str):
        return offer.candidate(predictor or offer.default)
    own = own_candidate(type(predictor).__name__, predictor)
    if offer.gives_shares:
        refuse_without_shares([own])
    return own


def held_out_score(model: TableModel) -> dict[str, float | None]:
    """Return the scores on the rows that calibrate, by a model not fitted to them.

    These are R2, RMSE and MAE of a number, and log-loss, AUC, Brier score and accuracy
    of a class.
    """
    classes = None if model.classes is None else tuple(model.classes.tolist())
    fitted = model.regressor
    y = np.asarray(fitted.calibration_targets_, dtype=np.float64)
    return task_of(classes).record(y, fitted.calibration_predictions_)


def held_out_r2(model: TableModel) -> float:
    """Return R2 on the rows that calibrate, predicted by a model not fitted to them."""
    r2 = held_out_score(model)["r2"]
    return float("nan") if r2 is None else r2
