"""From a table to a model: the encoder, the predictor and its intervals."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from sklearn.exceptions import ConvergenceWarning

from missfit.comparison.candidates import DEFAULT, candidate
from missfit.estimators import ConformalRegressor, TableEncoder
from missfit.tables.problems import TableError
from missfit.tables.training import TrainingTable
from missfit.workflow.model_file import Missingness, TableModel, variable_mask


def fit_table(
    table: TrainingTable,
    *,
    predictor: str = DEFAULT,
    categorical: Sequence[str] = (),
    coverage: float = 0.9,
    seed: int = 0,
) -> TableModel:
    """Fit an encoder, a predictor and the calibration of its intervals to a table.

    Parameters
    ----------
    table : TrainingTable
        Where it has groups, all rows of a group are either fitted or calibrate.
    predictor : str
        The name of a candidate, see `missfit.comparison.candidates`.
    categorical : sequence of str
        Columns whose values are categories, whatever they look like.
    coverage : float
        The share of the rows that the intervals should cover.
    seed : int
        The seed of the predictor and of the rows that calibrate.
    """
    if not 0 < coverage < 1:
        raise TableError(f"a coverage of {coverage:g} is not between 0 and 1.")
    base = candidate(predictor).make(seed)
    named = [name for name in categorical if name in table.X.columns]
    encoder = TableEncoder(categorical=named, reading=table.reading)
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


def held_out_r2(model: TableModel) -> float:
    """Return R2 on the rows that calibrate, predicted by a model not fitted to them."""
    regressor = model.regressor
    y = regressor.calibration_targets_
    error = y - regressor.calibration_predictions_
    spread = ((y - y.mean()) ** 2).sum()
    return float(1 - (error**2).sum() / spread) if spread > 0 else float("nan")
