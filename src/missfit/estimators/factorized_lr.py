"""FactorizedLR: the dial between ConstantImputedLR and ExpandedLR."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.moment_splits import Split
from missfit.estimators.pattern_predictor import PatternPredictor
from missfit.estimators.ridge_strength import choose_alpha
from missfit.moments.column_scales import column_scales
from missfit.moments.maps import AffineMaps, factorized_maps
from missfit.moments.pattern_moments import PatternBlock, PatternMoments
from missfit.moments.patterns import (
    subsets_inside,
    subsets_up_to,
)
from missfit.moments.ridge import check_alphas, ridge_path

MAX_COEFFICIENTS = 5000  # the Gram matrix takes 200 MB, its eigenvectors a minute


class TooLargeError(ValueError):
    """A table has more features than a predictor can take."""


class FactorizedLR(PatternPredictor):
    """Ridge regression on the polynomial of Proposition 4.2, cut at an order.

    The model is::

        f(x, m) = sum_S prod_{k in S} m_k
                        (zeta_0^S + sum_j zeta_j^S (1 - m_j)(x_j - c_j))

    with the slopes of subsets S of at most ``order`` features and the intercepts of at
    most ``order + 1``, so that the centres c_j, the means of the observed values,
    change the penalty and not the model. Order 0 is the model of `ConstantImputedLR`,
    order d that of `ExpandedLR`; in between, the capacity grows with d^(order + 1)
    instead of 2^d. The Gram matrix comes from the pattern moments: rows are never
    expanded.

    Parameters
    ----------
    order : int
        From 0 to d.
    alphas : sequence of float
        Ridge strengths to choose from, for columns of standard deviation 1. 0 is least
        squares.
    cv : int, splitter or iterable
        Cross-validation that chooses, by the mean R2 of the folds; any cv argument of
        scikit-learn.

    Attributes
    ----------
    subsets_ : bool ndarray of shape (n_subsets, d)
        The subsets S that occur in a pattern seen at fit.
    zeta_intercept_ : ndarray of shape (n_subsets, t)
        zeta_0^S.
    zeta_coef_ : ndarray of shape (n_subsets, t, d)
        zeta_j^S, zero for j in S.
    centre_ : ndarray of shape (d,)
        c_j.
    alpha_ : float
        The chosen strength.
    cv_scores_ : dict
        The mean R2 of each strength, where there was a choice.
    patterns_, pattern_count_, pattern_models_
        The patterns seen at fit, their rows and their affine maps.

    Notes
    -----
    A pattern never seen is predicted from the subsets that it shares with those seen. A
    feature missing only at predict is imputed by its training mean, one all missing at
    fit is ignored. A row with nothing observed gets the sum of the intercepts. Constant
    or collinear columns and fewer rows than coefficients are held by the ridge; at
    alpha = 0 they get the solution of least norm in standard units.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = X.sum(axis=1)
    >>> X[:100, 1] = np.nan
    >>> FactorizedLR(alphas=(0.0,)).fit(X, y).predict([[1.0, 2.0]]).round(6).tolist()
    [3.0]
    """

    def __init__(
        self,
        order: int = 1,
        *,
        alphas: Any = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4),
        cv: Any = 5,
    ):
        self.order = order
        self.alphas = alphas
        self.cv = cv

    def _check_parameters(self, n_features: int) -> None:
        check_alphas(self.alphas)
        if not isinstance(self.order, Integral) or not 0 <= self.order <= n_features:
            raise ValueError(
                f"order={self.order!r}; it must be a whole number from 0 to "
                f"{n_features}, the number of features."
            )

    def _fit_moments(self, moments: PatternMoments, splits: list[Split]) -> None:
        alphas = check_alphas(self.alphas)
        columns = _Columns(moments, int(self.order))
        whole = columns.gram(moments)
        spread = np.sqrt(np.maximum(np.diag(whole.cov)[: columns.n], 0.0))
        spread = np.maximum(spread, columns.least_spread(moments))
        spread[spread < 1e-10] = 1.0  # a column that never varies

        def path(train: PatternMoments):
            return [z.maps for z in columns.solve(columns.gram(train), spread, alphas)]

        self.alpha_, self.cv_scores_ = choose_alpha(alphas, splits, path)
        (zeta,) = columns.solve(whole, spread, (self.alpha_,))
        self.subsets_ = zeta.subsets
        self.zeta_intercept_, self.zeta_coef_ = zeta.intercept, zeta.coef
        self.centre_ = zeta.centre

    def _maps(self, patterns: NDArray[np.bool_]) -> AffineMaps:
        zeta = (self.subsets_, self.zeta_intercept_, self.zeta_coef_, self.centre_)
        return _Zeta(*zeta).maps(patterns)


class _Zeta(NamedTuple):
    """Coefficients of the polynomial."""

    subsets: NDArray[np.bool_]
    intercept: NDArray[np.float64]
    coef: NDArray[np.float64]
    centre: NDArray[np.float64]

    def maps(self, patterns: NDArray[np.bool_]) -> AffineMaps:
        maps = factorized_maps(self.subsets, self.intercept, self.coef, patterns)
        np.subtract(maps.intercept, maps.coef @ self.centre, out=maps.intercept)
        return maps


class _Gram(NamedTuple):
    """Mean and covariance of the columns, then of the targets; number of rows."""

    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    n_rows: float


class _Columns:
    """The columns of the polynomial, and their moments from those of the patterns.

    Features and targets are in standard units. Shifting a feature keeps the span, since
    intercepts reach one order further than slopes.
    """

    def __init__(self, moments: PatternMoments, order: int):
        self.d, self.t = moments.n_features, moments.n_targets
        self.scales = column_scales(moments)
        subsets = self._possible_subsets(moments, order)
        occurs = np.zeros(len(subsets), dtype=bool)
        for start in range(0, len(moments), 4096):
            block = moments.patterns[start : start + 4096]
            occurs |= subsets_inside(subsets, block).any(axis=0)
        self.subsets = subsets[occurs]
        size = self.subsets.sum(axis=1)
        slope_subsets = np.flatnonzero(size <= order)
        # column c is x_feature[c] times the indicator of subset[c]
        free = ~self.subsets[slope_subsets]
        row, self.feature = np.nonzero(free)
        self.subset = slope_subsets[row]
        self.indicators = np.flatnonzero(size > 0)
        self.n = len(self.feature) + len(self.indicators)
        if self.n > MAX_COEFFICIENTS:
            raise TooLargeError(
                f"order={order} with these {self.d} features has {self.n:,} "
                f"coefficients, more than {MAX_COEFFICIENTS:,}. Lower the order: "
                f"order=0 has at most {2 * self.d + 1:,}. ExpandedLR takes any number "
                "of features."
            )
        self.columns_of_feature = [
            np.flatnonzero(self.feature == j) for j in range(self.d)
        ]

    def _possible_subsets(self, moments: PatternMoments, order: int):
        """Subsets of the features that are missing in some rows and observed in others.

        The indicator of any other feature is constant and tells nothing.
        """
        varies = moments.patterns.any(axis=0) & ~moments.patterns.all(axis=0)
        some = subsets_up_to(int(varies.sum()), min(order + 1, int(varies.sum())))
        subsets = np.zeros((len(some), self.d), dtype=bool)
        subsets[:, varies] = some
        return subsets

    def gram(self, moments: PatternMoments) -> _Gram:
        """Mean and covariance of all columns and targets.

        In pattern p a column is a feature (or target) times a switch that is constant,
        so that its moments are those of the features times the switches.
        """
        k = self.n + self.t
        mean, second = np.zeros(k), np.zeros((k, k))
        total = moments.count.sum()

        def add(rows, columns, product) -> None:
            second[np.ix_(rows, columns)] += product
            if rows is not columns:
                second[np.ix_(columns, rows)] += product.T

        switched = np.arange(len(self.feature), self.n)  # the columns of switches alone
        for block in moments.blocks():
            z, square = self._standard_moments(block)
            groups, switches = self._switches(block.patterns)
            counted = block.count[:, None] * switches
            mean[switched] += counted.sum(axis=0)
            add(switched, switched, counted.T @ switches)
            for i, (left, rows) in enumerate(groups):
                value = left * z[:, i : i + 1]
                mean[rows] += block.count @ value
                add(rows, switched, value.T @ counted)
                for j, (right, columns) in enumerate(groups[: i + 1]):
                    add(rows, columns, (left * square[:, i, j, None]).T @ right)
        mean /= total
        return _Gram(mean, second / total - np.outer(mean, mean), total)

    def least_spread(self, moments: PatternMoments) -> NDArray[np.float64]:
        """Return a spread below which none is believed: a tenth of what is expected.

        A feature times a switch that is on in a share s of the rows has a standard
        deviation of about sqrt(s) in standard units. Where it is on in a few rows of
        nearly equal values the ridge would let any slope pass: 5 of 5,000 tables of 3
        to 200 rows had predictions more than 10 ranges of y beyond its range.
        """
        on = np.zeros(len(self.feature))
        for start in range(0, len(moments), 4096):
            some = slice(start, start + 4096)
            inside = subsets_inside(self.subsets, moments.patterns[some])
            seen = inside[:, self.subset] * ~moments.patterns[some][:, self.feature]
            on += moments.count[some] @ seen
        share = on / moments.count.sum()
        return np.append(0.1 * np.sqrt(share), np.zeros(len(self.indicators)))

    def _standard_moments(self, block: PatternBlock):
        """Mean (P, d + t) and summed squares (P, d + t, d + t), zero where missing."""
        shift, scale = self.scales.mean, self.scales.std
        z = (block.mean - shift) / scale
        z[:, : self.d][block.patterns] = 0.0
        square = block.scatter / scale / scale[:, None]
        return z, square + block.count[:, None, None] * z[:, :, None] * z[:, None, :]

    def _switches(self, patterns: NDArray[np.bool_]):
        """Return the switches of each feature's and target's columns, then the rest."""
        inside = subsets_inside(self.subsets, patterns)
        on = np.ones((len(patterns), 1))
        groups = [(inside[:, self.subset[c]], c) for c in self.columns_of_feature]
        groups += [(on, np.array([self.n + k])) for k in range(self.t)]
        return groups, inside[:, self.indicators]

    def solve(self, gram: _Gram, spread, alphas):
        """Yield the coefficients for each ridge strength."""
        n = self.n
        scaled = gram.cov[:n, :n] / spread / spread[:, None] * gram.n_rows
        cross = gram.cov[:n, n:] / spread[:, None] * gram.n_rows
        for solution in ridge_path(scaled, cross, alphas):
            coefficients = solution / spread[:, None]
            centre = gram.mean[n:] - gram.mean[:n] @ coefficients
            yield self._zeta(coefficients, centre)

    def _zeta(self, coefficients, centre) -> _Zeta:
        """Coefficients in the units of the data."""
        d, n_slopes = self.d, len(self.feature)
        shift, scale = self.scales.mean, self.scales.std
        coef = np.zeros((len(self.subsets), self.t, d))
        coef[self.subset, :, self.feature] = coefficients[:n_slopes]
        coef *= scale[d:, None] / scale[:d]
        intercept = np.zeros((len(self.subsets), self.t))
        intercept[self.indicators] = coefficients[n_slopes:]
        intercept[0] += centre  # the empty subset comes first
        intercept *= scale[d:]
        intercept[0] += shift[d:]
        return _Zeta(self.subsets, intercept, coef, shift[:d])
