"""ConformalRegressor: prediction intervals that are valid for every missing pattern."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.validation import has_fit_parameter

from missfit.estimators.base import NanRegressor
from missfit.patterns import group_rows
from missfit.sources import comes_in_chunks
from missfit.tables import blocks

METHODS = ("auto", "exact", "nested")
MOST_EXACT = 5000  # calibration rows: the error of the coverage is 0.4 % from here on
MOST_NESTED = 1000  # each meets every row to predict, so that fewer are taken
NEAREST = 200  # of "auto" where it is nested: those that need the least hiding
ENOUGH = 50  # usable rows from which "auto" trusts "exact"
BATCH = 2**22  # doubles given to the base at once


class ConformalRegressor(NanRegressor):
    r"""Intervals around any regressor, valid given the missing pattern.

    Split conformal prediction with missing-data augmentation (CP-MDA; Zaffran,
    Dieuleveut, Josse, Romano 2023, Algorithms 1 and 2). The base is fitted to some of
    the rows; the others calibrate. A row with pattern m is compared with calibration
    rows *as they would look under m*:

    - exact: the rows that observe all that m observes, hidden as in m, give scores
      s_k = \|y_k - f(x_k)\|. The interval is f(x) ± the ceil((1 - alpha)(n + 1))-th
      smallest of the n scores, infinite where n is too small for that rank.
    - nested: every row k, hidden as in the union u_k of m and its own pattern, gives
      s_k under u_k. The interval reaches from the floor(alpha (n + 1))-th smallest of
      f(x under u_k) - s_k to the ceil((1 - alpha)(n + 1))-th smallest of
      f(x under u_k) + s_k.

    Parameters
    ----------
    base : regressor
        Anything with fit and predict that takes NaN in X; cloned.
    alpha : float
        Share of the targets that may fall outside: 0.1 asks for 90 % intervals.
    method : {"auto", "exact", "nested"}
        "auto" is exact for a pattern with 50 usable calibration rows or more; for the
        others nested, with the 200 rows that need the least hiding. The choice looks at
        masks alone, so that both keep what they promise.
    calibration : float
        Share of the rows kept for calibration, at most 5,000 rows.
    random_state : int, RandomState or None
        Of the split.

    Attributes
    ----------
    base_ : regressor
        Fitted to the training part.
    calibration_rows_, calibration_targets_ : ndarray
        The rows kept for calibration.

    Notes
    -----
    Assumption: the mask is independent of (X, y) (MCAR), and rows are exchangeable.
    Then exact covers y with probability 1 - alpha or more *given the pattern*, at most
    1 / (n + 1) more where the scores have no ties. Nested is guaranteed 1 - 2 alpha on
    average and covers 1 - alpha or more in practice, since it hides more than m does.
    Where the mask depends on values (MAR, MNAR), rows that are hidden on purpose are
    not like rows that hide themselves, and patterns may be covered too little or too
    much; only the average over patterns of ordinary split conformal prediction is then
    safe. An interval is as wide as its pattern makes it, not as its values do.

    The cost is one prediction for each test pattern and calibration row (exact), or
    also for each test row and calibration pattern (nested).

    References
    ----------
    M. Zaffran, A. Dieuleveut, J. Josse, Y. Romano. Conformal prediction with missing
    values. ICML 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from missfit import EMLR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2))
    >>> y = X.sum(axis=1) + 0.1 * rng.normal(size=4000)
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> model = ConformalRegressor(EMLR(), random_state=0).fit(X, y)
    >>> lower, upper = model.predict_interval([[0.0, 0.0], [0.0, np.nan]])
    >>> (upper - lower).round(1).tolist()  # wide where a feature is missing
    [0.3, 3.2]
    """

    base_: Any
    calibration_rows_: NDArray[np.float64]
    calibration_targets_: NDArray[np.float64]

    def __init__(
        self,
        base: Any,
        *,
        alpha: float = 0.1,
        method: str = "auto",
        calibration: float = 0.25,
        random_state: Any = None,
    ):
        self.base = base
        self.alpha = alpha
        self.method = method
        self.calibration = calibration
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> ConformalRegressor:
        """Fit the base to some rows and keep the others for calibration.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The features, NaN where missing.
        y : array-like of shape (n,)
        groups : array-like of shape (n,), optional
            Rows of one group are all fitted or all kept, so that the intervals are
            those of new groups; passed on to a base that takes them.
        """
        trial = self._trial()
        self._check_parameters()
        X, y = trial._check_fit(X, y)
        y = column_or_1d(y, warn=True)
        if len(X) < 2:
            raise ValueError(
                f"n_samples = {len(X)}; at least 2 rows are needed, one to fit and one "
                "to calibrate."
            )
        n_kept = min(int(np.ceil(self.calibration * len(X))), len(X) - 1, MOST_EXACT)
        rng = check_random_state(self.random_state)
        if groups is None:
            order = rng.permutation(len(X))
            kept, rest = order[:n_kept], np.sort(order[n_kept:])
        else:
            groups = np.asarray(groups)
            check_consistent_length(X, groups)
            kept, rest = _split_groups(groups, n_kept, rng)
        base: Any = clone(self.base)
        options = {}
        if groups is not None and has_fit_parameter(base, "groups"):
            options["groups"] = groups[rest]
        trial.base_ = base.fit(X[rest], y[rest], **options)
        trial.calibration_rows_, trial.calibration_targets_ = X[kept], y[kept]
        return self._become(trial)

    def _check_parameters(self) -> None:
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha={self.alpha!r}; it must be between 0 and 1.")
        if self.method not in METHODS:
            raise ValueError(
                f"method={self.method!r}; choose {', '.join(map(repr, METHODS))}."
            )
        if not 0 < self.calibration < 1:
            raise ValueError(
                f"calibration={self.calibration!r}; the share of the rows must be "
                "between 0 and 1."
            )

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict rows, NaN where missing: what the base says."""
        if comes_in_chunks(X):
            return self._predict_chunks(X)
        X = self._check_predict(X)
        return self.base_.predict(X)

    def predict_interval(
        self, X: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends of the intervals of rows, NaN where missing.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)

        Returns
        -------
        lower, upper : ndarray of shape (n,)
        """
        lower, upper = self.predict_intervals(X, (self.alpha,))
        return lower[0], upper[0]

    def predict_intervals(
        self, X: Any, alphas: Sequence[float]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends for several shares outside, each of shape (alphas, n).

        For little more than one of them costs: the scores serve all.
        """
        X = self._check_predict(X)
        groups = group_rows(np.isnan(X))
        exact = self._is_exact(groups.patterns)
        width = np.full((len(alphas), len(groups.patterns)), np.nan)
        width[:, exact] = self._exact_widths(groups.patterns[exact], alphas)
        width = width[:, groups.pattern_of_row()]
        prediction = self.base_.predict(X)
        lower, upper = prediction - width, prediction + width
        for p in np.flatnonzero(~exact):
            rows = groups.order[groups.starts[p] : groups.starts[p + 1]]
            ends = self._nested(X[rows], groups.patterns[p], alphas)
            lower[:, rows], upper[:, rows] = ends
        return lower, upper

    def usable_rows(self, patterns: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Calibration rows that the exact method has for each pattern (P, d).

        Those that observe all that the pattern observes.
        """
        patterns = np.asarray(patterns, dtype=bool)
        groups = group_rows(np.isnan(self.calibration_rows_))
        count = np.empty(len(patterns), dtype=np.intp)
        for block in blocks(len(patterns), len(groups.patterns)):
            usable = _inside(groups.patterns, patterns[block])
            count[block] = usable @ groups.n_rows
        return count

    def _is_exact(self, patterns: NDArray[np.bool_]) -> NDArray[np.bool_]:
        if self.method != "auto":
            return np.full(len(patterns), self.method == "exact")
        return self.usable_rows(patterns) >= ENOUGH

    def _exact_widths(
        self, patterns: NDArray[np.bool_], alphas: Sequence[float]
    ) -> NDArray[np.float64]:
        """Half the width of the exact interval of each alpha and pattern."""
        widths = np.empty((len(alphas), len(patterns)))
        for block, rows in self._batches(patterns):
            of = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
            scores = self._scores(np.concatenate(rows), patterns[block][of])
            ends = np.cumsum([len(r) for r in rows])
            for p, part in enumerate(np.split(scores, ends[:-1])):
                for a, alpha in enumerate(alphas):
                    rank = _high_rank(alpha, len(part))
                    widths[a, block.start + p] = _smallest(part[None], rank)[0]
        return widths

    def _batches(self, patterns) -> Iterator[tuple[slice, list[NDArray[np.intp]]]]:
        """Consecutive patterns with their usable rows, few enough for one predict."""
        X = self.calibration_rows_
        groups = group_rows(np.isnan(X))
        pattern_of_row = groups.pattern_of_row()
        start, rows, size = 0, [], 0
        for p, pattern in enumerate(patterns):
            usable = _inside(groups.patterns, pattern[None])[0]
            rows.append(np.flatnonzero(usable[pattern_of_row]))
            size += len(rows[-1]) * X.shape[1]
            if size > BATCH or p == len(patterns) - 1:
                yield slice(start, p + 1), rows
                start, rows, size = p + 1, [], 0

    def _scores(self, rows: NDArray[np.intp], hidden: NDArray[np.bool_]) -> NDArray:
        """Return |y - f(x)| of calibration rows with some more of them hidden."""
        if not len(rows):
            return np.empty(0)
        X = np.where(hidden, np.nan, self.calibration_rows_[rows])
        return np.abs(self.calibration_targets_[rows] - self.base_.predict(X))

    def _nested(
        self, X, pattern, alphas: Sequence[float]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of the nested intervals of rows of one pattern, (A, n)."""
        unions = np.isnan(self.calibration_rows_) | pattern
        # rows that need the least hiding first: the choice sees masks alone
        order = np.argsort(unions.sum(axis=1), kind="stable")
        some = np.sort(order[: NEAREST if self.method == "auto" else MOST_NESTED])
        unions = unions[some]
        groups = group_rows(unions)
        union_of = groups.pattern_of_row()
        scores = self._scores(some, unions)
        lower, upper = np.empty((2, len(alphas), len(X)))
        n_unions = len(groups.patterns)
        step = max(n_unions * X.shape[1], len(some))
        for block in blocks(len(X), step, size=BATCH):
            hidden = np.where(groups.patterns[:, None], np.nan, X[None, block])
            flat = self.base_.predict(hidden.reshape(-1, X.shape[1]))
            under = flat.reshape(n_unions, -1).T[:, union_of]  # (rows, calibration)
            for a, alpha in enumerate(alphas):
                low_rank = int(np.floor(alpha * (len(some) + 1) + 1e-9))
                mirrored = len(some) + 1 - low_rank
                lower[a, block] = -_smallest(scores - under, mirrored)
                rank = _high_rank(alpha, len(some))
                upper[a, block] = _smallest(scores + under, rank)
        return lower, upper

    def __sklearn_tags__(self):
        """Return the tags: one target."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


def _split_groups(groups: NDArray, n_kept: int, rng) -> tuple[NDArray, NDArray]:
    """Rows of groups drawn until there are enough, and those of all others."""
    names, group_of_row = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise ValueError(
            f"groups holds one value, {names[0]!r}; at least 2 groups are needed, one "
            "to fit and one to calibrate. Leave groups out to split by rows."
        )
    order = rng.permutation(len(names))
    size = np.cumsum(np.bincount(group_of_row)[order])
    n_groups = min(int(np.searchsorted(size, n_kept)) + 1, len(names) - 1)
    chosen = np.isin(group_of_row, order[:n_groups])
    kept = rng.permutation(np.flatnonzero(chosen))[:MOST_EXACT]
    return kept, np.flatnonzero(~chosen)


def _inside(inner: NDArray[np.bool_], outer: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether pattern c hides nothing that pattern p shows, shape (P, C)."""
    return (~outer).astype(np.float32) @ inner.T.astype(np.float32) == 0


def _high_rank(alpha: float, n: int) -> int:
    """Return ceil((1 - alpha)(n + 1)), safe from rounding."""
    return int(np.ceil((1 - alpha) * (n + 1) - 1e-9))


def _smallest(values: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """Return the rank-th smallest of each row, infinite beyond the last."""
    if rank > values.shape[1]:
        return np.full(len(values), np.inf)
    return np.partition(values, rank - 1, axis=1)[:, rank - 1]
