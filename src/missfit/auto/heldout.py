"""Held-out prediction: training parts with their moments, splits, paired comparisons.

What the default predictors choose by. Every fit is made once for each training part.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from missfit.auto.objective import SQUARED_ERROR, Objective
from missfit.auto.some_columns import OnColumns
from missfit.estimators.moment_splits import total_moments
from missfit.estimators.splits import are_folds, default_folds, n_units
from missfit.estimators.splits import row_splits as splits_of_rows
from missfit.moments.pattern_moments import PatternMoments

FEWEST_UNITS = 10  # rows or groups to split: two of them in each of five folds
# Rows up to which the linear candidates are averaged, and none is picked. With 2,000
# rows this is worth .018 of R2 under threshold self-masking and .0016 where noise has
# heavy tails, and costs at most .0009 on the other laws of benchmarks/robustness.py;
# with a few more, picking is better on real tables (math_placement .0005, chile_yes
# .0012 of log-loss, both in folds of 2,030 to 2,130 rows).
AVERAGED_ROWS = 2_000


class Gain(NamedTuple):
    """How much lower one loss is than another, with its paired standard error."""

    value: float
    standard_error: float

    def over(self, unit: float) -> Gain:
        """Return the gain in another unit, such as the variance of the target."""
        return Gain(self.value / unit, self.standard_error / unit)

    def ahead(self, errors: float) -> bool:
        """Whether the gain is above so many standard errors."""
        return self.value > errors * self.standard_error

    def wins(self, errors: float = 1.0) -> bool:
        """Whether the gain is above zero and above so many standard errors."""
        return self.value > 0 and self.ahead(errors)


def paired_gain(
    loss: NDArray, new_loss: NDArray, weight: NDArray, groups: NDArray | None = None
) -> Gain:
    """Mean of loss - new_loss over rows, and its standard error.

    The rows of one group (without groups: each row) are one observation of it. With
    value = sum_i w_i gap_i / sum_i w_i its square is::

        sum over groups g of (sum_{i in g} w_i (gap_i - value))^2 / (sum_i w_i)^2

    so that neither depends on the unit of the weights.
    """
    total = weight.sum()
    difference = loss - new_loss
    value = weight @ difference / total
    part = weight * (difference - value)
    if groups is not None:
        part = np.bincount(np.unique(groups, return_inverse=True)[1], part)
    return Gain(float(value), float(np.sqrt(part @ part) / total))


class Table(NamedTuple):
    """Rows with their targets, weights and groups (one group per row without any).

    The objective says what the target asks of a prediction.
    """

    X: NDArray[np.float64]
    y: NDArray
    weight: NDArray[np.float64]
    groups: NDArray | None
    objective: Objective = SQUARED_ERROR

    def take(self, index: NDArray[np.intp]) -> Table:
        """Return the rows at the integers ``index``."""
        groups = None if self.groups is None else self.groups[index]
        return self._replace(
            X=self.X[index], y=self.y[index], weight=self.weight[index], groups=groups
        )

    def columns(self, columns: NDArray[np.intp]) -> Table:
        """Return the rows with some of their columns."""
        return self._replace(X=self.X[:, columns])

    @property
    def is_averaged(self) -> bool:
        """Whether rows are too few to pick one of the linear candidates."""
        return bool(self.weight.sum() <= AVERAGED_ROWS)

    def weighted(self) -> Table:
        """Return the rows of weight > 0."""
        return self if self.weight.all() else self.take(np.flatnonzero(self.weight))

    def losses(self, rows: NDArray[np.intp], guess: NDArray) -> NDArray[np.float64]:
        """Return the losses of guesses for some rows."""
        return self.objective.losses(self.y[rows], guess)

    def unit(self, rows: NDArray[np.intp]) -> float:
        """Return the loss that a gain of one in the score of some rows stands for."""
        return self.objective.unit(self.y[rows], self.weight[rows])

    def gain(self, rows: NDArray[np.intp], loss: NDArray, new_loss: NDArray) -> Gain:
        """Return how much lower the second losses of some rows are."""
        groups = None if self.groups is None else self.groups[rows]
        return paired_gain(loss, new_loss, self.weight[rows], groups)

    def moments(self, rows: NDArray[np.intp]) -> PatternMoments:
        """Return the moments of some rows."""
        targets = self.objective.moment_targets(self.y[rows])
        return PatternMoments.from_data(self.X[rows], targets, self.weight[rows])


def effective_rows(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights that count rows: w sum(w) / sum(w^2), whatever their unit.

    They add up to Kish's effective number of rows, (sum w)^2 / sum(w^2): n where all
    weigh the same, and the number of the heavy ones where the others hardly weigh.

    >>> effective_rows(np.array([3.0, 3.0, 0.0])).tolist()
    [1.0, 1.0, 0.0]
    """
    share = weight / weight.max()  # squares of the weights as given may underflow
    return share * (share.sum() / (share @ share))


def seeded(estimator: Any, seed: int) -> Any:
    """Return a copy in which every ``random_state`` that is None is the seed.

    What follows from chance in a candidate then follows from the seed alone.
    """
    copy: Any = clone(estimator)
    unset = {
        name: seed
        for name, value in copy.get_params().items()
        if value is None and name.rpartition("__")[2] == "random_state"
    }
    return copy.set_params(**unset)


class Training:
    """Rows to train on, their moments, and the models fitted to them so far.

    Attributes
    ----------
    rows : int ndarray
        The rows of the table.
    moments : PatternMoments
    folds : list of PatternMoments
        Parts that add up to ``moments``, for those who choose a strength by them.
    near : Training, optional
        Other rows like these, whose fits are where those to these rows start.
    """

    def __init__(self, table: Table, rows: NDArray, moments, folds, near=None):
        self.table, self.rows = table, rows
        self.moments: PatternMoments = moments
        self.folds: list[PatternMoments] = folds
        self.near: Training | None = near
        self._fitted: dict[str, Any] = {}
        self._guessed: dict[tuple[str, int], tuple[NDArray, NDArray]] = {}
        self.seconds: dict[str, float] = {}

    @property
    def n_values(self) -> int:
        """The number of values to train on, the missing ones among them."""
        return len(self.rows) * self.table.X.shape[1]

    def fit(self, estimator: Any) -> Any:
        """Return the estimator fitted to these rows; the second time it is at hand."""
        key = repr(estimator)
        if key not in self._fitted:
            start = time.perf_counter()
            with warnings.catch_warnings():
                # held-out prediction judges what rare patterns or few steps have done
                warnings.simplefilter("ignore")
                self._fitted[key] = self._fit(clone(estimator))
            self.seconds[key] = time.perf_counter() - start
        return self._fitted[key]

    def guess(self, estimator: Any, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the guesses of the estimator, fitted to these rows, for some rows.

        The second time it is at hand for the same array of row numbers.
        """
        key = repr(estimator), id(rows)
        if key not in self._guessed:
            values = self.table.objective.guess(self.fit(estimator), self.table.X[rows])
            self._guessed[key] = rows, values  # rows too: their id stays theirs
        return self._guessed[key][1]

    def _fit(self, estimator: Any) -> Any:
        parts = estimator.made_of()
        if parts:
            return estimator.of_fitted([self.fit(part) for part in parts])
        start = estimator.starts_from()
        given = () if start is None else (self.fit(start),)  # most often at hand
        near = self._nearby(estimator)
        if estimator.needs_rows:
            return self._fit_rows(estimator, self.rows, *given, **near)
        if given:
            return estimator.fit_moments_given(*given, self.moments, **near)
        return estimator.fit_moments(self.moments, folds=self.folds, **near)

    def _nearby(self, estimator: Any) -> dict[str, Any]:
        """Return the fit to go on from, if there is one, as an argument.

        That of the rows nearby, or that of a scout to these rows.
        """
        if not estimator.takes_near:
            return {}
        found = self.near and self.near._fitted.get(repr(estimator))
        if not found and not estimator.needs_rows:
            found = self._fitted.get(repr(estimator.scout()))
        return {"near": found} if found else {}

    def fit_some(
        self, estimator: Any, n_rows: int, columns: NDArray[np.intp] | None = None
    ) -> Any:
        """Return the estimator fitted to so many of these rows, evenly spaced.

        Of some columns only, where they are given.
        """
        chosen = self.rows[np.linspace(0, len(self.rows) - 1, n_rows).astype(int)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if columns is None:
                return self._fit_rows(clone(estimator), chosen)
            narrow = Training(self.table.columns(columns), chosen, None, [])
            return OnColumns(narrow._fit_rows(clone(estimator), chosen), columns)

    def _fit_rows(self, estimator: Any, rows: NDArray, *given: Any, **near: Any) -> Any:
        some = self.table.take(rows)
        y = some.objective.fit_target(estimator, some.y)
        fit = estimator.fit_rows_given if given else estimator.fit
        if (some.weight == 1.0).all():
            return fit(*given, some.X, y, **near)
        return fit(*given, some.X, y, sample_weight=some.weight, **near)


class HeldOut(NamedTuple):
    """One split: what is trained on, and the rows held out."""

    train: Training
    test: NDArray[np.intp]


def all_and_splits(
    table: Table, splits: list[tuple[NDArray, NDArray]]
) -> tuple[Training, list[HeldOut]]:
    """Return all rows to train on, and each split of them.

    Where the test rows are a partition, every row is read once for all moments: those
    of a training part are the sum of the other folds'.
    """
    read = table.moments
    everything = np.arange(len(table.X))
    if not splits:
        return Training(table, everything, read(everything), []), []
    if not are_folds(splits, len(table.X)):
        held_out: list[HeldOut] = []
        for train, test in splits:
            parts, first = _with_folds(read, train), _first(held_out)
            held_out.append(HeldOut(Training(table, train, *parts, first), test))
        parts, first = _with_folds(read, everything), _first(held_out)
        return Training(table, everything, *parts, first), held_out
    folds = [read(test) for _, test in splits]
    held_out = []
    for k, (train, test) in enumerate(splits):
        others = [fold for j, fold in enumerate(folds) if j != k]
        inner = others if len(others) > 1 else _with_folds(read, train)[1]
        total = total_moments(others)
        held_out.append(
            HeldOut(Training(table, train, total, inner, _first(held_out)), test)
        )
    total, first = total_moments(folds), _first(held_out)
    return Training(table, everything, total, folds, first), held_out


def _first(held_out: list[HeldOut]) -> Training | None:
    """Return what is trained on in the first split: the others are like it."""
    return held_out[0].train if held_out else None


def _with_folds(read, rows) -> tuple[PatternMoments, list[PatternMoments]]:
    """Moments of some rows, and of three parts of them, dealt in turn."""
    if len(rows) < 6:
        return read(rows), []
    folds = [read(rows[k::3]) for k in range(3)]
    return total_moments(folds), folds


def row_splits(
    table: Table, cv: Any, seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the splits that ``cv`` means for the table; none where rows are too few.

    None is 5 shuffled folds, 3 from 5,000 rows on; a number is as many shuffled folds;
    groups are kept together, and every class has its share of each fold. Fewer than 10
    rows (or groups) are not split by a number of folds: two rows a fold tell nothing.
    """
    X, y, groups = table.X, table.y, table.groups
    is_number = cv is None or isinstance(cv, (int, np.integer))
    if is_number and n_units(len(X), groups) < FEWEST_UNITS:
        if cv is not None:  # an impossible number is refused all the same
            splits_of_rows(cv, X, y, groups=groups, seed=seed, instead="cv=None")
        return []
    n_folds = default_folds(len(X)) if cv is None else cv
    splits = splits_of_rows(
        n_folds, X, y, weight=table.weight, groups=groups, seed=seed, instead="cv=None"
    )
    return table.objective.splits(splits, y, groups, seed if is_number else None)


def counted_rows(table: Table, cv: Any, seed: int) -> tuple[Table, list]:
    """Return the rows of weight > 0, and the splits of them that ``cv`` means.

    A number deals these rows to folds. All other splits count the rows as they came,
    with those of weight 0 among them.
    """
    left = table.weighted()
    if cv is None or isinstance(cv, (int, np.integer)) or len(left.X) == len(table.X):
        return left, row_splits(left, cv, seed)
    counts = table.weight > 0
    place = np.cumsum(counts) - 1
    splits = row_splits(table, cv, seed)
    return left, [tuple(place[rows[counts[rows]]] for rows in pair) for pair in splits]
