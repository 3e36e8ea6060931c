"""ConformalRegressor: prediction intervals calibrated for each missing pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from missfit.estimators.any_table import missing_mask, take_rows
from missfit.estimators.base import NanRegressor
from missfit.estimators.calibration_rows import numbers
from missfit.estimators.conformal import ConformalEstimator
from missfit.moments.patterns import group_rows

METHODS = ("auto", "exact", "nested")


class ConformalRegressor(ConformalEstimator, NanRegressor):
    r"""Intervals around any regressor, calibrated for each missing pattern.

    Conformal prediction: some rows are held out from the fit, and their errors
    \|y - f(x)\| say how wide intervals must be. Which errors count for a row depends on
    its pattern m, the set of its missing values, and `predict_interval` says which:

    ================== ========================== =====================================
    kind               calibration rows           promise (exchangeable rows or groups)
    ================== ========================== =====================================
    "same pattern"     those of m, where they are coverage 1 - alpha *given m*, under
                       1/alpha - 1 or more        any mechanism
    "pooled patterns"  those of other rare        coverage 1 - alpha on average over
                       patterns, by number of     the rows of the pool, under any
                       missing values             mechanism
    "all rows"         all, where rare patterns   about 1 - alpha given m where missing
                       have too few rows together values do not depend on values (MCAR)
    "too few"          fewer than 1/alpha - 1     infinite intervals
    ================== ========================== =====================================

    In the second and third case an error counts by its place among those that are
    typical of its pattern: the errors of the 100 calibration rows nearest to the
    pattern, hidden as in it (missing-data augmentation; Zaffran et al. 2023). So a pool
    tells how large errors are, and augmentation how they differ between its patterns.

    Parameters
    ----------
    estimator : regressor
        Anything with fit and predict, such as a pipeline with text columns; cloned. It
        gets X as it comes, and must take the missing values that X has.
    alpha : float
        Share of the targets that may fall outside: 0.1 asks for 90 % intervals.
    method : {"auto", "exact", "nested"}
        "auto" is the table above. "exact" and "nested" are CP-MDA as published
        (Algorithms 1 and 2 of Zaffran et al.), valid under MCAR alone: every
        calibration row is hidden as in m, or as in the union of m and its own pattern.
        They know neither groups nor weights.
    calibration : float
        Share of the rows (or groups) held out, at most 5,000 rows. With "auto", where
        these are fewer than 20 or 1/alpha - 1, all rows calibrate by cross-fitting in 5
        folds, and the estimator is fitted to all of them.
    cv : int, splitter or iterable, optional
        Which rows are predicted by a model that was not fitted to them: all rows that
        some split holds out calibrate, and the estimator is fitted to all rows. With
        `missfit.estimators.ForwardSplit` or scikit-learn's ``TimeSeriesSplit`` rows
        calibrate that were predicted from the past. The groups are given to the
        splitter; those of `ForwardSplit` are times, and each row is then one draw.
        Without it a share of the rows calibrates, see ``calibration``.
    random_state : int, RandomState or None
        The seed by which the rows that calibrate are drawn, or the folds of ``cv``.

    Attributes
    ----------
    estimator_ : regressor
        Fitted to the rows that are not held out, or to all after cross-fitting.
    calibration_rows_ : array or frame
        The rows that calibrate.
    calibration_targets_, calibration_predictions_ : ndarray
        Their targets, and the predictions of a model that was not fitted to them.
    calibration_groups_, calibration_weights_ : ndarray
        Their groups, numbered, and their weights.
    calibration_places_ : ndarray of shape (n, 2)
        By "auto": the place of each among the errors that are typical of its pattern,
        the lowest and the highest where several of these are equal to its own.

    Notes
    -----
    Coverage is the probability over calibration rows and new row. With n calibration
    rows of the pattern it is 1 - alpha where scores are spread evenly between
    neighbours, a little more where their density falls, and never less than
    1 - alpha - 1/(n + 1); for one fit it varies about that with a standard deviation of
    sqrt(alpha (1 - alpha)/(n + 2)), 9 points for the 9 rows that 90 % need at least.

    With groups, the number of rows is the number of groups that have such a row, and
    coverage is that of a row of a new group, each group counting the same. Cross-fitted
    intervals hold in practice; what is proved for them is weaker. The promise is
    broken by rows that are not like the calibration rows: another time or place, a
    change in what is missing within a pool. Rows predicted from the past show the
    errors of times to come as far as the past tells; what drifts further is not
    covered. An interval is as wide as its pattern makes
    it, not as its values do.

    References
    ----------
    M. Zaffran, A. Dieuleveut, J. Josse, Y. Romano. Conformal prediction with missing
    values. ICML 2023.
    Y. Lee, R. F. Barber, R. Willett. Distribution-free inference with hierarchical
    data. 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from missfit import EMLR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2))
    >>> y = X.sum(axis=1) + 0.1 * rng.normal(size=4000)
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> model = ConformalRegressor(EMLR(), random_state=0).fit(X, y)
    >>> new = [[0.0, 0.0], [0.0, np.nan]]
    >>> lower, upper, kind = model.predict_interval(new, return_kind=True)
    >>> (upper - lower).round(1).tolist()  # wide where a feature is missing
    [0.3, 3.2]
    >>> kind.tolist()
    ['same pattern', 'same pattern']
    """

    def __init__(
        self,
        estimator: Any,
        *,
        alpha: float = 0.1,
        method: str = "auto",
        calibration: float = 0.25,
        cv: Any = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.alpha = alpha
        self.method = method
        self.calibration = calibration
        self.cv = cv
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.method not in METHODS:
            raise ValueError(
                f"method={self.method!r}; choose {', '.join(map(repr, METHODS))}."
            )

    def _targets(self, y: Any) -> NDArray[np.float64]:
        return numbers(y)

    def _predicted(self, fitted: Any, X: Any) -> NDArray[np.float64]:
        return np.asarray(fitted.predict(X), dtype=np.float64)

    def _scores(self, targets: NDArray, predicted: NDArray) -> NDArray[np.float64]:
        return np.abs(targets - predicted)

    def predict_interval(self, X: Any, return_kind: bool = False) -> Any:
        """Lower and upper ends of the intervals of rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        return_kind : bool
            Also return which rows calibrated each interval: "same pattern", "pooled
            patterns", "all rows" or "too few" (or the method that was asked for).

        Returns
        -------
        lower, upper : ndarray of shape (n,)
        kind : ndarray of str, shape (n,), with ``return_kind``
        """
        lower, upper, kind = self._intervals(X, (self.alpha,))
        return (lower[0], upper[0], kind[0]) if return_kind else (lower[0], upper[0])

    def predict_intervals(
        self, X: Any, alphas: Sequence[float]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends for several shares outside, each of shape (alphas, n).

        It costs little more than one share, since the same scores serve all. Which
        patterns have enough rows, and which are pooled, depends on the share; where
        other rows calibrate one interval than the other, the narrower one need not lie
        inside the wider one.
        """
        lower, upper, _ = self._intervals(X, alphas)
        return lower, upper

    def _intervals(self, X: Any, alphas: Sequence[float]) -> _Intervals:
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        groups = group_rows(missing_mask(X))
        index = groups.pattern_of_row()
        if self.method == "nested":
            return self._nested(X, groups, alphas)
        width, kind = self.half_widths(groups.patterns, alphas)
        center = self._predicted(self.estimator_, X)
        width = width[:, index]
        return _Intervals(center - width, center + width, kind[:, index])

    def half_widths(
        self, patterns: NDArray[np.bool_], alphas: Sequence[float]
    ) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
        """Half the width of the interval of each alpha and pattern, and its kind.

        It depends on the pattern alone, so that it can be kept for rows to come. The
        intervals of the method "nested" differ from row to row and have none.
        """
        if self.method == "exact":
            width = self._augmentation().exact_widths(patterns, alphas)
            return width, np.full(width.shape, self.method)
        found = self.thresholds(patterns, alphas)
        return found.value, found.kind

    def _nested(self, X: Any, groups: Any, alphas: Sequence[float]) -> _Intervals:
        rows, predict = self._augmentation(), self.estimator_.predict
        lower, upper = np.empty((2, len(alphas), len(X)))
        for p, pattern in enumerate(groups.patterns):
            some = groups.order[groups.starts[p] : groups.starts[p + 1]]
            ends = rows.nested_ends(predict, take_rows(X, some), pattern, alphas)
            lower[:, some], upper[:, some] = ends
        return _Intervals(lower, upper, np.full(lower.shape, self.method))

    def __sklearn_tags__(self):
        """Return the tags: one target."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


class _Intervals(NamedTuple):
    """Ends and kinds of intervals, each of shape (alphas, rows)."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    kind: NDArray[np.str_]
