"""Where the fit of SelfMaskedLR starts: plain EM and flat curves, or a fit nearby."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from missfit.estimators.emlr import FLOOR, penalised_fit
from missfit.gaussian.em import PenalisedGaussian
from missfit.gaussian.few_rows import rows_are_few
from missfit.gaussian.pattern_chunks import GaussianData
from missfit.gaussian.self_masking import (
    RowData,
    SelfMaskedLaw,
    fit_self_masked,
    with_complete_rows,
)
from missfit.moments.pattern_moments import PatternMoments

START_ROWS = 10_000  # rows of a first fit, where there are twice as many and more
START_TOL = 1e-3  # of plain EM and of this first fit
CURVE_ROWS = 10  # observed values that a masking curve is learned from, at least


class MaskedTable:
    """A table of rows in standard units, and which of its masking curves are learned.

    Attributes
    ----------
    free : bool ndarray of shape (d,)
        The features whose curve is learned: missing in some rows, and seen in at least
        `CURVE_ROWS`. With 2 of 5,000 values observed, slopes of 28 and an R2 of -89
        came out.
    flat : ndarray of shape (d,)
        The bias of a flat curve, by the share of the rows that miss a feature.
    """

    def __init__(self, moments: PatternMoments, data: GaussianData, points, weight):
        self.moments, self.data = moments, data
        self.points, self.weight = points, weight
        self.d = moments.n_features
        rate = weight @ self.mask / weight.sum()
        masked = (rate > 0) & (rate < 1)
        self.flat = np.where(masked, special.ndtri(np.where(masked, rate, 0.5)), 0.0)
        self.free = masked & (weight @ ~self.mask >= CURVE_ROWS)

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """True where a feature is missing."""
        return np.isnan(self.points[:, : self.d])

    def some(self) -> tuple[GaussianData, PatternMoments, slice]:
        """Return some of the rows where there are many, in the same units, or all."""
        if len(self.points) < 2 * START_ROWS:
            return self.data, self.moments, slice(None)
        some = slice(None, None, len(self.points) // START_ROWS)
        Z, d = self.points[some], self.d
        moments = PatternMoments.from_data(Z[:, :d], Z[:, d:], self.weight[some])
        shift, scale = self.data.shift, self.data.scale
        standard = replace(
            self.data.scales, mean=np.zeros_like(shift), std=np.ones_like(scale)
        )
        return GaussianData(moments, standard), moments, some


def start_of_fit(
    table: MaskedTable, max_iter: int, near: Callable | None
) -> tuple[SelfMaskedLaw, PenalisedGaussian]:
    """Return the law to start from, and the model of the M step.

    ``near`` returns a law nearby in the units of a shift and a scale. With few rows for
    each feature it is not asked: plain EM has strengths to find first.
    """
    model = None
    if not rows_are_few(table.data, table.d):
        model = PenalisedGaussian.of_data(table.data, table.d, FLOOR)
    if near is not None and model is not None:
        return _with_curves(near(table.data.shift, table.data.scale), table), model
    data, moments, some = table.some()
    held = penalised_fit(moments, data, tol=START_TOL, max_iter=max_iter)
    model = model or held.model
    full = ~table.mask.any(axis=1)
    rows = table.points[full], table.weight[full]
    mean, cov = with_complete_rows(held.fit[:2], *rows, table.d, FLOOR)
    law = SelfMaskedLaw(mean, cov, table.flat, np.zeros(table.d))
    if some != slice(None):
        part = RowData(table.points[some], table.weight[some], table.d)
        steps = {"max_iter": max_iter, "tol": START_TOL}
        law = fit_self_masked(part, law, model, table.free, **steps).law
    return law, model


def _with_curves(law: SelfMaskedLaw, table: MaskedTable) -> SelfMaskedLaw:
    """Return a law with flat curves where there is none, or none to learn."""
    known = table.free & np.isfinite(law.bias)
    return law._replace(
        bias=np.where(known, law.bias, table.flat),
        slope=np.where(known, law.slope, 0.0),
    )
