"""ConditionalImputedLogistic: logistic regression on conditional expectations."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from missfit.estimators.class_indicators import indicators
from missfit.estimators.classes import (
    LabelledRows,
    NanClassifier,
    both_shares,
    normalised,
)
from missfit.estimators.conditional_imputed_lr import (
    LEAST_SPREAD,
    distinct_indicators,
    impute,
)
from missfit.estimators.emlr import EMLR
from missfit.estimators.ridge_logit import (
    FEW_COLUMNS,
    LabelledColumns,
    best_ridge,
    ridge_logit,
)
from missfit.gaussian.completion import PrecisionLaw, complete
from missfit.gaussian.conditional import (
    ScaledGaussian,
    condition,
    is_far_from_singular,
    is_worth_inverting,
    regression_maps,
)
from missfit.gaussian.pattern_chunks import chunks_of_rows
from missfit.moments.blocks import blocks
from missfit.moments.patterns import group_rows
from missfit.moments.rare_values import hardly_observed, held_rows, rarer_side

# Ridge strengths from the greatest on, for columns of standard deviation 1. With steps
# of a factor of 3 instead of 10 the choice follows chance more: the log-loss is .4746
# instead of .4731 on pima, .558 instead of .546 on 150 x 60 with 30 % missing, and the
# same on the three other tables of the class benchmark.
ALPHAS = (3000.0, 300.0, 30.0, 3.0, 0.3, 0.03)
N_FOLDS = 5
# Rows that choose the strength. With more it matters less: fitted to 50,000 rows of
# mixture1 (10 features) the strengths .03 and 3 have a log-loss of .3406, 30 of .3417.
CHOICE_ROWS = 10_000
ROUNDS = 2  # of attenuation: the third changes no probability by more than 1e-3


class ConditionalImputedLogistic(NanClassifier):
    """Logistic regression on E[X | x_obs] and the missing indicators.

    A Gaussian of X and the class indicators is fitted by EM as in `EMLR`; missing
    values are replaced by their expectation given the observed features, and::

        logit P(class 1) = kappa(m) (b0 + b'E[X | x_obs] + g'm)

    with kappa(m) = (1 + pi v_m / 8)^-1/2 and v_m = b_mis' Var(X_mis | x_obs) b_mis:
    what is not known of b'X flattens the slope (MacKay 1992). The ridge strength is the
    one of the least held-out log-loss. One indicator stands for all features that are
    missing in the same rows, and up to 10 pseudo-rows hold one that rests on fewer than
    20 rows. The values of a feature that is hardly ever observed (see `EMLR`) are
    ignored. With more than two classes the model is a softmax of such scores, without
    kappa.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of the classes, as in scikit-learn.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    coef_, mask_coef_ : ndarray of shape (1, d) or (K, d)
        b and g.
    intercept_ : ndarray of shape (1,) or (K,)
    alpha_ : float
        The chosen ridge strength, for columns of standard deviation 1.
    n_features_in_ : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> label = X.sum(axis=1) + 0.3 * rng.normal(size=500) > 0
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> model = ConditionalImputedLogistic().fit(X, label)
    >>> model.predict([[1.0, 2.0], [-1.0, np.nan]]).tolist()
    [True, False]
    """

    is_linear = True
    coef_: NDArray[np.float64]
    _law_: ScaledGaussian

    def __init__(self, *, class_weight: Any = None):
        self.class_weight = class_weight

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
        rows = trial._labelled_rows(X, y, sample_weight)
        target = indicators(rows.code, len(trial.classes_))
        trial._fit_given(trial.starts_from().fit(rows.X, target, rows.weight), rows)
        return self._become(trial)

    def starts_from(self) -> EMLR:
        """Return EMLR, whose law of X it takes."""
        return EMLR()

    def _fit_given(self, start: EMLR, rows: LabelledRows) -> None:
        self._law_ = start.feature_law()
        design = _Design.of(rows.X, self._law_, rows.weight)
        self.alpha_ = _chosen_alpha(design, rows)
        self._keep(_fitted(design, rows, self.alpha_), design)

    def _keep(self, fitted: _Scores, design: _Design) -> None:
        """Keep the coefficients in the units of the data."""
        d = self.n_features_in_
        coef = fitted.coef / design.spread
        self.intercept_ = fitted.intercept - coef @ design.centre
        self.coef_ = coef[:, :d] / self._law_.scale
        self.intercept_ -= self.coef_ @ self._law_.shift
        self.mask_coef_ = np.zeros((len(coef), d))
        self.mask_coef_[:, design.indicators] = coef[:, d:]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, NaN in X where missing.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)

        Returns
        -------
        ndarray of shape (n, K)
        """
        check_is_fitted(self)
        X = self._check_predict(X)
        groups = group_rows(np.isnan(X))
        index, exactly = groups.pattern_of_row(), np.zeros(len(self.coef_))
        maps = regression_maps(
            self._law_, self.intercept_, self.coef_, exactly, groups.patterns
        )
        scores = maps.evaluate(X, index) + np.isnan(X) @ self.mask_coef_.T
        if len(self.coef_) > 1:
            return normalised(softmax(scores, axis=1))
        flatter = _flatter(np.asarray(maps.variance))[index]
        return both_shares(expit(flatter * scores))


def imputed(X: NDArray[np.float64], law: ScaledGaussian):
    """Return E[X | x_obs] in standard units, each row's pattern, and the patterns."""
    groups = group_rows(np.isnan(X))
    order, index = groups.order, groups.pattern_of_row()
    values = (X - law.shift) / law.scale
    d = X.shape[1]
    if is_worth_inverting(groups.patterns) and is_far_from_singular(law.cov):
        _fill_by_precision(values, law)
        return values, index, groups.patterns
    first = 0
    for block in blocks(len(groups.patterns), d * d):
        slope, _ = condition(law.cov, groups.patterns[block])
        last = first + int(groups.n_rows[block].sum())
        here = order[first:last]
        local = index[here] - block.start
        impute(values, here, local, groups.patterns[block], slope, law.mean)
        first = last
    return values, index, groups.patterns


def _fill_by_precision(values: NDArray[np.float64], law: ScaledGaussian) -> None:
    """Fill rows in place; each pattern costs the block that it misses."""
    precision = PrecisionLaw.of_cov(law.cov)
    for chunk, rows in chunks_of_rows(values, np.ones(len(values))):
        values[rows] = complete(chunk, law.mean, precision).filled + law.mean


class _Design(NamedTuple):
    """Imputed features and indicators in standard units, and what these units are."""

    values: NDArray[np.float64]
    centre: NDArray[np.float64]
    spread: NDArray[np.float64]
    held: NDArray[np.float64]  # pseudo-rows that hold each column
    indicators: NDArray[np.intp]
    pattern: NDArray[np.intp]
    patterns: NDArray[np.bool_]
    law: ScaledGaussian

    @classmethod
    def of(cls, X: NDArray, law: ScaledGaussian, weight: NDArray | None) -> _Design:
        standard, index, patterns = imputed(X, law)
        kept = distinct_indicators(patterns)
        values = np.hstack([standard, np.isnan(X)[:, kept]])
        centre = np.average(values, axis=0, weights=weight)
        values -= centre
        spread = np.sqrt(np.average(values**2, axis=0, weights=weight))
        silent = spread < 1e-10
        d = X.shape[1]
        n_rows = len(X) if weight is None else float(np.sum(weight))
        n_observed = n_rows * np.average(~np.isnan(X), axis=0, weights=weight)
        silent[:d] |= hardly_observed(n_observed, n_rows)
        spread[:d] = np.maximum(spread[:d], LEAST_SPREAD)
        spread[silent] = np.inf
        rare = held_rows(rarer_side(n_observed[kept], n_rows))
        held = np.append(np.zeros(d), rare)
        return cls(values / spread, centre, spread, held, kept, index, patterns, law)

    def ridge(self, alpha: float) -> NDArray[np.float64]:
        """Return the strength for each column, with the pseudo-rows that hold it.

        A pseudo-row of a logistic regression is worth p (1 - p) <= 1/4 in the Hessian.
        """
        return alpha + self.held / (4 * self.spread**2)

    def columns(self, rows: LabelledRows, some: Any = slice(None)) -> LabelledColumns:
        """Return some rows of two classes, and the column of the intercept."""
        values = self.values[some]
        weight = np.ones(len(values)) if rows.weight is None else rows.weight[some]
        values = np.hstack([values, np.ones((len(values), 1))])
        return LabelledColumns(values, np.where(rows.code[some], 1.0, -1.0), weight)

    def flatter(self, scores: _Scores) -> NDArray[np.float64]:
        """Return kappa of each row under some coefficients."""
        d = self.patterns.shape[1]
        slopes = (scores.coef / self.spread)[:, :d] / self.law.scale
        nothing = np.zeros(1)
        maps = regression_maps(self.law, nothing, slopes, nothing, self.patterns)
        return _flatter(np.asarray(maps.variance))[self.pattern, 0]


class _Scores(NamedTuple):
    """Coefficients and intercepts of the scores, in units of the design."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]

    @classmethod
    def of_two(cls, coef: NDArray[np.float64]) -> _Scores:
        """Return the scores of two classes, whose intercept is the last coefficient."""
        return cls(coef[None, :-1], coef[-1:])

    def shares(self, design: _Design, rows: NDArray) -> NDArray[np.float64]:
        """Return the probabilities of the classes of some rows, as if kappa were 1."""
        scores = design.values[rows] @ self.coef.T + self.intercept
        if len(self.coef) > 1:
            return normalised(softmax(scores, axis=1))
        return both_shares(expit(scores))


def _fitted(design: _Design, rows: LabelledRows, alpha: float) -> _Scores:
    """Fit the scores to all rows.

    With two classes the columns and the intercept are multiplied by kappa, which
    depends on the coefficients: the fit is repeated with the kappa that it implies.
    """
    if rows.code.max() > 1:
        return _softmax(design, rows, alpha, slice(None))
    columns, ridge = design.columns(rows), np.append(design.ridge(alpha), 0.0)
    coef = ridge_logit(columns, ridge)
    for _ in range(ROUNDS):
        kappa = design.flatter(_Scores.of_two(coef))[:, None]
        if (kappa == 1).all():
            break
        flatter = columns._replace(values=kappa * columns.values)
        coef = ridge_logit(flatter, ridge, coef)
    return _Scores.of_two(coef)


def _softmax(design: _Design, rows: LabelledRows, alpha: float, some: Any) -> _Scores:
    """Fit the scores of more than two classes to some rows."""
    weight = None if rows.weight is None else rows.weight[some]
    units = np.sqrt(alpha / design.ridge(alpha))
    model: Any = LogisticRegression(C=1 / alpha, max_iter=500, tol=1e-5)
    model.fit(units * design.values[some], rows.code[some], weight)
    return _Scores(units * model.coef_, model.intercept_)


def _plain(design: _Design, rows: LabelledRows, alpha: float, some: Any) -> _Scores:
    """Fit the scores to some rows, as if kappa were 1."""
    if rows.code.max() > 1:
        return _softmax(design, rows, alpha, some)
    ridge = np.append(design.ridge(alpha), 0.0)
    return _Scores.of_two(ridge_logit(design.columns(rows, some), ridge))


def _chosen_alpha(design: _Design, rows: LabelledRows) -> float:
    """Return the strength of the least held-out log-loss.

    The fits that choose leave kappa out, which would take three times as long: it is
    a factor of all slopes, whatever their strength.
    """
    step = max(1, len(rows.code) // CHOICE_ROWS)
    some = np.arange(0, len(rows.code), step)
    if rows.code.max() == 1 and design.values.shape[1] < FEW_COLUMNS:
        ridges = [np.append(design.ridge(alpha), 0.0) for alpha in ALPHAS]
        return ALPHAS[best_ridge(design.columns(rows, some), ridges)]
    return _alpha_by_folds(design, rows, some)


def _alpha_by_folds(design: _Design, rows: LabelledRows, some: NDArray) -> float:
    """Return the strength of the least log-loss on folds of some rows."""
    count = np.bincount(rows.code[some], minlength=int(rows.code.max()) + 1)
    n_folds = min(N_FOLDS, int(count.min()))
    if n_folds < 2:
        return 1.0  # a class of one row cannot be held out and learned
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    weight = np.ones(len(rows.code)) if rows.weight is None else rows.weight
    loss = np.zeros(len(ALPHAS))
    for train, test in folds.split(some, rows.code[some]):
        train, test = some[train], some[test]
        if not weight[train].any():
            continue  # rows of weight 0 alone leave nothing to learn
        for k, alpha in enumerate(ALPHAS):
            shares = _plain(design, rows, alpha, train).shares(design, test)
            own = shares[np.arange(len(test)), rows.code[test]]
            loss[k] -= weight[test] @ np.log(np.maximum(own, 1e-15))
    return ALPHAS[int(np.argmin(loss))]


def _flatter(variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return kappa = (1 + pi v / 8)^-1/2 where v = Var(b'X | x_obs)."""
    return (1 + np.pi * variance / 8) ** -0.5
