"""EMProbit: Gaussian features and a latent target by EM; predicts its sign."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.exceptions import ConvergenceWarning

from missfit.estimators.classes import NanClassifier, both_shares, normalised
from missfit.estimators.emlr import EMLR
from missfit.estimators.least import check_least
from missfit.estimators.links import LEAST_NOISE, RARE
from missfit.gaussian.conditional import ScaledGaussian, regression_maps
from missfit.gaussian.latent import LatentLaw, LatentRows, latent_em
from missfit.moments.patterns import group_rows
from missfit.moments.ridge import pseudo_rows
from missfit.moments.rows import row_counts


class EMProbit(NanClassifier):
    """Gaussian X and a latent Gaussian target, by EM: exact where values are MAR.

    The label is 1 where y* = b0 + b'X + e is above 0, with e standard normal. EM
    maximises the likelihood of the observed features and the labels, and::

        P(label = 1 | x_obs) = Phi((b0 + b'E[X | x_obs]) / tau_m)

    with tau_m^2 = 1 + b_mis' Var(X_mis | x_obs) b_mis. It starts from the closed form
    of `PatternClassifier(EMLR())`, which least squares gives for less; what EM adds is
    the efficiency of maximum likelihood. With more than two classes each is told from
    the others by a fit of its own, and the probabilities are divided by their sum.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of the classes, as in scikit-learn.
    max_iter : int
        Most EM steps.
    tol : float
        EM stops once three steps gain less log-likelihood per row.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    coef_ : ndarray of shape (1, d) or (K, d)
        b.
    intercept_ : ndarray of shape (1,) or (K,)
    n_iter_ : int
        EM steps taken, of the fit that took most.
    n_features_in_ : int

    Examples
    --------
    >>> from missfit.simulate import Probit, published
    >>> X, label = Probit(published("mixture1", 4), 1.0).sample(2000, random_state=0)
    >>> EMProbit().fit(X, label).predict_proba(X).shape
    (2000, 2)
    """

    is_linear = True
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    _laws_: list[ScaledGaussian]

    def __init__(
        self, *, class_weight: Any = None, max_iter: int = 1000, tol: float = 1e-6
    ):
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows, forgetting any fit before.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The features, NaN where missing.
        y : array-like of shape (n,), or str
            The labels, or the name of their column.
        sample_weight : array-like of shape (n,), or str, optional
            As in `missfit.EMLR.fit`.
        """
        trial = self._trial()
        check_least(trial, max_iter=1, tol=0)
        rows = trial._labelled_rows(X, y, sample_weight)
        weight = np.ones(len(rows.code))
        if rows.weight is not None:
            weight = row_counts(rows.weight, len(rows.code))
        kept = np.flatnonzero(weight)
        X, code, weight = rows.X[kept], rows.code[kept], weight[kept]
        n_classes = len(trial.classes_)
        told = [1] if n_classes == 2 else range(n_classes)
        fits = [trial._fit_one(X, code == k, weight) for k in told]
        trial._laws_ = [law for law, *_ in fits]
        trial.coef_ = np.array([coef for _, coef, *_ in fits])
        trial.intercept_ = np.array([intercept for *_, intercept, _ in fits])
        trial.n_iter_ = max(n_iter for *_, n_iter in fits)
        return self._become(trial)

    def _fit_one(self, X: NDArray, label: NDArray[np.bool_], weight: NDArray):
        """Return the law of X, the slopes, the intercept and the steps of one label."""
        em = EMLR().fit(X, label.astype(float), weight)
        law = em.feature_law()
        start = _closed_form(em, float(np.average(label, weights=weight)))
        rows = LatentRows.of((X - law.shift) / law.scale, label, weight)
        more = pseudo_rows(float(weight.sum()), X.shape[1])
        fit = latent_em(
            rows, start, more_rows=more, max_iter=self.max_iter, tol=self.tol
        )
        if not fit.converged:
            warnings.warn(
                f"EM has not converged in max_iter={self.max_iter} steps. Predictions "
                "are often good long before; raise max_iter or tol to be sure.",
                ConvergenceWarning,
                stacklevel=3,
            )
        found = fit.law
        slope = found.slope / law.scale
        scaled = ScaledGaussian(law.shift, law.scale, found.mean, found.cov)
        return scaled, slope, found.intercept - slope @ law.shift, fit.n_iter

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, NaN in X where missing.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)

        Returns
        -------
        ndarray of shape (n, K)
        """
        X = self._check_predict(X)
        groups = group_rows(np.isnan(X))
        index = groups.pattern_of_row()
        shares = np.empty((len(X), len(self._laws_)))
        for k, law in enumerate(self._laws_):
            one = self.intercept_[[k]], self.coef_[[k]], np.ones(1)
            maps = regression_maps(law, *one, groups.patterns)
            tau = np.sqrt(np.asarray(maps.variance))[index, 0]
            shares[:, k] = ndtr(maps.evaluate(X, index)[:, 0] / tau)
        if shares.shape[1] == 1:
            return both_shares(shares)
        return normalised(shares)


def _closed_form(em: EMLR, share: float) -> LatentLaw:
    """Return the latent law that least squares on the label implies."""
    law = em.feature_law()
    h = float(ndtri(np.clip(share, RARE, 1 - RARE)))
    q = np.exp(-(h**2) / 2) / np.sqrt(2 * np.pi)
    slope = em.coef_ * law.scale / q
    noise = np.sqrt(max(1 - slope @ law.cov @ slope, LEAST_NOISE))
    return LatentLaw(law.mean, law.cov, (h - slope @ law.mean) / noise, slope / noise)
