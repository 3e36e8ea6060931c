"""The rows that calibrate: read as they come, held out from a fit.

A part of the rows is held out, or, where that would be too few, all are: predicted by
estimators that are fitted to the others (cross-fitting).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import has_fit_parameter

from missfit.estimators.any_table import as_table, take_rows
from missfit.estimators.calibration import is_enough
from missfit.estimators.forward_split import ForwardSplit
from missfit.estimators.splits import row_splits
from missfit.moments.rows import check_weight
from missfit.tables.arrays import refuse_beyond, target_values
from missfit.tables.chunks import comes_in_chunks, named_columns

MOST_ROWS = 5000  # that calibrate: the error of the coverage is 0.4 % from here on
FOLDS = 5  # of cross-fitting
# Rows or groups held out, below which all of them calibrate by cross-fitting. 10 of 40
# groups would put 1/11 of the mass at infinity: 90 % intervals at the 99 % quantile.
FEWEST_HELD_OUT = 20


class Learner(NamedTuple):
    """An estimator, as the calibration sees it.

    Attributes
    ----------
    fit : callable
        From rows to a fitted estimator.
    predict : callable
        From a fitted estimator and X to predictions, the first axis being the rows.
    are_enough : callable
        From the targets of some rows, and of all, to whether these can stand for all.
    """

    fit: Callable[[Rows], Any]
    predict: Callable[[Any, Any], NDArray[np.float64]]
    are_enough: Callable[[NDArray, NDArray], bool]


class Rows(NamedTuple):
    """Rows to fit: any table, targets, weights, groups as numbers."""

    X: Any
    y: NDArray
    weight: NDArray[np.float64]
    group: NDArray[np.intp]
    has_groups: bool
    has_weights: bool

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        return self._replace(
            X=take_rows(self.X, rows),
            y=self.y[rows],
            weight=self.weight[rows],
            group=self.group[rows],
        )

    def counted(self) -> Rows:
        """Return the rows of positive weight."""
        return self if self.weight.all() else self.take(np.flatnonzero(self.weight))


class HeldOut(NamedTuple):
    """A fitted estimator, the rows that calibrate, and their held-out predictions."""

    estimator: Any
    rows: Rows
    predictions: NDArray[np.float64]


def read_rows(
    X: Any, y: Any, sample_weight: Any, groups: Any, targets: Callable[[Any], NDArray]
) -> Rows:
    """Return all rows; X stays as it is, and ``targets`` checks what y is."""
    if comes_in_chunks(X):
        raise TypeError(
            "the calibration needs all rows in memory, and X is of type "
            f"{type(X).__name__}, whose rows come in chunks. Read them into an array "
            "or a frame first."
        )
    X, y, sample_weight = named_columns(X, y, sample_weight)
    X = as_table(X)
    if isinstance(X, np.ndarray) and X.dtype == np.float64 and X.size:
        refuse_beyond(X, "X")  # here, since the estimator is given some of the rows
    y = targets(y)
    check_consistent_length(X, y)
    weight, group = np.ones(len(y)), np.arange(len(y))
    if sample_weight is not None:
        weight = check_weight(sample_weight, len(y))
    if groups is not None:
        check_consistent_length(X, groups)
        _, group = np.unique(np.asarray(groups), return_inverse=True)
    _check_units(group[weight > 0], groups)
    return Rows(X, y, weight, group, groups is not None, sample_weight is not None)


def numbers(y: Any) -> NDArray[np.float64]:
    """Return a target of numbers, or say what is wrong with it."""
    y = column_or_1d(target_values(y), warn=True)
    y = np.asarray(check_array(y, ensure_2d=False, input_name="y"), np.float64)
    refuse_beyond(y, "y")
    return y


def _check_units(unit: NDArray[np.intp], groups: Any) -> None:
    """Raise where there are not two rows, or groups, to tell apart."""
    n_units = len(np.unique(unit))
    if n_units > 1:
        return
    if groups is not None:
        raise ValueError(
            f"groups holds one value, {np.asarray(groups)[0]!r}; at least 2 groups are "
            "needed, one to fit and one to calibrate. Leave groups out to split by "
            "rows."
        )
    raise ValueError(
        f"n_samples = {n_units}; at least 2 rows (of weight > 0) are needed, one to "
        "fit and one to calibrate."
    )


def hold_out(
    learner: Learner,
    rows: Rows,
    *,
    alpha: float,
    share: float,
    may_cross_fit: bool,
    rng: Any,
) -> HeldOut:
    """Fit an estimator to some rows (or groups) and predict the others, or cross-fit.

    Cross-fitted where a share of the rows (or groups) is fewer than 20, or fewer than
    quantiles at 1 - alpha need, and where what is left to fit is not enough, since a
    rare class is held out whole.
    """
    rows = rows.counted()
    units = np.unique(rows.group)
    n_held_out = min(int(np.ceil(share * len(units))), len(units) - 1)
    is_few = n_held_out < FEWEST_HELD_OUT or not is_enough(n_held_out, alpha)
    if is_few and may_cross_fit:
        _warn_of_too_few(len(units), rows.has_groups, alpha)
        return _cross_fit(learner, rows, rng)
    if not rows.has_groups:
        n_held_out = min(n_held_out, MOST_ROWS)
    is_out = np.isin(rows.group, rng.permutation(units)[:n_held_out])
    if not learner.are_enough(rows.y[~is_out], rows.y):
        return _cross_fit(learner, rows, rng)
    model = learner.fit(rows.take(np.flatnonzero(~is_out)))
    kept = rows.take(rng.permutation(np.flatnonzero(is_out))[:MOST_ROWS])
    return HeldOut(model, kept, learner.predict(model, kept.X))


def _cross_fit(learner: Learner, rows: Rows, rng: Any) -> HeldOut:
    """Predict each fold by a fit to the others, and fit all."""
    units, unit = np.unique(rows.group, return_inverse=True)
    fold = (rng.permutation(len(units)) % FOLDS)[unit]
    parts, tests = [], []
    for k in np.unique(fold):
        tests.append(np.flatnonzero(fold == k))
        model = learner.fit(rows.take(np.flatnonzero(fold != k)))
        parts.append(learner.predict(model, take_rows(rows.X, tests[-1])))
    predictions = np.concatenate(parts)[np.argsort(np.concatenate(tests))]
    some = rng.permutation(len(fold))[:MOST_ROWS]
    return HeldOut(learner.fit(rows), rows.take(some), predictions[some])


def hold_out_by(
    cv: Any, learner: Learner, rows: Rows, *, alpha: float, rng: Any
) -> HeldOut:
    """Predict the rows that some split holds out by a fit to its others, and fit all.

    A row that several splits hold out is predicted by the first of them. The splits are
    those of all rows, of which those without weight then do not count.
    """
    groups = rows.group if rows.has_groups else None
    seed = int(rng.randint(2**31 - 1))
    splits = row_splits(cv, rows.X, rows.y, groups=groups, seed=seed, instead="cv=None")
    parts, place = [], np.full(len(rows.y), -1)  # of each row among the predictions
    counts, n_held_out = rows.weight > 0, 0
    for train, test in splits:
        new = test[counts[test] & (place[test] < 0)]
        if len(new):
            model = learner.fit(rows.take(train[counts[train]]))
            parts.append(learner.predict(model, take_rows(rows.X, new)))
            place[new] = n_held_out + np.arange(len(new))
            n_held_out += len(new)
    some = rng.permutation(np.flatnonzero(place >= 0))[:MOST_ROWS]
    kept = rows.take(some)
    if isinstance(cv, ForwardSplit):  # its groups are times: each row is one draw
        kept = kept._replace(group=np.arange(len(some)), has_groups=False)
    _warn_of_too_few(len(np.unique(kept.group)), kept.has_groups, alpha)
    predictions = np.concatenate(parts)[place[some]]
    return HeldOut(learner.fit(rows.counted()), kept, predictions)


def _warn_of_too_few(n_units: int, has_groups: bool, alpha: float) -> None:
    if not is_enough(n_units, alpha):
        what = "groups" if has_groups else "rows"
        warnings.warn(
            f"{n_units} {what} are too few for a coverage of {1 - alpha:.4g}: "
            "intervals will be infinite, and sets of classes will hold them all. At "
            f"least {np.ceil(1 / alpha - 1 - 1e-9):.0f} "
            f"{what} are needed; {n_units} give up to {n_units / (n_units + 1):.2f}.",
            UserWarning,
            stacklevel=4,
        )


def fitted(estimator: Any, rows: Rows) -> Any:
    """Fit a clone of an estimator, with weights and groups where it takes them."""
    fresh: Any = clone(estimator)
    options = {}
    if rows.has_groups and has_fit_parameter(fresh, "groups"):
        options["groups"] = rows.group
    if rows.has_weights:
        if not has_fit_parameter(fresh, "sample_weight"):
            raise TypeError(
                f"sample_weight is given, but fit of {type(fresh).__name__} has no "
                "such argument. Give another estimator, or leave the weights out."
            )
        options["sample_weight"] = rows.weight
    return fresh.fit(rows.X, rows.y, **options)
