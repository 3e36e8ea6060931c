"""PartialPooling: a predictor, corrected where a pattern has rows to say so."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from missfit.estimators.base import NanRegressor
from missfit.estimators.splits import RowSplit, default_splits, row_splits
from missfit.moments.column_scales import ColumnScales, column_scales
from missfit.moments.maps import AffineMaps
from missfit.moments.pattern_moments import PatternBlock, PatternMoments
from missfit.moments.patterns import find_keys, group_rows, pattern_keys
from missfit.moments.rows import row_counts
from missfit.tables.chunks import comes_in_chunks

STANDARD_ERRORS = 2.0  # by which corrections must beat the estimator to be taken
ROUNDING = 1e-12  # a gain, as a share of the variance of y, that sums differ by


class PartialPooling(NanRegressor):
    """A predictor plus one linear correction per pattern, shrunk to nothing.

    With w = (1, x_obs) for the rows of pattern m and r = y - g(x) for the prediction
    g(x) of an estimator::

        f(x, m) = g(x) + w'e_m,  e_m = (sum w w' + tau M)^-1 sum w r

    where M is the second moment of w over all rows: a correction is shrunk as if tau
    more rows of the pattern had no residual. Patterns with many rows get a linear model
    of their own, as in ExpandedLR, so that it is Bayes consistent under Assumption 4.1
    whatever the estimator; those with few rows keep its prediction, as do those never
    seen.

    Parameters
    ----------
    estimator : regressor
        Any that takes NaN, such as EMLR().
    taus : sequence of float
        The strengths to choose from, each a number of pseudo-rows; infinity, which is
        the estimator alone, is one more.
    cv : int, splitter, iterable or None
        The folds that choose; None is 5, or 3 from 5,000 rows on, and no choice with
        fewer than 5 rows. The estimator is fitted anew in each.

    Attributes
    ----------
    estimator_ : regressor
        The estimator, fitted to all rows.
    tau_ : float
        The strength chosen: that of the least held-out error, if it beats the estimator
        alone by 2 standard errors of their paired difference, else infinity.
    cv_errors_ : dict
        Held-out mean squared error of each strength, targets divided by their variance.
    gain_, gain_error_ : float
        By how much the best strength beats the estimator alone on held-out rows, in the
        same units, and its standard error.
    corrections_ : AffineMaps
        w'e_m for each pattern seen, none if ``tau_`` is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from missfit import EMLR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> hidden = rng.random(2000) < 0.5
    >>> y = np.where(hidden, 3.0 - X[:, 1], X.sum(axis=1))  # not missing at random
    >>> X[hidden, 0] = np.nan
    >>> alone = EMLR().fit(X, y)
    >>> model = PartialPooling(EMLR()).fit(X, y)
    >>> round(alone.score(X, y), 1), round(model.score(X, y), 1)
    (0.6, 1.0)
    """

    n_features_in_: int
    estimator_: Any
    _y_ndim_: int

    def __init__(
        self,
        estimator: Any,
        *,
        taus: Any = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0),
        cv: Any = None,
    ):
        self.estimator = estimator
        self.taus = taus
        self.cv = cv

    @property
    def is_linear(self) -> bool:
        """Whether it can be the base of others: if its estimator can."""
        return bool(getattr(self.estimator, "is_linear", False))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows, forgetting any fit before.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The features, NaN where missing.
        y : array-like of shape (n,) or (n, t)
            The target, or several.
        sample_weight : array-like of shape (n,), optional
            A weight of 2 equals repeating the row, at equal folds; see
            `missfit.EMLR.fit`.
        """
        trial = self._trial()
        X, y = trial._check_fit(X, y)
        taus = _check_taus(self.taus)
        trial._y_ndim_ = y.ndim
        weight = np.ones(len(X))
        if sample_weight is not None:
            weight = row_counts(sample_weight, len(X))
        rows = _Rows(X, y, weight, sample_weight is not None)
        trial._choose(rows, taus)
        trial.estimator_ = rows.fit(self.estimator)
        trial._correct(rows)
        return self._become(trial)

    def _choose(self, rows: _Rows, taus: tuple[float, ...]) -> None:
        """Choose the strength by the errors on held-out rows."""
        errors, weights = [], []
        for train, test in _splits(self.cv, rows):
            fitted = rows.take(train).fit(self.estimator)
            residual = rows.take(train).residual(fitted)
            left = rows.take(test).residual(fitted)
            found = _held_out_errors(residual, left, taus)
            errors.append(found / rows.target_variance())
            weights.append(rows.weight[test])
        self.tau_, self.gain_, self.gain_error_ = np.inf, 0.0, np.nan
        self.cv_errors_ = {}
        if not errors:
            return
        error, weight = (
            np.concatenate(errors, axis=1).mean(axis=2),
            np.concatenate(weights),
        )
        mean = error @ weight / weight.sum()
        self.cv_errors_ = dict(zip((*taus, np.inf), mean.tolist(), strict=True))
        best = int(mean[:-1].argmin())
        gain = error[-1] - error[best]
        self.gain_ = float(mean[-1] - mean[best])
        spread = weight @ (gain - self.gain_) ** 2 / weight.sum()
        self.gain_error_ = float(np.sqrt(spread / weight.sum()))
        if self.gain_ > max(STANDARD_ERRORS * self.gain_error_, ROUNDING):
            self.tau_ = taus[best]

    def _correct(self, rows: _Rows) -> None:
        if not np.isfinite(self.tau_):
            t = 1 if rows.y.ndim == 1 else rows.y.shape[1]
            d = rows.X.shape[1]
            none = np.zeros((0, d), dtype=bool)
            self.corrections_ = AffineMaps(none, np.zeros((0, t)), np.zeros((0, t, d)))
            return
        residual = rows.residual(self.estimator_)
        (self.corrections_,) = corrections(residual.moments(), (self.tau_,))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict rows, NaN where missing.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        """
        if comes_in_chunks(X):
            return self._predict_chunks(X)
        X = self._check_predict(X)
        prediction = np.asarray(self.estimator_.predict(X), dtype=float)
        more = _evaluate(self.corrections_, X)
        return self._finite(prediction + (more[:, 0] if self._y_ndim_ == 1 else more))


class _Rows(NamedTuple):
    """Rows, their weights and whether weights were given."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    weighted: bool

    def take(self, index: NDArray) -> _Rows:
        return _Rows(self.X[index], self.y[index], self.weight[index], self.weighted)

    def fit(self, estimator: Any) -> Any:
        """Fit a copy of the estimator to the rows."""
        if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
            raise TypeError(
                f"estimator={estimator!r} has no fit and predict; give a regressor "
                "that takes NaN, such as EMLR()."
            )
        model: Any = clone(estimator)
        if not self.weighted:
            return model.fit(self.X, self.y)
        if not has_fit_parameter(estimator, "sample_weight"):
            raise TypeError(
                f"estimator={estimator!r} takes no sample_weight. Give another, such "
                "as EMLR(), or fit without weights."
            )
        return model.fit(self.X, self.y, sample_weight=self.weight)

    def residual(self, fitted: Any) -> _Rows:
        """Return the rows with what a fitted estimator leaves of y."""
        predicted = np.asarray(fitted.predict(self.X), dtype=float)
        return self._replace(y=self.y - predicted)

    def moments(self) -> PatternMoments:
        return PatternMoments.from_data(self.X, self.y, self.weight)

    def target_variance(self) -> NDArray[np.float64]:
        """Variance of each target, 1 where it has none."""
        y = self.y.reshape(len(self.y), -1)
        gap = y - self.weight @ y / self.weight.sum()
        variance = self.weight @ gap**2 / self.weight.sum()
        return np.where(variance > 0, variance, 1.0)


def corrections(residuals: PatternMoments, taus: tuple[float, ...]) -> list[AffineMaps]:
    """Return the maps w'e_m of each strength, from the moments of (X, residual)."""
    d, t = residuals.n_features, residuals.n_targets
    scales = column_scales(residuals)
    second = _pooled_second_moment(residuals, scales)
    shape = (len(taus), len(residuals), d + 1, t)
    solution = np.empty(shape)
    for block in residuals.blocks():
        G, g, seen = _normal_equations(block, scales, d)
        inside = seen[:, :, None] & seen[:, None, :]
        prior = np.where(inside, second, 0.0)
        missing = np.where(seen, 0.0, 1.0)[:, :, None] * np.eye(d + 1)
        for i, tau in enumerate(taus):
            solution[i, block.index] = np.linalg.solve(G + tau * prior + missing, g)
    maps = []
    for e in solution:
        coef = (e[:, 1:] / scales.std[:d, None]).transpose(0, 2, 1)
        maps.append(
            AffineMaps(residuals.patterns, e[:, 0] - coef @ scales.mean[:d], coef)
        )
    return maps


def _normal_equations(block: PatternBlock, scales: ColumnScales, d: int):
    """Sum w w' and w r over each pattern's rows, w = (1, z_obs) in standard units."""
    seen = np.hstack([np.ones((len(block.count), 1), dtype=bool), ~block.patterns])
    z = (block.mean[:, :d] - scales.mean[:d]) / scales.std[:d]
    w = np.hstack([np.ones((len(z), 1)), np.where(block.patterns, 0.0, z)])
    G = block.count[:, None, None] * w[:, :, None] * w[:, None, :]
    G[:, 1:, 1:] += block.scatter[:, :d, :d] / scales.std[:d] / scales.std[:d, None]
    g = block.count[:, None, None] * w[:, :, None] * block.mean[:, None, d:]
    g[:, 1:] += block.scatter[:, :d, d:] / scales.std[:d, None]
    return G, g, seen


def _pooled_second_moment(residuals: PatternMoments, scales: ColumnScales):
    """Second moment of w = (1, z) over the rows that observe both of a pair.

    In standard units the first row is (1, 0, ..., 0). Pairs that come from different
    rows may not make a positive matrix together: small eigenvalues are raised.
    """
    d = residuals.n_features
    total, count = np.zeros((d, d)), np.zeros((d, d))
    for block in residuals.blocks():
        G, _, seen = _normal_equations(block, scales, d)
        total += G[:, 1:, 1:].sum(axis=0)
        both = seen[:, 1:].astype(float)
        count += (block.count[:, None] * both).T @ both
    second = np.eye(d + 1)
    inner = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    np.fill_diagonal(inner, 1.0)  # of a constant or empty feature too
    values, vectors = np.linalg.eigh(inner)
    second[1:, 1:] = (vectors * np.maximum(values, 1e-3)) @ vectors.T
    return second


def _held_out_errors(train: _Rows, test: _Rows, taus: tuple[float, ...]) -> NDArray:
    """Squared errors of each strength, infinity last, (taus + 1, rows, targets)."""
    left = test.y.reshape(len(test.y), -1)
    keys = [
        pattern_keys(group_rows(np.isnan(rows.X)).patterns) for rows in (train, test)
    ]
    if (find_keys(*keys) < 0).all():  # wide tables: no held-out row has a correction
        return np.stack([left**2] * (len(taus) + 1))
    errors = [
        (left - _evaluate(maps, test.X)) ** 2
        for maps in corrections(train.moments(), taus)
    ]
    return np.stack([*errors, left**2])


def _evaluate(maps: AffineMaps, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values of the maps, zero for patterns that have none."""
    groups = group_rows(np.isnan(X))
    known = find_keys(pattern_keys(maps.patterns), pattern_keys(groups.patterns))
    index = known[groups.pattern_of_row()]
    value = np.zeros((len(X), maps.intercept.shape[1]))
    rows = np.flatnonzero(index >= 0)
    value[rows] = maps.evaluate(X[rows], index[rows])
    return value


def _splits(cv: Any, rows: _Rows) -> list[RowSplit]:
    """List the splits; none where cv is None and rows are fewer than folds."""
    if cv is None:
        return default_splits(rows.X, rows.y, weight=rows.weight)
    return row_splits(cv, rows.X, rows.y, weight=rows.weight, instead="cv=None")


def _check_taus(taus: Any) -> tuple[float, ...]:
    values = np.atleast_1d(np.asarray(taus, dtype=float)) if np.size(taus) else ()
    if not len(values) or not all(0 < v < np.inf for v in values):
        raise ValueError(
            f"taus={taus!r}; give one or more finite strengths > 0. Infinity, the "
            "estimator alone, is always among the choices."
        )
    return tuple(float(v) for v in values)
