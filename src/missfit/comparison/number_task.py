"""The task of predicting a number: squared errors, R2, RMSE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.auto.heldout import Gain, paired_gain
from missfit.comparison.task import ScoreColumn, Task, Words


class Score(NamedTuple):
    """The scores of a trial.

    Attributes
    ----------
    r2, low, high : float
        R2 and the ends of its 95 % interval.
    behind, behind_low, behind_high, behind_error : float
        How far R2 is below that of the best trial, the ends of the 95 % interval of
        this difference, and its standard error.
    rmse, mae : float
        Root mean squared error and mean absolute error.
    """

    r2: float
    low: float
    high: float
    behind: float
    behind_low: float
    behind_high: float
    behind_error: float
    rmse: float
    mae: float

    @property
    def value(self) -> float:
        """Return the score that candidates are ranked by."""
        return self.r2


@dataclass(frozen=True)
class NumberTask(Task):
    """The target is a number, and the loss is the squared error."""

    words = Words(
        score="R2",
        the_score="R2",
        worsens="falls",
        worsening="fall of R2",
        improved="rose",
        error="RMSE",
        whole_error="Root mean squared error",
        risk="mean squared error",
        loss="squared error",
    )
    columns = (
        ScoreColumn("R2", "r2", ".4f"),
        ScoreColumn("RMSE", "rmse", "number"),
        ScoreColumn("MAE", "mae", "number"),
    )
    higher_is_better = True

    def nothing(self, n: int) -> NDArray[np.float64]:
        """Return NaN for each row."""
        return np.full(n, np.nan)

    def fit_target(self, y: NDArray) -> NDArray:
        """Return the numbers."""
        return y

    def predict(self, model: Any, X: NDArray) -> NDArray[np.float64]:
        """Return a number for each row."""
        return model.predict(X)

    def loss(self, y: NDArray, guess: NDArray) -> NDArray[np.float64]:
        """Return the squared errors."""
        return (guess - y) ** 2

    def unit(self, y: NDArray) -> float:
        """Return the variance of the target."""
        return float(y.var())

    def _spread(self, weight: NDArray, y: NDArray) -> NDArray[np.float64]:
        y = y - y.mean()  # or squares of a large mean swallow the variance
        mean = weight @ y / weight.sum(axis=1)
        return weight @ y**2 - weight.sum(axis=1) * mean**2

    def scores_of_draws(self, weight, y, losses) -> NDArray[np.float64]:
        """Return R2 of each trial by each draw."""
        return 1 - (weight @ losses.T) / self._spread(weight, y)[:, None]

    def score_with_error(self, y: NDArray, loss: NDArray, units) -> Gain:
        """Return R2 = 1 - sum loss / sum spread, and its standard error.

        It is that of the mean of loss - (1 - R2) spread, over the mean spread.
        """
        spread, flat = (y - y.mean()) ** 2, np.ones(len(y))
        unit = float(spread.mean())
        r2 = paired_gain(spread, loss, flat, units).over(unit).value
        error = paired_gain((1 - r2) * spread, loss, flat, units).over(unit)
        return Gain(r2, error.standard_error)

    def usable(self, weight: NDArray, y: NDArray) -> NDArray[np.bool_]:
        """Return which draws have two different targets: others have no R2."""
        spread = self._spread(weight, y)
        return spread > 1e-12 * spread.max()

    def score(self, values, y, guess, units) -> Score:
        """Return R2 and the typical errors."""
        del units
        error = guess - y
        rmse, mae = float(np.sqrt((error**2).mean())), float(abs(error).mean())
        return Score._make([*values, rmse, mae])

    def record(self, y: NDArray, guess: NDArray) -> dict[str, float | None]:
        """Return R2, RMSE and MAE of a fold."""
        error, spread = guess - y, ((y - y.mean()) ** 2).sum()
        return {
            "r2": float(1 - (error**2).sum() / spread) if spread else None,
            "rmse": float(np.sqrt((error**2).mean())),
            "mae": float(abs(error).mean()),
        }

    def typical(self, mean: float, error: float = 0.0) -> tuple[float, float]:
        """Return the root of a mean squared error, and its error (delta method)."""
        root = float(np.sqrt(mean))
        return root, error / (2 * root or 1.0)

    def distance(self, truth: NDArray, guess: NDArray) -> NDArray[np.float64]:
        """Return the squared distance to the Bayes predictor."""
        return (guess - truth) ** 2

    def evidence(self, y: NDArray) -> NDArray[np.float64]:
        """Return the target."""
        return y

    def evidence_name(self, y: NDArray, target: str) -> str:
        """Return the name of the target."""
        return target


NUMBER = NumberTask()
