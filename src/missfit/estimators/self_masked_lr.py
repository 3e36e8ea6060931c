"""SelfMaskedLR: Gaussian X, each feature missing by its own value, all learned."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from missfit.estimators.base import NanRegressor
from missfit.estimators.conditional_imputed_lr import ConditionalImputedLR
from missfit.estimators.emlr import EMLR
from missfit.estimators.least import check_least
from missfit.estimators.masking_plot import draw_curves
from missfit.estimators.self_masked_start import START_TOL, MaskedTable, start_of_fit
from missfit.gaussian.conditional import ScaledGaussian
from missfit.gaussian.covariances import regression_slopes, set_apart
from missfit.gaussian.expected_features import (
    ExpectedFeatures,
    expected_given_mask,
    spread_features,
)
from missfit.gaussian.masking_errors import curve_covariance
from missfit.gaussian.pattern_chunks import GaussianData
from missfit.gaussian.probit import (
    alike_rows,
    missing_given_mask,
    probit_posterior,
)
from missfit.gaussian.self_masking import (
    RowData,
    SelfMaskedFit,
    SelfMaskedLaw,
)
from missfit.gaussian.self_masking_by_part import fit_by_part
from missfit.moments.blocks import each_block
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.rows import row_counts
from missfit.tables.chunks import comes_in_chunks

LEVEL = 0.01  # chance to claim self-masking where there is none
# A scout need not be exact: times tol, and at most so many steps. Of 100 on two real
# tables, where EM does not converge, the gain after 25 has the same sign and size.
SCOUT_TOL = 5.0
SCOUT_ITER = 25
# Seconds of a row and step on one core, by the square and the cube of the features it
# misses, and steps, to tell what a fit is going to cost: very roughly.
SQUARE_SECONDS, CUBE_SECONDS, STEPS = 3e-8, 2e-10, 15
# Of predictions, in prior standard deviations: 1e-8 takes 0 to 17 % less time, and an
# exported model then differs by 5e-10.
EP_TOL = 1e-10


class SelfMaskedLR(NanRegressor):
    """Gaussian (X, y); feature j is missing with probability Phi(a_j + c_j X_j).

    Self-masking is not ignorable: what is missing tends to be large (c_j > 0) or small
    (c_j < 0). All parameters are learned, by expectation propagation inside EM. The
    prediction is b0 + b_obs'x_obs + b_mis'E[X_mis | x_obs, mask], with the expectation
    under a Gaussian times one probit factor for each missing feature.

    Parameters
    ----------
    max_iter : int
        Most EM steps.
    tol : float
        Stops once a step moves no parameter, in standard units, by more than this
        times 1 / sqrt(n), the standard error of a mean.

    Attributes
    ----------
    masking_bias_, masking_slope_ : ndarray of shape (d,)
        a and c of each feature's masking curve; a is -inf for a feature that is never
        missing at fit and inf for one that always is, c is 0 there.
    masking_bias_error_, masking_slope_error_ : ndarray of shape (d,)
        Their standard errors, NaN where there is no curve or too few rows to tell.
    masking_z_ : ndarray of shape (d,)
        ``masking_slope_ / masking_slope_error_``.
    self_masked_features_ : bool ndarray of shape (d,)
        The features whose slope differs from 0 at the level 0.01, divided by the number
        of curves. Values missing at random *given other features* can look the same:
        compare predictions on held-out rows with those of EMLR.
    self_masked_ : bool
        Whether there is any.
    mean_, covariance_ : ndarray of shape (d + t,) and (d + t, d + t)
        Of (X, y) before masking.
    coef_, intercept_
        Regression of y on complete X.
    n_iter_ : int
        EM steps on all rows.

    Notes
    -----
    Expectation propagation is row by row: there is no `fit_moments`. A feature missing
    only at predict, or with fewer than 10 observed values, is taken as missing at
    random, one without two values, or hardly ever observed (see `EMLR`), is ignored.
    Without missing values it is EMLR. No curve is steeper than one that rises from 16
    to 84 % within a third of a standard deviation: a threshold is taken as such a one.

    Examples
    --------
    >>> import numpy as np
    >>> from missfit.simulate import published
    >>> X, y = published("selfmasked", 4).sample(4000, random_state=0)
    >>> model = SelfMaskedLR().fit(X, y)
    >>> model.self_masked_, bool(abs(model.masking_slope_ - 0.5).max() < 0.15)
    (True, True)
    """

    is_linear = True
    has_law = True
    takes_near = True
    n_features_in_: int
    _y_ndim_: int

    def __init__(self, *, max_iter: int = 100, tol: float = 0.02):
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, near: Any = None
    ) -> Self:
        """Fit to rows, forgetting any fit before.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The features, NaN where missing.
        y : array-like of shape (n,) or (n, t)
            The target, or several.
        sample_weight : array-like of shape (n,), optional
            A weight of 2 equals repeating the row; see `missfit.EMLR.fit`.
        near : SelfMaskedLR, optional
            One fitted to similar rows, such as those of another fold: EM goes on from
            where it ended.
        """
        trial = self._trial()
        X, y = trial._check_fit(X, y)
        trial._check_parameters()
        trial._y_ndim_ = y.ndim
        if not trial._fit_rows(X, y, sample_weight, near).converged:
            warnings.warn(
                f"EM has not converged in max_iter={self.max_iter} steps. Predictions "
                "are often good long before; raise max_iter or tol to be sure.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self._become(trial)

    def _check_parameters(self) -> None:
        check_least(self, max_iter=1, tol=0)

    def _fit_rows(self, X, y, sample_weight, near) -> SelfMaskedFit:
        self._used_ = ~np.isnan(X).all(axis=0)
        if not self._used_.any():
            self._used_[0] = True  # nothing is known: the mean of y remains
        X, Y = X[:, self._used_], y.reshape(len(y), -1)
        weight = np.ones(len(X))
        if sample_weight is not None:
            weight = row_counts(sample_weight, len(X))
        moments = PatternMoments.from_data(X, Y, weight)
        data = GaussianData(moments)
        rows = np.flatnonzero(weight)
        points = (np.hstack([X, Y])[rows] - data.shift) / data.scale
        d = X.shape[1]
        table = MaskedTable(moments, data, points, weight[rows])
        nearby = None if near is None else partial(near.masked_law, self._used_)
        law, model = start_of_fit(table, self.max_iter, nearby)
        free = table.free
        every = RowData(points, weight[rows], d)
        tol = self.tol / np.sqrt(every.n_rows)
        fit = fit_by_part(every, law, model, free, max_iter=self.max_iter, tol=tol)
        self.n_iter_ = fit.n_iter
        self._keep_law(fit.law, data, d)
        masked = np.isnan(points[:, :d]).any(axis=0)
        curves = curve_covariance(every, fit.law, free)
        self._keep_curves(fit.law, curves, free, masked)
        return fit

    def _keep_law(self, law: SelfMaskedLaw, data: GaussianData, d: int) -> None:
        shift, scale, used = data.shift, data.scale, np.flatnonzero(self._used_)
        slopes = regression_slopes(law.cov[:d, :d], law.cov[:d, d:])
        residual = np.diag(law.cov[d:, d:] - slopes.T @ law.cov[:d, d:])
        # a constant target is known; in standard units the floor would say otherwise
        left = np.where(data.varies[d:], np.maximum(residual, 0.0), 0.0)
        self._residual_variance_ = left * scale[d:] ** 2
        # complete data never needed an inverse, a row to predict may
        lack = max(0.0, 1e-12 - np.linalg.eigvalsh(law.cov[:d, :d])[0])
        self._standard_ = ScaledGaussian(
            shift[:d], scale[:d], law.mean[:d], law.cov[:d, :d] + lack * np.eye(d)
        )
        self._curves_ = law.bias, law.slope
        n_features, n_targets = self.n_features_in_, len(scale) - d
        columns = np.append(used, n_features + np.arange(n_targets))
        self.mean_ = np.zeros(n_features + n_targets)
        self.mean_[columns] = shift + scale * law.mean
        self.covariance_ = np.zeros((n_features + n_targets,) * 2)
        self.covariance_[np.ix_(columns, columns)] = law.cov * scale * scale[:, None]
        coef = np.zeros((n_targets, n_features))
        coef[:, used] = slopes.T * scale[d:, None] / scale[:d]
        intercept = self.mean_[n_features:] - coef @ self.mean_[:n_features]
        one = self._y_ndim_ == 1
        self.coef_ = coef[0] if one else coef
        self.intercept_ = float(intercept[0]) if one else intercept

    def masked_law(self, used: NDArray[np.bool_], shift, scale) -> SelfMaskedLaw:
        """Return what was learned of some features, in units of a shift and a scale."""
        n_targets = len(self.mean_) - self.n_features_in_
        columns = np.flatnonzero(np.append(used, np.ones(n_targets, dtype=bool)))
        d = int(used.sum())
        slope = self.masking_slope_[used]
        bias = self.masking_bias_[used] + slope * shift[:d]
        cov = self.covariance_[np.ix_(columns, columns)] / scale / scale[:, None]
        mean = (self.mean_[columns] - shift) / scale
        unknown = np.flatnonzero(~self._used_[used])
        set_apart(cov, unknown)
        mean[unknown] = 0.0
        return SelfMaskedLaw(mean, cov, bias, slope * scale[:d])

    def _keep_curves(self, law: SelfMaskedLaw, cov, free, masked) -> None:
        """Write the curves in the units of the data, and test their slopes."""
        shift, scale, *_ = self._standard_
        slope = law.slope / scale
        bias = np.where(masked, law.bias - slope * shift, -np.inf)
        # bias - slope shift / scale, of which cov is that of (bias, slope)
        along = np.stack([np.ones_like(shift), -shift / scale], axis=1)
        spread = np.einsum("di,dij,dj->d", along, cov, along)
        error = np.sqrt(np.maximum(spread, 0.0))
        self.masking_bias_ = self._of_all_features(bias, np.inf)
        self.masking_bias_error_ = self._of_all_features(error, np.nan)
        self.masking_slope_ = self._of_all_features(slope, 0.0)
        error = np.sqrt(cov[:, 1, 1]) / scale
        self.masking_slope_error_ = self._of_all_features(error, np.nan)
        with np.errstate(invalid="ignore"):
            self.masking_z_ = self.masking_slope_ / self.masking_slope_error_
        level = LEVEL / max(1, int(free.sum()))
        bound = -special.ndtri(level / 2)
        self.self_masked_features_ = np.nan_to_num(np.abs(self.masking_z_)) > bound
        self.self_masked_ = bool(self.self_masked_features_.any())

    def _of_all_features(self, values, otherwise: float) -> NDArray[np.float64]:
        whole = np.full(self.n_features_in_, otherwise)
        whole[self._used_] = values
        return whole

    def seconds_of_fit(self, moments: PatternMoments) -> float:
        """Return how long the steps take on one core, roughly: the rows one by one."""
        u = moments.patterns.sum(axis=1).astype(float)
        of_row = SQUARE_SECONDS * u**2 + CUBE_SECONDS * u**3
        return STEPS * float(moments.count @ of_row)

    def hinted_by(self) -> ConditionalImputedLR:
        """Return the regression that knows what is missing, as this one must gain by.

        Where that one is behind EMLR by a standard error, as in 3 of 10 tables of eight
        laws, this one adds nothing (100 rows, ten draws, benchmarks/robustness.py).
        """
        return ConditionalImputedLR()

    def scout(self) -> SelfMaskedLR:
        """Return a rougher fit; it costs by the row, so that some rows are enough."""
        rough: Any = clone(self)
        most = min(self.max_iter, SCOUT_ITER)
        return rough.set_params(tol=SCOUT_TOL * self.tol, max_iter=most)

    def scout_rival(self) -> EMLR:
        """Return plain EM, as little converged as where the scout starts."""
        return EMLR(tol=START_TOL)

    def self_masking_found(self) -> bool:
        """Whether the slope of a masking curve differs from 0, as ``self_masked_``."""
        return self.self_masked_

    def why_not(self) -> str:
        """Without a sign of self-masking it is EMLR with more to learn."""
        return "" if self.self_masked_ else "no sign of self-masking"

    def expected_features(self, X: NDArray[np.float64]) -> list[ExpectedFeatures]:
        """Return E[X] and Cov(X) given x_obs and the mask, in standard units."""
        used = np.flatnonzero(self._used_)
        found = expected_given_mask(self._standard_, *self._curves_, X[:, used])
        return [spread_features(found, used, X.shape[1])]

    def risk_drops(self, X: Any) -> NDArray[np.float64]:
        """Return the drop in the risk if each feature were always measured.

        The mean over the rows of (C b)_j^2 / C_jj where feature j is missing, with C
        the covariance of the missing features given the observed ones and the mask and
        b their slopes: what knowing X_j too would explain. One target.
        """
        X = self._check_predict(X)[:, self._used_]
        shift, scale, mean, cov = self._standard_
        slopes = np.ravel(self.coef_)[self._used_] * scale
        drops = np.zeros(len(slopes))
        Z = (X - shift) / scale
        for part in missing_given_mask(Z, mean, cov, *self._curves_):
            C = probit_posterior(
                part.mean, part.cov, part.bias, part.slope, tol=EP_TOL
            ).cov
            known = (C @ slopes[part.missing][:, :, None])[:, :, 0] ** 2
            spread = np.diagonal(C, axis1=1, axis2=2)
            drop = np.divide(known, spread, out=np.zeros_like(known), where=spread > 0)
            np.add.at(drops, part.missing, drop)
        return self._of_all_features(drops / len(X), 0.0)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict rows, NaN where missing.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        return_std : bool
            Also return the standard deviation of y given what is observed and what is
            not, sqrt(s2 + b_mis' Var(X_mis | x_obs, mask) b_mis).
        """
        if comes_in_chunks(X):
            return self._predict_chunks(X, return_std=return_std)
        X = self._check_predict(X)[:, self._used_]
        coef = np.atleast_2d(self.coef_)[:, self._used_]
        mean = np.empty((len(X), len(coef)))
        variance = np.empty((len(X), len(coef)))

        def predict_block(rows: NDArray[np.intp]) -> None:
            mean[rows], variance[rows] = self._block_moments(X[rows], coef)

        each_block(predict_block, alike_rows(X))
        self._finite(mean)
        if return_std:
            return self._shaped(mean), self._shaped(np.sqrt(variance))
        return self._shaped(mean)

    def _block_moments(self, X: NDArray[np.float64], coef: NDArray[np.float64]):
        """Mean and variance of y for each row, by expectation propagation."""
        shift, scale, mean, cov = self._standard_
        Z = (X - shift) / scale
        slopes = coef * scale
        filled = np.where(np.isnan(Z), 0.0, Z)
        variance = np.tile(self._residual_variance_, (len(X), 1))
        for part in missing_given_mask(Z, mean, cov, *self._curves_):
            posterior = probit_posterior(
                part.mean, part.cov, part.bias, part.slope, tol=EP_TOL
            )
            filled[part.rows[:, None], part.missing] = posterior.mean
            b = slopes.T[part.missing]  # (n, u, t)
            inner = np.einsum("nit,nij,njt->nt", b, posterior.cov, b, optimize=True)
            variance[part.rows] += np.maximum(inner, 0.0)
        intercept = np.atleast_1d(self.intercept_) + coef @ shift
        return intercept + filled @ slopes.T, variance

    def _shaped(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Drop the target axis where y had none."""
        return values[:, 0] if self._y_ndim_ == 1 else values

    def masking_probability(self, X: Any) -> NDArray[np.float64]:
        """Probability that each value is missing, Phi(a_j + c_j x_j); NaN stays NaN.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Values of the features.
        """
        X = self._check_predict(X)
        with np.errstate(invalid="ignore"):
            return special.ndtr(self.masking_bias_ + self.masking_slope_ * X)

    def plot_masking(self, ax: Any = None) -> Any:
        """Draw the masking curves, over two standard deviations of each feature.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        check_is_fitted(self)
        n_features = self.n_features_in_
        law = self.mean_[:n_features], np.sqrt(np.diag(self.covariance_))[:n_features]
        curves = self.masking_bias_, self.masking_slope_
        names = self._feature_names()
        return draw_curves(*law, curves, self.self_masked_features_, names, ax)
