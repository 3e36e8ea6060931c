"""Time: rows whose order tells the target, and what shuffled folds hide then."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.ensemble import ExtraTreesRegressor

from missfit.estimators.forward_split import ForwardSplit
from missfit.suspicions.look import Feature, Look
from missfit.suspicions.names import (
    BIRTH_WORDS,
    FEWEST,
    TIME_WORDS,
    is_counter,
    is_sorted,
)
from missfit.suspicions.suspicion import Remedy, Suspicion
from missfit.tables.codes import words_of
from missfit.tables.columns import shown

LEVEL = 0.01  # of the test that the order of the rows tells nothing
# Pupils in the order of their schools have an autocorrelation of 0.28, and shuffled
# folds hide 0.06 of R2 there; tables in the order of time have far more of both.
STRONG = 0.4  # autocorrelation of the target from which on it is said in any case
HIDDEN = 0.1  # R2 that shuffled folds must hide, where the autocorrelation is weaker
SMOOTH = 0.8  # autocorrelation of a column that time has made smooth
FEWEST_TIMES = 10  # different times below which an order tells hardly anything
# The trees that show what is hidden: 2,000 rows of 40 columns take 0.3 s.
TREES = {"n_estimators": 12, "min_samples_leaf": 2, "max_features": 0.5}
MOST_ROWS = 2_000
MOST_COLUMNS = 40
N_BLOCKS = 3
COPY = 0.98  # correlation of ranks from which on a column is the target itself


class Order(NamedTuple):
    """An order of rows: the column that gives it, "" for that of the table."""

    name: str
    rows: NDArray[np.intp]
    is_sure: bool  # whether the rows of the table come sorted by a date


class Hidden(NamedTuple):
    """R2 of the same trees on rows drawn at random, and on rows that come later."""

    shuffled: float
    forward: float


class Found(NamedTuple):
    """The suspicion, if there is one, and the rows in the order of time."""

    suspicions: list[Suspicion]
    rows: NDArray[np.intp] | None


def time_order(look: Look, seed: int = 0) -> Found:
    """Return whether rows have an order in time that shuffled folds do not respect.

    The target is tested for autocorrelation in the order of each date, and in that of
    the table. Trees then predict the same number of rows from as many others, once
    drawn at random and once from the past.
    """
    orders = _orders(look)
    for order in orders:
        correlation, p = autocorrelation(look.rank[order.rows])
        is_alike = correlation > 0 and p < LEVEL / len(orders)
        if not (is_alike or order.is_sure):
            continue
        hidden = what_is_hidden(look, order, seed)
        gap = hidden.shuffled - hidden.forward
        if order.is_sure or correlation >= STRONG or gap >= HIDDEN:
            found = _suspicion(order, correlation, is_alike, hidden)
            return Found([found], order.rows)
    return Found([], None)


def _orders(look: Look) -> list[Order]:
    """Return the orders that may be those of time: of dates, then of the table."""
    orders = []
    for feature in look.features:
        sorted_here = is_sorted(feature.values)
        if _is_time(feature, look, sorted_here):
            rows = feature.known[
                np.argsort(feature.values[feature.known], kind="stable")
            ]
            is_sure = sorted_here and feature.kind == "date"
            orders.append(Order(feature.name, rows, is_sure))
    orders.sort(key=lambda order: not order.is_sure)
    if len(look.y) >= FEWEST and not orders and not _is_arranged(look):
        orders = [Order("", np.arange(len(look.y)), is_sure=False)]
    return orders


def _is_time(feature: Feature, look: Look, sorted_here: bool) -> bool:
    """Whether a column can be the time of the rows.

    Dates can, unless they are of birth; numbers where the rows are sorted by them and
    they are called a time or number the rows.
    """
    words = set(words_of(feature.name))
    is_enough = (
        len(feature.distinct[0]) >= FEWEST_TIMES and len(feature.known) >= FEWEST
    )
    if feature.kind == "date":
        return is_enough and not words & BIRTH_WORDS
    is_said = bool(words & TIME_WORDS) or is_counter(feature, look.n_rows)
    return is_enough and feature.kind == "number" and sorted_here and is_said


def _is_arranged(look: Look) -> bool:
    """Whether the table is sorted by its target or by a column that is no time.

    A column that rises in time, such as a price index, also sorts the table. Then other
    columns are smooth, too, and a table that is sorted by a column leaves them rough.
    """
    if is_sorted(look.y):
        return True
    others = [f for f in look.features if not _is_arranged_by(f)]
    if len(others) == len(look.features):
        return False
    return not any(autocorrelation(f.values[f.known])[0] > SMOOTH for f in others)


def _is_arranged_by(feature: Feature) -> bool:
    """Whether equal values stand together, or numbers rise or fall."""
    if len(feature.distinct[0]) < 2:
        return False
    if feature.kind != "category":
        return is_sorted(feature.values)
    changes = int((np.diff(feature.values[feature.known]) != 0).sum())
    return changes == len(feature.distinct[0]) - 1


def autocorrelation(y: NDArray[np.float64]) -> tuple[float, float]:
    """Return the correlation of neighbours, and the p-value that there is none.

    Under random order the sum of the products of neighbours, y around 0, has mean
    -S / n and a variance of about S^2 / n, with S the sum of squares; it is near normal
    (Wald and Wolfowitz 1943).
    """
    n = len(y)
    if n < FEWEST:
        return 0.0, 1.0
    y = y / max(np.abs(y).max(), 1e-300)  # squares of large numbers overflow
    y = y - y.mean()
    square = float(y @ y)
    if square == 0:
        return 0.0, 1.0
    correlation = float(y[1:] @ y[:-1]) / square
    return correlation, float(norm.sf((correlation + 1 / n) * np.sqrt(n)))


def what_is_hidden(look: Look, order: Order, seed: int) -> Hidden:
    """Return R2 of trees on rows that come later, and on as many drawn at random."""
    rows = order.rows[-MOST_ROWS:]
    X, y = _inputs(look, order)[rows], look.rank[rows]
    shuffled = np.random.default_rng(seed).permutation(len(rows))
    return Hidden(_forward_r2(X[shuffled], y[shuffled], seed), _forward_r2(X, y, seed))


def _inputs(look: Look, order: Order) -> NDArray[np.float64]:
    """Return the columns most related to the target, without time and copies of it.

    They are places among the distinct values, which are the same to trees; a missing
    value is the largest.
    """
    columns = []
    for feature in look.features:
        is_order = feature.name == order.name or is_counter(feature, look.n_rows)
        if len(feature.distinct[0]) > 1 and not is_order:
            columns.append(feature.codes)
    if not columns:
        return np.zeros((len(look.y), 1))
    X = np.column_stack(columns).astype(np.float64)
    gap = X - X.mean(axis=0)
    related = np.abs(look.rank @ gap) / (len(gap) * np.maximum(gap.std(axis=0), 1e-300))
    related[related > COPY] = 0.0  # a leak explains the future, too
    X[:, related == 0] = 0.0
    return X[:, np.argsort(-related, kind="stable")[:MOST_COLUMNS]]


def _forward_r2(X: NDArray, y: NDArray, seed: int) -> float:
    """Return R2 over the blocks that are predicted from the rows before them."""
    guess = np.full(len(y), np.nan)
    for train, test in ForwardSplit(N_BLOCKS).split(X):
        trees = ExtraTreesRegressor(random_state=seed, **TREES)
        guess[test] = trees.fit(X[train], y[train]).predict(X[test])
    tested = ~np.isnan(guess)
    error, spread = (y - guess)[tested], y[tested] - y[tested].mean()
    return float(1 - error @ error / (spread @ spread)) if spread.any() else 0.0


def _suspicion(
    order: Order, correlation: float, is_alike: bool, hidden: Hidden
) -> Suspicion:
    in_order = f"in the order of {shown(order.name)}" if order.name else "of the table"
    reason = "" if order.name else " Are they in the order of time, or of groups?"
    names = (order.name,) if order.name else ()
    return Suspicion(
        "time",
        names,
        f"{_likeness(in_order, correlation, is_alike)}{reason} {_in_words(hidden)}",
        Remedy("time", names),
    )


def _likeness(in_order: str, correlation: float, is_alike: bool) -> str:
    """Say whether neighbours are alike."""
    if not is_alike:
        return (
            f"the rows stand {in_order}, although neighbours do not have like targets "
            f"(autocorrelation {correlation:.2f})."
        )
    return (
        f"neighbouring rows {in_order} have like targets (autocorrelation "
        f"{correlation:.2f})."
    )


def _in_words(hidden: Hidden) -> str:
    """Say what shuffled folds would hide."""
    both = (
        f"{hidden.shuffled:.2f} on rows drawn at random and {hidden.forward:.2f} on "
        "rows that come later"
    )
    if hidden.shuffled - hidden.forward < HIDDEN:
        return f"Shuffled folds hide little of it here: a few trees have R2 {both}."
    return f"Shuffled folds hide what that means: a few trees have R2 {both}."
