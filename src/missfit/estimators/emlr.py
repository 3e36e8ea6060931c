"""EMLR: a joint Gaussian of (X, y) by EM, and its conditional expectation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from missfit.estimators.heard import is_heard
from missfit.estimators.least import check_least
from missfit.estimators.map_memory import remembered_maps
from missfit.estimators.moment_splits import Split
from missfit.estimators.pattern_predictor import PatternPredictor
from missfit.gaussian.conditional import ScaledGaussian, regression_maps
from missfit.gaussian.covariances import regression_slopes
from missfit.gaussian.em import (
    NOISY,
    GaussianFit,
    PenalisedGaussian,
    accelerated_em,
    distance_left,
    plain_em,
)
from missfit.gaussian.expected_features import ExpectedFeatures, expected_features
from missfit.gaussian.few_rows import (
    HeldFit,
    few_rows_fit,
    is_too_wide,
    rows_are_few,
    seconds_of_gaussian,
)
from missfit.gaussian.pattern_chunks import GaussianData
from missfit.moments.maps import AffineMaps
from missfit.moments.part_of_rows import part_of_rows
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.patterns import group_rows
from missfit.tables.chunks import comes_in_chunks

FLOOR = 5e-4  # share of the variance of y that is always left unexplained
# Log-likelihood per row that three steps must gain. With 1e-4 two of 63 cells of the
# paper were 1.5e-4 and 1.9e-4 of R2 below the published EM.
TOL = 1e-5
# The same for each observed value where y has noise, see `missfit.gaussian.em.NOISY`,
# and where EM also begins near its end, at the fit to other rows of the same kind. What
# the steps gain is then the law of X, and more the more columns there are: with 1e-4
# for each row, the first of three folds of 11,424 x 46 takes 78 steps instead of 16,
# the second 13 instead of 6, and their held-out R2 is .2260 instead of .2268 and .2312
# instead of .2313. Of 24 laws of 10 to 50 noisy features none loses more than 1e-4.
NOISY_TOL, NEARBY_TOL = 1e-4, 1e-3
# Rows from which on it is 1e-3 near the end whatever the noise: 5 steps instead of 20
# change the R2 of mixtures 1 and 3 (10 features, no noise) by 2e-5 with 7,500 rows, but
# by up to 3e-3 with 750; 11 instead of 17 by 3e-6 on 20,000 rows of 50 features.
MANY_ROWS = 20_000
# standard deviations from where EM would end: .005 to .2 where 90 % of the values are
# missing (6 x 1,000 rows), 2e-4 where half are
FAR = 0.005
# The share of rows that observe a feature, up to which this is looked at: where more
# do, what is left is small beside the error of estimation (0.006 to 0.02 with half
# observed and a y without noise), and predictions do not change.
SPARSE = 0.25


class EMLR(PatternPredictor):
    """Gaussian (X, y) fitted by EM; predicts E[y | x_obs].

    With mean mu and covariance S of (X, y), the prediction is
    mu_y + S_y,obs S_obs^-1 (x_obs - mu_obs), whatever is missing. The maximum
    likelihood of the true model, and so hard to beat, where (X, y) is Gaussian and
    values are missing at random; biased where the mask depends on what it hides.

    Parameters
    ----------
    algorithm : {"accelerated", "reference"}
        "accelerated" is EM with leaps, a covariance pulled towards the diagonal
        by 0.3 pseudo-rows, and at least 5e-4 of the variance of y left unexplained.
        With fewer than 20 rows for each feature more pseudo-rows pull the covariance
        (as many as Ledoit and Wolf's argument asks for) and the slopes (as many as make
        y most probable); see Notes.
        "reference" is the plain EM of R's package norm, which the paper's authors used:
        no prior, at most 1,000 iterations; with noise-free data it stops long before it
        has converged.
    max_iter : int
        Most EM steps.
    tol : float, optional
        "accelerated" stops once three steps gain less log-likelihood per
        row than this, by default 1e-5, or 1e-4 for each observed value of a row where
        the features leave more than a tenth of the variance of y (and warns where that
        is far from the end, as with nine in ten values missing); "reference" once no
        parameter in standard units moves by more, by default the square root of machine
        epsilon.

    Attributes
    ----------
    mean_ : ndarray of shape (d + t,)
        Mean of (X, y).
    covariance_ : ndarray of shape (d + t, d + t)
        Covariance of (X, y).
    coef_, intercept_
        Regression of y on complete X.
    n_iter_ : int
        EM steps taken.
    log_likelihood_ : float
        Of the observed values, infinite where a noise-free target made it so.
    prior_rows_ : float
        Pseudo-rows of uncorrelated features that pull the covariance of X.
    slope_rows_ : float or ndarray of shape (t,)
        Pseudo-rows that pull the regression of y on X; 0 from 20 rows for each feature
        on.
    by_em_ : bool
        False where EM would have taken too long, and was not run; see Notes.
    patterns_, pattern_count_, pattern_models_
        The patterns seen at fit, their rows and their affine maps.

    Notes
    -----
    A pattern never seen, a feature missing only at predict and a row with nothing
    observed (predicted by the mean of y) need no rule of their own. A feature without
    two different values at fit (all missing, or constant) is ignored, whatever its
    values at predict, and so is one that fewer than one row in ten, and fewer than
    10 + d rows, observe: they do not tell how it varies with the others ("reference"
    takes it in). Collinear features and fewer rows than features are held by the prior
    ("reference" may fail on them, and says so).

    With fewer than 20 rows for each feature, in standard units::

        share = sum_ij (1 - r_ij^2)^2 / (n_ij - 1) / sum_ij r_ij^2   (pairs i != j)
        prior_rows = max(d / 2, n_ij share / (1 - share))
        -2 log p(y | slope_rows) = log det(I + F F' / slope_rows) + (n - 1) log q

    with r_ij the correlation of the n_ij rows that observe both features, F the rows of
    E[X | x_obs] under the law of X alone, and q what the ridge of y on F leaves, of
    rows and slopes together. The slope_rows of most evidence are taken, and EM of
    (X, y) goes on from that ridge. Where there are no more rows than features, and the
    weakest ridge is the most probable one for some target, it goes on for 20 steps at
    most, unless ``tol`` is given: more would bend the missing values to y. Where a step
    of EM would take more than a second or two (as at 2,000 rows of 1,000 features, a
    fifth missing) the covariance of X is that of the pairs, pulled, and the ridge is
    the end of it; a warning says so. With more rows that is done where a step would
    take more than about ten seconds.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = X.sum(axis=1) + 0.1 * rng.normal(size=500)
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> mean, std = EMLR().fit(X, y).predict([[1.0, np.nan]], return_std=True)
    >>> mean.round(1).tolist(), std.round(1).tolist()
    ([1.0], [1.0])
    """

    has_law = True

    takes_near = True

    def __init__(
        self,
        algorithm: str = "accelerated",
        *,
        max_iter: int = 1000,
        tol: float | None = None,
    ):
        self.algorithm = algorithm
        self.max_iter = max_iter
        self.tol = tol

    def seconds_of_fit(self, moments: PatternMoments) -> float:
        """Return how long EM, or what is done instead, takes on one core, roughly."""
        n_missing = moments.patterns.sum(axis=1)
        k = moments.n_features + moments.n_targets
        return seconds_of_gaussian(n_missing, k, float(moments.count.sum()))

    def _check_parameters(self, n_features: int) -> None:
        if self.algorithm not in ("accelerated", "reference"):
            raise ValueError(
                f"algorithm={self.algorithm!r}; choose 'accelerated' or 'reference'."
            )
        check_least(self, max_iter=1)
        if self.tol is not None:
            check_least(self, tol=0)

    def _fit_moments(self, moments: PatternMoments, splits: list[Split]) -> None:
        self._fit_near(None, moments, splits)

    def _fit_near(
        self, near: EMLR | None, moments: PatternMoments, splits: list[Split]
    ) -> None:
        data = GaussianData(moments)
        if self.algorithm == "reference":
            free = PenalisedGaussian(moments.n_features, 0.0, 0.0)
            held = HeldFit(self._reference(data), free, by_em=True)
        else:
            start = None if near is None else near.joint_law(data)
            held = penalised_fit(moments, data, start, self.tol, max_iter=self.max_iter)
        # what is left is told once: a fit nearby is as far from its end. Where nobody
        # would hear it, it is not looked for: 13 steps more than the 16 of 11,424 x 46
        told = near is None and is_heard(ConvergenceWarning)
        unfinished = self._unfinished(held, data, moments) if told else ""
        if unfinished:
            warnings.warn(unfinished, ConvergenceWarning, stacklevel=5)
        self.by_em_, self.prior_rows_ = held.by_em, float(held.model.prior_rows)
        strength = np.broadcast_to(held.model.slope_rows, moments.n_targets).copy()
        self.slope_rows_ = float(strength[0]) if self._y_ndim_ == 1 else strength
        self._keep(held.fit, data, moments.n_features)

    def _keep(self, fit: GaussianFit, data: GaussianData, d: int) -> None:
        """Keep a fit in the units of the data, and the law of X in standard units."""
        self.mean_ = data.shift + data.scale * fit.mean
        self.covariance_ = fit.cov * data.scale * data.scale[:, None]
        self.n_iter_ = fit.n_iter
        # densities in the units of the data
        self.log_likelihood_ = float(
            fit.log_likelihood - data.n_observed @ np.log(data.scale)
        )
        self._keep_regression(fit, data, d)
        # complete data never needed an inverse, a row to predict may
        lack = max(0.0, 1e-12 - np.linalg.eigvalsh(fit.cov[:d, :d])[0])
        self._standard_ = ScaledGaussian(
            data.shift[:d],
            data.scale[:d],
            fit.mean[:d],
            fit.cov[:d, :d] + lack * np.eye(d),
        )

    def _keep_regression(self, fit: GaussianFit, data: GaussianData, d: int) -> None:
        """Keep the regression of y on complete X, in the units of the data."""
        standard = _regression(fit.cov, d)
        slopes = standard * data.scale[d:, None] / data.scale[:d]
        intercept = self.mean_[d:] - slopes @ self.mean_[:d]
        residual = fit.cov[d:, d:] - standard @ fit.cov[:d, d:]
        # a constant target is known; in standard units the floor would say otherwise
        left = np.where(data.varies[d:], np.maximum(np.diag(residual), 0.0), 0.0)
        self._residual_variance_ = left * data.scale[d:] ** 2
        one = self._y_ndim_ == 1
        self.coef_ = slopes[0] if one else slopes
        self.intercept_ = float(intercept[0]) if one else intercept

    def _unfinished(
        self, held: HeldFit, data: GaussianData, moments: PatternMoments
    ) -> str:
        """Say what is left of a fit that has not converged, or nothing."""
        fit = held.fit
        if not held.by_em:
            return _said_of_pairs(moments)
        if not fit.converged:
            return (
                f"EM has not converged in max_iter={self.max_iter} steps. Predictions "
                "are often good long before; raise max_iter or tol to be sure."
            )
        observed = moments.count @ ~moments.patterns / moments.count.sum()
        if self.algorithm == "reference" or observed.min(initial=1.0) > SPARSE:
            return ""
        if held.is_cut:
            return ""
        left = distance_left(data, held.model, fit)
        if left <= FAR:
            return ""
        tol = TOL if self.tol is None else self.tol
        if self.tol is None and held.model.share_left(fit.cov) > NOISY:
            tol = NOISY_TOL * data.n_observed.sum() / data.n_rows
        return (
            f"EM stopped after {fit.n_iter} steps, since three of them gain less "
            f"log-likelihood than tol={tol:g} per row, but parameters "
            f"may still move by {left:.2g} standard deviations: it is slow where most "
            "values are missing. Predictions are often good long before; lower tol to "
            "be sure."
        )

    def _reference(self, data: GaussianData) -> GaussianFit:
        tol = np.sqrt(np.finfo(float).eps) if self.tol is None else self.tol
        try:
            return plain_em(data, max_iter=self.max_iter, tol=tol)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"the plain EM met a singular covariance ({error}): columns of X or y "
                "are constant, collinear or more than the rows. Use "
                "EMLR(algorithm='accelerated'), whose prior holds them."
            ) from error

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict rows, NaN where missing.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        return_std : bool
            Also return the standard deviation of y given what is observed,
            sqrt(s2 + b_mis' Var(X_mis | x_obs) b_mis).
        """
        if not return_std:
            return super().predict(X)
        if comes_in_chunks(X):
            return self._predict_chunks(X, return_std=True)
        X = self._check_predict(X)
        groups = group_rows(np.isnan(X))
        maps = remembered_maps(self, groups.patterns, self._maps)
        index = groups.pattern_of_row()
        spread = np.sqrt(np.asarray(maps.variance)[index])
        mean = self._finite(maps.evaluate(X, index))
        return self._shaped(mean), self._shaped(spread)

    def joint_law(self, data: GaussianData) -> tuple[NDArray, NDArray]:
        """Return the mean and covariance of (X, y) in the standard units of a table."""
        mean = (self.mean_ - data.shift) / data.scale
        return mean, self.covariance_ / data.scale / data.scale[:, None]

    def feature_law(self) -> ScaledGaussian:
        """Return the Gaussian of X, in units in which no feature is large."""
        return self._standard_

    def expected_features(self, X: NDArray[np.float64]) -> list[ExpectedFeatures]:
        """Return E[X | x_obs] and Cov(X | x_obs) of each row, in standard units."""
        return [expected_features(self._standard_, X)]

    def laws(self) -> list[tuple[ScaledGaussian, NDArray[np.float64]]]:
        """Return the Gaussian of X, to which all patterns belong."""
        return [(self._standard_, np.ones(len(self.patterns_)))]

    def _maps(self, patterns: NDArray[np.bool_]) -> AffineMaps:
        return regression_maps(
            self._standard_,
            np.atleast_1d(self.intercept_),
            np.atleast_2d(self.coef_),
            self._residual_variance_,
            patterns,
        )


def _said_of_pairs(moments: PatternMoments) -> str:
    """Say that a table was too wide for EM, and what was done instead."""
    return (
        f"EM was not run: {moments.n_features:,} features and {len(moments):,} missing "
        "patterns would take seconds or minutes for each of its steps. Missing values "
        "were filled once, by the correlations of the pairs of observed values, pulled "
        "towards 0, and y was regressed on them (by_em_ is False). Give fewer columns "
        "for the law of all rows together."
    )


def penalised_fit(
    moments: PatternMoments,
    data: GaussianData,
    start: tuple[NDArray, NDArray] | None = None,
    tol: float | None = None,
    *,
    max_iter: int,
) -> HeldFit:
    """Fit one Gaussian by accelerated EM, with EMLR's prior and floor.

    ``start`` is a mean and covariance near those looked for, where they are known;
    without ``tol`` it says when to stop, with how much noise there is in y.
    """
    d = moments.n_features
    near = _ends(tol, max_iter, data.n_rows)
    ends = _ends(tol, max_iter) if start is None else near
    if rows_are_few(data, d) or is_too_wide(data):
        return few_rows_fit(data, d, FLOOR, start, ends)
    model = PenalisedGaussian.of_data(data, d, FLOOR)
    some = part_of_rows(moments) if start is None else None
    if some is not None:  # a step costs as many patterns as there are
        small = GaussianData(some, data.scales)
        part = accelerated_em(small, model, _origin(data), **ends)
        start, ends = (part.mean, part.cov), near
    fit = accelerated_em(data, model, _origin(data) if start is None else start, **ends)
    return HeldFit(fit, model, by_em=True)


def _ends(tol: float | None, max_iter: int, near: float = 0.0) -> dict[str, Any]:
    """Return what ends EM: the most steps, and what three of them must gain.

    ``near`` is the number of rows where it begins near its end.
    """
    if tol is not None:
        return {"max_iter": max_iter, "tol": tol}
    least = NEARBY_TOL if near >= MANY_ROWS else TOL
    noisy = NEARBY_TOL if near else NOISY_TOL
    return {"max_iter": max_iter, "tol": least, "noisy_tol": noisy}


def _origin(data: GaussianData) -> tuple[NDArray, NDArray]:
    """Return the law of standard units in which nothing is correlated."""
    return np.zeros(data.n_columns), np.eye(data.n_columns)


def _regression(cov: NDArray[np.float64], d: int) -> NDArray[np.float64]:
    """Slopes (t, d) of the last columns on the first d; least norm where singular."""
    return regression_slopes(cov[:d, :d], cov[:d, d:]).T
