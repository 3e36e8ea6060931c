"""What always measuring a variable would gain, by a Gaussian law or on held-out rows.

The drop of variable j is the mean squared error of predicting y now, minus the mean
squared error if the rows that lack j had it too. It is the sum of
risk(m) - risk(m with j) over the patterns m that lack j, weighted by their shares of
the rows. It is in units of y squared; divided by the variance of y it is the gain in
R2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.evidence.mechanism import Rows
from missfit.gaussian.conditional import ScaledGaussian, conditional_covariance
from missfit.moments.blocks import blocks

MOST_ROWS = 2_000  # the most rows in which one variable is hidden
ALL_ROWS = 6_000  # rows for all variables together: about 5 % of the fit of 5,000 x 20
FEW_ROWS = 100  # rows for each variable, however many variables there are
POOL_ROWS = 5_000  # the rows from which these are chosen
LEAST_VARIANCE = 1e-12  # in standard units, below which nothing is left to be known
Losses = Callable[[NDArray, NDArray], NDArray[np.float64]]


class Worth(NamedTuple):
    """The drop in the mean loss if each variable were always measured.

    Attributes
    ----------
    drops : ndarray of shape (n_variables,)
    standard_errors : ndarray of shape (n_variables,)
        They are 0 where the drops follow from a law.
    method : str
        How the drops were found, in words.
    """

    drops: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    method: str

    def ranked(self, floor: float) -> list[int]:
        """Return variables that drop more than a floor and two errors, best first."""
        order = np.argsort(-self.drops, kind="stable")
        least = np.maximum(floor, 2 * self.standard_errors)
        return [int(j) for j in order if self.drops[j] > least[j]]

    def merged(self, place: Sequence[int]) -> Worth:
        """Return the worth with variable j at place[j], the largest of each place."""
        n_places = max(place, default=-1) + 1
        largest = [
            max(np.flatnonzero(np.asarray(place) == at), key=lambda j: self.drops[j])
            for at in range(n_places)
        ]
        return self._replace(
            drops=self.drops[largest], standard_errors=self.standard_errors[largest]
        )


BY_LAW = "by the Gaussian law of the linear model: what is not linear does not count"
HELD_OUT = (
    "by hiding the variable in held-out rows that have it, in the company of the "
    "patterns that lack it: rows that lack it are taken to be like those"
)

SOME_OF_MANY = "only the {} variables that tell most of the target were looked at"


def law_worth(drops: NDArray[np.float64]) -> Worth:
    """Return the worth of variables by drops that follow from a law."""
    return Worth(drops, np.zeros_like(drops), BY_LAW)


def no_worth(n_variables: int) -> Worth:
    """Return the worth where too few rows could tell it."""
    return Worth(np.zeros(n_variables), np.zeros(n_variables), "too few rows to tell")


def law_drops(
    laws: Sequence[ScaledGaussian],
    shares: NDArray[np.float64],
    coef: NDArray[np.float64],
    patterns: NDArray[np.bool_],
    variables: NDArray[np.intp] | None = None,
) -> NDArray[np.float64]:
    """Return the drops in the risk of E[y | x_obs] if variables were always measured.

    In a pattern that misses the columns J of the variable, with V the covariance of the
    missing columns given the observed ones and b their slopes, knowing X_J too explains
    (V b)_J' V_JJ^-1 (V b)_J of the variance of b'X. The drop is the mean of this over
    the patterns, weighted by their shares of the rows.

    Parameters
    ----------
    laws : sequence of ScaledGaussian
        The law of X, one for each component.
    shares : ndarray of shape (K, P)
        The share of the rows of each component and pattern.
    coef : ndarray of shape (d,)
    patterns : bool ndarray of shape (P, d)
    variables : int ndarray of shape (d,), optional
        The variable of each column; by default each column is a variable.
    """
    variables = np.arange(len(coef)) if variables is None else variables
    drops = np.zeros(int(variables.max(initial=-1)) + 1)
    for law, share in zip(laws, shares, strict=True):
        slopes, residual = coef * law.scale, conditional_covariance(law.cov)
        for block in blocks(len(patterns), len(slopes) ** 2):
            missing = patterns[block]
            V = residual(missing)
            known = (V @ np.where(missing, slopes, 0.0)[:, :, None])[:, :, 0]
            drops += share[block] @ _explained(V, known, missing, variables)
    return drops


def _explained(V, known, missing, variables) -> NDArray[np.float64]:
    """Return the variance of b'X that variables explain by pattern, (P, variables)."""
    if np.array_equal(variables, np.arange(V.shape[1])):
        spread = np.diagonal(V, axis1=1, axis2=2)
        lacks = missing & (spread > LEAST_VARIANCE)
        return np.divide(known**2, spread, out=np.zeros_like(known), where=lacks)
    found = np.zeros((len(V), int(variables.max(initial=-1)) + 1))
    for j in range(found.shape[1]):
        J = np.flatnonzero(variables == j)
        lacking = np.flatnonzero(missing[:, J].all(axis=1)) if len(J) else []
        if len(lacking):
            part = V[np.ix_(lacking, J, J)]
            c = known[np.ix_(lacking, J)]
            found[lacking, j] = np.einsum("pi,pij,pj->p", c, _inverse(part), c)
    return found


def _inverse(V: NDArray) -> NDArray:
    """Return the inverses of small covariances, zero where there is no variance."""
    if V.shape[-1] > 1:
        return np.linalg.pinv(V, rcond=1e-9, hermitian=True)
    return np.divide(1.0, V, out=np.zeros_like(V), where=V > LEAST_VARIANCE)


class Fold(NamedTuple):
    """A fitted model, and rows that it has not seen.

    Attributes
    ----------
    predict : callable
    test : int ndarray
        The rows that it has not seen.
    X, variables : ndarray, optional
        All rows as the model meets them, and the variable of each column, where they
        are not those of the other folds: levels may be rare in one fold alone.
    """

    predict: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    test: NDArray[np.intp]
    X: NDArray[np.float64] | None = None
    variables: NDArray[np.intp] | None = None


def squared_errors(y: NDArray, prediction: NDArray) -> NDArray[np.float64]:
    """Return the squared error of each row."""
    return (prediction - y) ** 2


def heldout_worth(
    rows: Rows,
    folds: Sequence[Fold],
    seed: int = 0,
    losses: Losses = squared_errors,
    among: NDArray[np.intp] | None = None,
) -> Worth:
    """Estimate the drops of a model that need not be linear.

    A pattern m is drawn from the rows that lack variable j, and with it a held-out row
    that has j and lacks as few values as possible beyond those of m. The row is
    predicted once with only the values that m leaves, and once with x_j as well. The
    drop is the mean difference of the losses times the share of the rows that lack j.
    This assumes that the rows that lack j are like those that have it.

    Parameters
    ----------
    rows : Rows
    folds : sequence of Fold
        Their test rows do not overlap.
    seed : int
    losses : callable
        It takes targets and predictions, and returns the loss of each row.
    among : int ndarray, optional
        The variables to look at; by default all. The drops of others are 0.
    """
    rng = np.random.default_rng(seed)
    pool, owner = _pool(folds, rng)
    mask = rows.mask
    partly = np.flatnonzero(mask.any(axis=0) & ~mask[pool].all(axis=0))
    n_each = min(MOST_ROWS, max(FEW_ROWS, ALL_ROWS // max(1, len(partly))))
    if among is not None:
        partly = np.intersect1d(partly, among)
    stages = [_stage(rows, pool, int(j), n_each, rng) for j in partly]
    drops, errors = np.zeros(mask.shape[1]), np.zeros(mask.shape[1])
    if stages:
        growth = _growth(rows, folds, pool, owner, stages, losses)
        for stage, grown in zip(stages, growth, strict=True):
            j = stage.variable
            share = rows.weight @ mask[:, j] / rows.weight.sum()
            mean, error = _mean(grown, rows, pool[stage.place])
            drops[j], errors[j] = share * mean, share * error
    if among is None:
        return Worth(drops, errors, HELD_OUT)
    return Worth(drops, errors, f"{HELD_OUT}; {SOME_OF_MANY.format(len(among))}")


def _pool(folds: Sequence[Fold], rng) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return some of the test rows of all folds, and the fold of each row."""
    rows = np.concatenate([fold.test for fold in folds])
    owner = np.repeat(np.arange(len(folds)), [len(fold.test) for fold in folds])
    some = rng.permutation(len(rows))[:POOL_ROWS]
    return rows[some], owner[some]


class _Stage(NamedTuple):
    """A variable, the places of rows that have it, and the values to hide in each."""

    variable: int
    place: NDArray[np.intp]
    hidden: NDArray[np.bool_]


def _stage(rows: Rows, pool, j: int, n_draws: int, rng) -> _Stage:
    """Draw patterns that lack j, and for each a row that has it and lacks little else.

    Rows that fit a pattern equally well are taken in turn, so that as few as possible
    are taken twice.
    """
    mask = rows.mask
    having = rng.permutation(np.flatnonzero(~mask[pool, j]))
    lacking = np.flatnonzero(mask[:, j])
    chance = rows.weight[lacking] / rows.weight[lacking].sum()
    patterns, count = np.unique(
        mask[rng.choice(lacking, min(n_draws, len(having)), p=chance)],
        axis=0,
        return_counts=True,
    )
    lack = (~patterns).astype(np.float32) @ mask[pool[having]].astype(np.float32).T
    least = lack.min(axis=1)
    chosen, used = [], np.zeros(len(having), dtype=int)
    for own, few, n in zip(lack, least, count, strict=True):
        fits = np.flatnonzero(own == few)
        if n == 1:  # as most patterns are drawn: nothing is sorted for one row
            chosen.append(fits[[np.argmin(used[fits])]])
        else:
            in_turn = fits[np.argsort(used[fits], kind="stable")]
            chosen.append(np.resize(in_turn, n))
        used[chosen[-1]] += 1
    place = having[np.concatenate(chosen)]
    hidden = mask[pool[place]] | np.repeat(patterns, count, axis=0)
    return _Stage(j, place, hidden)


def _growth(
    rows: Rows, folds, pool, owner, stages, losses: Losses
) -> list[NDArray[np.float64]]:
    """Return the losses without the variable minus those with it, by stage."""
    place = np.concatenate([stage.place for stage in stages])
    hidden = np.concatenate([stage.hidden for stage in stages])
    variable = np.repeat([s.variable for s in stages], [len(s.place) for s in stages])
    y = rows.y[pool[place]]
    growth = np.empty(len(place))
    for k, fold in enumerate(folds):
        # one call of each model: boosting is slow to start
        here = np.flatnonzero(owner[place] == k)
        if not len(here):
            continue
        X = rows.X if fold.X is None else fold.X
        own = rows.variables if fold.variables is None else fold.variables
        without = hidden[here][:, own]
        with_it = without & (own != variable[here][:, None])
        hide = np.concatenate([without, with_it])
        twice = X[np.concatenate([pool[place[here]]] * 2)]
        guess = fold.predict(np.where(hide, np.nan, twice))
        loss = losses(np.tile(y[here], 2), guess)
        growth[here] = loss[: len(here)] - loss[len(here) :]
    return np.split(growth, np.cumsum([len(s.place) for s in stages])[:-1])


def _mean(growth: NDArray, rows: Rows, index: NDArray[np.intp]) -> tuple[float, float]:
    """Return the weighted mean and its standard error, a row or group as one draw."""
    weight = rows.weight[index]
    mean = np.average(growth, weights=weight)
    unit = index if rows.groups is None else rows.groups[index]
    _, unit = np.unique(unit, return_inverse=True)
    sums = np.bincount(unit, weight * (growth - mean))
    return float(mean), float(np.sqrt((sums**2).sum()) / weight.sum())
