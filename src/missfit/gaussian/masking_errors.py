"""Standard errors of masking curves, from the scores of the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from missfit.gaussian.probit import inverse_mills
from missfit.gaussian.self_masking import (
    RowBlock,
    RowData,
    SelfMaskedLaw,
    missing_factor,
    row_law,
)

# Products of scores, beyond which the information is that of some rows: a bound on the
# time, not on the error.
MOST_WORK = 4e10


def curve_covariance(
    data: RowData, law: SelfMaskedLaw, free: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the covariance of the estimated (bias, slope) of each feature, (d, 2, 2).

    From the information sum_i s_i s_i' of all parameters, whose scores are, by Fisher's
    identity, those of the completed rows: E[z], E[z z'] and the derivatives of log Z.
    NaN where a curve is not free or the rows are too few for the information to have
    full rank.
    """
    n_free = int(free.sum())
    out = np.full((data.d, 2, 2), np.nan)
    upper = np.triu_indices(data.n_columns)
    n_parameters = data.n_columns + len(upper[0]) + 2 * n_free
    step = max(1, int(data.n_rows * n_parameters**2 / MOST_WORK))
    some = [block.every(step) for block in data.blocks]
    weight = sum(block.weight.sum() for block in some)
    if weight < 2 * n_parameters or not n_free:
        return out
    precision = np.linalg.inv(law.cov)
    information = np.zeros((n_parameters, n_parameters))
    for block in some:
        scores = np.hstack(_row_scores(block, law, precision, upper, free))
        information += (block.weight[:, None] * scores).T @ scores
    information *= data.n_rows / weight
    scale = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
    inverse = np.linalg.pinv(information / scale / scale[:, None], 1e-12, True)
    inverse /= scale * scale[:, None]
    curves = inverse[-2 * n_free :, -2 * n_free :].reshape(2, n_free, 2, n_free)
    out[free] = np.einsum("iaja->aij", curves)
    return out


def _row_scores(block: RowBlock, law: SelfMaskedLaw, precision, upper, free):
    """Score of each row for the mean, the covariance, the biases and the slopes."""
    k, d = len(law.mean), len(law.bias)
    of_row = row_law(block, law.mean, precision)
    filled, cov = of_row
    square = filled[:, upper[0]] * filled[:, upper[1]] - law.cov[upper]
    by_bias, by_slope = _observed_scores(block, law, d)
    mis = block.missing
    if mis.shape[1]:
        whole = np.zeros((len(mis), k, k))
        rows = np.arange(len(mis))[:, None, None]
        whole[rows, mis[:, :, None], mis[:, None, :]] = cov
        square += whole[:, upper[0], upper[1]]
        of, of_bias, of_slope = missing_factor(block, law, of_row)
        np.put_along_axis(by_bias, mis, of.rho * of_bias, axis=1)
        np.put_along_axis(by_slope, mis, of.rho * of_slope, axis=1)
    return filled, square, by_bias[:, free], by_slope[:, free]


def _observed_scores(block: RowBlock, law: SelfMaskedLaw, d: int):
    """Differentiate log Phi(-(bias + slope x)) at observed values; 0 at missing."""
    x = block.points[:, :d]
    by_bias = -block.observed[:, :d] * inverse_mills(-(law.bias + law.slope * x))
    return by_bias, by_bias * x
